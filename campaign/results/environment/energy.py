"""The energy of an execution, from the readings of its nodes' meters or from Slurm's accounting. Pure.

A number stands only where every node was read around the whole run; otherwise `problem` says what is missing.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from campaign.config.rules.facts import ENERGY
from campaign.core.grouping import grouped
from campaign.core.records import Completion, Record, Source
from campaign.core.runs import Command
from campaign.core.units import listing
from campaign.results.environment.facts import Accounting, Metered
from campaign.results.environment.facts_file import FactLine

SLURM = "slurm"
ZONE_W = 1000.0  # no zone of RAPL takes more: a counter that this could turn over between two readings says nothing
SHORTEST_S = 1.0  # between two readings that tell a power
NONE_W, ABSURD = 0, 1 << 62  # what Slurm says without a plugin, and NO_VAL64 of some versions
STEP_S = 2.0  # how far the accounting's whole seconds may be from the job's times

_KINDS = frozenset({"rapl", "command", "problem"})
_ZONE = re.compile(r"(intel-rapl:[0-9:]{1,20})=([a-z0-9-]{1,40})=([0-9]{1,19})=([0-9]{1,19})")
_PRINTED = re.compile(r"(-?[0-9]{1,18}(?:\.[0-9]{1,9})?(?:[eE][+-]?[0-9]{1,2})?) *(J|kJ|MJ|Wh|kWh|W|kW)")
_JOULES = {"J": 1.0, "kJ": 1e3, "MJ": 1e6, "Wh": 3.6e3, "kWh": 3.6e6}
_WATTS = {"W": 1.0, "kW": 1e3}
_SHORT = re.compile(r"([0-9]+(?:\.[0-9]+)?)([KMGTP]?)")  # ConsumedEnergy, in decimal thousands


_MeterReading = tuple[float, str, str]  # time, kind and text


@dataclass(frozen=True, slots=True)
class _Taken:
    """What a node took between two readings."""

    began: float
    ended: float
    joules: float
    peak_w: float
    turned_over: int = 0


def metered_energy(readings: Sequence[FactLine]) -> Metered | None:
    """From the facts of the meters; None if there are none."""
    meter_facts = [fact for fact in readings if fact.name in _KINDS and isinstance(fact.value, str) and fact.node]
    nodes = grouped((fact.node, (fact.time, fact.name, str(fact.value))) for fact in meter_facts)
    if not nodes:
        return None
    intervals, names = list[_Taken](), tuple(nodes)
    for node, of_node in nodes.items():
        try:
            intervals += _intervals(sorted(of_node))
        except ValueError as error:
            return Metered(nodes=names, line=meter_facts[0].line, problem=f"{node}: {error}")
    return Metered(
        joules=sum(interval.joules for interval in intervals),
        peak_w=_peak(intervals) if len(meter_facts) > 2 * len(nodes) else None,
        nodes=names,
        line=meter_facts[0].line,
        began=max(min(of_node)[0] for of_node in nodes.values()),
        ended=min(max(of_node)[0] for of_node in nodes.values()),
        turned_over=sum(interval.turned_over for interval in intervals),
    )


def _intervals(readings: Sequence[_MeterReading]) -> Iterator[_Taken]:
    """Raises ValueError if the readings of a node do not tell its energy."""
    if problem := next((text for _, kind, text in readings if kind == "problem"), ""):
        raise ValueError(problem)
    if len(readings) < 2:
        raise ValueError("one reading alone")
    for before, after in itertools.pairwise(readings):
        yield (counted_energy if after[1] == "rapl" else _reported_energy)(before, after)


def counted_energy(before: _MeterReading, after: _MeterReading) -> _Taken:
    first, last = ({zone[1]: zone for zone in _ZONE.finditer(reading[2])} for reading in (before, after))
    if first.keys() != last.keys() or not first:
        raise ValueError("the zones of RAPL differ between two readings")
    joules, turned_over, seconds = 0.0, 0, after[0] - before[0]
    for name, zone in last.items():
        used, span = int(zone[3]) - int(first[name][3]), int(zone[4])
        if seconds * ZONE_W >= span / 1e6:
            raise ValueError(
                f"{seconds:.0f} s between two readings: counter {name} may have begun again at 0 unnoticed"
            )
        joules += (used if used >= 0 else used + span) / 1e6
        turned_over += used < 0
    return _Taken(before[0], after[0], joules, joules / seconds if seconds >= SHORTEST_S else 0.0, turned_over)


def _reported_energy(before: _MeterReading, after: _MeterReading) -> _Taken:
    seconds, (first, unit), (last, other) = after[0] - before[0], _number(before[2]), _number(after[2])
    if (unit in _WATTS) != (other in _WATTS):
        raise ValueError("the command printed an energy once and a power once")
    if unit in _WATTS:
        first, last = first * _WATTS[unit], last * _WATTS[other]
        return _Taken(before[0], after[0], (first + last) / 2 * seconds, max(first, last))
    joules = last * _JOULES[other] - first * _JOULES[unit]
    if joules < 0:
        raise ValueError(f"the command's counter went back from {before[2]} to {after[2]}")
    return _Taken(before[0], after[0], joules, joules / seconds if seconds >= SHORTEST_S else 0.0)


def _number(text: str) -> tuple[float, str]:
    match = _PRINTED.fullmatch(text.strip())
    if match is None or match[1].startswith("-"):
        raise ValueError(f'the command printed "{text[:80]}"; allowed: a number with J, kJ, MJ, Wh, kWh, W or kW')
    return float(match[1]), match[2]


def _peak(intervals: Sequence[_Taken]) -> float:
    """The highest power of all nodes together."""
    changes = [(interval.began, interval.peak_w) for interval in intervals] + [
        (interval.ended, -interval.peak_w) for interval in intervals
    ]
    return max(itertools.accumulate(change for _, change in sorted(changes)))


def require_coverage(metered: Metered, completion: Completion | None, nodes: Sequence[str], each_node: bool) -> Metered:
    """With no number where the readings do not cover the run, or not all of its nodes."""
    missing = [node for node in nodes if node not in metered.nodes] if each_node else []
    if metered.problem or completion is None:
        return metered
    if missing:
        return replace(metered, joules=None, peak_w=None, problem=f"no readings of {listing(missing)}")
    lasted, read = completion.ended - completion.started, metered.ended - metered.began
    if read < lasted - STEP_S:
        problem = f"the readings cover {read:.0f} s of {lasted:.0f} s"
        return replace(metered, joules=None, peak_w=None, problem=problem)
    return metered


def accounted_energy(
    accounting: Accounting | None, completion: Completion | None, commands: Sequence[Command]
) -> Metered:
    """The energy of the steps of an execution, which Slurm's plugin measured on their nodes."""
    if accounting is None or completion is None or not accounting.steps:
        return Metered(problem="Slurm's accounting has no steps of the job")
    names = [command.step for command in commands]
    steps = [row for row in accounting.steps if row.get("JobName") in names and _is_within_run(row, completion)]
    if len(steps) != len(names):
        return Metered(problem=f"Slurm's accounting has {len(steps)} steps of this run, which has {len(names)}")
    consumed = [consumption(row) for row in steps]
    if None in consumed:
        return Metered(problem="Slurm's accounting has no energy of the step: no plugin measures it here")
    return Metered(joules=sum(filter(None, consumed)))


def _is_within_run(row: Mapping[str, str], completion: Completion) -> bool:
    times = [row.get("Start", ""), row.get("End", "")]
    if "." not in row.get("JobIDRaw", "") or not all(text.isdigit() for text in times):
        return False
    return completion.started - STEP_S <= int(times[0]) and int(times[1]) <= completion.ended + STEP_S


def consumption(row: Mapping[str, str]) -> float | None:
    """The joules of a step; None for the values that sacct prints where nothing is measured."""
    raw, short = row.get("ConsumedEnergyRaw", "").strip(), _SHORT.fullmatch(row.get("ConsumedEnergy", "").strip())
    if raw.isdigit():
        joules = float(raw)
    elif short and not raw:
        joules = float(short[1]) * 1000 ** (" KMGTP".index(short[2] or " "))
    else:
        return None
    return None if joules in (NONE_W, 2**32 - 2) or joules >= ABSURD / 1e3 else joules


def energy_records(metered: Metered, file: str) -> tuple[Record, ...]:
    """The numbers as records, which conditions name."""
    numbers = zip(ENERGY, (metered.kwh, metered.peak_kw), ("kWh", "kW"), strict=True)
    return tuple(
        Record(name, value, unit, Source(file, metered.line)) for name, value, unit in numbers if value is not None
    )
