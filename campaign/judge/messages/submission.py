"""Findings about what is on record of a campaign: its results, attempts and their origins."""

from campaign.core.messages import Message

# --- CMP
RESULTS_MISSING = Message("results are missing from the table")
RESULTS_TWICE = Message("results are in the table more than once")
RESULTS_UNKNOWN = Message("the table has results that the rules do not ask for")
RESULTS_OF_PACK = Message("only the rule pack's results")
ALL_RESULTS = Message("a full set of results")
DECLINED_BECAUSE = Message("declined: {reason}", reason="not offered")
NEEDED_STATUS = Message("measured, projected or declined")
NO_SUCH_RESULT = Message("no such result")
UNTRACED = Message("values without a run and a log line")
RUN_AND_LINE = Message("a run and a log line")
NOT_READ_AGAIN = Message("raw output was not read again")

# --- FLG-08
OFFSET_UNINTERPRETED = Message(
    "-N means something else in this benchmark than in the rules; no interpretation is recorded"
)
OFFSET_BY_RULES = Message("-N {offset} (by the rules)", offset=16)

# --- RUN-08
OTHER_SETTINGS = Message("measured with other settings")
INVALID_BY = Message("invalid by {rules}", rules="FLG-01")
UNUSED_CONTRADICT = Message("attempts that are not used in the results have records that contradict each other")
RECORDS_AGREE = Message("records that agree")
UNUSED_COMPLETE = Message("attempts that did not end well have all their results in their output")
PART_OF_RESULTS = Message("a part of the results, or none")
ONE_RESULT = Message("one valid result of each repetition")
RAW_OUTPUT_OF_ALL = Message("raw output of every attempt")
FOLDERS_UNCHECKED = Message("attempt folders not checked")
