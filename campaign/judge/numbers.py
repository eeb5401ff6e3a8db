"""The rules about the numbers of the cells: the selected run, how they vary, and whether they fit together (STA-01 to
STA-04, PHY-01, PHY-02, PHY-05, PHY-06). Pure.

They use only rows where possible, so that they also judge a table from another party.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from campaign.config.rules.catalogue import Parameter, Quantity, show
from campaign.config.rules.output_format import ONE_ITERATION
from campaign.config.rules.pack import RulePack
from campaign.core.findings import Finding, Severity
from campaign.core.grouping import grouped
from campaign.core.records import record_key
from campaign.core.runs import Cell, Status, phase_of_copy
from campaign.core.units import digits, distinct_digits
from campaign.judge.findings import at_full_size, note, to_explain_at_full_size, unchecked, unprovable, violation
from campaign.judge.projections import rows_by_line
from campaign.judge.rule import Needs, campaign_rule
from campaign.judge.submission import Submission
from campaign.results.case import reported_case, valid_by_line
from campaign.results.cells import Row
from campaign.statistics import intervals, ranks

CHANCE = 0.05  # of a campaign without outliers to have a note of one


# --- STA: where the numbers come from, and how they vary


@campaign_rule(
    "STA-01",
    "all operations of a table line come from one run",
    why="the best values of several runs, combined, are higher than any single run achieved",
    remedy="report all operations of the line from the run that the rules select",
    needs=Needs.NUMBERS,
)
def check_one_run(submission: Submission) -> Iterator[Finding]:
    """The attempt of each operation; with several iterations, the pack's statistic or iteration."""
    yield from _check_iterations(submission)
    for line, rows in rows_by_line(submission.measured_rows).items():
        origins = dict.fromkeys(row.origin for row in rows if row.origin)
        if len(origins) > 1:
            yield violation(
                "the operations come from several runs", "one run", ", ".join(origins), about="/".join((*line, "*"))
            )
    unknown = [row.cell for row in submission.measured_rows if not row.origin]
    yield from submission.per_line(
        unchecked,
        unknown,
        "the table does not name the run of the value",
        remedy="name the run of each value in the table",
    )


def _check_iterations(submission: Submission) -> Iterator[Finding]:
    pack = submission.pack
    described_phases = {phase.id for phase in pack.phases if phase.program and pack.program(phase.program).results}
    statistics = {operation.id: operation.statistic for operation in pack.operations if operation.record}
    of_record = {operation.key: operation.statistic for operation in pack.operations if operation.record}
    unsaid: dict[str, list[Cell]] = {}  # by the statistic that is reported, if the rules name none
    repeated = [
        (row.cell, record)
        for row in submission.measured_rows
        for record in (row.record.measured_records if row.record else ())
        if record.iterations > 1
    ]
    for cell, record in repeated:
        name = phase_of_copy(record.operation.rpartition("/")[0])
        key = record_key(name, record.operation.rpartition("/")[2])
        required_statistic = statistics.get(cell.operation, of_record.get(key, ""))
        if pack.selection.iteration:
            required_statistic = ONE_ITERATION
        if not required_statistic and name not in described_phases:
            unsaid.setdefault(record.statistic, []).append(cell)
        elif required_statistic and record.statistic != required_statistic:
            yield violation(
                "the value is not the statistic of its iterations that the rules require",
                required_statistic,
                f"{record.statistic} of {record.iterations} iterations",
                about=cell,
            )
    for statistic, cells in unsaid.items():
        yield from submission.per_line(
            to_explain_at_full_size(submission.full),
            cells,
            "measured in several iterations, but the rules do not say which to report: values of one line may come "
            "from different iterations",
            "one statistic",
            statistic,
        )


@campaign_rule(
    "STA-02",
    "the reported run is the one that the rules select",
    why="the rules define which run is reported, so that all vendors choose in the same way",
    remedy="report the run that the rules select",
    needs=Needs.NUMBERS,
)
def check_selection(submission: Submission) -> Iterator[Finding]:
    """The best of all valid, complete attempts, as the pack defines it."""
    by_line, selection = valid_by_line(submission.results), submission.pack.selection
    for cell, origin in ((row.cell, row.origin) for row in submission.rows if row.status is Status.MEASURED):
        cases = [case for case in by_line.get(cell.line, ()) if cell.operation in case.run.operations]
        if not cases or not origin:
            yield from submission.per_line(
                unchecked,
                [cell],
                "no attempts on record to select from",
                remedy="submit the attempts' raw output, from which the value was selected",
            )
        elif (best := reported_case(cases).subject) != origin:
            yield violation(
                "the reported attempt is not the one with the {best} {name}",
                best,
                origin,
                about=cell,
                best=selection.best,
                name=selection.operation,
            )


@campaign_rule(
    "STA-03",
    "there are enough repetitions for a confidence interval, or the rules' minimum with disclosure",
    why="without repetitions the effect of chance on the value is unknown",
    remedy="raise repetitions in the campaign file, and run again: campaign run FILE",
    parameters={
        "wanted": Parameter(Quantity.COUNT, 6, "repetitions needed for a confidence interval of the median"),
        "minimum": Parameter(Quantity.COUNT, 1, "minimum number of repetitions that the RFP allows"),
    },
    needs=Needs.NUMBERS,
    is_fixed_afterwards=True,
)
def check_repetitions(submission: Submission) -> Iterator[Finding]:
    """Fewer than `minimum` are a violation; fewer than `wanted`, repetitions that share jobs, and any number in a
    rehearsal are noted.
    """
    enough, minimum = (int(submission.pack.parameter("STA-03", name)) for name in ("wanted", "minimum"))
    counts = grouped(
        ((row.summary.n, 0 < row.jobs < min(row.summary.n, enough)), row.cell)
        for row in submission.executed_rows
        if row.status is Status.MEASURED
    )
    planned = Counter(cell for run in submission.runs for cell in run.cells())
    for row in submission.planned_rows if submission.today else ():
        counts.setdefault((planned[row.cell], False), []).append(row.cell)
    for (number, is_shared), cells in sorted(counts.items()):
        if number == 0:
            yield from submission.per_line(
                unchecked,
                cells,
                "the table has no repetition count",
                remedy="add the number of repetitions to the table",
            )
        elif number < enough:
            form, message = note, "too few repetitions for a confidence interval"
            if number < minimum:
                form, message = at_full_size(violation, submission.full), "fewer repetitions than the rules require"
            yield from submission.per_line(
                form, cells, message, f"{enough} (the rules require at least {minimum})", number
            )
        elif is_shared:
            message = "repetitions shared jobs and are not independent"
            yield from submission.per_line(note, cells, message, "one job per repetition", f"{number} repetitions")


@campaign_rule(
    "STA-04",
    "variation between repetitions is within limits, and there is no trend over time",
    why="a value that varies this much may not be reached at acceptance",
    remedy="run again with repetitions: 6, without other load or slow nodes, or explain the variation",
    severity=Severity.WARNING,
    parameters={
        "variation": Parameter(Quantity.SHARE, 0.05, "largest coefficient of variation without a finding"),
        "explain": Parameter(Quantity.SHARE, 0.1, "coefficient of variation above which the finding names this limit"),
        "drift": Parameter(
            Quantity.FACTOR,
            0.05,
            "p-value, adjusted for all cells, below which a trend over time is reported",
        ),
    },
    needs=Needs.NUMBERS,
)
def check_variation(submission: Submission) -> Iterator[Finding]:
    """Coefficient of variation, trend (Mann and Kendall, exact up to 60 values), outliers (Grubbs, of logarithms;
    noted, never excluded). P-values are adjusted for all cells (Benjamini-Hochberg): a steady campaign has a finding
    of each in up to 5 of 100 cases; with 6 repetitions a trend is reported if two cells of 36 or more only rise or
    only fall. In a rehearsal noted.
    """
    parameter = submission.pack.parameter
    variation, explain, drift = (parameter("STA-04", name) for name in ("variation", "explain", "drift"))
    form = to_explain_at_full_size(submission.full)
    rows = [row for row in submission.executed_rows if row.status is Status.MEASURED]
    for row in rows:
        cv = row.summary.cv
        if cv is not None and cv > variation:
            largest, actual = distinct_digits(100 * variation, 100 * cv)
            yield form(
                "variation between repetitions above {limit}",
                f"at most {largest}%",
                f"{actual}%",
                about=row.cell,
                limit=f"{explain if cv > explain else variation:.0%}",
                remedy="measure again without other load or slow nodes, or explain it",
            )
    in_time = {row.cell: _values_by_time(row) for row in rows}
    trends = {cell: p for cell, values in in_time.items() if (p := intervals.trend(values)) is not None}
    for cell, p in zip(trends, ranks.adjusted_p_values([*trends.values()]), strict=True):
        if p < drift:
            smallest, actual = distinct_digits(drift, p)
            yield form(
                "values show a trend over time",
                f"p-value of {smallest} or more",
                actual,
                about=cell,
                remedy="find what changed during the campaign and measure again, or explain the trend",
            )
    farthest = {cell: far for cell, values in in_time.items() if (far := intervals.farthest_value(values))}
    for (cell, (value, _)), p in zip(
        farthest.items(), ranks.adjusted_p_values([p for _, p in farthest.values()]), strict=True
    ):
        if p < CHANCE:
            yield note("outliers present; none excluded", "", digits(value), about=cell)
    single, wanted = [row.cell for row in rows if row.summary.cv is None], parameter("STA-03", "wanted")
    yield from submission.per_line(
        unchecked,
        single,
        "only one repetition, so that variability is unknown",
        remedy=f"set repetitions: {wanted:g} and run again",
    )


def _values_by_time(row: Row) -> list[float]:
    by_start = sorted(zip(row.started, row.values, strict=True)) if row.started else enumerate(row.values)
    return [value for _, value in by_start]


# --- PHY: whether they can be true


@campaign_rule(
    "PHY-01",
    "single-process rates agree between file configurations, or are explained",
    why="a single process has no contention, so large differences suggest a cache or a mistake",
    remedy="explain why they differ, or measure the slowest and the fastest again",
    severity=Severity.WARNING,
    parameters={
        "factor": Parameter(
            Quantity.FACTOR,
            2.0,
            "largest ratio between the fastest and the slowest file configuration",
        ),
    },
    needs=Needs.NUMBERS,
)
def check_file_configurations(submission: Submission) -> Iterator[Finding]:
    """Each operation of a one-process condition across the file configurations; in a rehearsal noted."""
    factor = submission.pack.parameter("PHY-01", "factor")
    rows = submission.measured_rows
    for launch in single_process_conditions(submission.pack) if rows else ():
        for target in submission.campaign.targets:
            for operation in submission.pack.operations_of(launch):
                axes = target.name, launch, operation.id
                same_operation = [row for row in rows if (row.cell.target, row.cell.launch, row.cell.operation) == axes]
                pattern = f"{target.name}/{launch}/*/{operation.id}"
                values = {row.cell.files: row.value for row in same_operation if row.value and row.value > 0}
                if len(values) < 2:
                    yield unprovable("fewer than two file configurations have a value to compare", about=pattern)
                elif max(values.values()) > factor * min(values.values()):
                    yield to_explain_at_full_size(submission.full)(
                        "single-process rates differ by more than {factor}x between file configurations",
                        f"at most {factor:g}x",
                        ", ".join(f"{files} {digits(value)}" for files, value in values.items()),
                        about=pattern,
                        factor=f"{factor:g}",
                    )


def single_process_conditions(pack: RulePack) -> list[str]:
    """The launch conditions with a single process."""
    return [launch.id for launch in pack.launch if launch.processes == 1]


@campaign_rule(
    "PHY-02",
    "results of many processes are at most a margin below the single-process result, or are explained",
    why="if many processes are slower than one, a faulty run, a bottleneck or a cached single-process result is likely",
    remedy="explain the slowdown, or find its cause and measure again",
    severity=Severity.WARNING,
    parameters={
        "below": Parameter(Quantity.SHARE, 0.05, "how far a rate may be below the single-process rate"),
    },
    needs=Needs.NUMBERS,
)
def check_not_below_one_process(submission: Submission) -> Iterator[Finding]:
    """Each cell of the other conditions; in a rehearsal noted."""
    alone = single_process_conditions(submission.pack)[:1]
    pairs = [
        (row, replace(row.cell, launch=launch))
        for launch in alone
        for row in submission.executed_rows
        if row.cell.launch != launch
    ]
    message, missing = (
        "more than {margin} slower than the single-process result",
        "no single-process result to compare with",
    )
    yield from _check_not_worse(submission, "PHY-02", "single process", pairs, message, missing)


@campaign_rule(
    "PHY-05",
    "stat rates are at most a margin below the creation rates of the same row, or are explained",
    why=(
        "a stat changes nothing, so it should not be slower than a creation: swapped columns, values of different "
        "runs, or creations that had not finished are possible causes"
    ),
    remedy="explain the difference, for example by locks or by work that the file system defers, or measure again",
    severity=Severity.WARNING,
    parameters={
        "below": Parameter(Quantity.SHARE, 0.05, "how far a stat rate may be below the creation rate of its row"),
    },
    is_always_judged=True,
    needs=Needs.NUMBERS,
)
def check_stat_rates(submission: Submission) -> Iterator[Finding]:
    """Each row, except where the formula counts files that were not created; in a rehearsal noted."""
    rows = {row.cell: row for row in submission.measured_rows}
    inflated = {(files.id, operation) for files in submission.pack.files for operation in files.inflated}
    pairs = []
    for cell, row in rows.items():
        operation = _creation_operations(submission.pack, cell.launch).get(cell.operation)
        # The formula of an inflated rate counts files that were not created, so the rates are not comparable.
        if operation is None or (cell.files, operation) in inflated:
            continue
        created = replace(cell, operation=operation)
        if created not in rows or rows[created].unit == row.unit:
            pairs.append((row, created))
    message = "the stat rate is more than {margin} below the creation rate of the same row"
    yield from _check_not_worse(
        submission, "PHY-05", "created", pairs, message, "no creation rate in this row to compare with"
    )


@campaign_rule(
    "PHY-06",
    "rates grow at most by a factor beyond the processes times the single-process result, or are explained",
    why="a process among others is hardly faster than alone: a cache, or a benchmark that counts wrongly, is likely",
    remedy="explain the growth, for example by caches of more nodes, or find its cause and measure again",
    severity=Severity.WARNING,
    parameters={
        "factor": Parameter(Quantity.FACTOR, 2.0, "how far a rate may be above processes x the single-process rate"),
    },
    is_always_judged=True,
    needs=Needs.NUMBERS,
)
def check_growth(submission: Submission) -> Iterator[Finding]:
    """Each cell of the other conditions, except where the formula counts operations that were not performed; in a
    rehearsal noted.
    """
    factor, alone = submission.pack.parameter("PHY-06", "factor"), single_process_conditions(submission.pack)[:1]
    values = {row.cell: row.value for row in submission.measured_rows if row.value is not None}
    inflated = {(files.id, operation) for files in submission.pack.files for operation in files.inflated}
    cells_without_single = []
    for row in submission.executed_rows:
        rate, processes = row.value, row.geometry.processes if row.geometry else 0
        if row.cell.launch in alone or row.best == "lowest" or (row.cell.files, row.cell.operation) in inflated:
            continue
        for single in (values.get(replace(row.cell, launch=launch)) for launch in alone):
            if single is None or not processes:
                cells_without_single.append(row.cell)
            elif rate is not None and rate > factor * processes * single > 0:
                largest, actual, by = distinct_digits(factor * processes * single, rate, single)
                yield to_explain_at_full_size(submission.full)(
                    "more than {factor}x the rate of that many single processes",
                    f"at most {largest} {row.unit} ({factor:g} x {processes} processes x {by})",
                    f"{actual} {row.unit}",
                    about=row.cell,
                    factor=f"{factor:g}",
                )
    yield from submission.per_line(
        unchecked,
        cells_without_single,
        "no single-process result, or process count, to compare with",
        remedy="measure the single-process launch condition: campaign run FILE",
    )


def _check_not_worse(
    submission: Submission, rule: str, name: str, pairs: Sequence[tuple[Row, Cell]], message: str, missing: str
) -> Iterator[Finding]:
    """No value is worse than that of another cell, called `name`, by more than the rule's share."""
    margin = submission.pack.parameter(rule, "below")
    values = {row.cell: row.value for row in submission.measured_rows if row.value is not None}
    for row, other in pairs:
        if row.value is None or other not in values:
            continue
        sign, limits, change = 1, "at least", "minus"
        if row.best == "lowest":
            sign, limits, change = -1, "at most", "plus"
        limit = values[other] * (1 - sign * margin)
        if sign * row.value < sign * limit:
            expected, actual, by = distinct_digits(limit, row.value, values[other])
            yield to_explain_at_full_size(submission.full)(
                message,
                f"{limits} {expected} {row.unit} ({name} {by}, {change} {show(Quantity.SHARE, margin)})",
                f"{actual} {row.unit}",
                about=row.cell,
                margin=show(Quantity.SHARE, margin),
            )
    yield from submission.per_line(unchecked, [row.cell for row, other in pairs if other not in values], missing)


def _creation_operations(pack: RulePack, launch: str) -> dict[str, str]:
    """The rate of creation that belongs to each rate of stats, by their operations' ids."""
    ids = {operation.key: operation.id for operation in pack.operations_of(launch) if operation.best != "lowest"}
    stats = {key: key.removesuffix("stat") for key in ids if key.rpartition("/")[2] == "stat"}
    return {ids[key]: ids[f"{phase}create"] for key, phase in stats.items() if f"{phase}create" in ids}
