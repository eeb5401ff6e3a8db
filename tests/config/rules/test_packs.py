import hashlib
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from campaign.config.rules import catalogue, packs
from campaign.config.rules import text as rules_text
from campaign.config.rules.catalogue import Quantity
from campaign.config.rules.entries import FileConfiguration, LaunchCondition, Note, Operation, Plot, Selection, Variable
from campaign.config.rules.pack import RulePack
from campaign.config.rules.programs import Flag, Phase, Program
from campaign.config.rules.sweeps import Sweep
from campaign.core.errors import InputError
from campaign.core.formula import ALLOWED
from campaign.core.resources import PACKS
from tests.support import builders, reference
from tests.support.examples import examples

ROOT = Path(__file__).parents[3]
CROSSROADS = ROOT / "rules" / "crossroads-mdtest.yaml"

SMALL = """id: small
version: 2
title: A small pack
document: The document
caption: Table (ops/s)
applet: mdtest
arguments: "-F -n {items_per_process} {flags}"
launch: [{id: one, title: One, clause: "1", nodes: 1}]
files: [{id: all, title: "{items_total} files", clause: "2", flags: [-u]}]
operations: [{id: create, title: Create, record: create, unit: ops/s}]
fixed: [{flag: -F, clause: "3"}]
derived: [{flag: -n, value: true, clause: "3"}]
items: {full: 2^10, rehearsal: 16, clause: "2"}
selection: {operation: create, best: highest, clause: "4"}
"""

Problems = Callable[[str], list[str]]


@pytest.fixture(autouse=True)
def no_further_directories(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CAMPAIGN_RULES", raising=False)


@pytest.fixture
def problems(tmp_path: Path) -> Problems:
    """What is wrong with a pack of that text, without its file's name."""

    def problems_of(text: str) -> list[str]:
        path = tmp_path / "small.yaml"
        path.write_text(text)
        with pytest.raises(InputError) as caught:
            packs.load(path)
        assert all(problem.startswith(f"{path}:") for problem in caught.value.problems)
        return [problem.removeprefix(f"{path}:") for problem in caught.value.problems]

    return problems_of


def test_the_crossroads_rules_are_the_rfps() -> None:
    pack = packs.load("crossroads-mdtest")
    assert pack.path == CROSSROADS
    assert pack == packs.load(str(CROSSROADS)) == packs.load(CROSSROADS)
    assert [(launch.id, launch.needs, launch.clause) for launch in pack.launch] == [
        ("single", "1 process on 1 node", "8.5"),
        ("node", "1 node", "8.5"),
        ("peak", "at least 2 nodes", "8.5"),
        ("max", "the whole system", "8.5"),
    ]
    assert [(files.id, files.flags, files.inflated) for files in pack.files] == [
        ("shared", (), ()),
        ("unique", ("-u",), ()),
        ("onefile", ("-S",), ("create", "remove")),
    ]
    assert [(o.id, o.title, o.record, o.unit) for o in pack.operations] == [
        ("create", "Create", "create", "ops/s"),
        ("stat", "Stat", "stat", "ops/s"),
        ("remove", "Remove", "remove", "ops/s"),
    ]
    assert len(pack.launch) * len(pack.files) * len(pack.operations) == 36
    assert " ".join(pack.arguments) == "-F -C -T -r -n {items_per_process} -d {directory} -N {rank_offset} {flags}"
    assert pack.flag_clauses() == dict.fromkeys(["-u", "-S", "-F", "-C", "-T", "-r", "-n", "-d", "-N"], "8.4")
    assert [flag.flag for flag in pack.allowed] == ["-v", "-V"]
    assert pack.items_total == {"full": 2**20, "rehearsal": 16384}
    assert pack.items_at_least
    assert pack.selection == Selection("create", "highest", "distribution", "best")
    assert "MB/s" not in pack.caption


def test_a_pack_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(
        SMALL
        + 'checks: {FLG-01: "3", STA-04: {clause: "4", variation: 2.5%, drift: 0.01}}\n'
        + 'notes: [{clause: "2", text: read so, rules: [FLG-08]}]\n'
    )
    assert packs.load(path) == RulePack(
        digest=hashlib.sha256(path.read_bytes()).hexdigest(),
        id="small",
        version=2,
        title="A small pack",
        document="The document",
        caption="Table (ops/s)",
        programs=(Program("mdtest", "mdtest"),),
        launch=(LaunchCondition("one", "One", "1", nodes=1),),
        files=(FileConfiguration("all", "{items_total} files", "2", ("-u",)),),
        operations=(Operation("create", "Create", "ops/s", record="create"),),
        phases=(
            Phase(
                "",
                "mdtest",
                ("-F", "-n", "{items_per_process}", "{flags}"),
                fixed=(Flag("-F", False, "3"),),
                derived=(Flag("-n", True, "3"),),
            ),
        ),
        selection=Selection("create", "highest", "4"),
        items_total={"rehearsal": 16, "full": 1024},
        items_clause="2",
        checks={"FLG-01": "3", "STA-04": "4"},
        parameters={("STA-04", "variation"): 0.025, ("STA-04", "drift"): 0.01},
        notes=(Note("2", "read so", ("FLG-08",)),),
        path=path,
    )


PLACEHOLDERS = (
    "{items_per_process}, {items_total}, {directory}, {processes}, {nodes}, {processes_per_node}, "
    "{rank_offset}, {flags}"
)
CHANGES: dict[tuple[str, str], list[str]] = {
    ("id: small", "id: other"): ["1:5: id: found other; allowed: small, the name of the file"],
    ("version: 2", "version: 1.0"): ["2:10: version: found 1.0; allowed: a whole number from 1 to 1000000"],
    ("title: A small pack\n", ""): ["1:1: title: required key missing; allowed: a text on one line"],
    ('clause: "1"', "clause: 8.4"): [
        '8:40: launch[0].clause: found 8.4, which YAML reads as a number; put it in quotes: "8.4"'
    ],
    ("-F -n", "-n"): ["7:12: arguments: -F is missing; allowed: all fixed and derived flags"],
    ("-F -n", "-F -F -n"): ["7:12: arguments: found -F 2 times; allowed: once"],
    ("-F -n", "-F {directory}-stonewall f{directory}/../x -n"): [
        "7:12: arguments: found {directory}-stonewall, a path outside the attempt's directory, where "
        "nothing is checked or removed; allowed: paths in it, such as {directory}/file",
        "7:12: arguments: found f{directory}/../x, a path outside the attempt's directory, where "
        "nothing is checked or removed; allowed: paths in it, such as {directory}/file",
    ],
    (" {flags}", ""): [
        "7:12: arguments: {flags} is missing, in whose place the flags of `files` go (-u); write it once: "
        '"-F -n {items_per_process} {flags}"'
    ],
    ("{flags}", "{flags} a{ppn} {Nodes}"): [
        f"7:12: arguments: found {{ppn}}; allowed: {PLACEHOLDERS}",
        f"7:12: arguments: found {{Nodes}}; allowed: {PLACEHOLDERS}",
    ],
    ("{flags}", "x{flags}"): [
        "7:12: arguments: found x{flags}; allowed: {flags} as a separate word",
    ],
    ("full: 2^10, ", ""): [
        "13:8: items.full: required key missing; allowed: a number, since arguments has {items_per_process}"
    ],
    ('items: {full: 2^10, rehearsal: 16, clause: "2"}\n', ""): [
        "1:1: items.rehearsal: required key missing; allowed: a number, since arguments has {items_per_process}",
        "1:1: items.full: required key missing; allowed: a number, since arguments has {items_per_process}",
    ],
    ("nodes: 1}]", "nodes: 1, minimum_nodes: 2, processes: 3, whole_system: true}]"): [
        "8:70: launch[0].minimum_nodes: found 2; allowed: up to 1, the value of nodes",
        "8:101: launch[0].whole_system: found true with fixed counts; remove them or set false",
    ],
    ("nodes: 1}]", 'nodes: 2, processes: 1}, {id: one, title: Again, clause: "1"}]'): [
        "8:66: launch[0].processes: found 1; allowed: 2 or more, one on each node",
        "8:75: launch[1].id: found one a second time; allowed: ids that differ",
    ],
    ("flag: -n, value: true", "flag: -F, value: yes"): [
        "12:18: derived[0].flag: found -F, which is also in fixed; keep one",
        "12:29: derived[0].value: found yes; allowed: true or false",
    ],
    ("flag: -F", "flag: -u"): [
        "7:12: arguments: -u is missing; allowed: all fixed and derived flags",
        "11:16: fixed[0].flag: found -u, which is also in files[0].flags; keep one",
    ],
    ("{items_total} files", "{items_totl} files"): ["9:26: files[0].title: found {items_totl}; allowed: {items_total}"],
    ("flags: [-u]", "inflated: [stat]"): ["9:73: files[0].inflated[0]: found stat; allowed: create"],
    ("{operation: create, best: highest", "{operation: stat, best: largest"): [
        "14:24: selection.operation: found stat; allowed: create",
        "14:36: selection.best: found largest; allowed: highest, lowest or median",
    ],
    ("selection:", "checks: {FLG1: x, FLG-02: 8.5}\nselection:"): [
        '14:10: checks.FLG1: found "FLG1"; did you mean FLG-01?',
        '14:27: checks.FLG-02: found 8.5, which YAML reads as a number; put it in quotes: "8.5"',
    ],
    ("selection:", 'checks: {RES-03: "6"}\nselection:'): [
        "14:18: checks.RES-03: found RES-03, which is about all parts of an RFP together; give its conditions under "
        "`requires` of rfp.yaml"
    ],
    ("selection:", "checks: {XYZ-01: x, RUN-07: {minimum: 10, most: 1s}}\nselection:"): [
        "14:18: checks.XYZ-01: found XYZ-01; allowed: a rule of the catalogue (docs/rules.md)",
        "14:29: checks.RUN-07: the clause is missing; allowed: a mapping with clause, text, minimum, unusable",
        '14:39: checks.RUN-07.minimum: found "10"; allowed: a time such as 10s, 2.5ms or 20us',
        "14:49: checks.RUN-07.most: found most; allowed: clause, text, minimum, unusable",
    ],
}


SWEPT = """id: small
version: 1
title: A pack with a sweep
document: The document
caption: Table (MiB/s)
applet: ior
arguments: "-b {block} -o {directory}/x m{smallest} M{largest} -c {count} {flags}"
launch: [{id: two, title: Two, clause: "1", nodes: 2}]
files: [{id: all, title: "blocks of {block}", clause: "2"}]
operations:
- {id: best, title: Rate, record: best, unit: MiB/s}
- {id: "rate-{count}-{size}", title: "{size}", row: "{count} pairs", record: "r-{count}-{size}", unit: MiB/s}
variables:
- {id: block, full: 16m, rehearsal: 1m, clause: "3"}
- {id: smallest, full: 256, rehearsal: 16, clause: "3", free: true}
- {id: largest, full: 1024, rehearsal: 64, clause: "3"}
sweeps:
- {id: size, first: "{smallest}", last: "{largest}", times: 2}
- {id: count, first: 1, last: "{processes_per_node}", plus: 1}
derived: [{flag: -b, clause: "3"}, {flag: -o, clause: "3"}, {flag: -c, clause: "3"}]
selection: {operation: best, best: highest, clause: "4"}
plots: [{id: sizes, title: Sizes, kind: lines, operations: ["rate-{count}-{size}"], x: size, series: count}]
"""

SWEPT_CHANGES: dict[tuple[str, str], list[str]] = {
    ("id: smallest", "id: nodes"): [
        "7:12: arguments: found {smallest}; allowed: {items_per_process}, {items_total}, {directory}, {processes}, "
        "{nodes}, {processes_per_node}, {rank_offset}, {flags}, {block}, {nodes}, {largest}, {size}, {count}",
        "15:8: variables[1].id: found nodes, which is also the name of a placeholder; choose another id",
        "15:8: variables[1].id: found nodes, which no text uses; use or remove it",
        "18:21: sweeps[0].first: found {smallest}; allowed: {processes}, {nodes}, {processes_per_node}, {block}, "
        "{nodes}, {largest}",
        "18:3: sweeps[0]: sweep size: first is '{smallest}'; allowed: a whole number of 1 or more (profile rehearsal)",
    ],
    ("{id: block, full: 16m", "{id: block, full: 16 m"): [
        '14:21: variables[0].full: found "16 m"; allowed: letters, digits and _.,:%+-'
    ],
    ("blocks of {block}", "blocks of {size}"): [
        "9:26: files[0].title: found {size}; allowed: {items_total}, {block}, {smallest}, {largest}"
    ],
    ('title: "{size}", row', 'title: "{size} {nodes}", row'): [
        "12:38: operations[1].title: found {nodes}; allowed: {block}, {smallest}, {largest}, {size}, {count}"
    ],
    ('{id: "rate-{count}-{size}", title', '{id: "rate-{size}", title'): [
        "12:45: operations[1].row: found {count}; allowed: sweeps that the id contains",
        "12:70: operations[1].record: found {count}; allowed: sweeps that the id contains",
        "22:61: plots[0].operations[0]: found rate-{count}-{size}; allowed: best, rate-{size}",
    ],
    ("rehearsal: 64", "rehearsal: 8"): ["18:3: sweeps[0]: sweep size: first 16 is above last 8 (profile rehearsal)"],
    (", times: 2", ""): [
        "18:3: sweeps[0]: required keys missing; allowed: values; or first, last and one of times and plus"
    ],
    ("nodes: 2}]", 'nodes: 2}, {id: max, title: Max, clause: "5", whole_system: true}]'): [
        "19:3: sweeps[1]: its values depend on the geometry, which is not allowed if a launch condition is the whole "
        "system"
    ],
    ("- {id: count, first: 1", "- {id: step, first: 1, last: 4, plus: 1}\n- {id: count, first: 1"): [
        "19:8: sweeps[1].id: found step, which no text uses; use or remove it"
    ],
    ("- {id: best,", "- {id: rate-1-16,"): [
        "12:8: operations[1].id: gives the operation id rate-1-16 a second time; allowed: ids that "
        "differ (profile rehearsal)",
        "21:24: selection.operation: found best; allowed: rate-1-16, rate-{count}-{size}",
    ],
    ('"4"}\nplots', '"4", iteration: last}\nplots'): [],
    ('best: highest, clause: "4"}\nplots', 'best: highest, clause: "4", iteration: mean}\nplots'): [
        "21:69: selection.iteration: found mean; allowed: best, first or last"
    ],
    ("record: best, unit: MiB/s}", "record: best, unit: MiB/s, statistic: median}"): [],
    ("{operation: best,", "{operation: worst,"): [
        "21:24: selection.operation: found worst; allowed: best, rate-{count}-{size}"
    ],
    ("x: size, series: count", "x: sizes"): [
        "22:88: plots[0].x: found sizes; did you mean size?",
    ],
    ("kind: lines", "kind: contention"): [],
    ("-b {block}", "-b {block} x 4k y 4k {block}"): [],
    ("record: best", "record: dir_create"): [],
    ("nodes: 2}]", "nodes: 10%, processes_per_node: half, threads: cores / processes_per_node}]"): [],
    ("nodes: 2}]", "nodes: 10%, processes: 4, threads: core / 2}]"): [
        "8:68: launch[0].processes: not allowed together with processes per node or a share of the nodes; "
        "remove one of them",
        "8:80: launch[0].threads: found core; did you mean cores?",
    ],
    ("m{smallest}", "m{= ceil(1.5 * memory / smallest) * block}"): [],
    ("m{smallest}", "m{= memry / smallest} {= smallest +}"): [
        "7:12: arguments: found memry; did you mean memory?",
        f"7:12: arguments: ' smallest +' is not a valid formula; allowed: {ALLOWED}",
    ],
    ("kind: lines", "kind: bars"): [
        "22:87: plots[0].x: found size; allowed: launch, files",
    ],
    ('kind: lines, operations: ["rate-{count}-{size}"], x: size, series: count', "kind: bars"): [
        "22:9: plots[0].operations: required key missing; a plot of kind bars needs it"
    ],
    ('kind: lines, operations: ["rate-{count}-{size}"], x: size, series: count', "kind: latency"): [
        "22:9: plots[0].operations: required key missing; a plot of kind latency needs it"
    ],
}


@pytest.mark.parametrize(("change", "expected"), SWEPT_CHANGES.items(), ids=[f"{a} -> {b}" for a, b in SWEPT_CHANGES])
def test_what_is_wrong_with_variables_sweeps_and_plots_is_reported_with_its_place(
    change: tuple[str, str], expected: list[str], problems: Problems, tmp_path: Path
) -> None:
    assert change[0] in SWEPT
    pack_text = SWEPT.replace(*change, 1)
    if expected:
        assert sorted(problems(pack_text)) == sorted(expected)
    else:
        (tmp_path / "small.yaml").write_text(pack_text)
        packs.load(tmp_path / "small.yaml")


def test_variables_sweeps_and_plots_are_read_as_they_stand(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SWEPT)
    pack = packs.load(tmp_path / "small.yaml")
    assert pack.variables[1] == Variable("smallest", "256", "16", "3", free=True)
    assert pack.sweeps == (
        Sweep("size", first="{smallest}", last="{largest}", times="2"),
        Sweep("count", first="1", last="{processes_per_node}", plus="1"),
    )
    assert pack.operations[1] == Operation(
        "rate-{count}-{size}", "{size}", "MiB/s", record="r-{count}-{size}", row="{count} pairs"
    )
    assert pack.plots == (Plot("sizes", "Sizes", "lines", ("rate-{count}-{size}",), "size", "count"),)


def test_variables_and_sweeps_are_shown_with_their_values(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SWEPT)
    text = rules_text.text(packs.load(tmp_path / "small.yaml"))
    assert (
        """
Operations
  best       Rate, MiB/s
  rate-{count}-{size} {count} pairs, {size}, MiB/s

Sweeps (values measured within one run)
  size       {smallest} to {largest}, times 2
  count      1 to {processes_per_node}, plus 1

Variables (values of the command line)
  block      16m; in a rehearsal 1m [3]
  smallest   256 (a campaign file may change it); in a rehearsal 16 [3]
  largest    1024; in a rehearsal 64 [3]
"""
        in text
    )


@pytest.mark.parametrize(("change", "expected"), CHANGES.items(), ids=[f"{a} -> {b}" for a, b in CHANGES])
def test_what_is_wrong_in_a_pack_is_reported_with_its_place(
    change: tuple[str, str], expected: list[str], problems: Problems
) -> None:
    assert change[0] in SMALL
    assert problems(SMALL.replace(*change, 1)) == expected


def test_everything_that_is_missing_is_reported_at_once(problems: Problems) -> None:
    required = [
        "id", "version", "title", "document", "caption", "launch", "files", "operations", "selection", "applet",
        "arguments",
    ]  # fmt: skip
    assert [message.split(";")[0] for message in problems("{}")] == [
        f"1:1: {key}: required key missing" for key in required
    ]


def test_an_unknown_id_is_refused_with_the_ids_that_exist() -> None:
    with pytest.raises(InputError) as caught:
        packs.load("crossroads")
    assert caught.value.problems == ('rule pack "crossroads" not found; did you mean crossroads-mdtest?',)
    with pytest.raises(InputError) as caught:
        packs.load("mine")
    ids = ", ".join(sorted(path.stem for path in PACKS.glob("*.yaml")))
    assert caught.value.problems == (f'rule pack "mine" not found; available: {ids}; or give a path to a pack (.yaml)',)


def test_further_directories_hold_packs_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "small.yaml").write_text(SMALL)
    (tmp_path / "broken.yaml").write_text("id: broken\n")
    monkeypatch.setenv("CAMPAIGN_RULES", f":{tmp_path}:")
    assert packs.load("small").title == "A small pack"
    available_packs = packs.available()
    assert [pack.id for pack in available_packs] == sorted(pack.id for pack in available_packs)
    broken, crossroads, small = (
        next(pack for pack in available_packs if pack.id == name) for name in ("broken", "crossroads-mdtest", "small")
    )
    assert (crossroads.id, crossroads.version, crossroads.path) == ("crossroads-mdtest", 1, CROSSROADS)
    assert small == packs.Available("small", tmp_path / "small.yaml", 2, "A small pack")
    assert (broken.id, broken.version, broken.title) == ("broken", 0, "")
    assert rules_text.listing((crossroads, small)) == (
        "crossroads-mdtest  version 1  Crossroads/ATS-3 MDTEST, 36 results for each tier and protocol\n"
        "small              version 2  A small pack"
    )
    assert rules_text.listing((broken,)).startswith(
        f"broken  unusable: {tmp_path}/broken.yaml:1:1: version: required key missing;"
    )


def test_an_id_that_is_there_twice_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "crossroads-mdtest.yaml").write_text(CROSSROADS.read_text())
    monkeypatch.setenv("CAMPAIGN_RULES", str(tmp_path))
    with pytest.raises(InputError) as caught:
        packs.load("crossroads-mdtest")
    assert caught.value.problems == (
        f'rule pack "crossroads-mdtest" exists 2 times: {CROSSROADS}, {tmp_path}/crossroads-mdtest.yaml; '
        "give the path of the one to use",
    )


def test_a_directory_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAMPAIGN_RULES", str(tmp_path / "absent"))
    with pytest.raises(InputError) as caught:
        packs.available()
    assert caught.value.problems == (
        f"CAMPAIGN_RULES: {tmp_path}/absent: No such file or directory; allowed: directories with rule packs",
    )


def test_a_pack_is_shown_with_its_clauses(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(
        SMALL
        + 'checks: {FLG-01: {clause: "3", text: "-F was used"}, RUN-07: {clause: practice, minimum: 30s}}\n'
        + f'allowed: [{{flag: -v, clause: "3", why: prints more}}]\nnotes: [{{clause: "2", text: {"word " * 25}}}]\n'
    )
    assert (
        rules_text.text(packs.load(path))
        == """\
small, version 2: A small pack
Clause numbers in brackets refer to The document

Command line
  mdtest -F -n {items_per_process} {flags}

Launch conditions
  one        One [1]
             needs: 1 node

File configurations
  all        {items_total} files [2]
             flags: -u

Operations
  create     Create, ops/s

Mandatory flags
  -F         [3]

Flags set automatically from the geometry
  -n         [3]

Optional flags (benchmark.extra_arguments, program_arguments)
  -v         prints more [3]

Number of files in total
  rehearsal  16 or more [marked not compliant]
  full       2^10 or more [2]

Which attempt is reported
  create     the valid one with the highest value; all results come from it [4]

Rules that are checked (E: violation, the result is invalid; W: explanation required; I: note)
  FLG-01 E  -F was used [3]
  RUN-07 W  phases are long enough to be measured, where the rules leave their length open
            [practice] (minimum 30s, unusable 1s)
  SRC-06 E  the built-in benchmark was built from its published source [practice]
  INP-01 E  the benchmark read the input files that the rules fix or the vendor declares [practice]
  PHY-04 E  no operation is faster than a system call, and no bandwidth exceeds that of memory and
            network adapters [practice] (call 0.1us, memory 4000)
  PHY-05 W  stat rates are at most a margin below the creation rates of the same row, or are
            explained [practice] (below 5%)
  PHY-06 W  rates grow at most by a factor beyond the processes times the single-process result, or
            are explained [practice] (factor 2)
  ENV-04 E  the file system that the nodes mounted is the one that the campaign file describes
            [practice]
  ENV-05 W  the measured system is configured as the proposed one, or each difference is explained
            [practice]
  EVD-06 E  the records of a run by driver, job, Slurm and benchmark do not contradict each other
            [practice]
  EVD-07 E  runs on one storage do not overlap, and each job ran the benchmark once for each of its
            attempts [practice]

Interpretation of unclear clauses
  [2]             word word word word word word word word word word word word word word word word
                  word word word word word word word word word"""
    )


def test_the_text_of_crossroads_names_every_clause_and_rule() -> None:
    pack = packs.load("crossroads-mdtest")
    text = rules_text.text(pack)
    assert all(f"[{clause}]" in text for clause in {*pack.flag_clauses().values(), *pack.checks.values()})
    assert all(rule in text for rule in pack.checks)
    assert max(map(len, text.splitlines())) <= 120


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=examples(200))
@given(st.integers(0, len(SMALL)), st.integers(0, 12), st.text(alphabet="aN0-/$'\":{}[],|>&*!#~ \n^", max_size=6))
def test_a_mangled_pack_is_read_or_refused_but_never_breaks_the_reader(
    tmp_path: Path, start: int, removed: int, added: str
) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL[:start] + added + SMALL[start + removed :])
    try:
        packs.load(path)
    except InputError as error:
        assert all(problem.startswith(f"{path}:") for problem in error.problems)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Quantity.DURATION, "10s", 10.0),
        (Quantity.DURATION, "2.5ms", 0.0025),
        (Quantity.DURATION, "20us", 2e-5),
        (Quantity.SHARE, "2.5%", 0.025),
        (Quantity.COUNT, "6", 6.0),
        (Quantity.FACTOR, "1.5", 1.5),
    ],
)
def test_a_parameter_reads_as_it_is_shown(kind: Quantity, text: str, value: float) -> None:
    assert catalogue.parse(kind, text) == pytest.approx(value)
    assert catalogue.show(kind, value) == text


def test_crossroads_leaves_nothing_to_the_vendor_that_makes_a_phase_longer() -> None:
    pack = packs.load("crossroads-mdtest")
    assert pack.lengthened_by() == ()
    stonewall = Flag("-W", True, "8.4", lengthens=True)
    assert builders.with_phase(pack, allowed=(*pack.allowed, stonewall)).lengthened_by() == ("-W",)


def test_free_sizes_make_a_phase_longer() -> None:
    assert packs.load("ior-cache-ladder").lengthened_by() == ("block", "segments")


def test_a_parameter_without_a_value_of_the_pack_has_the_catalogues() -> None:
    pack = replace(packs.load("crossroads-mdtest"), parameters={("RUN-07", "minimum"): 60.0})
    assert (pack.parameter("RUN-07", "minimum"), pack.parameter("RUN-07", "unusable")) == (60.0, 1.0)


def test_the_documented_parameters_are_those_of_the_catalogue() -> None:
    rows = [
        f"- {rule} `{name}` ({catalogue.show(parameter.kind, parameter.default)}): {parameter.says}"
        for rule, entry in catalogue.CATALOGUE.items()
        for name, parameter in entry.parameters.items()
    ]
    listed = "\n".join(rows) + "\n"
    assert listed in (ROOT / "docs" / "rule-packs.md").read_text(), f"docs/rule-packs.md should hold:\n{listed}"


def test_every_rule_of_the_catalogue_is_documented_with_its_statement() -> None:
    page = (ROOT / "docs" / "rules.md").read_text()
    for rule, entry in catalogue.CATALOGUE.items():
        assert f"- **{rule}** {entry.severity}: {entry.statement}. " in page, f"docs/rules.md lacks {rule}"


def test_every_rule_says_why_it_matters_and_what_to_do_next_and_so_does_its_documentation() -> None:
    page = reference.for_the_site()["rules-why.md"]
    for rule, entry in catalogue.CATALOGUE.items():
        assert entry.why and entry.remedy
        assert f"\n| {rule} | {entry.why} | {entry.remedy} |\n" in page


def test_the_catalogue_speaks_of_no_single_rfp() -> None:
    rfp_words = re.compile(r"2\^20|mdtest|-[uS]\b|condition [1-4]\b|three|36")
    assert {
        rule: entry.statement for rule, entry in catalogue.CATALOGUE.items() if rfp_words.search(entry.statement)
    } == {}


def test_a_rule_is_shown_in_the_words_of_the_pack_where_it_has_some() -> None:
    pack = packs.load("crossroads-mdtest")
    assert pack.statement("FLG-04") == "processes x n is 2^20 files or more"
    assert pack.statement("CMP-03") == catalogue.CATALOGUE["CMP-03"].statement


def test_how_the_outputs_of_several_programs_are_read_alike_is_shown_once() -> None:
    text = rules_text.text(packs.load("npb"))
    assert text.count("complete with:") == 1
    assert "  ep, mg, cg, ft, is: as text; " in text
    assert "  fact:      class =  Class" in text and "  passage:   from  Version" in text


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("- {id: size", "- {id: Size"),
        ("- {id: nodes", "- {id: a/b"),
        ("- {id: allreduce", "- {id: Allreduce"),
    ],
)
def test_what_follows_from_an_id_that_cannot_be_read_is_not_reported(tmp_path: Path, text: str, changed: str) -> None:
    path = tmp_path / "uk-nnss-omb.yaml"
    content = (PACKS / "uk-nnss-omb.yaml").read_text()
    assert text in content
    path.write_text(content.replace(text, changed, 1))
    with pytest.raises(InputError) as refused:
        packs.load(path)
    (message,) = str(refused.value).splitlines()
    assert "id: found" in message


@pytest.mark.parametrize("id", ["y", "n", "BadName", "''", "[]"])
def test_a_name_that_had_a_problem_itself_is_no_suggestion_for_another(tmp_path: Path, id: str) -> None:
    path = tmp_path / "uk-nnss-omb.yaml"
    text = (PACKS / "uk-nnss-omb.yaml").read_text()
    assert "id: size" in text and "holds: release == 2" in text
    path.write_text(text.replace("id: size", f"id: {id}", 1).replace("holds: release == 2", "holds: releese == 2"))
    with pytest.raises(InputError, match="releese") as refused:
        packs.load(path)
    assert "None" not in str(refused.value)
