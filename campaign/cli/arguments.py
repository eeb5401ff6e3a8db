"""The arguments of every verb, and their help."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from campaign import __version__
from campaign.cli import verbs

EPILOG = """exit status: 0 done; 1 finished, but a cell is missing, failed or invalid; 2 wrong usage or input;
3 the environment lacks something; 130 interrupted (jobs go on; 'campaign run' again re-attaches)

CELL is target/launch/files/operation with shell globs, as in 'scratch/node/*/*'"""


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
    all_verbs = top.add_subparsers(metavar="VERB", required=True, parser_class=Verb)

    verb = _verb(all_verbs, "init", verbs.init, "write a commented campaign file", file=False)
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

    verb = _verb(all_verbs, "build", verbs.build, "build the benchmark against this site's MPI", file=False)
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

    verb = _verb(all_verbs, "plan", verbs.plan, "show runs, cells, geometry and command lines; submits nothing")
    verb.add_argument("--json", action="store_true", help="as JSON")

    verb = _verb(all_verbs, "run", verbs.run, "plan, submit what is missing, follow, collect, report; again = resume")
    verb.add_argument("--detach", action="store_true", help="submit and come back; 'campaign run' again re-attaches")
    verb.add_argument(
        "--only", action="append", default=[], metavar="CELL", help="only these cells; may be given again"
    )
    verb.add_argument(
        "--sandbox", action="store_true", help="where no Slurm answers, start one on this machine and stop it"
    )

    verb = _verb(all_verbs, "status", verbs.status, "each run with its state, attempt, job, and why it waits")
    verb.add_argument("--json", action="store_true", help="as JSON")
    verb.add_argument("--watch", action="store_true", help="again and again, until nothing is under way")

    verb = _verb(all_verbs, "rerun", verbs.rerun, "new attempts for these cells; older attempts are kept")
    verb.add_argument("cells", nargs="+", metavar="CELL", help="such as 'scratch/node/*/*'")
    verb.add_argument("--detach", action="store_true", help="submit and come back")

    _verb(all_verbs, "cancel", verbs.cancel, "cancel this campaign's jobs")
    _verb(all_verbs, "collect", verbs.collect, "import the raw outputs again; rebuilds a lost database")

    verb = _verb(all_verbs, "table", verbs.table, "the table of all cells")
    verb.add_argument("--format", default="simple", metavar="F", help="any tabulate format, csv, json, xlsx")
    verb.add_argument("-o", "--output", type=Path, metavar="OUT", help="write to this file")

    verb = _verb(
        all_verbs, "report", verbs.report, "tables, findings and plots in a directory, with a page that shows them all"
    )
    verb.add_argument("-o", "--output", type=Path, metavar="DIR", help="directory (default: report in the results)")

    verb = _verb(
        all_verbs, "check", verbs.check, "judge the run rules over what was recorded, or over somebody else's table"
    )
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

    verb = _verb(
        all_verbs, "compare", verbs.compare, "campaigns cell by cell: what differs, and whether it is real", file=False
    )
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
    verb = _verb(all_verbs, "diff", verbs.diff, "what was changed in the benchmark's source: patch and report")
    verb.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="write modifications.patch, .txt and .json there"
    )

    verb = _verb(
        all_verbs, "bundle", verbs.bundle, "the evidence behind the tables, for somebody who does not trust the vendor"
    )
    verb.add_argument(
        "-o", "--output", type=Path, required=True, metavar="DIR", help="new directory, or a new .zip or .tar.gz"
    )
    verb.add_argument("--sign", type=Path, metavar="KEY", help="sign it with this SSH key (ssh-keygen -Y)")

    verb = _verb(
        all_verbs, "verify", verbs.verify, "judge a bundle again, offline, from its raw logs alone", file=False
    )
    verb.add_argument("bundle", type=Path, metavar="BUNDLE", help="directory, .zip or .tar.gz")
    verb.add_argument("--signers", type=Path, metavar="FILE", help="keys that are trusted, as ssh's allowed signers")
    verb.add_argument("--nonce", metavar="TEXT", help="that the buyer gave before the campaign began")
    verb.add_argument(
        "--head", action="append", default=[], metavar="HASH", help="of the journal, as sent while the campaign ran"
    )
    verb.add_argument("--json", action="store_true", help="as JSON")
    verb.add_argument("-o", "--output", type=Path, metavar="DIR", help="write the report, made again")

    verb = _verb(all_verbs, "rules", verbs.show_rules, "list the rule packs; show one with its clauses", file=False)
    verb.add_argument("id", nargs="?", metavar="ID", help="one of them, or a path to a pack (default: list all)")

    verb = _verb(all_verbs, "completion", verbs.completion, "print what a shell needs to complete commands", file=False)
    verb.add_argument("shell", choices=("bash", "zsh", "fish"), metavar="SHELL", help="bash, zsh or fish")
    verb.epilog = 'bash, zsh: eval "$(campaign completion bash)"    fish: campaign completion fish | source'

    verb = _verb(
        all_verbs, "sandbox", verbs.run_sandbox, "a Slurm cluster of virtual nodes on this machine", file=False
    )
    if sandbox:
        from campaign.slurm.sandbox.command import add_arguments

        add_arguments(verb)
    return top


def _verb(
    all_verbs: argparse._SubParsersAction[Verb],
    name: str,
    function: object,
    text: str,
    file: bool = True,
) -> argparse.ArgumentParser:
    verb: argparse.ArgumentParser = all_verbs.add_parser(name, help=text, description=text)
    verb.set_defaults(do=function)
    if file:
        verb.add_argument("file", type=Path, metavar="FILE", help="campaign file")
    return verb
