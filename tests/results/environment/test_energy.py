"""The energy of an execution: what counts as one, and what must not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from campaign.core.records import Completion
from campaign.results.environment import energy
from campaign.results.environment.facts import Accounting, Metered
from campaign.results.environment.facts_file import FactLine
from tests.support import builders

RANGE_UJ = 262_143_328_850


def readings(node: str, *values: str, kind: str = "command", step_s: float = 10) -> list[FactLine]:
    return [
        FactLine(number, "meter", kind, value, node, time=1000 + step_s * number) for number, value in enumerate(values)
    ]


def counters(*values_uj: int, node: str = "n1", span: int = RANGE_UJ, step_s: float = 10) -> list[FactLine]:
    zones = [f"intel-rapl:0=package-0={value}={span}" for value in values_uj]
    return readings(node, *zones, kind="rapl", step_s=step_s)


def metered_energy(facts: Sequence[FactLine]) -> Metered:
    energy_readings = energy.metered_energy(facts)
    assert energy_readings is not None
    return energy_readings


def completion_after(seconds: float) -> Completion:
    return builders.completion(started=1000.0, ended=1000.0 + seconds)


# --- meters of nodes


def test_counters_of_all_nodes_are_added() -> None:
    energy = metered_energy(counters(5_000_000, 1_005_000_000) + counters(0, 3_000_000_000, node="n2"))
    assert (energy.joules, energy.nodes, energy.turned_over, energy.problem) == (4000.0, ("n1", "n2"), 0, "")


def test_a_counter_that_turned_over_is_accounted_for_and_said() -> None:
    energy = metered_energy(counters(RANGE_UJ - 1_000_000_000, 2_000_000_000))
    assert (energy.joules, energy.turned_over) == (3000.0, 1)


def test_no_number_where_a_counter_may_have_turned_over_unseen() -> None:
    energy = metered_energy(counters(1_000_000, 2_000_000, step_s=300))
    assert (energy.joules, energy.problem) == (
        None,
        "n1: 300 s between two readings: counter intel-rapl:0 may have begun again at 0 unnoticed",
    )


def test_a_peak_needs_readings_in_between() -> None:
    assert metered_energy(counters(0, 1_000_000_000)).peak_w is None
    assert metered_energy(counters(0, 1_000_000_000, 3_000_000_000)).peak_w == 200.0


def test_the_peak_is_of_all_nodes_at_the_same_time() -> None:
    early, late = counters(0, 9_000_000_000, 10_000_000_000), counters(0, 1_000_000_000, 10_000_000_000, node="n2")
    assert metered_energy(early + late).peak_w == pytest.approx(1000)  # and not 900 + 900


def test_a_command_prints_a_power_or_a_counter() -> None:
    assert metered_energy(readings("n1", "100 W", "300 W", "100 W")).joules == 4000.0
    assert metered_energy(readings("n1", "100 W", "300 W", "100 W")).peak_w == 300.0
    assert metered_energy(readings("n1", "1.5 kWh", "1.501 kWh")).joules == pytest.approx(3600)


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        (("100 W", "5 J"), "n1: the command printed an energy once and a power once"),
        (("9 J", "5 J"), "n1: the command's counter went back from 9 J to 5 J"),
        (("100", "100"), 'n1: the command printed "100"; allowed: a number with J, kJ, MJ, Wh, kWh, W or kW'),
        (("-100 W", "100 W"), 'n1: the command printed "-100 W"; allowed: a number with J, kJ, MJ, Wh, kWh, W or kW'),
        (("100 W",), "n1: one reading alone"),
    ],
)
def test_what_tells_no_energy_is_no_number(values: tuple[str, ...], problem: str) -> None:
    assert (metered_energy(readings("n1", *values)).joules, metered_energy(readings("n1", *values)).problem) == (
        None,
        problem,
    )


def test_a_node_that_could_not_be_read_leaves_no_number_for_the_others() -> None:
    energy = metered_energy(
        counters(0, 1_000_000) + readings("n2", "no counters in /sys/class/powercap", kind="problem")
    )
    assert (energy.joules, energy.problem) == (None, "n2: no counters in /sys/class/powercap")


def test_the_readings_must_cover_all_nodes_and_the_whole_run() -> None:
    energy_readings = metered_energy(counters(0, 1_000_000_000))
    assert energy.require_coverage(energy_readings, completion_after(10), ["n1"], True).joules == 1000.0
    assert (
        energy.require_coverage(energy_readings, completion_after(10), ["n1", "n2"], True).problem
        == "no readings of n2"
    )
    assert energy.require_coverage(energy_readings, completion_after(10), ["n1", "n2"], False).joules == 1000.0
    assert (
        energy.require_coverage(energy_readings, completion_after(100), ["n1"], True).problem
        == "the readings cover 10 s of 100 s"
    )


def test_other_lines_are_left_out() -> None:
    assert energy.metered_energy([FactLine(1, "meter", "nothing", "of a meter", "n1")]) is None


# --- Slurm's accounting


@pytest.mark.parametrize(
    ("raw", "short", "joules"),
    [
        ("101630", "101.63K", 101630.0),
        ("", "4.57M", 4_570_000.0),
        ("", "794", 794.0),
        ("0", "0", None),
        ("", "", None),
        ("18446744073709551614", "16777216T", None),
        ("", "17179869184G", None),
        ("4294967294", "4.29G", None),
    ],
)
def test_what_sacct_says_without_a_plugin_is_no_energy(raw: str, short: str, joules: float | None) -> None:
    assert energy.consumption({"ConsumedEnergyRaw": raw, "ConsumedEnergy": short}) == joules


def step(number: int, name: str = "xhpl", began: int = 1000, end_time: int = 1010, raw: str = "500") -> dict[str, str]:
    times = {"Start": str(began), "End": str(end_time)}
    return {"JobIDRaw": f"7.{number}", "JobName": name, "ConsumedEnergyRaw": raw, **times}


@pytest.mark.parametrize(
    ("steps", "joules", "problem"),
    [
        ([step(0, "witness"), step(1)], 500.0, ""),
        ([step(1, began=100, end_time=900)], None, "Slurm's accounting has 0 steps of this run, which has 1"),
        ([step(1), step(2)], None, "Slurm's accounting has 2 steps of this run, which has 1"),
        ([step(1, raw="0")], None, "Slurm's accounting has no energy of the step: no plugin measures it here"),
        ([], None, "Slurm's accounting has no steps of the job"),
    ],
)
def test_the_step_of_the_run_counts(steps: list[dict[str, str]], joules: float | None, problem: str) -> None:
    command = builders.run().commands[0]
    named_commands = [replace(command, executable="/opt/xhpl")]
    energy_readings = energy.accounted_energy(Accounting(steps=tuple(steps)), completion_after(10), named_commands)
    assert (energy_readings.joules, energy_readings.problem) == (joules, problem)
