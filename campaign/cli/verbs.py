"""The verbs. Each loads what it needs and nothing else, so that help comes at once."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from campaign.core.errors import INCOMPLETE, INTERRUPTED, OK, InputError
from campaign.core.units import several

if TYPE_CHECKING:
    from campaign.cli.progress import Lines
    from campaign.config.opened import Opened
    from campaign.judge.submission import Submission
    from campaign.pipeline.request import Request
    from campaign.results.cells import Row


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _write(text: str, output: Path | None) -> None:
    if output:
        output.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


def _load(arguments: argparse.Namespace) -> Opened:
    from campaign.config.opened import open_campaign

    return open_campaign(arguments.file)


def init(arguments: argparse.Namespace) -> int:
    from campaign.config import init as writer

    writer.write(arguments.file, arguments.rules)
    print(f"wrote {arguments.file}: fill it in, then 'campaign plan {arguments.file}'")
    return OK


def build(arguments: argparse.Namespace) -> int:
    import shlex

    from campaign.core import resources
    from campaign.pipeline import building

    out = building.build(arguments.mpicc, arguments.output)
    print(f"built {out}")
    if out != resources.binaries():
        print(f"to measure with it: export CAMPAIGN_BENCHMARK={shlex.quote(str(out))}")
    return OK


def plan(arguments: argparse.Namespace) -> int:
    from campaign.pipeline import plan as planning
    from campaign.pipeline import standing
    from campaign.report import text as views

    opened = _load(arguments)
    planned = planning.plan(opened)
    if arguments.json:
        print(json.dumps(planning.plan_json(opened, planned), indent=1))
    else:
        print(views.plan_text(opened, planned, standing.attempts(opened)))
    if lacking := planning.not_built(opened):
        _say(f"note: {lacking}")
    return OK


def run(arguments: argparse.Namespace) -> int:
    from campaign.pipeline.request import Request

    request = Request(tuple(arguments.only), detach=arguments.detach)
    if not arguments.sandbox:
        return _run(arguments, request)
    with _cluster():
        return _run(arguments, request)


@contextmanager
def _cluster() -> Iterator[None]:
    """A Slurm to run on: the one that answers, otherwise a sandbox, stopped at the end if it was not there before."""
    from campaign.slurm import commands
    from campaign.slurm.sandbox.cluster import Sandbox

    if commands.reachable() is None:
        yield
        return
    was_running = Sandbox.at().running()
    sandbox = Sandbox.start()
    _say(f"no Slurm answers: a sandbox of virtual nodes runs in {sandbox.layout.top}")
    os.environ.update(sandbox.environment())
    try:
        yield
    finally:
        if not was_running:
            sandbox.stop()


def rerun(arguments: argparse.Namespace) -> int:
    from campaign.pipeline.request import Request

    return _run(arguments, Request(tuple(arguments.cells), again=True, detach=arguments.detach))


def _run(arguments: argparse.Namespace, request: Request) -> int:
    from campaign.cli import progress
    from campaign.pipeline import run as pipeline

    opened = _load(arguments)
    shown: Lines = progress.display()
    try:
        rows = pipeline.run(opened, request, shown)
    except KeyboardInterrupt:
        shown.close()
        _say(
            f"campaign: detached; the jobs go on. 'campaign run {arguments.file}' re-attaches, "
            f"'campaign cancel {arguments.file}' ends them"
        )
        return INTERRUPTED
    finally:
        shown.close()
    if request.detach:
        print(f"submitted; 'campaign status {arguments.file}' looks, 'campaign run {arguments.file}' re-attaches")
        return OK
    if not request.only:
        _print_table(opened, rows, "simple")
    else:
        _print_cells(rows)
    print(f"results: {opened.paths.root}")
    return _verdict(rows)


def _print_table(opened: Opened, rows: Sequence[Row], style: str) -> None:
    from campaign.report import table as tables

    print(tables.printed(rows, opened.campaign, opened.pack, style))
    count = Counter(row.status for row in rows)
    print(f"{len(rows)} cells: " + ", ".join(f"{number} {status}" for status, number in count.items()))


def _print_cells(rows: Sequence[Row]) -> None:
    from campaign.core.model import State

    for row in rows:
        if row.value is not None:
            said = f"{row.status} {row.value:.3f} {row.unit}"
        elif row.attempt and row.attempt.state is State.FAILED:
            said = row.note  # that of the attempt, which begins with its state
        else:
            said = f"{row.status}: {row.note}"
        which = f", attempt {row.attempt.number} of {row.attempts}" if row.attempt else ""
        if row.summary.n > 1:
            which += f" (median of the {row.summary.n} valid: {row.summary.median:.3f})"
        against = [f"{found.rule} {found.message}" for found in row.findings if found.blocks]
        why = f": {'; '.join(against)}" if row.status == "invalid" else ""
        print(f"{row.cell}: {said}{which}{why}")


def _verdict(rows: Sequence[Row]) -> int:
    good = ("measured", "projected", "declined")
    return OK if all(row.status in good for row in rows) else INCOMPLETE


def status(arguments: argparse.Namespace) -> int:
    import time

    from campaign.pipeline import standing
    from campaign.report import text as views

    opened = _load(arguments)
    while True:
        found = standing.current(opened, _say)
        states = views.states(found)
        if arguments.json:
            print(json.dumps(states, indent=1))
        else:
            print(views.states_text(states))
        if not arguments.watch or not any(state["active"] for state in states):
            return OK
        time.sleep(2)


def cancel(arguments: argparse.Namespace) -> int:
    from campaign.pipeline import run as pipeline

    print(f"{several(pipeline.cancel(_load(arguments), _say), 'job')} cancelled")
    return OK


def collect(arguments: argparse.Namespace) -> int:
    from campaign.pipeline import standing

    opened = _load(arguments)
    print(f"{standing.collect_and_catch_up(opened, _say)} attempts imported from {opened.paths.root}")
    return OK


def table(arguments: argparse.Namespace) -> int:
    from campaign.pipeline import standing
    from campaign.report import table as tables

    opened = _load(arguments)
    found = standing.current(opened, _say)
    rows = found.rows
    if arguments.format == "xlsx":
        from campaign.report import text as views
        from campaign.report.workbook.write import write_workbook

        if arguments.output is None:
            raise InputError("--format xlsx needs -o OUT: it is not text")
        write_workbook(arguments.output, views.contents(found))
        return _verdict(rows)
    if arguments.format == "json":
        text = tables.as_json(rows)
    elif arguments.format == "csv":
        text = tables.as_csv(rows)
    else:
        text = tables.printed(rows, opened.campaign, opened.pack, arguments.format) + "\n"
    _write(text, arguments.output)
    return _verdict(rows)


def report(arguments: argparse.Namespace) -> int:
    from campaign.pipeline import standing
    from campaign.report import pdf
    from campaign.report import text as views
    from campaign.report.write import write_report
    from campaign.results.source import modifications
    from campaign.results.source import record as sources

    opened = _load(arguments)
    standing.look_at_sources(opened, _say)
    found = standing.current(opened, _say)
    directory = arguments.output or opened.paths.report
    page = write_report(directory, views.contents(found))
    modifications.write(directory, found.sources, sources.patch_of(opened.paths))
    print(f"wrote {page}")
    if arguments.pdf:
        print(f"wrote {pdf.write(page)}")
    return _verdict(found.rows)


def check(arguments: argparse.Namespace) -> int:
    from campaign.judge import foreign
    from campaign.pipeline import standing

    if foreign.is_table(arguments.file):
        return _check_table(arguments)
    opened = _load(arguments)
    if arguments.waiver is not None:
        return _print_waiver(opened, arguments.waiver)
    return _print_findings(arguments, standing.from_raw_outputs(opened, _say))


def compare(arguments: argparse.Namespace) -> int:
    from campaign.report.compare import campaigns

    terms = campaigns.parse_terms(arguments.tolerance, arguments.at_least, arguments.reported)
    found = campaigns.compare(arguments.campaigns, terms, campaigns.parse_targets(arguments.map))
    text = campaigns.as_text(found, arguments.format)
    _write(text, arguments.output)
    return OK if found.passed else INCOMPLETE


def diff(arguments: argparse.Namespace) -> int:
    from campaign.pipeline import standing
    from campaign.report import text as views
    from campaign.results.source import modifications
    from campaign.results.source import record as sources

    opened = standing.with_source_rules(_load(arguments))
    compared = sources.compare(opened.campaign)
    begun = opened.paths.journal.exists()
    if begun:
        sources.keep(opened.paths, compared)
    found = sources.recorded(opened.paths) if begun else sources.planned(opened.campaign, compared)
    if arguments.output:
        modifications.write(arguments.output, found, compared.patch)
    print(modifications.text(found))
    judged = standing.current(opened, _say, found)
    findings = [finding for finding in judged.all_findings if finding.rule.startswith("SRC-")]
    if findings:
        print("\n" + views.findings_text(opened.pack, findings))
    return INCOMPLETE if any(finding.blocks for finding in findings) else OK


def _print_findings(arguments: argparse.Namespace, submission: Submission) -> int:
    """Print them; gives the exit status: a rule about the campaign that is broken is as much as one about a cell."""
    from campaign.report import junit
    from campaign.report import text as views

    findings = submission.all_findings
    if arguments.junit:
        _write(junit.document(submission.campaign.name, [junit.of_campaign(submission)]), arguments.junit)
    if arguments.json:
        print(json.dumps(views.findings_json(submission.pack, findings), indent=1))
    else:
        print(views.check_text(submission))
    return INCOMPLETE if any(finding.violated for finding in findings) else _verdict(submission.rows)


def _print_waiver(opened: Opened, number: int) -> int:
    from campaign.config.waivers import statement

    waivers = opened.campaign.waivers
    if not 1 <= number <= len(waivers):
        raise InputError(f"--waiver {number}: the campaign file has {len(waivers)}; allowed: 1 to their number")
    sys.stdout.write(statement(opened.campaign.name, opened.pack.id, waivers[number - 1]))
    return OK


def _check_table(arguments: argparse.Namespace) -> int:
    from campaign.judge import foreign
    from campaign.judge.rows import with_findings
    from campaign.judge.tables import judge_table

    whole = foreign.read(arguments.file, arguments.rules)
    found = judge_table(whole)
    return _print_findings(arguments, replace(whole, rows=with_findings(whole.rows, found), findings=found))


def bundle(arguments: argparse.Namespace) -> int:
    from campaign.evidence import bundle as bundles
    from campaign.pipeline import plan as planning
    from campaign.pipeline import standing

    opened, names = bundles.open_recorded(arguments.file)
    found = standing.from_raw_outputs(opened, _say)
    if opened.paths.journal.exists():
        planning.write(opened, planning.plan(opened))
    written = bundles.write(opened, names, found, arguments.output, arguments.sign)
    left = f", {written.left_out} more are in its index" if written.left_out else ""
    print(f"wrote {written.path}: {written.files} files, {written.attempts} attempts{left}")
    print(f"journal: {written.head}")
    print(f"verify:  campaign verify {written.path}")
    return _verdict(written.judged.submission.rows)


def verify(arguments: argparse.Namespace) -> int:
    from campaign.evidence import text, verify
    from campaign.report import text as views
    from campaign.report.write import write_report

    asked = verify.Asked(arguments.signers, arguments.nonce, tuple(arguments.head))
    with verify.verify(arguments.bundle, asked) as found:
        judged = found.judged
        if arguments.junit:
            _write(text.as_junit(found), arguments.junit)
        if arguments.json:
            print(json.dumps(text.as_json(found), indent=1))
        else:
            print(text.as_text(found))
            if judged is not None:
                print()
                sys.stdout.write(judged.files["tables/table.txt"])
            print(text.conclusion(found))
        if arguments.output and judged is not None:
            print(f"wrote {write_report(arguments.output, views.contents(judged.submission))}")
    return OK if found.complies else INCOMPLETE


def show_rules(arguments: argparse.Namespace) -> int:
    from campaign.config.rules import load as rules
    from campaign.config.rules import text

    print(text.text(rules.load(arguments.id)) if arguments.id else text.listing(rules.available()))
    return OK


def completion(arguments: argparse.Namespace) -> int:
    from campaign.cli import completion as completions

    sys.stdout.write(completions.script(arguments.shell))
    return OK


def run_sandbox(arguments: argparse.Namespace) -> int:
    from campaign.slurm.sandbox import command

    return command.main(arguments)
