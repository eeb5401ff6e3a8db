"""Findings about what is on record of a campaign: its results, attempts and their origins."""

from campaign.core.messages import Message

# --- CMP
RESULTS_MISSING = Message("results are missing from the table")
RESULTS_TWICE = Message("results are in the table more than once")
RESULTS_UNKNOWN = Message("the table has results that the rules do not ask for")
RESULTS_OF_PACK = Message("only the rule pack's results")
NO_RESULTS = Message("no results for target {target}", target="scratch")
ALL_RESULTS = Message("a full set of results")
TARGET_DECLINED = Message("all results of target {target} are declined", target="scratch")
DECLINED_BECAUSE = Message("declined: {reason}", reason="not offered")
NO_VALUE = Message("no value: {status}", status="missing")
NEEDED_STATUS = Message("measured, projected or declined")
LINE_DIFFERS = Message(
    "{file} line {line} does not contain the reported value", file="runs/scratch.node.shared.r1/1/stdout", line=12
)
NO_SUCH_RESULT = Message("no such result")
UNTRACED = Message("values without a run and a log line")
RUN_AND_LINE = Message("a run and a log line")
NOT_READ_AGAIN = Message("raw output was not read again")

# --- FLG-08
OFFSET_UNINTERPRETED = Message(
    "-N means something else in this benchmark than in the rules; no interpretation is recorded"
)
OFFSET_INTERPRETED = Message(
    "-N means something else in this benchmark than in the rules; interpreted by the rule pack's note on {clause}",
    clause="8.4",
)
OFFSET_BY_RULES = Message("-N {offset} (by the rules)", offset=16)

# --- RUN-08
ATTEMPTS_UNUSED = Message(
    "attempts that the table does not report (kept on record): {counts}", counts="3 cancelled, 1 invalid by FLG-01"
)
OTHER_SETTINGS = Message("measured with other settings")
INVALID_BY = Message("invalid by {rules}", rules="FLG-01")
UNUSED_CONTRADICT = Message("attempts that are not used in the results have records that contradict each other")
RECORDS_AGREE = Message("records that agree")
UNUSED_COMPLETE = Message("attempts that did not end well have all their results in their output")
PART_OF_RESULTS = Message("a part of the results, or none")
MEASURED_AGAIN = Message("{run} was measured again although it had a valid result", run="scratch.node.shared.r1")
ONE_RESULT = Message("one valid result of each repetition")
ATTEMPTS_GONE = Message("attempts of {run} are not on record", run="scratch.node.shared.r1")
OUTPUT_GONE = Message("raw output of attempts of {run} is missing", run="scratch.node.shared.r1")
RAW_OUTPUT_OF_ALL = Message("raw output of every attempt")
MEASURED_AND_HIDDEN = Message(
    "attempt {attempt} of {run}: its job recorded a complete measurement, but the journal records another end",
    attempt=2,
    run="scratch.node.shared.r1",
)
FOLDERS_UNCHECKED = Message("attempt folders not checked")
