"""Typical mistakes, each with all that campaign says to it: what is wrong, where, what is allowed, what to do.

A mistake in a campaign file is refused by `plan` as by `run`: with the same words and the same exit status.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from campaign.cli.main import main
from campaign.core.errors import ENVIRONMENT, INCOMPLETE, OK, USAGE
from campaign.sandbox.cluster import Sandbox
from tests.support.command_line import CAMPAIGN, call

FILE = """\
name: cli
rules: crossroads-mdtest
profile: rehearsal
targets:
  - name: scratch
    directory: /scratch/cli
launch:
  node: 4
  peak: {nodes: 2, processes: 8}
  max: {nodes: 4, processes: 16}
"""
HEAD = "target,launch,files,operation,value\n"
HEAD_SHOWN = "target, launch, files, operation, value"

PROCESSES = (
    "a number of processes, all, search, projected, {nodes: N, processes: P} or {nodes: N, processes_per_node: P}"
)
DIRECTORY = (
    "an absolute path without .. that is not /, the home directory or above it; $NAME of the environment is expanded, "
    "behind job: that of the job"
)
DURATION = (
    "a time with units such as 90m, 1h30m, 45s, 2d, or one of Slurm's forms: MM:SS, HH:MM:SS, D-HH, D-HH:MM, D-HH:MM:SS"
)
SBATCH = "an sbatch option as --name or --name=value, except those that campaign sets"
KEYS = (
    "name, rules, profile, results, items_total, variables, repetitions, targets, launch, search, projections, slurm, "
    "launcher, benchmark, inputs, energy, declined, server_counters, explanations, answers, waivers, allowed_signers, "
    "system, proposed, contact, evidence, nonce, build, source"
)
PEAK = "(clause 8.5: The minimal number of MPI processes on multiple compute nodes that achieves the peak results.)"
OFFER = (
    "a campaign file (.yaml), its results directory, a bundle (directory, .zip, .tar.gz), or a table (.json, .csv, "
    ".xlsx) as 'campaign table' writes it"
)
NUMBER = "a number with a decimal point and without thousands separators, such as 1234.5"
WRAPPERS = "mpicc of Open MPI or MPICH, mpiicx or mpiicc of Intel MPI"
VERBS = (
    "init, build, plan, run, status, rerun, cancel, collect, table, report, fill, check, compare, modifications, "
    "bundle, head, verify, terms, sample, accept, rebuild, rules, completion, help, sandbox"
)
CELLS = "cells are target/launch/files/operation, as in scratch/single/shared/create"


@dataclass(frozen=True, slots=True)
class InFile:
    """A mistake in the campaign file: `wrong` stands in the place of `right`, or is added at the end."""

    name: str
    says: str
    wrong: str
    right: str = ""
    status: int = USAGE

    @property
    def text(self) -> str:
        assert self.right in FILE
        return FILE.replace(self.right, self.wrong, 1) if self.right else f"{FILE}{self.wrong}\n"


# fmt: off
IN_FILES = (
    # names that are spelt wrong
    InFile("a key with a typo", "c.yaml:11:9: slurm.partion: unknown key; did you mean partition?",
           "slurm: {partion: compute}"),
    InFile("a key that does not exist", f"c.yaml:11:1: colour: unknown key; allowed: {KEYS}",
           "colour: red"),
    InFile("a launch condition with a typo",
           "c.yaml:9:9: launch.peek: rule pack crossroads-mdtest has no such launch condition; did you mean peak?",
           "peek:", "peak:"),
    InFile("a rule pack with a typo",
           'c.yaml:2:8: rules: rule pack "crossroad-mdtests" not found; did you mean crossroads-mdtest?',
           "crossroad-mdtests", "crossroads-mdtest"),
    InFile("a key in the plural", "c.yaml:11:1: launchers: unknown key; did you mean launcher?", "launchers: {}"),
    InFile("a required key with a typo", "c.yaml:4:1: tagrets: unknown key; did you mean targets?",
           "tagrets:", "targets:"),
    InFile("a key of slurm at the top", "c.yaml:11:1: partition: unknown key; did you mean slurm.partition?",
           "partition: compute"),
    InFile("a key that is there twice", "c.yaml:11:1: name: duplicate key, first in line 1; remove one", "name: again"),
    InFile("a declined cell with a typo",
           'c.yaml:11:20: declined[0].cells: found "scratch/nod/*/*": no launch condition nod; did you mean node?',
           'declined: [{cells: "scratch/nod/*/*", reason: none}]'),
    InFile("a profile with a typo", "c.yaml:3:10: profile: found rehersal; allowed: rehearsal or full",
           "rehersal", "rehearsal"),
    # YAML
    InFile("a bracket that is not closed",
           "c.yaml:12:1: not valid YAML: a comma or a closing ] is missing before this place",
           "slurm: {modules: [openmpi"),
    InFile("a quote that is not closed",
           "c.yaml:12:1: not valid YAML: "
           "a closing quote is missing before this place",
           'nonce: "abc'),
    InFile("a colon in a text without quotes",
           'c.yaml:12:13: not valid YAML: found a second ": "; put a text that holds ": " in quotes',
           "system:\n  node: Xeon: 2 sockets"),
    InFile("an indentation that does not fit",
           "c.yaml:6:4: not valid YAML: the indentation differs from that of the line above; align keys of one section",
           "   directory", "    directory"),
    InFile("a time that YAML reads as a number",
           "c.yaml:11:15: slurm.time: found 1:30:00, which YAML reads as a number in base 60; "
           'put it in quotes: "1:30:00"',
           "slurm: {time: 1:30:00}"),
    InFile("a text that YAML reads as true",
           'c.yaml:11:8: nonce: found on, which YAML reads as true; put it in quotes: "on"',
           "nonce: on"),
    InFile("a tab", "c.yaml:8:1: found a tab; replace it with spaces", "\tnode: 4", "  node: 4"),
    InFile("a byte order mark", "c.yaml:1:1: found a byte order mark; save the file as UTF-8 without it",
           "\ufeffname:", "name:"),
    InFile("a typographic quote",
           'c.yaml:11:8: nonce: found the typographic quote “; write plain quotes (") or none',
           "nonce: “abc”"),
    # types and units
    InFile("a time without a unit", f"c.yaml:11:15: slurm.time: found 90, which has no unit; allowed: {DURATION}",
           "slurm: {time: 90}"),
    InFile("a word where a number belongs", f"c.yaml:8:9: launch.node: found four; allowed: {PROCESSES}",
           "four", "4"),
    InFile("a number in quotes", f'c.yaml:8:9: launch.node: found "4", a text in quotes; allowed: {PROCESSES}',
           '"4"', "4"),
    InFile("a time with an unknown unit",
           f'c.yaml:11:15: slurm.time: found "90 minutes"; allowed: {DURATION}',
           "slurm: {time: 90 minutes}"),
    InFile("a count with a prefix",
           "c.yaml:11:14: items_total: found 4k; allowed: a whole number from 1 to 1125899906842624, "
           "also as a power such as 2^20",
           "items_total: 4k"),
    InFile("a share without its percent sign",
           "c.yaml:11:42: repetitions.width: found 5, which has no percent sign; "
           "allowed: a percentage from 0.1% to 100%",
           "repetitions: {least: 6, most: 20, width: 5}"),
    InFile("no repetition",
           "c.yaml:11:14: repetitions: found 0; allowed: a whole number from 1 to 1000, "
           "or {least: 6, most: 20, width: 5%}",
           "repetitions: 0"),
    InFile("a module that is not in a list",
           "c.yaml:11:18: slurm.modules: found openmpi; allowed: a list of up to 100, "
           "each a module's name: letters, digits and _.+@:=/-",
           "slurm: {modules: openmpi}"),
    InFile("a module with its version behind a space",
           'c.yaml:11:19: slurm.modules[0]: found "openmpi 4"; allowed: a module\'s name: letters, digits and _.+@:=/-',
           "slurm: {modules: [openmpi 4]}"),
    # directories
    InFile("a relative directory",
           f'c.yaml:6:16: targets[0].directory: found "scratch/cli", which is not absolute; allowed: {DIRECTORY}',
           "scratch/cli", "/scratch/cli"),
    InFile("a variable that is not set",
           "c.yaml:6:16: targets[0].directory: found $SCRATHC, which is not set in the environment; "
           "set it or write the full path",
           "$SCRATHC", "/scratch"),
    InFile("a tilde",
           f'c.yaml:6:16: targets[0].directory: found "~/cli": ~ is not expanded, write $HOME; allowed: {DIRECTORY}',
           "~/cli", "/scratch/cli"),
    InFile("a directory with a space at its end",
           f'c.yaml:6:16: targets[0].directory: found "/scratch/cli ", which ends with a space; allowed: {DIRECTORY}',
           'directory: "/scratch/cli "', "directory: /scratch/cli"),
    InFile("the home directory",
           'c.yaml:6:16: targets[0].directory: found "/home/vendor", which is the home directory; '
           f"allowed: {DIRECTORY}",
           "$HOME", "/scratch/cli"),
    InFile("the root directory",
           f'c.yaml:6:16: targets[0].directory: found "/", which is the root directory; allowed: {DIRECTORY}',
           "directory: /", "directory: /scratch/cli"),
    InFile("a target within another",
           'c.yaml:8:16: targets[1].directory: found "/scratch/cli/burst", which overlaps "/scratch/cli" '
           "of target scratch; allowed: directories that do not contain each other",
           "  - name: burst\n    directory: /scratch/cli/burst\nlaunch:", "launch:"),
    InFile("two targets of one name",
           "c.yaml:7:11: targets[1].name: found Scratch, but target scratch exists; "
           "allowed: names that differ in more than upper and lower case",
           "  - name: Scratch\n    directory: /burst\nlaunch:", "launch:"),
    # files
    InFile("a job template that is absent",
           'c.yaml:11:19: slurm.template: found "job.j2": file not found; correct the path or remove the key',
           "slurm: {template: job.j2}"),
    InFile("a list of signers that is absent",
           'c.yaml:11:18: allowed_signers: found "singers": file not found; correct the path or remove the key',
           "allowed_signers: singers"),
    InFile("a published source that is absent",
           "c.yaml:11:20: source.pristine: HERE/mdtest.tgz: not found; expected a directory, an archive (.tar, "
           ".tar.gz, .tar.xz, .tar.bz2, .zip), or a git revision as REPOSITORY@REVISION",
           "source: {pristine: mdtest.tgz}"),
    InFile("a patch that is absent",
           "c.yaml:11:30: source.patch: HERE/changes.patch: No such file or directory",
           "source: {pristine: ., patch: changes.patch}"),
    InFile("a script in the place of the benchmark",
           "c.yaml:11:25: benchmark.executable: HERE/run.sh is a script of /bin/bash, which can start any program; "
           "if it starts the benchmark, name the benchmark's program here and the script under launcher.prefix; "
           "if it is the benchmark itself, put /bin/bash under launcher.prefix",
           "benchmark: {executable: ./run.sh}"),
    # processes and nodes
    InFile("processes that do not share the nodes evenly",
           "c.yaml:9:31: launch.peak.processes: found 9 processes on 2 nodes; allowed: a multiple of "
           "2 (the same number on each node)",
           "processes: 9", "processes: 8"),
    InFile("fewer nodes than the RFP asks for",
           f"c.yaml:9:17: launch.peak.nodes: found 1; allowed: 2 or more {PEAK}",
           "nodes: 1", "nodes: 2"),
    InFile("more processes than the RFP fixes",
           "c.yaml:8:11: launch.single: found 4 processes; allowed: 1 (clause 8.5: A single MPI process.)",
           "launch:\n  single: 4", "launch:"),
    # what the run rules or campaign set themselves
    InFile("a flag that the RFP fixes",
           'c.yaml:11:31: benchmark.extra_arguments[0]: found -u in "-u", which the run rules set (clause 8.4); '
           "allowed: -v, -V",
           "benchmark: {extra_arguments: [-u]}"),
    InFile("a path beside the target",
           "c.yaml:11:35: benchmark.extra_arguments[1]: found /tmp/log, a path outside the target's "
           "directory; allowed: words without a path (FLG-05)",
           "benchmark: {extra_arguments: [-V, /tmp/log]}"),
    InFile("a directive that follows from the plan",
           f"c.yaml:11:22: slurm.directives[0]: found --nodes: the launch condition sets it; allowed: {SBATCH}",
           "slurm: {directives: [--nodes=4]}"),
    InFile("a directive that has a key of its own",
           f"c.yaml:11:22: slurm.directives[0]: found --partition: use slurm.partition; allowed: {SBATCH}",
           "slurm: {directives: [--partition=big]}"),
    InFile("a variable that Slurm sets",
           "c.yaml:11:23: slurm.environment.SLURM_NTASKS: found SLURM_NTASKS; "
           "names that begin with SLURM_, SBATCH_, BENCH_ are set by Slurm and campaign; remove it",
           'slurm: {environment: {SLURM_NTASKS: "4"}}'),
)


@dataclass(frozen=True, slots=True)
class OnCommandLine:
    """A mistake in what is typed, or in the file `table.csv` that it names."""

    name: str
    words: str
    says: str
    status: int = USAGE
    table: str = ""


ON_COMMAND_LINES = (
    OnCommandLine("a campaign file that is absent", "plan campain.yaml",
                  "campaign: campain.yaml: not found; 'campaign init campain.yaml' writes a new one"),
    OnCommandLine("a campaign file with a typo", "plan cc.yaml", "campaign: cc.yaml: not found; did you mean c.yaml?"),
    OnCommandLine("a directory in the place of the campaign file", "plan .",
                  "campaign: .: is a directory; give the campaign file"),
    OnCommandLine("a new file that exists", "init c.yaml",
                  "campaign: c.yaml: already exists; name another file, or overwrite it with --force"),
    OnCommandLine("a new file in no directory", "init no/c.yaml",
                  "campaign: no/c.yaml: directory no does not exist; create it or name another file"),
    OnCommandLine("a pack id with a typo", "rules crossroads",
                  'campaign: rule pack "crossroads" not found; did you mean crossroads-mdtest?'),
    OnCommandLine("what is no bundle", "verify .",
                  "campaign: .: not a bundle: bagit.txt not found; "
                  "give a directory, .zip or .tar.gz written by 'campaign bundle'"),
    OnCommandLine("a campaign file in the place of a bundle", "verify c.yaml",
                  "campaign: c.yaml: not a bundle: not a zip or tar archive (truncated header); "
                  "give a directory, .zip or .tar.gz written by 'campaign bundle'"),
    OnCommandLine("a bundle that is absent", "verify b.zip",
                  "campaign: b.zip: not found; give a bundle written by 'campaign bundle'"),
    OnCommandLine("cells with a typo", "run c.yaml --only scratch/node/unqiue/*",
                  "campaign: no cell matches 'scratch/node/unqiue/*': no file configuration unqiue; "
                  "did you mean unique?"),
    OnCommandLine("cells with too few parts", "rerun c.yaml scratch/node",
                  f"campaign: no cell matches 'scratch/node'; {CELLS}"),
    OnCommandLine("a verb with a typo", "plna c.yaml", "campaign: unknown verb plna; did you mean plan?"),
    OnCommandLine("a verb that is nothing like one", "xyzzy c.yaml", f"campaign: unknown verb xyzzy; allowed: {VERBS}"),
    OnCommandLine("resume", "resume c.yaml", "campaign: unknown verb resume; use 'campaign run', which also resumes"),
    OnCommandLine("start", "start c.yaml", "campaign: unknown verb start; use 'campaign run'"),
    OnCommandLine("submit", "submit c.yaml",
                  "campaign: unknown verb submit; use 'campaign run' (--detach returns at once)"),
    OnCommandLine("version", "version", "campaign: unknown verb version; use 'campaign --version'"),
    OnCommandLine("a verb in capitals", "PLAN c.yaml", "campaign: unknown verb PLAN; did you mean plan?"),
    OnCommandLine("the file before the verb", "c.yaml plan", "campaign: the verb comes first: campaign plan c.yaml"),
    OnCommandLine("a campaign file without a verb", "c.yaml", "campaign: the verb comes first: campaign plan c.yaml"),
    OnCommandLine("an option of campaign with a typo", "--verison",
                  "campaign: unknown option --verison; did you mean --version?"),
    OnCommandLine("an option that campaign does not have", "-x plan c.yaml",
                  "campaign: unknown option -x; allowed: -h, --help, --version"),
    OnCommandLine("an option of another name", "run c.yaml --cell */*/*/*",
                  "usage: campaign run [-h] [--part PART] [--only CELL] [--failed] [--detach] "
                  "[--fail-fast | --keep-going]\n"
                  "                    [--despite-violations] [--max-node-hours N] [--notify CMD] [--max-jobs N] "
                  "[-v | -q] [--json]\n"
                  "                    [--sandbox] [--storage KIND]\n"
                  "                    FILE\n"
                  "campaign run: error: unknown option --cell; did you mean --only?"),
    OnCommandLine("the beginning of a pack's id", "rules ior",
                  'campaign: rule pack "ior" not found; did you mean ior-cache-ladder?'),
    OnCommandLine("a sandbox's storage without a sandbox", "run c.yaml --storage gluster",
                  "campaign: --storage gluster: allowed only with --sandbox, which starts a cluster with this storage"),
    OnCommandLine("a sandbox's storage with a typo", "run c.yaml --sandbox --storage glutser",
                  "campaign: sandbox: found storage 'glutser'; allowed: gluster[,bricks=N][,disk][,slow=MS]"),
    OnCommandLine("a bundle in the place of the campaign file", "check offer.zip",
                  "campaign: offer.zip: not a campaign file: 'campaign verify' reads bundles"),
    OnCommandLine("a table in the place of the campaign file", "table table.csv",
                  "campaign: table.csv: not a campaign file: 'campaign check' and 'campaign compare' read tables "
                  "(.csv, .xlsx, .json)", table=HEAD),
    OnCommandLine("a spreadsheet of another kind", "check table.ods",
                  "campaign: table.ods: not a campaign file: save a table as .xlsx or .csv; then 'campaign check' and "
                  "'campaign compare' read it"),
    OnCommandLine("a table in the place of a directory", "table c.yaml -o .",
                  "campaign: .: is a directory; name a file"),
    OnCommandLine("a table in no directory", "table c.yaml -o no/table.csv",
                  "campaign: no/table.csv: directory no does not exist; create it or name another file"),
    OnCommandLine("a table of one kind under the name of another", "table c.yaml --format json -o t.xlsx",
                  "campaign: t.xlsx: the file name does not fit --format json; use --format xlsx, "
                  "or another name"),
    OnCommandLine("a report in the place of a file", "report c.yaml -o table.csv",
                  "campaign: table.csv: is a file; name a directory"),
    OnCommandLine("scripts in the place of a file", "plan c.yaml --scripts table.csv",
                  "campaign: table.csv: is a file; name a directory"),
    OnCommandLine("a public key without a name", "verify bundle --signers key.pub",
                  "campaign: --signers key.pub: no line of the form 'name key-type key', such as "
                  "'vendor ssh-ed25519 AAAA…' (ssh's allowed_signers)"),
    OnCommandLine("a bundle that was unpacked into a directory", "verify unpacked",
                  "campaign: unpacked: not a bundle: bagit.txt not found; did you mean unpacked/offer?"),
    OnCommandLine("an option with a typo", "table c.yaml --fromat csv",
                  "usage: campaign table [-h] [--part PART] [--format F] [--decimal C] [-o OUT] [--force] "
                  "[--details] [--combined]\n"
                  "                      [--clauses]\n                      FILE\n"
                  "campaign table: error: unknown option --fromat; did you mean --format?"),
    OnCommandLine("an option that is nothing like one", "table c.yaml --xyzzy",
                  "usage: campaign table [-h] [--part PART] [--format F] [--decimal C] [-o OUT] [--force] "
                  "[--details] [--combined]\n"
                  "                      [--clauses]\n                      FILE\n"
                  "campaign table: error: unknown option --xyzzy; allowed: -h, --help, --part, --format, --decimal, "
                  "-o, --output, --force, --details, --combined, --clauses, --color"),
    OnCommandLine("two campaign files", "table c.yaml d.yaml",
                  "usage: campaign table [-h] [--part PART] [--format F] [--decimal C] [-o OUT] [--force] "
                  "[--details] [--combined]\n"
                  "                      [--clauses]\n                      FILE\n"
                  "campaign table: error: unexpected arguments: d.yaml"),
    OnCommandLine("a format with a typo", "table c.yaml --format exel",
                  "campaign: --format exel: unknown format; did you mean xlsx?"),
    OnCommandLine("a format with a typo in a comparison", "compare c.yaml c.yaml --format jsno",
                  "campaign: --format jsno: unknown format; did you mean json?"),
    OnCommandLine("a number of jobs that is none", "run c.yaml --max-jobs 0",
                  'campaign: --max-jobs: found "0"; allowed: a whole number above 0, such as 50'),
    OnCommandLine("node-hours that are no number", "run c.yaml --max-node-hours many",
                  'campaign: --max-node-hours: found "many"; allowed: a number above 0, such as 12.5'),
    OnCommandLine("a waiver that is not there", "check c.yaml --waiver 3",
                  "campaign: --waiver 3: the campaign file has no waivers; add one under waivers"),
    OnCommandLine("a bundle of an unknown kind", "bundle c.yaml -o b.rar",
                  "campaign: b.rar: unknown kind of archive; allowed: a directory, .zip or .tar.gz"),
    OnCommandLine("a bundle in the place of another file", "bundle c.yaml -o c.yaml",
                  "campaign: c.yaml: already exists; name a new directory, .zip or .tar.gz"),
    OnCommandLine("a full disk", "table c.yaml --format csv -o /dev/full",
                  "campaign: /dev/full: cannot be written: No space left on device", ENVIRONMENT),
    OnCommandLine("a full disk under a workbook", "table c.yaml --format xlsx -o /dev/full",
                  "campaign: /dev/full: cannot be written: No space left on device", ENVIRONMENT),
    OnCommandLine("a workbook on the terminal", "table c.yaml --format xlsx",
                  "campaign: --format xlsx needs -o OUT, since a workbook cannot be printed"),
    OnCommandLine("a table for an older spreadsheet", "table c.yaml -o table.xls",
                  "campaign: table.xls: tables are not written in this format; end the name with one of .csv, .json, "
                  ".xlsx, .html, .md, .tex, or give --format"),
    OnCommandLine("no verb", "",
                  "campaign runs an RFP's benchmarks on Slurm under its run rules. First:\n\n"
                  "  campaign init my-rfp.yaml\n      write a commented campaign file\n"
                  "  campaign plan my-rfp.yaml\n      check the campaign against the cluster and show runs, results "
                  "and command lines; submits nothing\n"
                  "  campaign run my-rfp.yaml\n      submit missing runs, wait for them, print the tables; run it "
                  "again to resume\n"
                  "  campaign bundle my-rfp.yaml -o my-rfp.zip --sign ~/.ssh/id_ed25519\n"
                  "      pack tables, logs and scripts so that the buyer can verify every number\n\n"
                  "To check a bundle that you received: campaign verify my-rfp.zip\n"
                  "All verbs: campaign help. A verb with its options: campaign help run"),
    OnCommandLine("no campaign file", "status",
                  "usage: campaign status [-h] [--part PART] [--json] [--watch] FILE\n"
                  "campaign status: error: the following arguments are required: FILE; give the campaign file; "
                  "'campaign init FILE' writes a new one"),
    OnCommandLine("a bundle without a place", "bundle c.yaml",
                  "usage: campaign bundle [-h] [--part PART] -o DIR [--force] [--sign KEY] [--json] FILE\n"
                  "campaign bundle: error: the following arguments are required: -o/--output"),
    OnCommandLine("a comparison of a part that no offer has", "compare c.yaml c.yaml --part x",
                  "campaign: c.yaml: has no parts, as all of the offers; leave out --part x"),
    OnCommandLine("a part of a table without an RFP", "check table.csv --rules crossroads-mdtest --part x",
                  "campaign: table.csv: has no parts; leave out --part x"),
    OnCommandLine("a comparison with nothing", "compare c.yaml",
                  "campaign: compare needs two or more campaigns; found 1 (the others are compared with the first)"),
    OnCommandLine("a tolerance without its percent sign", "compare c.yaml c.yaml --tolerance 5",
                  'campaign: --tolerance: found "5"; allowed: a percentage from 0% to 99%'),
    OnCommandLine("a comparison with a file that is absent", "compare c.yaml other.yaml",
                  f"campaign: other.yaml: not found; give {OFFER}"),
    OnCommandLine("a comparison with any directory", "compare c.yaml .",
                  f"campaign: .: neither a bundle (bagit.txt missing) nor results (plan.json missing); give {OFFER}"),
    OnCommandLine("a target with a typo in a comparison", "compare c.yaml c.yaml --map scrach=burst",
                  "campaign: --map scrach=burst: scrach is not a target of c.yaml; allowed: scratch"),
    OnCommandLine("an MPI compiler that is absent", "build --mpicc mpicx",
                  "campaign: make: not found; install GNU make\n"
                  "mpicx: not found; load the module of your MPI (or install its development package), "
                  f"or name its compiler wrapper with --mpicc ({WRAPPERS})", ENVIRONMENT),
    OnCommandLine("a sandbox without nodes", "sandbox start --nodes 0",
                  "campaign: sandbox: found 0 nodes; allowed: 1 to 64"),
    OnCommandLine("a word where the CSV has numbers", "check table.csv",
                  f"campaign: table.csv: line 2: value: found 'fast'; allowed: {NUMBER}",
                  table=f"{HEAD}scratch,node,unique,create,fast\n"),
    OnCommandLine("a decimal comma in the CSV", "check table.csv",
                  f"campaign: table.csv: line 2: value: found '1,5'; allowed: {NUMBER}",
                  table=f'{HEAD}scratch,node,unique,create,"1,5"\n'),
    OnCommandLine("a comma between thousands in the CSV", "check table.csv",
                  "campaign: table.csv: line 2: more fields than columns; "
                  "put a field that contains the separator in quotes",
                  table=f"{HEAD}scratch,node,unique,create,1,234\n"),
    OnCommandLine("a column that the CSV has twice", "check table.csv",
                  "campaign: table.csv: column value appears 2 times; remove all but one",
                  table=f"{HEAD.strip()},value\nscratch,node,unique,create,1,1\n"),
    OnCommandLine("a CSV without a column", "check table.csv",
                  f"campaign: table.csv: no column value; found: target, launch, files, operation, rate; "
                  f"needed: {HEAD_SHOWN}",
                  table=HEAD.replace("value", "rate") + "scratch,node,unique,create,1\n"),
    OnCommandLine("a CSV with a typo in a column", "check table.csv",
                  "campaign: table.csv: no column operation; found: target, launch, files, opration, value; "
                  "did you mean operation for opration?",
                  table=HEAD.replace("operation", "opration") + "scratch,node,unique,create,1\n"),
    OnCommandLine("an empty CSV", "check table.csv",
                  "campaign: table.csv: empty; give a table as 'campaign table --format csv' writes it"),
    OnCommandLine("a CSV of its column names alone", "check table.csv",
                  "campaign: table.csv: no rows below the column names; one row for each cell is needed", table=HEAD),
    OnCommandLine("a CSV in the place of a workbook", "check table.xlsx",
                  "campaign: table.xlsx: not an XLSX workbook: File is not a zip file; save it as .xlsx or .csv",
                  table=HEAD),
    OnCommandLine("a comparison with a CSV of other columns", "compare table.csv table.csv",
                  f"campaign: table.csv: no column files, operation, value; found: target, launch; "
                  f"needed: {HEAD_SHOWN}",
                  table="target;launch\na;b\n"),
    OnCommandLine("a status in the CSV that does not exist", "check table.csv",
                  "campaign: table.csv: line 2: status: found ok; "
                  "allowed: measured, projected, declined, invalid, failed, missing",
                  table=f"{HEAD.strip()},status\nscratch,node,unique,create,1,ok\n"),
)
# fmt: on


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory to type in, on a machine without Slurm, of a user whose home is /home/vendor."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("HOME", "/home/vendor")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("MPICC", raising=False)
    monkeypatch.delenv("SCRATHC", raising=False)
    (tmp_path / "c.yaml").write_text(FILE)
    for name in ("offer.zip", "table.ods"):
        (tmp_path / name).touch()
    (tmp_path / "key.pub").write_text("ssh-ed25519 AAAA me@site\n")
    (tmp_path / "unpacked" / "offer").mkdir(parents=True)
    (tmp_path / "unpacked" / "offer" / "bagit.txt").touch()
    (tmp_path / "run.sh").write_text("#!/bin/bash\n")
    (tmp_path / "run.sh").chmod(0o755)
    return tmp_path


@pytest.mark.parametrize("verb", ["plan", "run"])
@pytest.mark.parametrize("mistake", IN_FILES, ids=lambda mistake: mistake.name)
def test_plan_refuses_a_mistake_in_the_campaign_file_as_run_does(
    mistake: InFile, verb: str, desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (desk / "c.yaml").write_text(mistake.text.replace("HERE", str(desk)))
    status = main([verb, "c.yaml"])
    captured = capsys.readouterr()
    assert captured.err == f"campaign: {mistake.says}\n".replace("HERE", str(desk))
    assert (status, captured.out) == (mistake.status, "")


@pytest.mark.parametrize("mistake", ON_COMMAND_LINES, ids=lambda mistake: mistake.name)
def test_a_mistake_on_the_command_line_is_refused(mistake: OnCommandLine, desk: Path) -> None:
    for name in ("table.csv", "table.xlsx"):
        (desk / name).write_text(mistake.table)
    process = call(*mistake.words.split())
    assert process.stderr == f"{mistake.says}\n"
    assert (process.returncode, process.stdout) == (mistake.status, "")


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_csv_with_semicolons_is_checked_and_compared(mark: str, desk: Path) -> None:
    table = mark + HEAD.replace(",", ";") + "scratch;node;unique;create;1000\n"
    (desk / "table.csv").write_text(table, encoding="utf-8")
    for verb, status, says in (("check", INCOMPLETE, "Violations"), ("compare", INCOMPLETE, "B NOT TESTED")):
        process = call(verb, "table.csv", *["table.csv"] * (verb == "compare"))
        assert (process.returncode, process.stderr, says in process.stdout) == (status, "", True)


def test_a_csv_below_empty_lines_is_checked(desk: Path) -> None:
    (desk / "table.csv").write_text(f"\n,,,,\n{HEAD}scratch,node,unique,create,1000\n,,,,\n")
    process = call("check", "table.csv")
    assert (process.returncode, process.stderr) == (INCOMPLETE, "")


def test_a_csv_of_another_encoding_is_refused_with_how_excel_saves_it(desk: Path) -> None:
    (desk / "table.csv").write_bytes(HEAD.encode() + "schüssel,node,unique,create,1\n".encode("latin-1"))
    process = call("check", "table.csv")
    assert process.stderr == (
        "campaign: table.csv: byte 39 is not UTF-8; allowed: a table in UTF-8 (Excel saves it as 'CSV UTF-8')\n"
    )
    assert process.returncode == USAGE


def test_the_name_of_the_file_chooses_the_format_of_a_table(desk: Path) -> None:
    for name, begins in (
        ("t.csv", b"target,launch"), ("t.json", b"[\n"), ("t.xlsx", b"PK"), ("t.html", b"<p>"), ("t.txt", b"MDTEST")
    ):  # fmt: skip
        assert main(["table", "c.yaml", "-o", name]) == INCOMPLETE
        assert (desk / name).read_bytes().startswith(begins), name


def test_a_file_without_a_mistake_is_planned_without_slurm(desk: Path) -> None:
    assert main(["plan", "c.yaml"]) == OK


@pytest.mark.timeout(900)
def test_a_file_without_a_mistake_is_refused_by_neither_plan_nor_run_on_a_cluster(desk: Path, sandbox: Sandbox) -> None:
    environment = {**sandbox.environment(), "PATH": "/usr/bin:/bin", "HOME": str(desk)}
    target = desk / "target"
    target.mkdir()
    (desk / "c.yaml").write_text(FILE.replace("/scratch/cli", str(target)))
    for words in (["plan", "c.yaml"], ["run", "c.yaml", "--only", "scratch/single/unique/create"]):
        process = subprocess.run(
            [CAMPAIGN, *words], cwd=desk, env=environment, capture_output=True, text=True, timeout=800
        )
        assert process.returncode == OK, process.stderr
