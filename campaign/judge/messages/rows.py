"""Why a result has no value, or how it was projected: beside it in tables."""

from campaign.core.messages import Message

PROJECTED = Message(
    "projected, not measured: from {system} ({generation}) by {formula} with {inputs}; uncertainty {uncertainty:g}%: "
    "{low} to {high}",
    system="Alpha",
    generation="2024",
    formula="rate * nodes",
    inputs="rate = 1200, nodes = 64",
    uncertainty=10,
    low="69120",
    high="84480",
)
DECLINED = Message("{reason} ({attempts}, none valid)", reason="not offered", attempts="3 attempts")
NO_PROCESS_COUNT_YET = Message("process count not yet determined")
NO_CURRENT_RESULTS = Message("no results for the current settings")
NOT_RUN = Message("not run yet")
NO_RESULT_FOUND = Message("no result in the output")
INVALID_PART = Message("computed from {cell}, which is invalid", cell="scratch/node/all/write")
