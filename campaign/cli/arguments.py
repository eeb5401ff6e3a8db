"""The arguments of every verb, and their help."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from campaign import __version__
from campaign.cli.parsing import Help, Option, Parser, Verb, VerbParser, add_verb
from campaign.core.errors import InputError

EPILOG = """exit status:
0    all results valid
1    finished, but results are missing, failed or invalid; check and verify: or a rule about the campaign is violated
2    wrong usage or input
3    the environment lacks something
4    verify, accept, terms accept: nothing wrong found, but something is open or unproven
5    verify: as 4, for a rehearsal
130  interrupted (submitted jobs go on; 'campaign run' again continues)

--color auto, always or never, of every verb: auto, the default, colours texts on a terminal, without NO_COLOR.

An output that exists is overwritten only with --force, and a file that the command reads never; - is standard output.

CELL is target/launch/files/operation; * matches any text: 'scratch/node/*/*'"""

RESULTS_ONLY = """
Rules about the entire campaign do not change it: 'campaign check' gives 1 where one of these is violated too."""
RESULTS_STATUS = f"""exit status:
0  all results valid
1  results are missing, failed or invalid{RESULTS_ONLY}"""

STATUS_STATUS = f"""exit status:
0  all results valid
1  results are missing, failed or invalid, or jobs are under way{RESULTS_ONLY}"""

FILL_STATUS = """exit status:
0  every marked or mapped cell is filled
1  a cell is left empty, since it has no valid result"""

CHECK_STATUS = """exit status:
0  all results valid, and no rule violated, except for waived violations
1  a rule is violated, or results are missing or failed"""

VERIFY_STATUS = """exit status:
0  consistent, all rules kept, and everything accepted by --terms
1  altered, contradictory, in violation of a rule, or incomplete; or --table is not the bundle's
2  wrong usage, or not a bundle
4  nothing wrong found, but something is unproven, open, or not accepted by --terms
5  as 4, for a rehearsal, which is never compliant"""


TERMS_STATUS = """exit status:
0  written; of accept: no decision is open
1  of accept: records contradict each other, which no terms accept
2  wrong usage
4  of accept: decisions are open

Without --decision and --all-of it asks for each on the terminal, and otherwise lists them."""

COMPARE_STATUS = """exit status:
0  every result was tested and none is worse; of an acceptance test: all commitments are reached
1  a result is worse, lacks a value or cannot be tested; or an offer lacks a part"""

ACCEPT_STATUS = """exit status:
0  accepted
1  rejected: a drawn cell is below the limit, or this is not a measurement of the sample
2  wrong usage, or not a challenge of this bundle
4  undecided: a cell was not measured or is invalid, a difference needs your word, or more repetitions are needed"""


FILE = Option("file", type=Path, metavar="FILE", help="campaign file")
PART = Option("--part", default="", metavar="PART", help="only this part of a campaign file that answers an RFP")
OF_BUNDLE = Option("--part", default="", metavar="PART", help="only this part of a bundle that answers an RFP")
OWN_PACK = Option(
    "--rules", metavar="PACK",
    help="re-evaluate with this rule pack, an id or a path (default: the installed pack with the bundle's id)",
)  # fmt: skip
OWN_RFP = Option("--rfp", type=Path, metavar="RFP", help="your own copy of the RFP that the bundle answers")
JSON = Option("--json", action="store_true", help="print JSON")
DOCUMENT = Option(
    "--json", action="store_const", const=Path("-"), writes="document", help="print JSON, and texts on standard error"
)
JUNIT = Option(
    "--junit",
    type=Path,
    metavar="OUT",
    writes="file",
    per_part=True,
    help="also write the findings to this file as JUnit XML, for CI",
)
OUT = Option("-o", "--output", type=Path, metavar="OUT", writes="printed", help="write to this file")
OUT_OF_PARTS = Option(
    "-o", "--output", type=Path, metavar="OUT", writes="printed", per_part=True, help="write to this file"
)
FORCE = Option("--force", action="store_true", help="overwrite outputs that exist")
DECIMAL = Option(
    "--decimal",
    choices=(".", ","),
    default=".",
    metavar="C",
    help="of CSV: with a comma, numbers have decimal commas, and semicolons separate the fields",
)
AT_LEAST = Option(
    "--at-least", metavar="SHARE", help="share of the committed value to reach (default: the one of the design)"
)
WAIVER_SIGNERS = Option(
    "--waiver-signers",
    type=Path,
    metavar="FILE",
    help="public keys of those who may grant waivers (same format); without it waivers have no effect",
)
SACCT = Option(
    "--sacct",
    type=Path,
    metavar="FILE",
    help="Slurm's accounting as you have it, with which every job is compared; docs/evidence.md has the command that "
    "writes it",
)
SIGNERS = Option("--signers", type=Path, metavar="FILE", help="trusted public keys (format of ssh's allowed_signers)")
MAPPING = Option(
    "--mapping", type=Path, metavar="MAP", help="which cells of a form have which results (docs/forms.md), or an RFP"
)
OF_PART = Option("--part", dest="of_part", default="", metavar="PART", help="compare only this part of an RFP")
OF_SANDBOX = Option(
    "--dir",
    metavar="DIR",
    help="its directory (default: campaign-sandbox in $XDG_RUNTIME_DIR, or else in the cache directory, ~/.cache)",
)
PACK = "crossroads-mdtest"


def directory(text: str, **terms: Any) -> Option:
    return Option("-o", "--output", type=Path, metavar="DIR", help=text, **{"writes": "directory", **terms})


def table_format(text: str) -> Option:
    return Option("--format", metavar="F", help=f"{text} (default: as OUT is named, such as .csv, otherwise simple)")


# fmt: off
# Options of the verbs that submit jobs.
UNDER_WAY = (
    Option("--detach", action="store_true", help="submit and return at once; 'campaign run' again follows the jobs"),
    (
        Option("--fail-fast", dest="keep_going", action="store_false", default=False,
               help="if the first two jobs fail with the same cause, cancel this campaign's jobs (default)"),
        Option("--keep-going", action="store_true", help="go on even if the first two jobs fail with the same cause"),
    ),
    Option("--despite-violations", action="store_true",
           help="at full size: also measure what 'campaign plan' says will violate a rule"),
    Option("--max-node-hours", metavar="N",
           help="submit no job that could raise the campaign above N node-hours (used so far plus nodes x time limit)"),
    Option("--notify", metavar="CMD",
           help="shell command to run when the campaign ends or stops; it gets the outcome on stdin, and in "
                "CAMPAIGN_NAME and CAMPAIGN_STATUS"),
    Option("--max-jobs", default="1000", metavar="N",
           help="keep at most N jobs of this campaign in the queue; the others are submitted later (default: "
                "%(default)s)"),
    (
        Option("-v", "--verbose", action="store_true", help="print every change of a run's state"),
        Option("-q", "--quiet", action="store_true", help="print failures and the results only"),
    ),
    DOCUMENT,
)
VERBS = (
    Verb("init", "verbs", "write a commented campaign file",
         "campaign init my-rfp.yaml", [
        Option("--rules", default=PACK, metavar="ID", help="rule pack, or a path to one (default: %(default)s)"),
        Option("file", nargs="?", type=Path, default=Path("campaign.yaml"), metavar="FILE", writes="file",
               help="new file (default: %(default)s); - prints it"),
        FORCE,
    ]),
    Verb("build", "verbs", "compile the benchmark with this site's MPI",
         "campaign build --mpicc mpicc", [
        Option("--mpicc", default="", metavar="CMD", help="MPI's compiler wrapper (default: $MPICC, otherwise mpicc)"),
        directory("directory for the binaries (default: where 'campaign run' looks for them)", writes="build"),
        FORCE,
    ]),
    Verb("plan", "running",
         "check the campaign against the cluster and show runs, results and command lines; submits nothing",
         "campaign plan my-rfp.yaml", [
        FILE,
        PART,
        JSON,
        Option("--probe", action="store_true", help="submit a short job that checks directories, modules and the "
               "benchmark on each node"),
        Option("--scripts", type=Path, metavar="DIR", writes="directory",
               help="write the job scripts that 'campaign run' would submit"),
        FORCE,
    ]),
    Verb("run", "running", "submit missing runs, wait for them, print the tables; run it again to resume",
         "campaign run my-rfp.yaml", [
        FILE,
        PART,
        Option("--only", action="append", default=[], metavar="CELL", help="only these results: cells, or a status "
               "(failed, invalid or missing); repeatable"),
        Option("--failed", action="store_true", help="the same as --only failed"),
        *UNDER_WAY,
        Option("--sandbox", action="store_true",
               help="if no Slurm answers, start a sandbox on this machine and stop it at the end"),
        Option("--storage", default="", metavar="KIND", help="with --sandbox: its network file system, such as "
               "gluster,bricks=2; see 'campaign sandbox start --help'"),
    ], RESULTS_STATUS),
    Verb("status", "running", "list all runs: state, attempt, job, reason for waiting",
         "campaign status my-rfp.yaml --watch", [
        FILE,
        PART,
        JSON,
        Option("--watch", action="store_true", help="show it until all jobs have ended: redrawn on a terminal, "
               "elsewhere printed again at each change"),
    ], STATUS_STATUS),
    Verb("rerun", "running", "measure these results again; earlier attempts are kept",
         "campaign rerun my-rfp.yaml 'scratch/node/*/stat'", [
        FILE,
        PART,
        Option("cells", nargs="+", metavar="CELL", help="such as 'scratch/node/*/*'"),
        *UNDER_WAY,
    ], RESULTS_STATUS),
    Verb("cancel", "running", "cancel this campaign's jobs and end a run under way",
         "campaign cancel my-rfp.yaml", [FILE, PART]),
    Verb("collect", "running", "read all raw outputs again; rebuilds a lost database",
         "campaign collect my-rfp.yaml", [
        FILE,
        PART,
        Option("--recover", action="store_true", help="first recover a damaged journal: keep the lines that the rest "
               "of it proves, and record what is lost; the damaged file is kept as evidence"),
    ]),
    Verb("table", "results", "print the result table",
         "campaign table my-rfp.yaml -o response.xlsx", [
        FILE,
        PART,
        table_format("csv, json, xlsx, or a tabulate format such as simple, github, latex_booktabs, html"),
        DECIMAL,
        OUT_OF_PARTS,
        FORCE,
        Option("--details", action="store_true", help="also print the notes, and what was not checked"),
        Option("--combined", action="store_true", help="also print a table with the targets side by side"),
        Option("--clauses", action="store_true",
               help="the compliance matrix: each clause of the RFP with its answer, evidence and state"),
    ], RESULTS_STATUS),
    Verb("report", "results", "write tables, findings and plots, with an HTML page that shows all of them",
         "campaign report my-rfp.yaml -o report", [
        FILE, PART, directory("directory (default: report in the results)"), FORCE, DOCUMENT,
        Option("--pdf", action="store_true",
               help="also print the page to index.pdf, with an installed Chromium or Chrome"),
    ], RESULTS_STATUS),
    Verb("fill", "results", "fill the results into the buyer's form; RESPONSE.origins.csv says where each is from",
         "campaign fill my-rfp.yaml FORM.xlsx -o filled.xlsx", [
        FILE,
        Option("form", type=Path, metavar="FORM", help="the buyer's form (.xlsx, .csv or .docx), with cells that are "
               "marked as in {{ scratch/peak/shared/stat }} or mapped"),
        Option("-o", "--output", type=Path, metavar="RESPONSE", writes="file", required=True, help="the filled form"),
        FORCE,
        MAPPING,
        Option("--decimal", choices=(".", ","), default=".", metavar="C", help="decimal sign of the numbers (a comma: "
               "in DOCX, and in CSV with semicolons or tabs)"),
        DOCUMENT,
    ], FILL_STATUS),
    Verb("check", "results", "check the results, or another party's table, against the run rules",
         "campaign check my-rfp.yaml", [
        FILE,
        PART,
        JSON,
        Option("--waiver", type=int, metavar="N",
               help="print the text to sign for the campaign file's Nth waiver"),
        Option("--details", action="store_true", help="also print notes, all values found, and why rules matter"),
        Option("--rules", default=PACK, metavar="ID", help="rule pack if FILE is a table (.csv, .xlsx or .json as "
               "'campaign table' writes it; default: %(default)s)"),
        MAPPING,
        JUNIT,
        FORCE,
    ], CHECK_STATUS),
    Verb("compare", "results", "cell-by-cell comparison with statistical significance",
         "campaign compare offer-a.zip offer-b.zip offer-c.zip", [
        Option("campaigns", nargs="+", type=Path, metavar="CAMPAIGN", help="campaign file, results directory, "
               "bundle, or table (.json, .csv, .xlsx); all are compared with the first"),
        (
            Option("--tolerance", metavar="P%",
                   help="acceptance test: the first holds the committed values; allowed shortfall P%%"),
            Option("--at-least", metavar="SHARE",
                   help="acceptance test: share of the committed values to reach, such as 0.95"),
        ),
        Option("--reported", action="store_true",
               help="acceptance test on the reported values only, without confidence intervals"),
        Option("--day", metavar="FACTOR", help="the most by which two days of one system may differ (default: 2): "
               "larger differences count, though measured on different days"),
        Option("--map", action="append", default=[], metavar="NAME=OTHER",
               help="target NAME of the first campaign is called OTHER in the others"),
        Option("--unequal", action="store_true", help="compare other rules and profiles too, and give means also of "
               "offers of other size, rules or operations"),
        Option("--force", action="store_true", help="overwrite outputs that exist; also the same as --unequal"),
        MAPPING,
        OF_PART,
        Option("--rules", default=PACK, metavar="ID", help="with --mapping: rule pack of the forms (default: "
               "%(default)s)"),
        table_format("csv, json, a tabulate format such as simple or github; the board's page: html, pdf or xlsx"),
        Option("--terms", type=Path, metavar="TERMS", help="your terms, by which the board's page verifies bundles"),
        DECIMAL,
        OUT,
    ], COMPARE_STATUS),
    Verb("modifications", "results", "source changes against the published benchmark: patch and report",
         "campaign modifications my-rfp.yaml -o changes", [
        FILE, PART, directory("write modifications.patch, .txt and .json to this directory"), FORCE,
    ], aliases=("diff",)),
    Verb("bundle", "bundles", "pack tables, logs and scripts so that the buyer can verify every number",
         "campaign bundle my-rfp.yaml -o my-rfp.zip --sign ~/.ssh/id_ed25519", [
        FILE,
        PART,
        directory("new directory, .zip or .tar.gz", writes="bundle", required=True),
        Option("--force", action="store_true", help="overwrite a .zip or .tar.gz that exists"),
        Option("--sign", type=Path, metavar="KEY", help="sign it with this SSH key (ssh-keygen -Y)"),
        DOCUMENT,
    ], RESULTS_STATUS),
    Verb("head", "bundles", "print the journal's head, a hash over all outputs so far, to send to the buyer",
         "campaign head my-rfp.yaml", [
        FILE,
        PART,
        JSON,
        Option("--query", type=Path, metavar="OUT", writes="file", per_part=True,
               help="also write a time-stamp request (RFC 3161) to send to a public authority"),
        FORCE,
    ]),
    Verb("verify", "bundles", "re-evaluate a bundle offline from its raw logs",
         "campaign verify my-rfp.zip --terms terms.yaml", [
        Option("bundle", type=Path, metavar="BUNDLE", help="directory, .zip or .tar.gz"),
        OF_BUNDLE,
        SIGNERS,
        Option("--nonce", metavar="TEXT", help="nonce the buyer issued before the campaign"),
        Option("--head", action="append", default=[], metavar="HASH",
               help="journal head the vendor sent during the campaign; repeatable"),
        Option("--timestamp", action="append", type=Path, default=[], metavar="TSR",
               help="time stamp of a journal head or of the bundle (RFC 3161); repeatable, with --authority"),
        Option("--authority", type=Path, metavar="PEM", help="certificates of the authority that made the time stamps"),
        SACCT,
        OWN_PACK,
        Option("--terms", type=Path, metavar="TERMS", help="your terms: rules, keys, proof, and what you accept by "
               "name (campaign terms init); without them the status is never 0"),
        OWN_RFP,
        WAIVER_SIGNERS,
        Option("--table", type=Path, metavar="FILE", help="also compare this table (.csv, .xlsx, .json), page (.html) "
               "or filled form (with --mapping) with the bundle, cell by cell"),
        MAPPING,
        JSON,
        JUNIT,
        Option("--details", action="store_true", help="also print the checks that hold, all findings, and the table"),
        directory("write the report of the re-evaluation to this directory"),
        FORCE,
    ], VERIFY_STATUS),
    Verb("terms", "bundles", "your terms for offers: write new ones, or accept what is open in a bundle",
         "campaign terms init terms.yaml", [
        Option("--rules", default=PACK, help=argparse.SUPPRESS),  # of `init`, before it
    ], TERMS_STATUS, verbs=[
        Verb("init", "bundles", "write new terms for verifying offers by a rule pack or an RFP",
             "campaign terms init terms.yaml --rules crossroads-mdtest", [
            Option("file", nargs="?", type=Path, default=Path("terms.yaml"), metavar="FILE", writes="file",
                   help="new file (default: %(default)s); - prints it"),
            Option("--rules", default=argparse.SUPPRESS, metavar="ID",
                   help=f"rule pack, or a path to one or to an RFP (default: {PACK})"),
            FORCE,
        ]),
        Verb("accept", "bundles", "show each open decision of a bundle, and add those that you accept to your terms",
             "campaign terms accept my-rfp.zip terms.yaml", [
            Option("bundle", type=Path, metavar="BUNDLE", help="directory, .zip or .tar.gz"),
            Option("terms", nargs="?", type=Path, default=Path("terms.yaml"), metavar="TERMS",
                   help="your terms, in which the entries are written (default: %(default)s)"),
            OF_BUNDLE,
            Option("--decision", action="append", default=[], metavar="ID",
                   help="accept this decision without asking, by the id that 'campaign verify' prints; repeatable"),
            Option("--all-of", action="append", default=[], metavar="RULE",
                   help="accept all decisions of this rule without asking; repeatable"),
            Option("--by", default="", metavar="NAME", help="who accepts (default: asked on the terminal)"),
            Option("--reason", default="", metavar="TEXT", help="why, with --decision and --all-of"),
            SACCT,
            JSON,
        ], TERMS_STATUS),
    ]),
    Verb("sample", "bundles", "draw random cells from a bundle, to be measured again on the installed system",
         "campaign sample my-rfp.zip --seed lottery-2026-11-28 -o sample.yaml", [
        Option("bundle", type=Path, metavar="BUNDLE", help="directory, .zip or .tar.gz"),
        OF_BUNDLE,
        Option("--honest", default="5%", metavar="P%", help="how many honest vendors may be rejected (default: "
               "%(default)s)".replace("5%", "5%%")),
        Option("--catch", default="15%,25%,90%", metavar="I%,S%,P%", help="of vendors who inflate the share S of their "
               "results by I, at least P are rejected"),
        Option("--cells", type=int, default=0, metavar="N", help="insist on so many cells (default: what the "
               "design needs)"),
        Option("--repetitions", type=int, default=0, metavar="N", help="insist on so many repetitions (default: "
               "what the design needs)"),
        Option("--sessions", type=int, default=0, metavar="N", help="insist on so many sessions, of different days, in "
               "which these are measured (default: what the design needs)"),
        Option("--seed", required=True, metavar="TEXT", help="seed of the drawing: publish its hash before the "
               "bundle is submitted, and the seed afterwards"),
        AT_LEAST,
        OWN_PACK,
        OWN_RFP,
        SIGNERS,
        WAIVER_SIGNERS,
        Option("-o", "--output", type=Path, required=True, metavar="OUT", writes="file", per_part=True,
               help="new campaign file of the sample"),
        FORCE,
        DOCUMENT,
    ]),
    Verb("accept", "bundles", "compare the measured sample with the bundle (drawn cells only)",
         "campaign accept my-rfp.zip sample.yaml", [
        Option("bundle", type=Path, metavar="BUNDLE", help="directory, .zip or .tar.gz"),
        OF_BUNDLE,
        Option("challenge", type=Path, metavar="CHALLENGE",
               help="campaign file written by 'campaign sample' and measured with 'campaign run'"),
        AT_LEAST,
        OWN_PACK,
        OWN_RFP,
        SIGNERS,
        WAIVER_SIGNERS,
        Option("--reported", action="store_true", help="compare the reported values instead of all repetitions; the "
               "design's error rates are not those of this comparison"),
        Option("--allow", action="append", default=[], metavar="KEY", help="accept a difference between bundle and "
               "sample by its key, such as slurm.partition, or a pattern such as 'library.*'; repeatable"),
        Option("--further", action="store_true", help="write the further repetitions that would decide into the "
               "challenge; 'campaign run' measures them"),
        table_format("csv, json, or a tabulate format such as simple, github, html"),
        DECIMAL,
        OUT,
        FORCE,
    ], ACCEPT_STATUS),
    Verb("rebuild", "bundles", "build the benchmark again from a bundle's source and compare the binaries",
         "campaign rebuild my-rfp.zip", [
        Option("bundle", type=Path, metavar="BUNDLE", help="directory, .zip or .tar.gz"),
        OF_BUNDLE,
        Option("--mpicc", default="", metavar="CMD", help="MPI's compiler wrapper (default: $MPICC, otherwise mpicc)"),
        Option("--cflags", default="", metavar="FLAGS", help="flags for the compiler, such as the recorded ones"),
        Option("--foreign-source", action="store_true", help="also build a source that is not that of your version: "
               "its Makefile runs on this machine"),
        JSON,
    ]),
    Verb("rules", "verbs", "list the rule packs; show one with its clauses",
         "campaign rules crossroads-mdtest", [
        Option("id", nargs="?", metavar="ID", help="id of a rule pack, or a path to one or an RFP (default: list all)"),
        Option("other", nargs="?", metavar="OTHER", help="a later version: what changed, and which results count"),
        Option("--test", nargs="+", metavar=("PACK", "LOG"),
               help="show what the pack reads from outputs: each number with its line, and every unrecognised line"),
        Option("--clauses", action="store_true", help="list the clauses of ID and how each is accounted for"),
        Option("--facts", action="store_true", help="list the facts that conditions and formulas may name"),
        Option("--json", action="store_true", help="with --clauses or --facts: print JSON"),
    ]),
    Verb("completion", "verbs", "print the shell completion script",
         "campaign completion bash", [
        Option("shell", choices=("bash", "zsh", "fish"), metavar="SHELL", help="bash, zsh or fish"),
    ], 'bash, zsh: eval "$(campaign completion bash)"    fish: campaign completion fish | source'),
    Verb("help", "verbs", "print the help of a verb",
         "campaign help run", [
        Option("verb", nargs="?", metavar="VERB", help="such as run (default: list all)"),
    ]),
    Verb("sandbox", "sandbox", "run a Slurm cluster of virtual nodes on this machine",
         "campaign sandbox start", verbs=[
        Verb("start", "sandbox",
             "start a cluster, or the dead parts of one that runs, and wait until its nodes are idle",
             "campaign sandbox start --nodes 4", [
            OF_SANDBOX,
            Option("--nodes", type=int, default=4, metavar="N", help="number of nodes (default: 4)"),
            Option("--cpus", type=int, default=8, metavar="N", help="CPUs of each node (default: 8)"),
            Option("--accounting", action="store_true", help="with slurmdbd and MariaDB, so that sacct works"),
            Option("--partition", default="sandbox", metavar="NAME", help="the partition's name (default: sandbox)"),
            Option("--epilog", default="/bin/true", metavar="FILE",
                   help="program that Slurm runs on each node after each job, as sites do for health checks"),
            Option("--owner", type=int, metavar="PID", help="process that needs the cluster: when it has ended, so "
                   "does the cluster (default: until it is stopped)"),
            Option("--storage", metavar="KIND", default="", help="with a network file system, each node with its own "
                   "client: gluster[,bricks=N][,disk][,slow=MS], its bricks in memory or on DIR's disk, the last one "
                   "slowed down by MS milliseconds per operation; needs root"),
        ]),
        Verb("stop", "sandbox", "end its jobs and daemons, and remove its directory",
             "campaign sandbox stop", [OF_SANDBOX]),
        Verb("status", "sandbox", "show daemons, nodes and jobs; exit status 0 when all is up, 1 when not",
             "campaign sandbox status", [
            OF_SANDBOX,
            Option("--json", action="store_true", help="print a JSON object"),
        ]),
        Verb("env", "sandbox", 'print what the shell needs to use it: eval "$(campaign sandbox env)"',
             "campaign sandbox env", [OF_SANDBOX]),
    ]),
)
# fmt: on
MEANT = {
    "resume": "unknown verb {verb}; use 'campaign run', which also resumes",
    "start": "unknown verb {verb}; use 'campaign run'",
    "submit": "unknown verb {verb}; use 'campaign run' (--detach returns at once)",
    "version": "unknown verb {verb}; use 'campaign --version'",
}  # fmt: skip
FIRST_VERBS = ("init", "plan", "run", "bundle")  # that one needs first
TOP_OPTIONS = ("-h", "--help", "--version")


def check_verb(*words: str) -> None:
    """Raise InputError where the first word is no verb, with the one that was meant."""
    from campaign.core.schema import nearest_name, suggestion

    verb = words[0]
    if verb.startswith("-"):
        if any(name.startswith(verb) for name in TOP_OPTIONS):
            return
        raise InputError(f"unknown option {verb}; {suggestion(verb, TOP_OPTIONS, cutoff=0.6)}")
    names = [name for verb_entry in VERBS for name in (verb_entry.name, *verb_entry.aliases)]
    if verb in names:
        return
    if verb in MEANT:
        raise InputError(MEANT[verb].format(verb=verb))
    if len(words) > 1 and words[1] in names:
        raise InputError(f"the verb comes first: campaign {words[1]} {verb}")
    if verb.endswith((".yaml", ".yml")) and not nearest_name(verb, names, cutoff=0.6):
        raise InputError(f"the verb comes first: campaign plan {verb}")
    allowed = ", ".join(verb_entry.name for verb_entry in VERBS)
    raise InputError(f"unknown verb {verb}; {suggestion(verb, names, 0.6, allowed)}")


def first_steps() -> str:
    """What the program prints without a verb: the commands that one needs first."""
    lines = ["campaign runs an RFP's benchmarks on Slurm under its run rules. First:", ""]
    for verb in (verb for verb in VERBS if verb.name in FIRST_VERBS):
        lines += [f"  {verb.example}", f"      {verb.help}"]
    lines += ["", "To check a bundle that you received: campaign verify my-rfp.zip"]
    return "\n".join([*lines, "All verbs: campaign help. A verb with its options: campaign help run"])


def parser() -> argparse.ArgumentParser:
    top = Parser(
        prog="campaign",
        description="Run RFP benchmarks on Slurm under the RFP's run rules;\nproduce verifiable result tables.",
        epilog=EPILOG,
        formatter_class=Help,
    )
    top.add_argument("--version", action="version", version=f"campaign {__version__}")
    all_verbs = top.add_subparsers(metavar="VERB", required=True, parser_class=VerbParser)
    for listed in VERBS:
        verb = add_verb(all_verbs, listed)
        if listed.verbs:
            names = "|".join(subverb.name for subverb in listed.verbs)
            verbs = verb.add_subparsers(metavar=names, required=True)
            for subverb in listed.verbs:
                add_verb(verbs, subverb, f"{listed.name} {subverb.name}")
    return top
