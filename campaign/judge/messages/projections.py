"""Findings about projections and the maximum concurrency."""

from campaign.core.messages import Message

WRONG_STATUS = Message("a projection is reported with another status")
COPIED = Message("the projection repeats a measured value without a model")
FROM_MODEL = Message("a value computed from the inputs by a model")
VALUE_OF = Message("the value of {name}, {value:.10g}", name="create_rate", value=30870)
EQUALS_MEASUREMENT = Message("the projection equals the measurement of {cell}", cell="scratch/peak/unique/create")
INCOMPLETE = Message("the projection is incomplete")
WHOLE_BASIS = Message("base system, generation, formula, inputs and uncertainty")
LACKS = Message("{names} missing", names="generation, inputs")
NOT_COMPUTABLE = Message("the projection cannot be recomputed")
VALUE_DIFFERS = Message("recomputing the formula gives another value")
UNUSED_INPUTS = Message("the formula does not use all inputs")
INPUTS_OF_FORMULA = Message("only inputs that the formula uses")
INDEPENDENT_VALUE = Message("an independent value")
LOGS_UNCHECKED = Message("logs of the base system not checked")
LOGS_MISSING = Message("logs of the base system are missing or empty")
LOGS_WANTED = Message("the raw outputs that contain the inputs")
NO_SOURCE = Message("no log line given for input {name}", name="measured")
SOURCE_WANTED = Message("log, line and operation under sources, or design")
OF_DESIGN = Message("{name} is a design value, not measured", name="servers")
PLACE = Message("{log}, line {line}", log="mdtest.out", line=27)
OTHER_OPERATION = Message("{name}: {place} belongs to another operation", name="measured", place="mdtest.out, line 27")
INPUT_DIFFERS = Message("{name}: {place} does not contain this number", name="measured", place="mdtest.out, line 27")
NO_PARTITION = Message("the partition's size was not recorded")
BELOW_MAXIMUM = Message(
    "below the maximum concurrency of partition {partition}, without a projection to it", partition="compute"
)
BELOW_SHARE = Message(
    "fewer nodes or processes than the launch condition's share of partition {partition}", partition="compute"
)
IDLE_CORES = Message("fewer processes per node than cores")
ON_A_NODE = Message("{count} on each node", count=64)
NODES_UNAVAILABLE = Message("some nodes of the partition were unavailable for the maximum-concurrency run")
