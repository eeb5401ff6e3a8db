"""The command line. Each verb loads what it needs and nothing else, so that help comes at once."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from campaign import __version__
from campaign.core.errors import ENVIRONMENT, INCOMPLETE, INTERRUPTED, OK, CampaignError, InputError

if TYPE_CHECKING:
    from campaign.cli.progress import Lines
    from campaign.config.rules.load import RulePack
    from campaign.pipeline.plan import Opened
    from campaign.results.cells import Row

EPILOG = """exit status: 0 done; 1 finished, but a cell is missing, failed or invalid; 2 wrong usage or input;
3 the environment lacks something; 130 interrupted (jobs go on; 'campaign run' again re-attaches)

CELL is target/launch/files/operation with shell globs, as in 'scratch/node/*/*'"""


def main(argv: Sequence[str] | None = None) -> int:
    if "_ARGCOMPLETE" in os.environ:  # a shell asks for completions
        from campaign.cli import completion as completions

        completions.answer(parser(sandbox=True))
    words = sys.argv[1:] if argv is None else list(argv)
    arguments = parser(sandbox=words[:1] == ["sandbox"]).parse_args(words)
    try:
        status: int = arguments.do(arguments)
        sys.stdout.flush()
        return status
    except CampaignError as error:
        print(f"campaign: {error}", file=sys.stderr)
        return error.exit_status
    except KeyboardInterrupt:
        print("campaign: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone, as in `campaign table | head`.
        sys.stderr.close()
        return OK
    except OSError as error:
        print(f"campaign: {error.filename or 'standard output'}: {error.strerror}", file=sys.stderr)
        with suppress(OSError):  # what is left in its buffer would only fail again
            sys.stdout.close()
        return ENVIRONMENT


class Verb(argparse.ArgumentParser):
    """Says itself which of its words it does not know, above its own usage: the program's names verbs alone."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown


def parser(sandbox: bool) -> argparse.ArgumentParser:
    """`sandbox`: with that verb's own verbs and options, which take time to load."""
    top = argparse.ArgumentParser(
        prog="campaign",
        description="Run a procurement's benchmarks by its run rules on Slurm; hand in tables that can be checked.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"campaign {__version__}")
    verbs = top.add_subparsers(metavar="VERB", required=True, parser_class=Verb)

    verb = _verb(verbs, "init", init, "write a commented campaign file", file=False)
    verb.add_argument(
        "--rules", default="crossroads-mdtest", metavar="ID", help="rule pack, or a path to one (default: %(default)s)"
    )
    verb.add_argument(
        "file",
        nargs="?",
        type=Path,
        default=Path("campaign.yaml"),
        metavar="FILE",
        help="new file (default: %(default)s)",
    )

    verb = _verb(verbs, "build", build, "build the benchmark against this site's MPI", file=False)
    verb.add_argument(
        "--mpicc", default="", metavar="CMD", help="MPI's compiler wrapper (default: $MPICC, otherwise mpicc)"
    )
    verb.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="DIR",
        help="directory for the binaries (default: where 'campaign run' looks for them)",
    )

    verb = _verb(verbs, "plan", plan, "show runs, cells, geometry and command lines; submits nothing")
    verb.add_argument("--json", action="store_true", help="as JSON")

    verb = _verb(verbs, "run", run, "plan, submit what is missing, follow, collect, report; again = resume")
    verb.add_argument("--detach", action="store_true", help="submit and come back; 'campaign run' again re-attaches")
    verb.add_argument(
        "--only", action="append", default=[], metavar="CELL", help="only these cells; may be given again"
    )
    verb.add_argument(
        "--sandbox", action="store_true", help="where no Slurm answers, start one on this machine and stop it"
    )

    verb = _verb(verbs, "status", status, "each run with its state, attempt, job, and why it waits")
    verb.add_argument("--json", action="store_true", help="as JSON")
    verb.add_argument("--watch", action="store_true", help="again and again, until nothing is under way")

    verb = _verb(verbs, "rerun", rerun, "new attempts for these cells; older attempts are kept")
    verb.add_argument("cells", nargs="+", metavar="CELL", help="such as 'scratch/node/*/*'")
    verb.add_argument("--detach", action="store_true", help="submit and come back")

    _verb(verbs, "cancel", cancel, "cancel this campaign's jobs")
    _verb(verbs, "collect", collect, "import the raw outputs again; rebuilds a lost database")

    verb = _verb(verbs, "table", table, "the table of all cells")
    verb.add_argument("--format", default="simple", metavar="F", help="any tabulate format, csv, json, xlsx")
    verb.add_argument("-o", "--output", type=Path, metavar="OUT", help="write to this file")

    verb = _verb(verbs, "report", report, "tables, findings and plots in a directory, with a page that shows them all")
    verb.add_argument("-o", "--output", type=Path, metavar="DIR", help="directory (default: report in the results)")

    verb = _verb(verbs, "check", check, "judge the run rules over what was recorded, or over somebody else's table")
    verb.add_argument("--json", action="store_true", help="as JSON")
    verb.add_argument(
        "--waiver",
        type=int,
        metavar="N",
        help="print the text of the campaign file's Nth waiver, which is to be signed",
    )
    verb.add_argument(
        "--rules",
        default="crossroads-mdtest",
        metavar="ID",
        help="rule pack for FILE.csv or FILE.json, a table in the form of 'campaign table' (default: %(default)s)",
    )

    verb = _verb(verbs, "compare", compare, "campaigns cell by cell: what differs, and whether it is real", file=False)
    verb.add_argument(
        "campaigns",
        nargs="+",
        type=Path,
        metavar="CAMPAIGN",
        help="campaign file, its results, a bundle, or a table as JSON; the others are compared with the first",
    )
    share = verb.add_mutually_exclusive_group()
    share.add_argument(
        "--tolerance", metavar="P%", help="acceptance: the first is what was committed, and may be missed by up to P%%"
    )
    share.add_argument("--at-least", metavar="SHARE", help="the same by what has to be reached, such as 0.95")
    verb.add_argument(
        "--reported", action="store_true", help="in an acceptance the reported numbers alone decide, without intervals"
    )
    verb.add_argument(
        "--map", action="append", default=[], metavar="NAME=OTHER", help="target NAME of the first is OTHER in others"
    )
    verb.add_argument("--format", default="simple", metavar="F", help="any tabulate format, csv, json")
    verb.add_argument("-o", "--output", type=Path, metavar="OUT", help="write to this file")
    verb = _verb(verbs, "diff", diff, "what was changed in the benchmark's source: patch and report")
    verb.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="write modifications.patch, .txt and .json there"
    )

    verb = _verb(verbs, "bundle", bundle, "the evidence behind the tables, for somebody who does not trust the vendor")
    verb.add_argument(
        "-o", "--output", type=Path, required=True, metavar="DIR", help="new directory, or a new .zip or .tar.gz"
    )
    verb.add_argument("--sign", type=Path, metavar="KEY", help="sign it with this SSH key (ssh-keygen -Y)")

    verb = _verb(verbs, "verify", verify, "judge a bundle again, offline, from its raw logs alone", file=False)
    verb.add_argument("bundle", type=Path, metavar="BUNDLE", help="directory, .zip or .tar.gz")
    verb.add_argument("--signers", type=Path, metavar="FILE", help="keys that are trusted, as ssh's allowed signers")
    verb.add_argument("--nonce", metavar="TEXT", help="that the buyer gave before the campaign began")
    verb.add_argument(
        "--head", action="append", default=[], metavar="HASH", help="of the journal, as sent while the campaign ran"
    )
    verb.add_argument("--json", action="store_true", help="as JSON")
    verb.add_argument("-o", "--output", type=Path, metavar="DIR", help="write the report, made again")

    verb = _verb(verbs, "rules", show_rules, "list the rule packs; show one with its clauses", file=False)
    verb.add_argument("id", nargs="?", metavar="ID", help="one of them, or a path to a pack (default: list all)")

    verb = _verb(verbs, "completion", completion, "print what a shell needs to complete commands", file=False)
    verb.add_argument("shell", choices=("bash", "zsh", "fish"), metavar="SHELL", help="bash, zsh or fish")
    verb.epilog = 'bash, zsh: eval "$(campaign completion bash)"    fish: campaign completion fish | source'

    verb = _verb(verbs, "sandbox", run_sandbox, "a Slurm cluster of virtual nodes on this machine", file=False)
    if sandbox:
        from campaign.slurm.sandbox.command import add_arguments

        add_arguments(verb)
    return top


def _verb(
    verbs: argparse._SubParsersAction[Verb],
    name: str,
    function: object,
    text: str,
    file: bool = True,
) -> argparse.ArgumentParser:
    verb: argparse.ArgumentParser = verbs.add_parser(name, help=text, description=text)
    verb.set_defaults(do=function)
    if file:
        verb.add_argument("file", type=Path, metavar="FILE", help="campaign file")
    return verb


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _load(arguments: argparse.Namespace) -> Opened:
    from campaign.pipeline import plan as planning

    return planning.load(arguments.file)


# --- verbs


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
    from campaign.pipeline import run as pipeline
    from campaign.report import text as views

    opened = _load(arguments)
    planned = planning.plan(opened)
    if arguments.json:
        print(json.dumps(planning.plan_json(opened, planned), indent=1))
    else:
        print(views.plan_text(opened, planned, pipeline.attempts(opened)))
    if lacking := planning.not_built(opened):
        _say(f"note: {lacking}")
    return OK


def run(arguments: argparse.Namespace) -> int:
    if not arguments.sandbox:
        return _run(arguments, arguments.only, again=False)
    with _cluster():
        return _run(arguments, arguments.only, again=False)


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
    return _run(arguments, arguments.cells, again=True)


def _run(arguments: argparse.Namespace, cells: Sequence[str], again: bool) -> int:
    from campaign.cli import progress
    from campaign.pipeline import run as pipeline

    opened = _load(arguments)
    shown: Lines = progress.display()
    try:
        rows = pipeline.run(opened, shown.say, shown.show, cells, again, arguments.detach)
    except KeyboardInterrupt:
        shown.close()
        _say(
            f"campaign: detached; the jobs go on. 'campaign run {arguments.file}' re-attaches, "
            f"'campaign cancel {arguments.file}' ends them"
        )
        return INTERRUPTED
    finally:
        shown.close()
    if arguments.detach:
        print(f"submitted; 'campaign status {arguments.file}' looks, 'campaign run {arguments.file}' re-attaches")
        return OK
    if not cells:
        _print_table(opened, rows, "simple")
    else:
        _print_cells(rows)
    print(f"results: {opened.paths.root}")
    return _verdict(rows)


def _print_table(opened: Opened, rows: Sequence[Row], style: str) -> None:
    from campaign.report import table as tables

    print(tables.printed(rows, opened.campaign, opened.pack, style))
    count = {status: sum(row.status == status for row in rows) for status in dict.fromkeys(r.status for r in rows)}
    print(f"{len(rows)} cells: " + ", ".join(f"{number} {status}" for status, number in count.items()))


def _print_cells(rows: Sequence[Row]) -> None:
    for row in rows:
        if row.value is not None:
            said = f"{row.status} {row.value:.3f} {row.unit}"
        else:  # an attempt's reason may begin with its state
            said = row.note if row.note.startswith(f"{row.status}:") else f"{row.status}: {row.note}"
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

    from campaign.pipeline import run as pipeline
    from campaign.report import text as views

    opened = _load(arguments)
    while True:
        found = pipeline.current(opened, _say)
        states = views.states(found.plan, found.attempts)
        if arguments.json:
            print(json.dumps(states, indent=1))
        else:
            print(views.states_text(states))
        if not arguments.watch or not any(state["active"] for state in states):
            return OK
        time.sleep(2)


def cancel(arguments: argparse.Namespace) -> int:
    from campaign.pipeline import run as pipeline

    number = pipeline.cancel(_load(arguments), _say)
    print(f"{number} job{'' if number == 1 else 's'} cancelled")
    return OK


def collect(arguments: argparse.Namespace) -> int:
    from campaign.pipeline import run as pipeline

    opened = _load(arguments)
    print(f"{pipeline.collect_and_catch_up(opened, _say)} attempts imported from {opened.paths.root}")
    return OK


def table(arguments: argparse.Namespace) -> int:
    from campaign.pipeline import run as pipeline
    from campaign.report import table as tables

    opened = _load(arguments)
    found = pipeline.current(opened, _say)
    rows = found.rows
    if arguments.format == "xlsx":
        from campaign.report import text as views
        from campaign.report.workbook.write import write_workbook

        if arguments.output is None:
            raise InputError("--format xlsx needs -o OUT: it is not text")
        write_workbook(arguments.output, views.contents(opened, found))
        return _verdict(rows)
    if arguments.format == "json":
        text = tables.as_json(rows)
    elif arguments.format == "csv":
        text = tables.as_csv(rows)
    else:
        text = tables.printed(rows, opened.campaign, opened.pack, arguments.format) + "\n"
    if arguments.output:
        arguments.output.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return _verdict(rows)


def report(arguments: argparse.Namespace) -> int:
    from campaign.pipeline import run as pipeline
    from campaign.report import text as views
    from campaign.report.write import write_report
    from campaign.results.source import modifications
    from campaign.results.source import record as sources

    opened = _load(arguments)
    pipeline.look_at_sources(opened, _say)
    found = pipeline.current(opened, _say)
    directory = arguments.output or opened.paths.report
    page = write_report(directory, views.contents(opened, found))
    modifications.write(directory, found.sources, sources.patch_of(opened.paths))
    print(f"wrote {page}")
    return _verdict(found.rows)


def check(arguments: argparse.Namespace) -> int:
    from campaign.judge import foreign
    from campaign.pipeline import run as pipeline
    from campaign.report import text as views

    if foreign.is_table(arguments.file):
        return _check_table(arguments)
    opened = _load(arguments)
    if arguments.waiver is not None:
        return _print_waiver(opened, arguments.waiver)
    if opened.paths.journal.exists():
        # Judged is what lies there, not what an index says of it.
        pipeline.collect(opened)
        pipeline.look_at_sources(opened, _say)
    found = pipeline.current(opened, _say)
    findings = views.findings(opened.pack, found.rows, found.findings)
    return _print_findings(arguments.json, findings, found.rows, opened.pack)


def compare(arguments: argparse.Namespace) -> int:
    from campaign.report.compare import campaigns

    terms = campaigns.parse_terms(arguments.tolerance, arguments.at_least, arguments.reported)
    found = campaigns.compare(arguments.campaigns, terms, campaigns.parse_targets(arguments.map))
    text = campaigns.as_text(found, arguments.format)
    if arguments.output:
        arguments.output.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return OK if found.passed else INCOMPLETE


def diff(arguments: argparse.Namespace) -> int:
    from campaign.pipeline import run as pipeline
    from campaign.report import text as views
    from campaign.results.source import modifications
    from campaign.results.source import record as sources

    opened = pipeline.with_source_rules(_load(arguments))
    compared = sources.compare(opened.campaign)
    begun = opened.paths.journal.exists()
    if begun:
        sources.keep(opened.paths, compared)
    found = sources.recorded(opened.paths) if begun else sources.planned(opened.campaign, compared)
    if arguments.output:
        modifications.write(arguments.output, found, compared.patch)
    print(modifications.text(found))
    standing = pipeline.current(opened, _say, found)
    findings = [
        one for one in views.findings(opened.pack, standing.rows, standing.findings) if one["rule"].startswith("SRC-")
    ]
    if findings:
        print("\n" + views.findings_text(findings))
    return INCOMPLETE if any(one["severity"] == "E" and not one["waived"] for one in findings) else OK


def _print_findings(as_json: bool, findings: Sequence[dict[str, Any]], rows: Sequence[Row], pack: RulePack) -> int:
    """Print them; gives the exit status: a rule about the campaign that is broken is as much as one about a cell."""
    from campaign.report import text as views

    print(json.dumps(findings, indent=1) if as_json else views.findings_text(findings, rows, pack))
    broken = any(one["checked"] and one["severity"] == "E" and not one["waived"] for one in findings)
    return INCOMPLETE if broken else _verdict(rows)


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
    from campaign.report import text as views

    whole = foreign.read(arguments.file, arguments.rules)
    found = judge_table(whole)
    rows = with_findings(whole.rows, found)
    findings = views.findings(whole.pack, rows, found)
    return _print_findings(arguments.json, findings, rows, whole.pack)


def bundle(arguments: argparse.Namespace) -> int:
    from campaign.evidence import bundle as bundles
    from campaign.pipeline import plan as planning
    from campaign.pipeline import run as pipeline

    opened, names = bundles.open_recorded(arguments.file)
    if opened.paths.journal.exists():
        pipeline.collect(opened)
        pipeline.look_at_sources(opened, _say)
    found = pipeline.current(opened, _say)
    if opened.paths.journal.exists():
        planning.write(opened, found.plan)
    written = bundles.write(opened, names, found, arguments.output, arguments.sign)
    left = f", {written.left_out} more are in its index" if written.left_out else ""
    print(f"wrote {written.path}: {written.files} files, {written.attempts} attempts{left}")
    print(f"journal: {written.head}")
    print(f"verify:  campaign verify {written.path}")
    return _verdict(written.judged.standing.rows)


def verify(arguments: argparse.Namespace) -> int:
    from campaign.evidence import verify
    from campaign.report import text as views
    from campaign.report.write import write_report

    asked = verify.Asked(arguments.signers, arguments.nonce, tuple(arguments.head))
    with verify.verify(arguments.bundle, asked) as found:
        judged = found.judged
        if arguments.json:
            print(json.dumps(verify.as_json(found), indent=1))
        else:
            print(verify.as_text(found))
            if judged is not None:
                print()
                sys.stdout.write(judged.files["tables/table.txt"])
            print(verify.conclusion(found))
        if arguments.output and judged is not None:
            print(f"wrote {write_report(arguments.output, views.contents(judged.opened, judged.standing))}")
    return OK if found.complies else INCOMPLETE


def show_rules(arguments: argparse.Namespace) -> int:
    from campaign.config.rules import load as rules

    print(rules.text(rules.load(arguments.id)) if arguments.id else rules.listing(rules.available()))
    return OK


def completion(arguments: argparse.Namespace) -> int:
    from campaign.cli import completion as completions

    sys.stdout.write(completions.script(arguments.shell))
    return OK


def run_sandbox(arguments: argparse.Namespace) -> int:
    from campaign.slurm.sandbox import command

    status: int = command.main(arguments)
    return status
