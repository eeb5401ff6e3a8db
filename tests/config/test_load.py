import os
import pwd
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from campaign.config import definition as config
from campaign.config import format as config_format
from campaign.config import slurm_keys
from campaign.config.format import Benchmark, Campaign, Declined, SourceTrees, Target
from campaign.config.launch import AllCores
from campaign.config.rules import packs
from campaign.config.slurm_keys import Slurm
from campaign.config.values import DIRECTORY, PATH, RESULTS
from campaign.config.values import LAUNCH as LAUNCH_FORM
from campaign.core import units
from campaign.core.errors import InputError
from campaign.core.runs import Geometry
from tests.support import schemas
from tests.support.examples import examples

ROOT = Path(__file__).parents[2]
HEAD = "name: demo\nrules: crossroads-mdtest\nprofile: rehearsal\n"
TARGETS = "targets: [{name: scratch, directory: /scratch/u}]\n"
LAUNCH = "launch: {node: 4, peak: {nodes: 2, processes: 8}}\n"
VALID = HEAD + TARGETS + LAUNCH  # five lines: what is added stands in line 6

SINGLE = "(clause 8.5: A single MPI process.)"
NODE = "(clause 8.5: The optimal number of MPI processes on a single compute node.)"
PEAK = "(clause 8.5: The minimal number of MPI processes on multiple compute nodes that achieves the peak results.)"
MAX = "(clause 8.5: The maximum possible MPI-level concurrency on the proposed system.)"
NODE_FORM = f"allowed: search, projected, or a number of processes, such as 16 {NODE}"
PEAK_FORM = f"allowed: search, projected, or {{nodes: 2, processes: 32}} or {{nodes: 2, processes_per_node: 16}} {PEAK}"
MAX_FORM = f"allowed: all, projected, or {{nodes: 2, processes: 32}} or {{nodes: 2, processes_per_node: 16}} {MAX}"
NAME = "letters, digits, - and _, a letter or digit first"

Load = Callable[[str], Campaign]
Problems = Callable[[str], list[str]]

PACKS = ", ".join(sorted(path.stem for path in packs.PACKS.glob("*.yaml")))


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user with a home directory, in an empty directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/u")
    monkeypatch.setenv("USER", "u")
    monkeypatch.delenv("CAMPAIGN_RULES", raising=False)
    monkeypatch.delenv("NOPE", raising=False)


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def load_text(text: str) -> Campaign:
        (tmp_path / "c.yaml").write_text(text, encoding="utf-8")
        return config.load("c.yaml")[0]

    return load_text


@pytest.fixture
def problems(load: Load) -> Problems:
    """What is wrong with a campaign file of that text, without its name."""

    def problems_of(text: str) -> list[str]:
        with pytest.raises(InputError) as caught:
            load(text)
        assert all(problem.startswith("c.yaml:") for problem in caught.value.problems)
        return [problem.removeprefix("c.yaml:") for problem in caught.value.problems]

    return problems_of


def test_a_small_file_has_the_defaults(load: Load, tmp_path: Path) -> None:
    assert load(VALID) == Campaign(
        path=tmp_path / "c.yaml",
        name="demo",
        rules="crossroads-mdtest",
        profile="rehearsal",
        results=tmp_path / "results" / "demo",
        targets=(Target("scratch", "/scratch/u"),),
        launch={"single": Geometry(1, 1), "node": Geometry(1, 4), "peak": Geometry(2, 8), "max": AllCores()},
    )


def test_a_full_file_is_read_whole(load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUT", "/out")
    (tmp_path / "job.j2").write_text("")
    pack = tmp_path / "packs" / "mine.yaml"
    pack.parent.mkdir()
    text = (ROOT / "rules" / "crossroads-mdtest.yaml").read_text()
    pack.write_text(text.replace("id: crossroads-mdtest", "id: mine"))
    campaign = load("""
name: Offer_2-a
rules: packs/mine.yaml
profile: rehearsal
results: ${OUT}/$USER/r
items_total: 2^12
repetitions: 6
targets:
  - name: scratch
    directory: /scratch/$USER/a b'c"d
    description: >
      flash tier,
      native client
  - {name: nfs, directory: "/nfs//${USER}/./x/"}
launch:
  single: 1
  node: {processes_per_node: 16}
  peak: {nodes: 4, processes: 64}
  max: {nodes: 8, processes_per_node: 32}
slurm:
  partition: cpu
  account: proj.a
  qos: high
  constraint: "[rack1|rack2]&ssd"
  reservation: maint_1
  time: "1:30:00"
  mpi: pmix_v4
  modules: [gcc/12.2, openmpi/4.1]
  directives: [--licenses=scratch:1, --mem=0, "--exclude=n[1-3]"]
  environment: {OMPI_MCA_mpi_yield_when_idle: 1, SLURM_PMIX_FENCE: ring, NOTE: a b}
  allocation: one
  template: job.j2
benchmark:
  executable: ../bin/mdtest
  dialect: node-offset
  extra_arguments: [-v, -V, 2]
declined:
  - {cells: "nfs/max/*/*", reason: too slow}
system:
  cores per node: 64
  "2": |
    two
    lines
contact: {name: A. Person}
source: {pristine: mdtest-1.8.4.tgz, modified: src}
""")
    assert campaign == Campaign(
        path=tmp_path / "c.yaml",
        name="Offer_2-a",
        rules=str(pack),
        profile="rehearsal",
        results=Path("/out/u/r/Offer_2-a"),
        targets=(
            Target("scratch", "/scratch/u/a b'c\"d", "flash tier, native client"),
            Target("nfs", "/nfs/u/x"),
        ),
        launch={"single": Geometry(1, 1), "node": Geometry(1, 16), "peak": Geometry(4, 64), "max": Geometry(8, 256)},
        items_total=4096,
        repetitions=6,
        slurm=Slurm(
            partition="cpu",
            account="proj.a",
            qos="high",
            constraint="[rack1|rack2]&ssd",
            reservation="maint_1",
            time_s=5400,
            mpi="pmix_v4",
            modules=("gcc/12.2", "openmpi/4.1"),
            directives=("--licenses=scratch:1", "--mem=0", "--exclude=n[1-3]"),
            environment=(("OMPI_MCA_mpi_yield_when_idle", "1"), ("SLURM_PMIX_FENCE", "ring"), ("NOTE", "a b")),
            allocation="one",
            template=tmp_path / "job.j2",
        ),
        benchmark=Benchmark(
            executable=tmp_path.parent / "bin" / "mdtest", dialect="node-offset", extra_arguments=("-v", "-V", "2")
        ),
        declined=(Declined("nfs/max/*/*", "too slow"),),
        system=(("cores per node", "64"), ("2", "two\nlines")),
        contact=(("name", "A. Person"),),
        source=SourceTrees(pristine="mdtest-1.8.4.tgz", modified="src"),
    )


WRONG_VALUES = {
    "repetitions: 0": [
        "6:14: repetitions: found 0; allowed: a whole number from 1 to 1000, or {least: 6, most: 20, width: 5%}"
    ],
    "repetitions: 1001": [
        "6:14: repetitions: found 1001; allowed: a whole number from 1 to 1000, or {least: 6, most: 20, width: 5%}"
    ],
    "repetitions: {least: 10, most: 8}": ["6:32: repetitions.most: found 8, but least is 10; allowed: 10 or more"],
    "repetitions: {least: 3, width: 0%}": [
        "6:22: repetitions.least: found 3; allowed: a whole number from 6 to 1000",
        '6:32: repetitions.width: found "0%"; allowed: a percentage from 0.1% to 100%',
    ],
    'explanations: [{rule: PHY-2, cells: "*/*/*/*", text: x}]': [
        '6:23: explanations[0].rule: found "PHY-2"; did you mean PHY-02?'
    ],
    "repetition: 3": ["6:1: repetition: unknown key; did you mean repetitions?"],
    "projection: x": ["6:1: projection: unknown key; did you mean projections?"],
    "anything: x": [
        "6:1: anything: unknown key; allowed: name, rules, profile, results, items_total, variables, repetitions, "
        "targets, launch, search, projections, slurm, launcher, benchmark, inputs, energy, declined, "
        "server_counters, explanations, answers, waivers, "
        "allowed_signers, system, proposed, contact, evidence, nonce, build, source"
    ],
    "name: other": ["6:1: name: duplicate key, first in line 1; remove one"],
    "items_total: 1:30": [
        "6:14: items_total: found 1:30, which YAML reads as a number in base 60; "
        "allowed: a whole number from 1 to 1125899906842624, also as a power such as 2^20"
    ],
    "items_total: 2^30": ["6:14: items_total: found 1073741824; allowed: up to 1048576, the full size"],
    "results: $NOPE/x": [
        "6:10: results: found $NOPE, which is not set in the environment; set it or write the full path"
    ],
    "results: '`id`'": [f'6:10: results: found a backquote in "`id`"; allowed: {RESULTS.allowed}'],
    "slurm: {time: 1:30:00}": [
        '6:15: slurm.time: found 1:30:00, which YAML reads as a number in base 60; put it in quotes: "1:30:00"'
    ],
    "slurm: {time: 90}": [
        f"6:15: slurm.time: found 90, which has no unit; allowed: {units.DURATION}",
    ],
    "slurm: {time: 31d}": ['6:15: slurm.time: found "31d"; allowed: 1s to 30d'],
    "slurm: {time: 0s}": ['6:15: slurm.time: found "0s"; allowed: 1s to 30d'],
    "slurm: {account: no}": ['6:18: slurm.account: found no, which YAML reads as false; put it in quotes: "no"'],
    "slurm: {partition: 'a b', constraint: a;b, mpi: 'a b', allocation: all}": [
        '6:20: slurm.partition: found "a b"; allowed: letters, digits and _.,@:+/-',
        '6:39: slurm.constraint: found "a;b"; allowed: features joined by & and |',
        '6:49: slurm.mpi: found "a b"; allowed: a plugin of `srun --mpi=list`',
        "6:68: slurm.allocation: found all; allowed: run, geometry or one",
    ],
    "slurm: {modules: ['gcc; reboot', -gcc, $X]}": [
        '6:19: slurm.modules[0]: found "gcc; reboot"; allowed: a module\'s name: letters, digits and _.+@:=/-',
        '6:34: slurm.modules[1]: found "-gcc"; allowed: a module\'s name: letters, digits and _.+@:=/-',
        '6:40: slurm.modules[2]: found "$X"; allowed: a module\'s name: letters, digits and _.+@:=/-',
    ],
    "slurm: {template: nope.j2}": [
        '6:19: slurm.template: found "nope.j2": file not found; correct the path or remove the key'
    ],
    f"slurm: {{template: {'x' * 300}}}\nbenchmark: {{executable: {'y' * 300}}}": [
        f'6:19: slurm.template: found "{"x" * 57}...": file not found; correct the path or remove the key'
    ],
    "slurm: {environment: {PROXY: 'http://me:abc@site:80'}}": [
        '6:30: slurm.environment.PROXY: found "http://...@site:80", which looks like a secret: the buyer receives the '
        "campaign file and command lines; put it in a file that only you can read"
    ],
    "slurm: {environment: {SLURM_X: a, BENCH_JSON: a, 1A: a, B: $HOME, C: no, D: 017}}": [
        "6:23: slurm.environment.SLURM_X: found SLURM_X; "
        "names that begin with SLURM_, SBATCH_, BENCH_ are set by Slurm and campaign; remove it",
        "6:35: slurm.environment.BENCH_JSON: found BENCH_JSON; "
        "names that begin with SLURM_, SBATCH_, BENCH_ are set by Slurm and campaign; remove it",
        '6:50: slurm.environment."1A": found "1A" as a variable\'s name; '
        "allowed: letters, digits and _, no digit first",
        '6:60: slurm.environment.B: found "$HOME"; allowed: a text without $ and backquote (nothing is expanded here)',
        '6:70: slurm.environment.C: found no, which YAML reads as false; put it in quotes: "no"',
        '6:77: slurm.environment.D: found 017, which YAML reads as an octal number; put it in quotes: "017"',
    ],
    "benchmark: {executable: $HOME/mdtest}": [
        f'6:25: benchmark.executable: found "$HOME/mdtest"; allowed: {PATH.allowed} '
        "(nothing is expanded here; write the full path)"
    ],
    "benchmark: {dialect: node-offset}": [
        "6:22: benchmark.dialect: found node-offset, which applies to an external benchmark only; "
        "set benchmark.executable or remove the key"
    ],
    "declined: [{cells: scratch/max, reason: x}, {cells: s/max/shared/stat, reason: x}, {cells: '*/*/*/*'}]": [
        '6:20: declined[0].cells: found "scratch/max"; allowed: target/launch/files/operation, with * for any',
        '6:53: declined[1].cells: found "s/max/shared/stat": no target s; allowed: scratch',
        "6:84: declined[2].reason: required key missing; allowed: a text on one line",
    ],
    "system: {a: {b: c}, no: x, c: 1e3}\ncontact: x": [
        "6:13: system.a: found a mapping; allowed: a text",
        '6:21: system.no: found no, which YAML reads as false; put it in quotes: "no"',
        '6:31: system.c: found 1e3, which YAML reads as a number; put it in quotes: "1e3"',
        "7:10: contact: found x; allowed: up to 100 lines of `name: value` (name: a text; value: a text)",
    ],
    "source: {pristine: ~/mdtest, sha256: abc, path: x, build: {libraries: x}}": [
        f'6:20: source.pristine: found "~/mdtest"; allowed: {PATH.allowed} '
        "(nothing is expanded here; write the full path)",
        '6:38: source.sha256: found "abc"; allowed: a SHA-256 in 64 digits 0-9 and a-f',
        "6:43: source.path: unknown key; did you mean patch?",
        "6:71: source.build.libraries: found x; allowed: a list of up to 100, each a text on one line",
    ],
}


@pytest.mark.parametrize(("line", "expected"), WRONG_VALUES.items())
def test_a_wrong_value_is_reported_with_its_place_and_what_is_allowed(
    line: str, expected: list[str], problems: Problems
) -> None:
    assert problems(f"{VALID}{line}\n") == expected


def test_everything_wrong_is_reported_at_once(problems: Problems) -> None:
    text = "name: my offer\nrules: crossroads\nprofile: quick\nslurm: {time: 90}\nlaunch: 4\ntargets: []\n"
    assert problems(text) == [
        f'1:7: name: found "my offer"; allowed: {NAME}',
        '2:8: rules: rule pack "crossroads" not found; did you mean crossroads-mdtest?',
        "3:10: profile: found quick; allowed: rehearsal or full",
        f"4:15: slurm.time: found 90, which has no unit; allowed: {units.DURATION}",
        "5:9: launch: found 4; allowed: up to 100 lines of `name: value` (name: a launch condition of the pack; value: "
        f"{LAUNCH_FORM})",
        "6:10: targets: found 0 entries; allowed: a list of 1 to 50, each a mapping",
    ]


def test_an_empty_mapping_lacks_what_must_be_there(problems: Problems) -> None:
    assert problems("{}") == [
        f"1:1: name: required key missing; allowed: {NAME}",
        "1:1: rules: required key missing; allowed: the id of a rule pack "
        "(campaign rules lists them), or a path to one ending in .yaml",
        "1:1: profile: required key missing; allowed: rehearsal or full",
        "1:1: targets: required key missing; allowed: a list of 1 to 50, each a mapping",
    ]


def test_what_is_wrong_in_the_rule_pack_is_reported_too(problems: Problems, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("id: [\n")
    assert problems(VALID.replace("crossroads-mdtest", "./p.yaml").replace("rehearsal", "x")) == [
        f"2:8: rules: {tmp_path}/p.yaml:2:1: not valid YAML: expected the node content, but found '<stream end>'; "
        "check indentation, brackets and quotes",
        "3:10: profile: found x; allowed: rehearsal or full",
    ]


def test_the_full_profile_has_the_size_of_the_rules(problems: Problems) -> None:
    assert problems(VALID.replace("rehearsal", "full") + "items_total: 4096\n") == [
        "6:14: items_total: found 4096, but profile full fixes 2^20 files (clause 8.4); "
        "remove the key or set profile: rehearsal"
    ]


LAUNCHES = {
    "{}": [
        f"5:9: launch.node: required key missing; {NODE_FORM}",
        f"5:9: launch.peak: required key missing; {PEAK_FORM}",
    ],
    "{node: 0, peak: 64}": [
        f"5:16: launch.node: found 0; allowed: {LAUNCH_FORM}",
        f"5:25: launch.peak: the number of nodes is missing; {PEAK_FORM}",
    ],
    "{node: {nodes: 2, processes: 8}, peak: {nodes: 1, processes: 8}}": [
        f"5:24: launch.node.nodes: found 2; allowed: 1 {NODE}",
        f"5:56: launch.peak.nodes: found 1; allowed: 2 or more {PEAK}",
    ],
    "{node: all, peak: projected, max: search, single: search}": [
        f"5:16: launch.node: found all; {NODE_FORM}",
        "5:27: launch.peak: found projected, but scratch/peak/shared/create has no entry in projections; add one, or "
        "one in declined",
        f"5:43: launch.max: found search; {MAX_FORM}",
        f"5:59: launch.single: found search; allowed: projected, or 1, or remove the line {SINGLE}",
    ],
    "{node: {processes: 8}, peak: {nodes: 3, processes: 8}, single: 2}": [
        "5:60: launch.peak.processes: found 8 processes on 3 nodes; allowed: a multiple of 3 (the "
        "same number on each node)",
        f"5:72: launch.single: found 2 processes; allowed: 1 {SINGLE}",
    ],
    "{single: {nodes: 2, processes: 2}, node: 4, peak: {nodes: 2, processes: 1, threads: 4}}": [
        f"5:26: launch.single.nodes: found 2; allowed: 1 {SINGLE}",
        f"5:40: launch.single.processes: found 2 processes; allowed: 1 {SINGLE}",
        "5:81: launch.peak.processes: found 1 processes on 2 nodes; allowed: a multiple of 2 (the "
        "same number on each node)",
        "5:84: launch.peak.threads: unknown key; allowed: nodes, processes, processes_per_node, options",
    ],
    "{node: {}, peak: {processes: 8}, max: {nodes: 2, processes: 4, processes_per_node: 2}}": [
        f"5:16: launch.node: the number of processes is missing; {NODE_FORM}",
        f"5:26: launch.peak: the number of nodes is missing; {PEAK_FORM}",
        f"5:92: launch.max.processes_per_node: found both processes and processes_per_node; {MAX_FORM}",
    ],
    "{nodes: 4, peek: {nodes: 2, processes: 8}, frob: 3, node: 4, peak: {nodes: 2, processes_per_node: 4}}": [
        "5:17: launch.nodes: rule pack crossroads-mdtest has no such launch condition; did you mean node?",
        "5:26: launch.peek: rule pack crossroads-mdtest has no such launch condition; did you mean peak?",
        "5:58: launch.frob: rule pack crossroads-mdtest has no such launch condition; allowed: single, node, peak, max",
    ],
    "{node: '4', peak: [2, 8], max: yes}": [
        f'5:16: launch.node: found "4", a text in quotes; allowed: {LAUNCH_FORM}',
        f"5:27: launch.peak: found a list; allowed: {LAUNCH_FORM}",
        f"5:40: launch.max: found yes, which YAML reads as true; allowed: {LAUNCH_FORM}",
    ],
}


@pytest.mark.parametrize(("launch", "expected"), LAUNCHES.items())
def test_a_launch_condition_that_contradicts_the_rules_is_refused_with_the_clause(
    launch: str, expected: list[str], problems: Problems
) -> None:
    assert problems(f"{HEAD}{TARGETS}launch: {launch}\n") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("lauch: {node: 4, peak: {nodes: 2, processes: 8}}", "5:1: lauch: unknown key; did you mean launch?"),
        (
            "launch: {node: 4, peak: {node: 2, processes: 8}}",
            "5:26: launch.peak.node: unknown key; did you mean nodes?",
        ),
    ],
)
def test_what_is_missing_because_its_key_is_misspelt_is_reported_once(
    text: str, expected: str, problems: Problems
) -> None:
    assert problems(f"{HEAD}{TARGETS}{text}\n") == [expected]


DIRECTORIES = {
    "/": 'found "/", which is the root directory',
    "//": 'found "/", which is the root directory',
    "/./": 'found "/", which is the root directory',
    "/home": 'found "/home", which is above the home directory /home/u',
    "/home/u/": 'found "/home/u", which is the home directory',
    "$HOME": 'found "/home/u", which is the home directory',
    '"${HOME}"': 'found "/home/u", which is the home directory',
    "/scratch/../etc": 'found .. in "/scratch/../etc"',
    "scratch": 'found "scratch", which is not absolute',
    "~/x": 'found "~/x": ~ is not expanded, write $HOME',
    "'$(rm -rf /)'": 'found a $ that is not part of $NAME or ${NAME} in "$(rm -rf /)"',
    "'/a/$'": 'found a $ that is not part of $NAME or ${NAME} in "/a/$"',
    "'/a/$1'": 'found a $ that is not part of $NAME or ${NAME} in "/a/$1"',
    "'/`id`'": 'found a backquote in "/`id`"',
    "/$NASTY": 'found $NASTY, whose value is "a\\nb"',
    "/$SUBSHELL": 'found $SUBSHELL, whose value is "$(id)"',
    '"/a\\nb"': 'found a line break in "/a\\nb"',
    '"/a\\u0007b"': "found the character U+0007",
    "job:/": 'found "/", which is the root directory',
    "job:local/$A": 'found "local/$A", which is not absolute',
    "job:/local/../$A": 'found .. in "/local/../$A"',
    "''": 'found ""',
    "no": "found no, which YAML reads as false",
    "[/a]": "found a list",
}


@pytest.mark.parametrize(("directory", "reason"), DIRECTORIES.items())
def test_a_target_that_could_do_harm_is_refused(
    directory: str, reason: str, problems: Problems, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NASTY", "a\nb")
    monkeypatch.setenv("SUBSHELL", "$(id)")
    text = f"{HEAD}{LAUNCH}targets:\n  - name: s\n    directory: {directory}\n"
    assert problems(text) == [f"7:16: targets[0].directory: {reason}; allowed: {DIRECTORY.allowed}"]


@pytest.mark.parametrize("text", ["'job:/local/$(id)'", "'job:/a/$'", "'job:/a b'", "'job:/`id`'"])
def test_of_a_target_in_a_job_no_shell_would_make_anything_else(text: str, problems: Problems) -> None:
    (problem,) = problems(f"{HEAD}{LAUNCH}targets:\n  - name: s\n    directory: {text}\n")
    assert problem.endswith("; allowed behind job: a path of letters, digits, $NAME and ._+,:=-"), problem


def test_the_variables_of_a_target_in_a_job_are_left_to_it(load: Load) -> None:
    targets = (
        "targets: [{name: a, directory: 'job:/local//$SLURM_JOB_ID/'}, {name: b, directory: 'job:${DW_JOB_STRIPED}'}]"
    )
    campaign = load(f"{HEAD}{LAUNCH}{targets}\n")
    assert [target.directory for target in campaign.targets] == ["job:/local/$SLURM_JOB_ID", "job:${DW_JOB_STRIPED}"]


def test_a_variable_that_is_not_set_is_named(problems: Problems, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMPTY", "")
    text = f'{HEAD}{LAUNCH}targets: [{{name: a, directory: /a/$NOPE}}, {{name: b, directory: "/b/${{EMPTY}}"}}]\n'
    assert problems(text) == [
        "5:32: targets[0].directory: found $NOPE, which is not set in the environment; set it or write the full path",
        "5:64: targets[1].directory: found $EMPTY, which is not set in the environment; set it or write the full path",
    ]


def test_the_user_is_known_where_the_environment_does_not_tell(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("USER")
    monkeypatch.delenv("UID", raising=False)
    directory = load(f'{HEAD}{LAUNCH}targets: [{{name: a, directory: "/a/$USER-${{UID}}"}}]\n').targets[0].directory
    assert directory == f"/a/{pwd.getpwuid(os.getuid()).pw_name}-{os.getuid()}"


def test_the_directories_of_the_users_sandbox_are_known_also_where_it_does_not_run(
    load: Load, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("CAMPAIGN_SCRATCH", "/running/scratch")
    monkeypatch.delenv("CAMPAIGN_STORAGE", raising=False)
    words = "targets: [{name: a, directory: $CAMPAIGN_SCRATCH}, {name: b, directory: $CAMPAIGN_STORAGE}]\n"
    directories = [target.directory for target in load(f"{HEAD}{LAUNCH}{words}").targets]
    assert directories == ["/running/scratch", f"{tmp_path}/campaign-sandbox/gluster"]


def test_targets_differ_in_name_and_share_no_files(problems: Problems) -> None:
    text = f"""{HEAD}{LAUNCH}targets:
  - {{name: a, directory: /a}}
  - {{name: A, directory: /a/b}}
  - {{name: c, directory: /a/}}
  - {{name: ab, directory: /ab}}
  - {{name: a/b, directory: /c}}
  - {{name: {"x" * 41}, directory: /d}}
"""
    assert problems(text) == [
        "7:12: targets[1].name: found A, but target a exists; "
        "allowed: names that differ in more than upper and lower case",
        '7:26: targets[1].directory: found "/a/b", which overlaps "/a" of target a; '
        "allowed: directories that do not contain each other",
        '8:26: targets[2].directory: found "/a", the directory of target a; '
        "allowed: directories that do not contain each other",
        '8:26: targets[2].directory: found "/a", which overlaps "/a/b" of target A; '
        "allowed: directories that do not contain each other",
        f'10:12: targets[4].name: found "a/b"; allowed: {NAME}',
        "11:12: targets[5].name: found 41 characters; allowed: up to 40",
    ]


ARGUMENTS = {
    "-N4": ['found -N in "-N4", which the run rules set (clause 8.4)'],
    "-N": ['found -N in "-N", which the run rules set (clause 8.4)'],
    "-n": ['found -n in "-n", which the run rules set (clause 8.4)'],
    "-d/tmp": ['found -d in "-d/tmp", which the run rules set (clause 8.4)'],
    "-F": ['found -F in "-F", which the run rules set (clause 8.4)'],
    "-u": ['found -u in "-u", which the run rules set (clause 8.4)'],
    "-uN4": [
        'found -u in "-uN4", which the run rules set (clause 8.4)',
        'found -N in "-uN4", which the run rules set (clause 8.4)',
    ],
    "-vFS": [
        'found -F in "-vFS", which the run rules set (clause 8.4)',
        'found -S in "-vFS", which the run rules set (clause 8.4)',
    ],
    "-i": ['found -i in "-i"'],
    "-vi3": ['found -i in "-vi3"'],
    "--nodes=3": ['found --nodes in "--nodes=3"'],
    "--": ['found "--", which is not a flag'],
    "-": ['found "-", which is not a flag'],
    "7": ['found "7", which is not a flag'],
}


@pytest.mark.parametrize(("word", "reasons"), ARGUMENTS.items())
def test_an_argument_that_the_rules_do_not_allow_is_refused_with_the_clause(
    word: str, reasons: list[str], problems: Problems
) -> None:
    messages = problems(f"{VALID}benchmark: {{extra_arguments: [-v, '{word}']}}\n")
    document = " (Crossroads/ATS-3 MDTEST run rules)"
    assert messages == [
        f"6:35: benchmark.extra_arguments[1]: {reason}; allowed: -v, -V"
        f"{'' if 'clause' in reason or 'not a flag' in reason else document}"
        for reason in reasons
    ]


@pytest.mark.parametrize("words", ["-v", "-vv", "-V, 3", "-V3", "-vV, '3'", "-V, -3", "-V, -N"])
def test_allowed_arguments_pass_with_their_values(words: str, load: Load) -> None:
    assert load(f"{VALID}benchmark: {{extra_arguments: [{words}]}}\n").benchmark.extra_arguments == tuple(
        word.strip("'") for word in words.split(", ")
    )


def test_an_allowed_flag_needs_its_value(problems: Problems) -> None:
    assert problems(f"{VALID}benchmark: {{extra_arguments: [-v, -V]}}\n") == [
        "6:35: benchmark.extra_arguments[1]: found -V without its value; add it"
    ]


@pytest.fixture
def phased(tmp_path: Path) -> str:
    """A campaign of a pack with several programs, of which one has an optional flag."""
    pack = (ROOT / "rules" / "io500.yaml").read_text().replace("id: io500\n", "id: mine\n")
    allowed = (
        "allowed: [{flag: --posix.odirect, clause: rules}, {flag: -v, clause: rules}, "
        "{flag: -pme, value: true, clause: rules}]"
    )
    (tmp_path / "mine.yaml").write_text(pack.replace("- {id: ior}", f"- {{id: ior, {allowed}}}"))
    return (
        HEAD.replace("crossroads-mdtest", "./mine.yaml") + TARGETS + "launch: {production: {nodes: 2, processes: 4}}\n"
    )


def test_a_flag_that_is_a_word_behind_one_dash_is_not_taken_apart(load: Load, problems: Problems, phased: str) -> None:
    campaign = load(f"{phased}benchmark: {{program_arguments: {{ior: [-pme, gpu, -v]}}}}\n")
    assert campaign.benchmark.further("ior") == ("-pme", "gpu", "-v")
    (problem,) = problems(f"{phased}benchmark: {{program_arguments: {{ior: [-pmefft]}}}}\n")
    assert 'found -p in "-pmefft"; allowed: --posix.odirect, -v, -pme' in problem


def test_a_program_of_several_has_optional_flags_of_its_own(load: Load, phased: str) -> None:
    campaign = load(f"{phased}benchmark: {{program_arguments: {{ior: [-v, --posix.odirect]}}}}\n")
    assert campaign.benchmark.further("ior") == ("-v", "--posix.odirect")
    assert campaign.benchmark.further("mdtest") == ()


@pytest.mark.parametrize(
    ("key_text", "message"),
    [
        ("program_arguments: {ior: [-q]}", '6:39: benchmark.program_arguments.ior[0]: found -q in "-q"; allowed: '),
        (
            "program_arguments: {mdtest: [-v]}",
            '6:42: benchmark.program_arguments.mdtest[0]: found -v in "-v"; allowed: none',
        ),
        (
            "program_arguments: {iro: [-v]}",
            "6:38: benchmark.program_arguments.iro: found iro; allowed: ior, mdtest, find",
        ),
        (
            "extra_arguments: [-v]",
            "6:30: benchmark.extra_arguments: rule pack mine has several programs (ior, mdtest, find)",
        ),
    ],
)
def test_other_flags_of_a_program_are_refused(key_text: str, message: str, problems: Problems, phased: str) -> None:
    (reported_problem,) = problems(f"{phased}benchmark: {{{key_text}}}\n")
    assert reported_problem.startswith(message)


def test_the_only_program_of_a_pack_may_be_named(load: Load, problems: Problems) -> None:
    """As in a pack with phases, so that what is written for the one form is read in the other."""
    campaign = load(f"{VALID}benchmark: {{program_arguments: {{mdtest: [-v]}}, programs: {{mdtest: /usr/bin/true}}}}\n")
    assert (campaign.benchmark.further("mdtest"), campaign.benchmark.path("mdtest")) == (("-v",), Path("/usr/bin/true"))
    assert problems(f"{VALID}benchmark: {{program_arguments: {{mdtset: [-v]}}}}\n") == [
        "6:41: benchmark.program_arguments.mdtset: found mdtset; did you mean mdtest?"
    ]
    assert problems(f"{VALID}benchmark: {{extra_arguments: [-v], program_arguments: {{mdtest: [-v]}}}}\n") == [
        "6:30: benchmark.extra_arguments: found benchmark.program_arguments too; allowed: one of them"
    ]


def test_braces_in_an_argument_are_refused(problems: Problems) -> None:
    assert problems(f"{VALID}benchmark: {{extra_arguments: [-V, '{{directory}}']}}\n") == [
        '6:35: benchmark.extra_arguments[1]: found "{directory}"; allowed: a word without braces'
    ]


DIRECTIVE = slurm_keys.DIRECTIVE.allowed


@pytest.mark.parametrize("name", slurm_keys.REFUSED_DIRECTIVES)
def test_slurm_keys_that_campaign_sets_are_refused(name: str, problems: Problems) -> None:
    reason = slurm_keys.REFUSED_DIRECTIVES[name]
    assert problems(f"{VALID}slurm: {{directives: [--{name}=1, '--{name}']}}\n") == [
        f"6:22: slurm.directives[0]: found --{name}: {reason}; allowed: {DIRECTIVE}",
        f"6:{28 + len(name)}: slurm.directives[1]: found --{name}: {reason}; allowed: {DIRECTIVE}",
    ]


def test_generic_resources_are_given_in_one_place(problems: Problems) -> None:
    assert problems(f"{VALID}slurm: {{gres: ['gpu:4', gpu], directives: ['--gres=gpu:2', --nice]}}\n") == [
        '6:25: slurm.gres[1]: found "gpu"; allowed: a kind and a number, such as gpu:4',
        "6:44: slurm.directives[0]: found --gres=gpu:2 and slurm.gres; allowed: one of them",
    ]


DIRECTIVES = {
    "--exclus": f"found --exclus (abbreviation of --exclusive): campaign requests whole nodes; allowed: {DIRECTIVE}",
    "--ntasks-per-n=2": "found --ntasks-per-n (abbreviation of --ntasks-per-node): the launch condition sets it; "
    f"allowed: {DIRECTIVE}",
    "-N4": f'found "-N4"; allowed: {DIRECTIVE}, without spaces and quotes',
    "-n 4": f'found "-n 4"; allowed: {DIRECTIVE}, without spaces and quotes',
    "nodes=4": f'found "nodes=4"; allowed: {DIRECTIVE}, without spaces and quotes',
    "--comment=a b": f'found "--comment=a b"; allowed: {DIRECTIVE}, without spaces and quotes',
    "--comment=$(id)": f'found "--comment=$(id)"; allowed: {DIRECTIVE}, without spaces and quotes',
    "--gres=a\\n#SBATCH --nodes=9": f'found a line break in "--gres=a\\n#SBATCH --nodes=9"; allowed: {DIRECTIVE}',
}


@pytest.mark.parametrize(("directive", "reason"), DIRECTIVES.items())
def test_no_other_form_of_an_sbatch_option_gets_past(directive: str, reason: str, problems: Problems) -> None:
    assert problems(f'{VALID}slurm: {{directives: ["{directive}"]}}\n') == [f"6:22: slurm.directives[0]: {reason}"]


def test_harmless_slurm_keys_pass(load: Load) -> None:
    directives = (
        "--exclude=n1",
        "--gres=gpu:1",
        "--mem=0",
        "--cpus-per-task=2",
        "--hint=nomultithread",
        "--contiguous",
    )
    assert load(f"{VALID}slurm: {{directives: [{', '.join(directives)}]}}\n").slurm.directives == directives


def test_a_links_own_name_stays_for_it_may_decide_what_the_program_is(load: Load, tmp_path: Path) -> None:
    (tmp_path / "bench").write_text("")
    (tmp_path / "mdtest").symlink_to("bench")
    assert load(f"{VALID}benchmark: {{executable: mdtest}}\n").benchmark.executable == tmp_path / "mdtest"


def test_paths_are_from_the_files_directory_wherever_it_is_read_from(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "c.yaml").write_text(f"{VALID}results: ../out\n")
    assert config.load(Path("sub/c.yaml"))[0].results == tmp_path / "out" / "demo"


def test_the_example_loads() -> None:
    campaign = config.load(ROOT / "docs" / "examples" / "crossroads-rehearsal.yaml")[0]
    assert campaign.results == ROOT / "results" / "crossroads-rehearsal"
    assert campaign.launch == {
        "single": Geometry(1, 1),
        "node": Geometry(1, 4),
        "peak": Geometry(4, 16),
        "max": AllCores(),
    }


def attempt(text: str, path: Path) -> None:
    path.write_text(text, encoding="utf-8", errors="replace")
    try:
        config.load(path)
    except InputError as error:
        assert error.problems
        assert all(problem.startswith(f"{path}:") for problem in error.problems)


LONG = """name: demo
rules: crossroads-mdtest
profile: rehearsal
items_total: 2^12
targets:
  - {name: scratch, directory: "/scratch/${USER}", description: x}
launch: {node: 4, peak: {nodes: 2, processes: 8}, max: all}
slurm:
  time: 1h30m
  modules: [gcc/12]
  directives: [--mem=0]
  environment: {A: 1}
benchmark:
  extra_arguments: [-v, -V, 3]
declined: [{cells: "*/max/*/*", reason: y}]
system: {cores: 8}
"""
fuzz = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=examples(200)
)


@fuzz
@given(
    st.integers(0, len(LONG)),
    st.integers(0, 6),
    st.text(alphabet="aN0-/$'\":{}[],|>&*!#~ \n\t^é\x00\u202e", max_size=6),
)
def test_a_mangled_file_is_read_or_refused_but_never_breaks_the_reader(
    tmp_path: Path, start: int, removed: int, added: str
) -> None:
    attempt(LONG[:start] + added + LONG[start + removed :], tmp_path / "f.yaml")


TOKENS = [*"{}[],:-\n ", "\n  ", ": ", "no", "1:30", "''", "[]", "{}", *LONG.replace("\n", " ").split(" ")]


@fuzz
@given(st.lists(st.sampled_from(TOKENS), max_size=30))
def test_any_mixture_of_a_files_words_is_read_or_refused(tmp_path: Path, tokens: list[str]) -> None:
    attempt(" ".join(tokens), tmp_path / "f.yaml")


VALUES = [
    "no",
    "",
    "x",
    "-1",
    "0",
    "4",
    "[]",
    "[x]",
    "[[x]]",
    "{}",
    "{a: b}",
    "{no: 1}",
    "[{}]",
    "~",
    "'$('",
    "2^20",
    "*a",
]


@fuzz
@given(st.sampled_from(schemas.reference(config_format.SCHEMA)), st.sampled_from(VALUES))
def test_any_value_under_any_key_is_read_or_refused(tmp_path: Path, row: tuple[str, ...], value: str) -> None:
    text, depth = "", 0
    for part in row[0].split("."):
        text += f"{'  ' * depth}{part.removesuffix('[]')}:"
        depth += 1
        if part.endswith("[]"):
            text += f"\n{'  ' * depth}-"
            depth += 1
        text += "\n"
    other_lines = [line for line in VALID.splitlines() if not line.startswith(row[0].split(".")[0].removesuffix("[]"))]
    attempt("\n".join(other_lines) + "\n" + text.rstrip("\n") + f" {value}\n", tmp_path / "f.yaml")


def test_the_home_directory_is_known_without_home_being_set(
    problems: Problems, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = pwd.getpwuid(os.getuid()).pw_dir
    monkeypatch.delenv("HOME")
    assert problems(f"{HEAD}{LAUNCH}targets: [{{name: s, directory: {home}}}]\n") == [
        f'5:32: targets[0].directory: found "{home}", which is the home directory; allowed: {DIRECTORY.allowed}'
    ]


SWEPT = """id: swept
version: 1
title: A pack with variables
document: The document
caption: Table (MiB/s)
applet: ior
arguments: "-b {block} m{largest} -o {directory}/x {flags}"
launch: [{id: two, title: Two, clause: "1", nodes: 2}]
files: [{id: all, title: All, clause: "2"}]
operations: [{id: "w-{size}", title: "{size}", record: "w-{size}", unit: MiB/s}]
variables:
- {id: block, full: 16m, rehearsal: 1m, clause: "3"}
- {id: largest, full: 8, rehearsal: 4, clause: "4", free: true}
sweeps: [{id: size, first: 2, last: "{largest}", times: 2}]
derived: [{flag: -b, clause: "3"}, {flag: -o, clause: "3"}]
selection: {operation: "w-{size}", best: highest, clause: "4"}
"""
VARIABLES: dict[tuple[str, str], list[str]] = {
    ("rehearsal", "{block: 2m, largest: 16}"): [],
    ("full", "{largest: 16}"): [],
    ("full", "{block: 2m}"): [
        "6:20: variables.block: found 2m, but profile full fixes 16m (clause 3); remove it or set profile: rehearsal"
    ],
    ("rehearsal", "{size: 2}"): ["6:19: variables.size: unknown variable; allowed: block, largest"],
    ("rehearsal", "{largest: 1}"): [
        "6:12: variables: sweep size: first 2 is above last 1; correct the variables or the launch conditions"
    ],
    ("rehearsal", "{block@a/*/all: 2m}"): [],
    ("full", "{block@a/*/all: 2m}"): [
        '6:28: variables."block@a/*/all": found 2m, but profile full fixes 16m (clause 3); remove it or set '
        "profile: rehearsal"
    ],
    ("rehearsal", "{block@a/three/all: 2m}"): [
        '6:32: variables."block@a/three/all": a/three/all matches no run; allowed after the @: '
        "target/launch/files, where * matches any"
    ],
    ("rehearsal", "{largest@a/*/*: 8}"): [
        '6:28: variables."largest@a/*/*": largest is also used in titles, flags, operations or '
        "sweeps; allowed for such a variable: one value for all runs"
    ],
    ("rehearsal", '{block: "$(rm)"}'): ['6:20: variables.block: found "$(rm)"; allowed: letters, digits and _.,:%+-'],
}


@pytest.mark.parametrize(("replacement", "expected"), VARIABLES.items(), ids=str)
def test_variables_are_those_of_the_pack_and_at_full_size_only_the_free_ones(
    replacement: tuple[str, str], expected: list[str], tmp_path: Path
) -> None:
    (tmp_path / "swept.yaml").write_text(SWEPT)
    path = tmp_path / "c.yaml"
    profile, variables = replacement
    path.write_text(
        f"name: c\nrules: ./swept.yaml\nprofile: {profile}\ntargets: [{{name: a, directory: /scratch/a}}]\n"
        f"launch: {{two: 2}}\nvariables: {variables}\ndeclined: [{{cells: a/two/all/w-2, reason: r}}]\n"
    )
    if expected:
        with pytest.raises(InputError) as caught:
            config.load(path)
        assert [problem.removeprefix(f"{path}:") for problem in caught.value.problems] == expected
    else:
        assert dict(config.load(path)[0].variables) == {
            pair.split(": ")[0]: pair.split(": ")[1] for pair in variables.strip("{}").split(", ")
        }
