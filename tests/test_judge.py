"""Every rule of the catalogue: a case that must fail it, one that must pass it, one where it cannot be checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from campaign import judge
from campaign.judge import Case, attempt
from campaign.model import Finding, Geometry, Observation, Run, Severity, State
from campaign.rules import Variable
from tests import builders

DIRECTORY = f"/scratch/user/campaign-{builders.TOKEN}"


def case(run: Run | None = None, state: State = State.DONE, records: Any = None, **seen: Any) -> Case:
    """A case in which everything went as planned, but for what the output says otherwise."""
    run = run or builders.run()
    return Case(
        pack=builders.pack(),
        run=run,
        attempt=builders.attempt(run, state=state, reason="" if state is State.DONE else "why"),
        directory=DIRECTORY,
        records=builders.records() if records is None else records,
        seen=builders.observation(run, **seen),
    )


def argv(*change: tuple[str, str]) -> tuple[str, ...]:
    """The planned command line as one text, with replacements."""
    text = " ".join(builders.observation().argv)
    for old, new in change:
        assert old in text
        text = text.replace(old, new)
    return tuple(text.split())


def inflated(**changes: Any) -> Case:
    """The one-file configuration, of which the benchmark counts more than happens."""
    run = builders.run(files="onefile", arguments=(*builders.run().arguments[:-1], "-S"))
    create, stat, remove = (replace(record, **changes) for record in builders.records())
    return case(run, records=(create, replace(stat, true_value=None), remove))


def one_node(**seen: Any) -> Case:
    run = builders.run(geometry=Geometry(1, 4), arguments=tuple(word for word in builders.run().arguments))
    return case(run, shift_effective=0, **seen)


def without(case: Case, operation: str) -> Case:
    return replace(case, records=tuple(record for record in case.records if record.operation != operation))


def remote(share: float) -> Case:
    return case(records=tuple(replace(record, remote_share=share) for record in builders.records()))


def storage(profile: str = "full", run: Run | None = None, **shares: float) -> Case:
    """A configuration whose numbers have to be the storage's, with a share of the first record's bytes in memory."""
    pack = builders.pack(profile=profile)
    files = tuple(replace(files, storage=True) for files in pack.files)
    first, *others = (replace(record, cached_share=0.0) for record in builders.records())
    made = case(run, records=(replace(first, **shares), *others))
    return replace(made, pack=replace(pack, files=files))


def ior(*words: str) -> Case:
    """A benchmark that is given the names of files in its directory, executed with other words."""
    run = builders.run(arguments=("-F", "-o", "{directory}/data", "f{directory}", "v1"))
    return case(run, argv=("ior", *words))


RATE = replace(builders.records()[0], value=0.0)

# rule: {what is wrong: (case, expected, found)}
FAILING: dict[str, dict[str, tuple[Case, str, str]]] = {
    "FLG-01": {
        "executed without -C": (
            case(argv=argv((" -C", ""))),
            " ".join(argv()[1:]),
            " ".join(argv((" -C", ""))),
        ),
        "executed without -F -r": (
            case(argv=argv((" -F", ""), (" -r", ""))),
            " ".join(argv()[1:]),
            " ".join(argv((" -F", ""), (" -r", ""))),
        ),
    },
    "FLG-02": {
        "not the flags of unique": (case(argv=argv((" -u", " -S"))), "-u", " ".join(argv((" -u", " -S")))),
        "not the flags of shared": (
            case(builders.run(files="shared", arguments=builders.run().arguments[:-1]), argv=argv()),
            "none of -S -u",
            " ".join(argv()),
        ),
    },
    "FLG-03": {
        "executed otherwise than planned": (
            case(argv=argv((" -u", " -u -B"))),
            " ".join(argv()[1:]),
            " ".join(argv((" -u", " -u -B"))[1:]),
        )
    },
    "FLG-04": {"the benchmark counted other files than planned": (case(files_reported=992), "1000", "992")},
    "FLG-05": {
        "measured in another directory": (case(argv=argv((DIRECTORY, "/dev/shm"))), DIRECTORY, "/dev/shm"),
    },
    "FLG-06": {
        "-N is not the rank offset of one node": (case(argv=argv(("-N 4", "-N 1"))), "4", "1"),
    },
    "FLG-07": {
        "the phases ran on the node that made the files": (case(shift_effective=8), "a shift of 4 ranks", "8 ranks"),
        "the phases ran on other nodes than the rule says": (case(shift_effective=1), "a shift of 4 ranks", "1 ranks"),
        "some stats ran on the node that made the file": (remote(0.75), "1", "0.750"),
    },
    "GEO-01": {
        "ranks are not block-placed and even": (
            case(placement="cyclic"),
            "block, 4 per node",
            "cyclic, 4 per node",
        ),
    },
    "GEO-02": {
        "not the geometry of peak": (case(nodes=1), "8 processes on 2 nodes", "8 on 1"),
    },
    "RUN-01": {
        f"the run ended as {state}: why": (case(state=state), "done", "")
        for state in (State.FAILED, State.TIMEOUT, State.CANCELLED, State.NODE_FAIL, State.LOST)
    },
    "RUN-06": {
        "the output speaks of an error: stderr:3: boom": (case(errors=("stderr:3: boom",)), "", ""),
        "operations failed": (case(failed_operations=3), "0", "3"),
        "the output ends before the benchmark's closing line": (case(complete=False), "", ""),
        "the output has no result for remove": (without(case(), "remove"), "", ""),
        "the rate of create is not above zero": (
            case(records=(RATE, *builders.records()[1:])),
            "> 0",
            "0.0",
        ),
    },
    "STA-05": {
        "create has another unit": (
            case(records=(replace(builders.records()[0], unit="MiB/s"), *builders.records()[1:])),
            "ops/s",
            "MiB/s",
        ),
    },
    "CCH-05": {
        "create measures memory: that share of its bytes was in the page cache of the node that read them": (
            storage(cached_share=0.5),
            "at most 5%",
            "50.0%",
        ),
        "create measures memory: that share of its bytes was still only in memory when the clock stopped": (
            storage(dirty_share=0.06),
            "at most 5%",
            "6.0%",
        ),
    },
}

PASSING: dict[str, list[Case]] = {
    "FLG-01": [case()],
    "FLG-02": [case(), case(builders.run(files="shared", arguments=builders.run().arguments[:-1])), inflated()],
    "FLG-03": [case()],
    "FLG-04": [
        case(builders.run(items_total=2**20), files_reported=2**20),
        replace(case(builders.run(items_total=None), files_reported=None)),
        # mdtest 4 prints "1 file" for its shared files, whatever n is.
        replace(
            inflated(), run=replace(inflated().run, items_total=2**20), seen=builders.observation(files_reported=1)
        ),
    ],
    "FLG-05": [
        case(),
        case(builders.run(arguments=("-F",)), argv=("mdtest", "-F")),
        ior("-F", "-o", f"{DIRECTORY}/data", f"f{DIRECTORY}", "v1"),
        ior("-x", f"f{DIRECTORY}", "-o", f"{DIRECTORY}/data"),
    ],
    "FLG-06": [case(), case(builders.run(arguments=("-F",)), argv=("mdtest", "-F"))],
    "FLG-07": [
        case(),
        case(shift_effective=12),
        remote(1.0),
        case(builders.run(arguments=("-F",)), shift_effective=None),
    ],
    "GEO-01": [case()],
    "GEO-02": [case()],
    "RUN-01": [case()],
    "RUN-06": [case()],
    "PHY-03": [case(), inflated(operations_done=1000)],
    "STA-05": [case(), without(case(), "stat")],
    "CCH-04": [case()],
    "CCH-05": [case(), storage(cached_share=0.05), without(storage(), "create")],
}

BLIND: dict[str, Case] = {
    "FLG-01": case(argv=()),
    "FLG-02": case(argv=()),
    "FLG-03": case(argv=()),
    "FLG-04": case(files_reported=None),
    "FLG-05": case(argv=()),
    "FLG-06": case(argv=()),
    "FLG-07": case(shift_effective=None),
    "GEO-01": case(placement=None),
    "GEO-02": case(nodes=None),
    "PHY-03": inflated(),
    "CCH-05": replace(storage(), records=builders.records()),
}
# The attempt's state is always known, output that is not there fails RUN-06, a number without a unit is none, and the
# geometry is the planned one.
ALWAYS_CHECKED = {"RUN-01", "RUN-06", "STA-05", "CCH-04"}

DISCLOSED: dict[str, tuple[Case, str, str, str]] = {
    "FLG-04": (case(), "rehearsal size: not a compliant result", "1048576 or more", "1000"),
    "FLG-06": (
        case(
            builders.run(arguments=tuple(argv(("-N 4", "-N 1"), (DIRECTORY, "{directory}"))[1:])),
        ),
        "-N is given in nodes, which is what this version of the benchmark takes: the same offset in ranks",
        "an offset of 4 ranks",
        "-N 1",
    ),
    "FLG-07": (one_node(), "one node: every phase works where the files were made", "", ""),
    "RUN-06": (case(unparsed=("stdout:9: hm",)), "a line of the output that is not known: stdout:9: hm", "", ""),
    "PHY-03": (
        inflated(operations_done=125, true_value=125.0),
        "create: the benchmark's formula counts more operations than were performed",
        "125.000 ops/s really performed",
        "1000.000 ops/s by the formula",
    ),
    "CCH-04": (one_node(), "client cache in reach: one node made the files and worked on them", "", ""),
    "CCH-05": (
        storage(profile="rehearsal", cached_share=1.0),
        "create measures memory: that share of its bytes was in the page cache of the node that read them",
        "at most 5%",
        "100.0%",
    ),
}
ONLY_DISCLOSES = {"PHY-03", "CCH-04"}


def valid(findings: Sequence[Finding]) -> bool:
    return not any(finding.severity is Severity.ERROR for finding in findings)


def of(rule: str, case: Case) -> list[Finding]:
    return list(attempt.RULES[rule](case))


def test_every_rule_has_a_case_for_each_outcome_or_it_is_said_why_not() -> None:
    assert FAILING.keys() | ONLY_DISCLOSES == attempt.RULES.keys() == PASSING.keys()
    assert BLIND.keys() | ALWAYS_CHECKED == attempt.RULES.keys()
    assert not BLIND.keys() & ALWAYS_CHECKED
    assert DISCLOSED.keys() >= ONLY_DISCLOSES
    assert set(builders.ALL_CHECKS) == attempt.RULES.keys()


@pytest.mark.parametrize(("rule", "message"), [(rule, message) for rule, cases in FAILING.items() for message in cases])
def test_a_broken_rule_is_an_error_with_what_was_expected_and_what_was_found(rule: str, message: str) -> None:
    broken, expected, actual = FAILING[rule][message]
    found = [finding for finding in of(rule, broken) if finding.severity is Severity.ERROR]
    assert found == [Finding(rule, Severity.ERROR, "scratch.peak.unique.r1/1", message, expected, actual)]
    assert not valid(judge.judge(broken))


@pytest.mark.parametrize(("rule", "number"), [(rule, i) for rule, cases in PASSING.items() for i in range(len(cases))])
def test_a_kept_rule_says_nothing(rule: str, number: int) -> None:
    assert of(rule, PASSING[rule][number]) == []


@pytest.mark.parametrize("rule", BLIND)
def test_a_rule_that_cannot_be_checked_says_so_and_is_no_pass(rule: str) -> None:
    found = [finding for finding in of(rule, BLIND[rule]) if not finding.checked]
    assert found
    assert {finding.severity for finding in found} == {Severity.WARNING}
    assert {finding.rule for finding in found} == {rule}


@pytest.mark.parametrize("rule", DISCLOSED)
def test_what_must_be_disclosed_is_no_error(rule: str) -> None:
    disclosed, message, expected, actual = DISCLOSED[rule]
    assert of(rule, disclosed)[0] == Finding(rule, Severity.INFO, disclosed.subject, message, expected, actual)
    assert valid(judge.judge(disclosed))


def test_a_run_that_went_well_is_valid() -> None:
    findings = judge.judge(case())
    assert valid(findings)
    assert [finding.rule for finding in findings] == ["FLG-04"]


def test_no_output_at_all_is_not_valid_and_nothing_of_it_counts_as_checked() -> None:
    nothing = replace(case(), records=(), seen=Observation())
    findings = judge.judge(nothing)
    assert not valid(findings)
    assert {finding.rule for finding in findings if not finding.checked} == BLIND.keys() - {"PHY-03", "CCH-05"}


def test_only_the_rules_of_the_pack_are_judged() -> None:
    bad = case(state=State.FAILED, nodes=1)
    assert {finding.rule for finding in judge.judge(bad)} == {"FLG-04", "GEO-02", "RUN-01"}
    pack = builders.pack(checks={"RUN-01": "9", "XYZ-99": "a rule that nothing judges"})
    assert {finding.rule for finding in judge.judge(replace(bad, pack=pack))} == {"RUN-01"}


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan")])
def test_a_rate_that_is_no_positive_number_is_broken(value: float) -> None:
    bad = case(records=(replace(RATE, value=value), *builders.records()[1:]))
    assert [finding.message for finding in of("RUN-06", bad)] == ["the rate of create is not above zero"]


@pytest.mark.parametrize("change", [{"processes_per_node": 0}, {"placement": "irregular"}, {"processes_per_node": 8}])
def test_any_placement_but_even_blocks_is_broken(change: dict[str, Any]) -> None:
    assert [finding.severity for finding in of("GEO-01", case(**change))] == [Severity.ERROR]


@pytest.mark.parametrize("nodes", range(2, 6))
def test_the_shift_that_counts_is_the_one_among_the_ranks(nodes: int) -> None:
    """A shift by one node, and the same gone round once more, are one; any other is another."""
    geometry = Geometry(nodes, 4 * nodes)
    run = builders.run(geometry=geometry)
    kept = [shift for shift in range(3 * geometry.processes) if not of("FLG-07", case(run, shift_effective=shift))]
    assert kept == [4, 4 + geometry.processes, 4 + 2 * geometry.processes]


@pytest.mark.parametrize("word", ["-o /dev/shm/data", "f/dev/shm"])
def test_a_file_outside_of_the_attempts_directory_is_broken_however_it_is_given(word: str) -> None:
    words = ["-F", "-o", f"{DIRECTORY}/data", f"f{DIRECTORY}", "v1"]
    given = [*words[:1], *word.split(), *words[3:]] if word.startswith("-") else [*words[:3], word, "v1"]
    assert [finding.actual for finding in of("FLG-05", ior(*given))] == [word.split()[-1]]


def test_memory_on_one_node_is_disclosed_since_there_is_nowhere_else_to_read_from() -> None:
    run = builders.run(geometry=Geometry(1, 4))
    assert [finding.severity for finding in of("CCH-05", storage(run=run, cached_share=1.0))] == [Severity.INFO]


def test_memory_is_disclosed_where_the_rules_ask_for_no_storage() -> None:
    memory = replace(storage(cached_share=1.0), pack=builders.pack(profile="full"))
    assert [finding.severity for finding in of("CCH-05", memory)] == [Severity.INFO]


def test_values_of_a_rehearsal_are_disclosed_with_the_full_ones() -> None:
    variables = (Variable("block", "16m", "1m", "1"), Variable("count", "8", "8", "1"))
    pack = builders.pack(variables=variables, profile="rehearsal", values={"block": "1m", "count": "8"})
    found = of("FLG-04", replace(case(), pack=pack))[0]
    assert (found.severity, found.message) == (Severity.INFO, "rehearsal size: not a compliant result")
    assert (found.expected, found.actual) == ("block 16m", "block 1m")
    own = replace(pack, profile="full")
    assert of("FLG-04", replace(case(), pack=own))[0].message == "not the pack's own values"


@pytest.mark.parametrize(("rule", "flag"), [("FLG-05", f" -d {DIRECTORY}"), ("FLG-06", " -N 4")])
def test_a_flag_that_is_not_there_is_found_absent(rule: str, flag: str) -> None:
    assert [finding.actual for finding in of(rule, case(argv=argv((flag, ""))))] == ["absent"]
