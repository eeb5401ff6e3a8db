"""Findings about the values: where they come from, how they vary, whether they are plausible."""

from campaign.core.messages import Message

# --- STA
NO_RUN_NAMED = Message("the table does not name the run of the value")
SEVERAL_RUNS = Message("the operations come from several runs")
OTHER_STATISTIC = Message("the value is not the statistic of its iterations that the rules require")
OF_ITERATIONS = Message("{statistic} of {iterations} iterations", statistic="maximum", iterations=3)
STATISTIC_OPEN = Message(
    "measured in several iterations, but the rules do not say which to report: values of one "
    "line may come from different iterations"
)
NO_ATTEMPTS = Message("no attempts on record to select from")
NO_REPETITION_COUNT = Message("the table has no repetition count")
NO_INTERVAL = Message("too few repetitions for a confidence interval")
TOO_FEW_REPETITIONS = Message("fewer repetitions than the rules require")
REPETITIONS_WANTED = Message("{wanted} (the rules require at least {minimum})", wanted=6, minimum=1)
REPETITIONS_SHARE_JOBS = Message("repetitions shared jobs and are not independent")
ONE_JOB_EACH = Message("one job per repetition")
TREND = Message("values show a trend over time")
P_VALUE = Message("p-value of {limit:g} or more", limit=0.001)
OUTLIERS = Message("outliers present; none excluded")
ONE_REPETITION = Message("only one repetition: variability unknown")

# --- PHY
NOTHING_TO_COMPARE = Message("fewer than two file configurations have a value to compare")
SLOWER = Message("slower than the single-process result")
AT_LEAST = Message(
    "at least {limit} {unit} (single process {reference}, minus {share})",
    limit="483240",
    unit="ops/s",
    reference="508680",
    share="5%",
)
AT_MOST = Message(
    "at most {limit} {unit} (single process {reference}, plus {share})",
    limit="0.315",
    unit="s",
    reference="0.3",
    share="5%",
)
NO_SINGLE_PROCESS = Message("no single-process result to compare with")
STAT_BELOW_CREATION = Message("the stat rate is below the creation rate of the same row")
AT_LEAST_CREATION = Message(
    "at least {limit} {unit} (created {created}, minus {share})",
    limit="69176",
    unit="ops/s",
    created="72817",
    share="5%",
)
NO_CREATION = Message("no creation rate in this row to compare with")

# --- PRJ-01, of lines without a label
INDEPENDENT = Message("independent measurements, or a declared projection")
