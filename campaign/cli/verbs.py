"""The verbs. Each loads only what it needs, so that help appears at once."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from campaign.cli.output import columns, load, say, show, table_format, verdict, write
from campaign.core.errors import ENVIRONMENT, INCOMPLETE, OK, InputError, typed
from campaign.core.units import several

if TYPE_CHECKING:
    from campaign.config.opened import Opened
    from campaign.judge.submission import Submission
    from campaign.pipeline.preflight import Checked


def init(arguments: argparse.Namespace) -> int:
    from campaign.config import init
    from campaign.pipeline import places

    if str(arguments.file) == "-":
        print(init.text(arguments.rules, places.site()), end="")
    else:
        init.write(arguments.file, arguments.rules, places.site())
        show(
            f"wrote {arguments.file}: replace the texts in <angle brackets>, then run 'campaign plan "
            f"{typed(arguments.file)}'"
        )
    return OK


def build(arguments: argparse.Namespace) -> int:
    import shlex

    from campaign.core import resources
    from campaign.pipeline import building

    out = building.build(arguments.mpicc, arguments.output)
    show(f"built {out}")
    if out != resources.binaries():
        show(f"to use this build: export CAMPAIGN_BENCHMARK={shlex.quote(str(out))}")
    return OK


def plan(arguments: argparse.Namespace) -> int:
    from campaign.pipeline import outdated, planning, preflight, standing
    from campaign.pipeline.request import Request
    from campaign.report import views

    opened = load(arguments)
    checked = preflight.check(opened, planning.plan(opened), Request())
    attempts = standing.attempts(opened)
    written = preflight.write_scripts(opened, checked, arguments.scripts) if arguments.scripts else None
    if arguments.json:
        print(json.dumps(planning.plan_json(opened, checked.plan), indent=1))
    else:
        show(views.plan_text(opened, checked.plan, attempts, columns(), sys.stdout.isatty()))
    for note in (*checked.notes, *outdated.outdated(opened, checked.plan, attempts)):
        say(f"note: {note}")
    if written is not None:
        say(f"wrote {several(written, 'job script')} to {arguments.scripts}")
    if arguments.probe and not checked.silent:
        return _probe(opened, checked)
    if checked.silent or (checked.missing and not arguments.json):
        (say if checked.silent else show)(checked.unchecked)
    return OK if not arguments.probe else ENVIRONMENT


def _probe(opened: Opened, checked: Checked) -> int:
    """Print what is wrong on the nodes; gives the exit status."""
    from campaign.pipeline import probe

    outcome = probe.probe(opened, checked, say)
    for problem in outcome.problems:
        say(problem)
    if outcome.problems:
        return ENVIRONMENT
    show(outcome.passed)
    return OK


def collect(arguments: argparse.Namespace) -> int:
    from campaign.pipeline import standing

    opened = load(arguments)
    if arguments.recover:
        from campaign.pipeline import recovery

        if not recovery.recover(opened, show):
            show(f"nothing to recover: {opened.paths.journal} is not damaged")
            return OK
    number = standing.collect_and_catch_up(opened, say)
    show(f"read {several(number, 'attempt')} from {opened.paths.root}")
    return OK


def table(arguments: argparse.Namespace) -> int:
    from campaign.pipeline import standing
    from campaign.report import table

    opened = load(arguments)
    style = table_format(arguments.format, arguments.output)
    if style == "xlsx" and arguments.output is None:
        raise InputError("--format xlsx needs -o OUT, since a workbook cannot be printed")
    submission = standing.current(opened, say)
    rows = submission.rows
    if style == "xlsx":
        from campaign.report import views
        from campaign.report.workbook.write import workbook

        write(workbook(arguments.output, views.contents(submission)), arguments.output)
        return verdict(rows)
    if style == "json":
        text = table.as_json(rows)
    elif style == "csv":
        text = table.as_csv(rows)
    else:
        text = table.printed(rows, opened.campaign, opened.pack, style, columns(arguments.output)) + "\n"
    write(text, arguments.output)
    return verdict(rows)


def report(arguments: argparse.Namespace) -> int:
    from campaign.pipeline import standing
    from campaign.report import executed, pdf, views
    from campaign.report.write import write_report
    from campaign.results.source import modifications, record

    opened = load(arguments)
    standing.look_at_sources(opened, say)
    submission = standing.current(opened, say)
    directory = arguments.output or opened.paths.report
    page = write_report(directory, views.contents(submission))
    ran = executed.text(submission.results)
    modifications.write(directory, submission.sources, record.patch_of(opened.paths), ran)
    show(f"wrote {page}")
    if arguments.pdf:
        show(f"wrote {pdf.write(page)}")
    return verdict(submission.rows)


def check(arguments: argparse.Namespace) -> int:
    from campaign.judge import foreign
    from campaign.pipeline import standing

    if foreign.is_table(arguments.file):
        return _check_table(arguments)
    opened = load(arguments)
    if arguments.waiver is not None:
        return _print_waiver(opened, arguments.waiver)
    return _print_findings(arguments, standing.from_raw_outputs(opened, say))


def compare(arguments: argparse.Namespace) -> int:
    from campaign.report.compare import campaigns

    terms = campaigns.parse_terms(arguments.tolerance, arguments.at_least, arguments.reported)
    comparison = campaigns.compare(arguments.campaigns, terms, campaigns.parse_targets(arguments.map))
    style = table_format(arguments.format, arguments.output)
    text = campaigns.as_text(comparison, style, columns(arguments.output))
    write(text, arguments.output)
    return OK if comparison.passed else INCOMPLETE


def show_modifications(arguments: argparse.Namespace) -> int:
    from campaign.pipeline import standing
    from campaign.report import executed, views
    from campaign.results.source import modifications, record
    from campaign.results.store import begun

    opened = standing.with_source_rules(load(arguments))
    compared = record.compare(opened.campaign)
    recorded = begun(opened.paths)
    if recorded:
        record.keep(opened.paths, compared)
    modified = record.recorded(opened.paths) if recorded else record.planned(opened.campaign, compared)
    judged = standing.current(opened, say, modified)
    ran = executed.text(judged.results)
    if arguments.output:
        modifications.write(arguments.output, modified, compared.patch, ran)
    show(modifications.text(modified, ran))
    findings = [finding for finding in judged.all_findings if finding.rule.startswith("SRC-")]
    if findings:
        print("\n" + views.findings_text(opened.pack, findings, width=columns()))
    return INCOMPLETE if any(finding.blocks for finding in findings) else OK


def _print_findings(arguments: argparse.Namespace, submission: Submission) -> int:
    """Print findings; gives the exit status: a violated rule about the campaign counts like one about a cell."""
    from campaign.report import junit, views

    findings = submission.all_findings
    if arguments.junit:
        write(junit.document(submission.campaign.name, [junit.of_campaign(submission)]), arguments.junit)
    if arguments.json:
        print(views.findings_json(submission.pack, findings, ascii_only=True), end="")
    else:
        show(views.check_text(submission, columns()))
    return INCOMPLETE if any(finding.violated for finding in findings) else verdict(submission.rows)


def _print_waiver(opened: Opened, number: int) -> int:
    from campaign.config.waivers import statement

    waivers = opened.campaign.waivers
    if not waivers:
        raise InputError(f"--waiver {number}: the campaign file has no waivers; add one under waivers")
    if not 1 <= number <= len(waivers):
        there = several(len(waivers), "waiver")
        raise InputError(f"--waiver {number}: the campaign file has {there}; allowed: 1 to {len(waivers)}")
    sys.stdout.write(statement(opened.campaign.name, opened.pack.id, waivers[number - 1]))
    return OK


def _check_table(arguments: argparse.Namespace) -> int:
    from campaign.judge import foreign
    from campaign.judge.rows import with_findings

    whole = foreign.read(arguments.file, arguments.rules)
    findings = foreign.judge_table(whole)
    return _print_findings(arguments, replace(whole, rows=with_findings(whole.rows, findings), findings=findings))


def bundle(arguments: argparse.Namespace) -> int:
    from campaign.evidence import bundle
    from campaign.pipeline import planning, standing
    from campaign.results.store import begun

    bundle.check_place(arguments.output)
    opened, names = bundle.open_recorded(arguments.file)
    planned, attempts = standing.on_record(opened, say)
    if begun(opened.paths):
        planning.write(opened, planned)
    written = bundle.write(opened, names, planned, attempts, arguments.output, arguments.sign)
    show(f"wrote {arguments.output}: {several(written.files, 'file')}, {several(written.attempts, 'attempt')}")
    if written.left_out:
        show(f"{several(written.left_out, 'attempt')} without raw output: listed only in the bundle's index")
    show(f"journal head (send it to the buyer): {written.judged.head}")
    show(f"verify:  campaign verify {typed(arguments.output)}")
    return verdict(written.judged.submission.rows)


def show_head(arguments: argparse.Namespace) -> int:
    from campaign.core import journal
    from campaign.results.store import begun

    opened = load(arguments)
    if not begun(opened.paths):
        raise InputError(
            f"no journal: campaign {opened.campaign.name} has not been run; start with 'campaign run "
            f"{typed(arguments.file)}'"
        )
    chain = journal.look(opened.paths.journal)
    if chain.problem:
        raise InputError(f"journal.jsonl: {chain.problem}")
    if arguments.query:
        from campaign.core import timestamps

        timestamps.request(chain.head, arguments.query)
    head = {"campaign": opened.campaign.name, "events": len(chain.heads), "head": chain.head, "nonce": chain.nonce}
    print(json.dumps(head, indent=1) if arguments.json else chain.head)
    return OK


def verify(arguments: argparse.Namespace) -> int:
    from campaign.evidence import text, verify
    from campaign.report import table
    from campaign.report.write import write_report

    asked = verify.Asked(
        arguments.signers,
        arguments.nonce,
        tuple(arguments.head),
        arguments.rules,
        arguments.waiver_signers,
        tuple(arguments.timestamp),
        arguments.authority,
    )
    with verify.verify(arguments.bundle, asked) as verified:
        judged = verified.judged
        if arguments.junit:
            write(text.as_junit(verified), arguments.junit)
        if arguments.json:
            print(json.dumps(text.as_json(verified), indent=1))
        else:
            show(text.as_text(verified, columns()))
            if judged is not None:
                whole = judged.submission
                print(f"\n{table.printed(whole.rows, whole.campaign, whole.pack, 'simple', columns())}")
            show(text.conclusion(verified))
        if arguments.output and judged is not None:
            tell = say if arguments.json else show
            path = write_report(arguments.output, text.contents(verified, judged))
            tell(f"wrote {path}")
    return verified.conclusion.exit_status


def draw_sample(arguments: argparse.Namespace) -> int:
    from campaign.evidence import sample, verify

    asked = verify.Asked(arguments.signers, waiver_signers=arguments.waiver_signers)
    with verify.verify(arguments.bundle, asked) as verified:
        if verified.judged is None or not verified.intact:
            raise InputError(_not_sampled(arguments.bundle))
        whole = verified.judged.submission
        file = whole.campaign.path.read_text(encoding="utf-8")
        text = sample.challenge(whole, file, verified.chain.head, arguments.cells, arguments.seed)
        if arguments.output.exists():
            raise InputError(f"{arguments.output}: already exists; name a new file")
        write(text, arguments.output)
        print(f"cells to measure again: {' '.join(sample.read(arguments.output).cells)}")
        print(sample.error_rates(whole.rows, arguments.cells, float(arguments.at_least)))
    return OK


def accept(arguments: argparse.Namespace) -> int:
    from campaign.evidence import sample, verify
    from campaign.report.compare import campaigns

    terms = campaigns.parse_terms(None, arguments.at_least, arguments.reported)
    assert terms is not None, "the share has a default"
    asked = verify.Asked(arguments.signers, waiver_signers=arguments.waiver_signers)
    with verify.verify(arguments.bundle, asked) as verified:
        if verified.judged is None or not verified.intact:
            raise InputError(_not_sampled(arguments.bundle))
        whole, head = verified.judged.submission, verified.chain.head
        accepted = sample.accept(arguments.bundle, arguments.challenge, whole, head, terms, say)
        style = table_format(arguments.format, arguments.output)
        write(campaigns.as_text(accepted.comparison, style), arguments.output)
        if accepted.other_settings:
            say(
                "note: the sample was run with other machine settings than the bundle: "
                f"{', '.join(accepted.other_settings)}"
            )
        for objection in accepted.objections:
            say(f"not a valid sample: {objection}")
        if style == "simple":
            print(sample.error_rates(whole.rows, len(accepted.challenge.cells), terms.least))
            unmeasured = (
                "NOT ACCEPTED: this is not a measurement of the drawn sample"
                if accepted.objections
                else "NOT ACCEPTED: not every drawn cell is shown to reach its committed value"
            )
            print("ACCEPTED: every drawn cell reaches its committed value" if accepted.passed else unmeasured)
    return OK if accepted.passed else INCOMPLETE


def _not_sampled(bundle: object) -> str:
    return f"{bundle}: the bundle cannot be re-evaluated; see 'campaign verify'"


def rebuild(arguments: argparse.Namespace) -> int:
    from campaign.evidence import rebuild, verify

    with verify.verify(arguments.bundle, verify.Asked()) as verified:
        if verified.judged is None or not verified.intact:
            raise InputError(
                f"{arguments.bundle}: the bundle was altered or cannot be re-evaluated, so its source was not built; "
                "see 'campaign verify'"
            )
        whole = verified.judged.submission
        terms = (arguments.mpicc, arguments.cflags, arguments.foreign_source)
        rebuilt = rebuild.rebuild(whole.campaign.path.parent, whole, *terms)
    show(json.dumps(rebuild.as_json(rebuilt), indent=1) if arguments.json else rebuild.as_text(rebuilt))
    return OK if all(one.identical for one in rebuilt) else INCOMPLETE


def show_rules(arguments: argparse.Namespace) -> int:
    from campaign.config.rules import packs, text

    if arguments.test:
        from campaign.report import samples

        pack, *logs = arguments.test
        return OK if samples.show(packs.load(pack), [Path(log) for log in logs], print) else INCOMPLETE
    show(text.text(packs.load(arguments.id), columns()) if arguments.id else text.listing(packs.available()))
    return OK


def completion(arguments: argparse.Namespace) -> int:
    from campaign.cli import completion

    sys.stdout.write(completion.script(arguments.shell))
    return OK


def show_help(arguments: argparse.Namespace) -> int:
    from campaign.cli.arguments import check_verb, of_verb, parser

    top = parser(sandbox=True)
    if arguments.verb is not None:
        check_verb(arguments.verb)
        top = of_verb(top, arguments.verb)
    top.print_help()
    return OK


def run_sandbox(arguments: argparse.Namespace) -> int:
    from campaign.slurm.sandbox import command

    return command.main(arguments)
