"""Cases of the rules over the numbers of the cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from campaign.core.findings import Severity
from campaign.core.runs import Cell, Status
from campaign.judge.submission import Submission
from campaign.results.cells import Row
from campaign.statistics.intervals import summarize
from tests.judge.cases import Example, broken, compliant, disclosed, rehearsed, unchecked
from tests.judge.cases.submissions import FIRST, FIRST_RUN, good_submission, with_first_row
from tests.support import builders
from tests.support.results import Results

LINE = "scratch/single/shared/*"


def rates(**values: Sequence[float]) -> Submission:
    """A full campaign with these rates, by launch condition and configuration as `single_shared`."""
    submission = good_submission()
    rows: list[Row] = []
    for row in submission.rows:
        own_rates = values.get(f"{row.cell.launch}_{row.cell.files}")
        position = ("create", "stat", "remove").index(row.cell.operation)
        rows.append(replace(row, value=own_rates[position]) if own_rates else row)
    return replace(submission, rows=tuple(rows))


def of_one_line(submission: Submission) -> Submission:
    """A campaign whose programs print all numbers of an execution in one line."""

    def moved(row: Row) -> Row:
        assert row.record
        return replace(row, record=replace(row.record, source=replace(row.record.source, line=1)))

    return replace(submission, rows=tuple(map(moved, submission.rows)))


def without_launch(launch: str, submission: Submission | None = None) -> Submission:
    """A campaign in which one launch condition has no numbers."""
    submission = submission or good_submission()
    rows = tuple(
        replace(row, value=None, status=Status.MISSING) if row.cell.launch == launch else row for row in submission.rows
    )
    return replace(submission, rows=rows)


def not_created() -> Submission:
    """A campaign in which the creation of one row has no number."""
    submission = good_submission()
    lost = Cell("scratch", "node", "unique", "create")
    rows = (replace(row, value=None, status=Status.MISSING) if row.cell == lost else row for row in submission.rows)
    return replace(submission, rows=tuple(rows))


def repeated(*values: float, profile: str = "full", jobs: int | None = None) -> Submission:
    """A campaign in which one run was repeated, with these rates of creation in the order of time."""
    pack = replace(builders.pack(profile=profile), launch=builders.pack().launch[:1], files=builders.pack().files[:1])
    campaign = builders.campaign(profile=profile, repetitions=len(values))
    results = Results(campaign=campaign, pack=pack)
    for position, (run, value) in enumerate(zip(results.runs, values, strict=True)):
        results.add_to(run, (value, 4000.0, 800.0), started=100.0 + position)
    submission = results.submission()
    return replace(
        submission, rows=tuple(replace(row, jobs=len(values) if jobs is None else jobs) for row in submission.rows)
    )


def on_record(count: int, profile: str = "full", **parameters: float) -> Submission:
    """One run repeated so often, under a pack with these parameters of STA-03."""
    submission = repeated(*range(1000, 1000 + count), profile=profile)
    return replace(
        submission,
        pack=replace(submission.pack, parameters={("STA-03", name): value for name, value in parameters.items()}),
    )


def two_attempts(number: int) -> Submission:
    """A run with two valid attempts, of which one is reported."""
    results = Results(campaign=builders.campaign(profile="full"), pack=builders.pack(profile="full"))
    results.add("single.shared", (1000.0, 4000.0, 800.0))
    results.add("single.shared", (2000.0, 3000.0, 700.0))
    submission = results.submission()
    rows = tuple(
        replace(row, attempt=results.attempts[number - 1]) if row.status is Status.MEASURED else row
        for row in submission.rows
    )
    return replace(submission, rows=rows)


def iterated(statistic: str, iteration: str = "") -> Submission:
    """A campaign whose first number is of three iterations, and what its rules ask for."""
    submission = good_submission()
    record = submission.rows[0].record
    assert record is not None
    submission_of_rules = replace(
        submission, pack=replace(submission.pack, selection=replace(submission.pack.selection, iteration=iteration))
    )
    return with_first_row(submission_of_rules, record=replace(record, iterations=3, statistic=statistic))


def without_runs(submission: Submission) -> Submission:
    """The same numbers as somebody else's table, which does not say where they come from."""
    rows = tuple(replace(row, run=None, attempt=None, record=None, summary=summarize([])) for row in submission.rows)
    return replace(submission, rows=rows, results=())


def projected() -> Submission:
    """The last launch condition as a projection that repeats the one before."""
    submission = rates(peak_unique=(8000.0, 32000.0, 6400.0), max_unique=(8000.0, 32000.0, 6400.0))
    rows = tuple(replace(row, status=Status.PROJECTED) if row.cell.launch == "max" else row for row in submission.rows)
    return replace(submission, rows=rows)


EXAMPLES: list[Example] = [
    broken(
        "STA-01",
        "the operations come from several runs",
        with_first_row(good_submission(), attempt=builders.attempt(good_submission().runs[0], number=2)),
        "one run",
        f"{FIRST_RUN}/2, {FIRST_RUN}/1",
        LINE,
    ),
    compliant("STA-01", "each line from its run", good_submission()),
    unchecked("STA-01", "a table without its runs", without_runs(good_submission())),
    broken(
        "STA-01",
        "the value is not the statistic of its iterations that the rules require",
        iterated("maximum", iteration="best"),
        "one iteration",
        "maximum of 3 iterations",
        FIRST,
    ),
    broken(
        "STA-01",
        "measured in several iterations, but the rules do not say which to report: values of one "
        "line may come from different iterations",
        iterated("maximum"),
        "one statistic",
        "maximum",
        FIRST,
        severity=Severity.WARNING,
    ),
    compliant("STA-01", "the iteration that the rules ask for", iterated("one iteration", iteration="best")),
    broken(
        "STA-02",
        "the reported attempt is not the one with the highest create",
        two_attempts(1),
        f"{FIRST_RUN}/2",
        f"{FIRST_RUN}/1",
        FIRST,
    ),
    compliant("STA-02", "the better of two", two_attempts(2)),
    unchecked("STA-02", "a table without its runs", without_runs(good_submission())),
    broken(
        "STA-03",
        "fewer repetitions than the rules require",
        on_record(2, minimum=3),
        "6 (the rules require at least 3)",
        "2",
        LINE,
    ),
    compliant("STA-03", "six", on_record(6)),
    unchecked("STA-03", "a table that does not say", without_runs(good_submission())),
    disclosed(
        "STA-03",
        "too few repetitions for a confidence interval",
        on_record(3, minimum=3),
        "6 (the rules require at least 3)",
        "3",
        LINE,
    ),
    rehearsed(
        "STA-03",
        "fewer repetitions than the rules require",
        on_record(2, "rehearsal", minimum=3),
        "6 (the rules require at least 3)",
        "2",
        LINE,
    ),
    disclosed(
        "STA-03",
        "repetitions shared jobs and are not independent",
        repeated(*range(1000, 1006), jobs=1),
        "one job per repetition",
        "6 repetitions",
        LINE,
    ),
    broken(
        "STA-04", "variation between repetitions above 5%", repeated(1000, 1100, 1000), "at most 5%", "5.59%", FIRST
    ),
    broken(
        "STA-04",
        "variation between repetitions above 10%",
        repeated(1000, 1300, 1000),
        "at most 5%",
        "15.7%",
        FIRST,
    ),
    broken(
        "STA-04",
        "values show a trend over time",
        repeated(*range(1000, 1120, 10)),
        "p-value of 0.05 or more",
        "1.25e-08",
        FIRST,
    ),
    compliant("STA-04", "within 5%", repeated(1000, 1020, 1010, 1030, 1000, 1015)),
    unchecked("STA-04", "a run that was not repeated", good_submission()),
    rehearsed(
        "STA-04",
        "variation between repetitions above 5%",
        repeated(1000, 1100, 1000, profile="rehearsal"),
        "at most 5%",
        "5.59%",
        FIRST,
    ),
    disclosed(
        "STA-04",
        "outliers present; none excluded",
        repeated(1000, 1001, 1002, 1003, 1004, 1050),
        "",
        "1050",
        FIRST,
    ),
    broken(
        "PHY-01",
        "single-process rates differ by more than 2x between file configurations",
        rates(single_onefile=(300.0, 4000.0, 800.0)),
        "at most 2x",
        "shared 1000, unique 1001, onefile 300",
        "scratch/single/*/create",
    ),
    compliant("PHY-01", "hardly any difference", good_submission()),
    unchecked("PHY-01", "no number of one process", without_launch("single")),
    rehearsed(
        "PHY-01",
        "single-process rates differ by more than 2x between file configurations",
        replace(rates(single_onefile=(300.0, 4000.0, 800.0)), pack=builders.pack(profile="rehearsal")),
        "at most 2x",
        "shared 1000, unique 1001, onefile 300",
        "scratch/single/*/create",
    ),
    broken(
        "PHY-02",
        "more than 5% slower than the single-process result",
        rates(node_unique=(4000.0, 16000.0, 760.0)),
        "at least 761 ops/s (single process 801, minus 5%)",
        "760 ops/s",
        "scratch/node/unique/remove",
    ),
    compliant("PHY-02", "more processes reach more", good_submission()),
    compliant("PHY-02", "hardly less", rates(node_unique=(4000.0, 16000.0, 770.0))),
    unchecked("PHY-02", "no number of one process", without_launch("single")),
    rehearsed(
        "PHY-02",
        "more than 5% slower than the single-process result",
        replace(rates(node_unique=(4000.0, 16000.0, 760.0)), pack=builders.pack(profile="rehearsal")),
        "at least 761 ops/s (single process 801, minus 5%)",
        "760 ops/s",
        "scratch/node/unique/remove",
    ),
    broken(
        "PHY-06",
        "more than 2x the rate of that many single processes",
        rates(node_unique=(4000.0, 429.0 * 3987.0, 800.0)),
        "at most 31896 ops/s (2 x 4 processes x 3987)",
        "1710423 ops/s",
        "scratch/node/unique/stat",
    ),
    compliant("PHY-06", "each process is as fast as alone", rates(node_unique=(4 * 1001.0, 4 * 4001.0, 4 * 801.0))),
    compliant("PHY-06", "a formula that counts what nobody did", rates(node_onefile=(1e6, 16000.0, 1e6))),
    unchecked("PHY-06", "no number of one process", without_launch("single")),
    rehearsed(
        "PHY-06",
        "more than 2x the rate of that many single processes",
        replace(rates(node_unique=(4000.0, 1e6, 800.0)), pack=builders.pack(profile="rehearsal")),
        "at most 31896 ops/s (2 x 4 processes x 3987)",
        "1000000 ops/s",
        "scratch/node/unique/stat",
    ),
    broken(
        "PHY-05",
        "the stat rate is more than 5% below the creation rate of the same row",
        rates(node_unique=(72817.0, 25697.0, 5032.0)),
        "at least 69176 ops/s (created 72817, minus 5%)",
        "25697 ops/s",
        "scratch/node/unique/stat",
    ),
    compliant("PHY-05", "as fast as they are created", good_submission()),
    compliant("PHY-05", "hardly less", rates(node_unique=(4000.0, 3900.0, 800.0))),
    compliant("PHY-05", "a formula counts what was not created", rates(node_onefile=(72817.0, 25697.0, 5032.0))),
    unchecked("PHY-05", "no rate of creation beside it", not_created()),
    rehearsed(
        "PHY-05",
        "the stat rate is more than 5% below the creation rate of the same row",
        replace(rates(node_unique=(72817.0, 25697.0, 5032.0)), pack=builders.pack(profile="rehearsal")),
        "at least 69176 ops/s (created 72817, minus 5%)",
        "25697 ops/s",
        "scratch/node/unique/stat",
    ),
    broken(
        "PRJ-01",
        "reported as measured, but every operation is equal to scratch/peak/unique/*",
        rates(peak_unique=(8012.345, 32101.57, 6411.219), max_unique=(8012.345, 32101.57, 6411.219)),
        "independent measurements, or a declared projection",
        "create 8012.345, stat 32101.57, remove 6411.219",
        "scratch/max/unique/*",
    ),
    broken(  # which chance may do where numbers have few digits
        "PRJ-01",
        "reported as measured, but every operation is equal to scratch/peak/unique/*",
        rates(peak_unique=(8.4, 32.0, 6.4), max_unique=(8.4, 32.0, 6.4)),
        "independent measurements, or a declared projection",
        "create 8.4, stat 32, remove 6.4",
        "scratch/max/unique/*",
        severity=Severity.WARNING,
    ),
    broken(
        "PRJ-01",
        "reported as measured, but every operation is exactly 3.5 times scratch/peak/unique/*",
        rates(peak_unique=(8001.0, 32003.0, 6407.0), max_unique=(28004.0, 112010.0, 22424.0)),
        "independent measurements, or a declared projection",
        "create 28004, stat 112010, remove 22424",
        "scratch/max/unique/*",
    ),
    compliant("PRJ-01", "numbers of their own", good_submission()),
    compliant(
        "PRJ-01",
        "numbers of one line of an output, which follow from each other",
        of_one_line(rates(peak_unique=(8001.0, 32003.0, 6407.0), max_unique=(28004.0, 112010.0, 22424.0))),
    ),
    compliant("PRJ-01", "a labelled projection", projected()),
]
