"""The arguments of every verb, and their help."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from campaign import __version__
from campaign.cli import verbs

EPILOG = """exit status: 0 done; 1 finished, but a cell is missing, failed or invalid; 2 wrong usage or input;
3 the environment lacks something; 130 interrupted (jobs go on; 'campaign run' again re-attaches)

CELL is target/launch/files/operation with shell globs, as in 'scratch/node/*/*'"""


class VerbParser(argparse.ArgumentParser):
    """Says itself which of its words it does not know, above its own usage: the program's names verbs alone."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        known, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return known, unknown


class Option:
    """An argument, as argparse takes it."""

    def __init__(self, *names: str, **terms: Any) -> None:
        self.names, self.terms = names, terms


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb, with its options in the order of its help; of those in an inner tuple one at most may be given."""

    name: str
    function: Callable[[argparse.Namespace], int]
    help: str
    options: Sequence[Option | tuple[Option, ...]] = ()
    epilog: str | None = None


FILE = Option("file", type=Path, metavar="FILE", help="campaign file")
JSON = Option("--json", action="store_true", help="as JSON")
JUNIT = Option("--junit", type=Path, metavar="OUT", help="also write the findings to this file as JUnit XML, for CI")
OUT = Option("-o", "--output", type=Path, metavar="OUT", help="write to this file")
PACK = "crossroads-mdtest"


def directory(text: str, **terms: Any) -> Option:
    return Option("-o", "--output", type=Path, metavar="DIR", help=text, **terms)


def table_format(text: str) -> Option:
    return Option("--format", default="simple", metavar="F", help=text)


# fmt: off
VERBS = (
    Verb("init", verbs.init, "write a commented campaign file", [
        Option("--rules", default=PACK, metavar="ID", help="rule pack, or a path to one (default: %(default)s)"),
        Option("file", nargs="?", type=Path, default=Path("campaign.yaml"), metavar="FILE",
               help="new file (default: %(default)s)"),
    ]),
    Verb("build", verbs.build, "build the benchmark against this site's MPI", [
        Option("--mpicc", default="", metavar="CMD", help="MPI's compiler wrapper (default: $MPICC, otherwise mpicc)"),
        directory("directory for the binaries (default: where 'campaign run' looks for them)"),
    ]),
    Verb("plan", verbs.plan, "show runs, cells, geometry and command lines; submits nothing", [FILE, JSON]),
    Verb("run", verbs.run, "plan, submit what is missing, follow, collect, report; again = resume", [
        FILE,
        Option("--detach", action="store_true", help="submit and come back; 'campaign run' again re-attaches"),
        Option("--only", action="append", default=[], metavar="CELL", help="only these cells; may be given again"),
        Option("--sandbox", action="store_true", help="where no Slurm answers, start one on this machine and stop it"),
    ]),
    Verb("status", verbs.status, "each run with its state, attempt, job, and why it waits", [
        FILE,
        JSON,
        Option("--watch", action="store_true", help="again and again, until nothing is under way"),
    ]),
    Verb("rerun", verbs.rerun, "new attempts for these cells; older attempts are kept", [
        FILE,
        Option("cells", nargs="+", metavar="CELL", help="such as 'scratch/node/*/*'"),
        Option("--detach", action="store_true", help="submit and come back"),
    ]),
    Verb("cancel", verbs.cancel, "cancel this campaign's jobs", [FILE]),
    Verb("collect", verbs.collect, "import the raw outputs again; rebuilds a lost database", [FILE]),
    Verb("table", verbs.table, "the table of all cells", [
        FILE, table_format("any tabulate format, csv, json, xlsx"), OUT,
    ]),
    Verb("report", verbs.report, "tables, findings and plots in a directory, with a page that shows them all", [
        FILE, directory("directory (default: report in the results)"),
        Option("--pdf", action="store_true",
               help="also print the page to index.pdf, with an installed Chromium or Chrome"),
    ]),
    Verb("check", verbs.check, "judge the run rules over what was recorded, or over somebody else's table", [
        FILE,
        JSON,
        Option("--waiver", type=int, metavar="N",
               help="print the text of the campaign file's Nth waiver, which is to be signed"),
        Option("--rules", default=PACK, metavar="ID", help="rule pack for FILE as .csv, .xlsx or .json in the form "
               "of 'campaign table' (default: %(default)s)"),
        JUNIT,
    ]),
    Verb("compare", verbs.compare, "campaigns cell by cell: what differs, and whether it is real", [
        Option("campaigns", nargs="+", type=Path, metavar="CAMPAIGN", help="campaign file, its results, a bundle, or a "
               "table (.json, .csv, .xlsx); the others are compared with the first"),
        (
            Option("--tolerance", metavar="P%",
                   help="acceptance: the first is what was committed, and may be missed by up to P%%"),
            Option("--at-least", metavar="SHARE", help="the same by what has to be reached, such as 0.95"),
        ),
        Option("--reported", action="store_true",
               help="in an acceptance the reported numbers alone decide, without intervals"),
        Option("--map", action="append", default=[], metavar="NAME=OTHER",
               help="target NAME of the first is OTHER in others"),
        table_format("any tabulate format, csv, json"),
        OUT,
    ]),
    Verb("diff", verbs.diff, "what was changed in the benchmark's source: patch and report", [
        FILE, directory("write modifications.patch, .txt and .json there"),
    ]),
    Verb("bundle", verbs.bundle, "the evidence behind the tables, for somebody who does not trust the vendor", [
        FILE,
        directory("new directory, or a new .zip or .tar.gz", required=True),
        Option("--sign", type=Path, metavar="KEY", help="sign it with this SSH key (ssh-keygen -Y)"),
    ]),
    Verb("verify", verbs.verify, "judge a bundle again, offline, from its raw logs alone", [
        Option("bundle", type=Path, metavar="BUNDLE", help="directory, .zip or .tar.gz"),
        Option("--signers", type=Path, metavar="FILE", help="keys that are trusted, as ssh's allowed signers"),
        Option("--nonce", metavar="TEXT", help="that the buyer gave before the campaign began"),
        Option("--head", action="append", default=[], metavar="HASH",
               help="of the journal, as sent while the campaign ran"),
        JSON,
        JUNIT,
        directory("write the report, made again"),
    ]),
    Verb("rules", verbs.show_rules, "list the rule packs; show one with its clauses", [
        Option("id", nargs="?", metavar="ID", help="one of them, or a path to a pack (default: list all)"),
    ]),
    Verb("completion", verbs.completion, "print what a shell needs to complete commands", [
        Option("shell", choices=("bash", "zsh", "fish"), metavar="SHELL", help="bash, zsh or fish"),
    ], 'bash, zsh: eval "$(campaign completion bash)"    fish: campaign completion fish | source'),
    Verb("sandbox", verbs.run_sandbox, "a Slurm cluster of virtual nodes on this machine"),
)
# fmt: on


def parser(sandbox: bool) -> argparse.ArgumentParser:
    """`sandbox`: with that verb's own verbs and options, which take time to load."""
    top = argparse.ArgumentParser(
        prog="campaign",
        description="Run a procurement's benchmarks by its run rules on Slurm; hand in tables that can be checked.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"campaign {__version__}")
    all_verbs = top.add_subparsers(metavar="VERB", required=True, parser_class=VerbParser)
    for listed in VERBS:
        verb = all_verbs.add_parser(listed.name, help=listed.help, description=listed.help, epilog=listed.epilog)
        verb.set_defaults(do=listed.function)
        for each in listed.options:
            if isinstance(each, Option):
                verb.add_argument(*each.names, **each.terms)
            else:
                group = verb.add_mutually_exclusive_group()
                for exclusive in each:
                    group.add_argument(*exclusive.names, **exclusive.terms)
    if sandbox:
        from campaign.slurm.sandbox.command import add_arguments

        add_arguments(verb)
    return top
