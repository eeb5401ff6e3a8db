"""What is wrong with the records that a job and Slurm left: environment.json and accounting.json."""

from __future__ import annotations

from campaign.core.messages import Message

WRONG_FILE = Message("{file}: {problem}", file="environment.json", problem="not found")
WRONG_PART = Message("{file}: {key}: {problem}", file="environment.json", key="host", problem="3 is not a string")

RECORD_MISSING = Message("not found")
RECORD_UNREADABLE = Message("cannot be read: {error}", error="Permission denied")
RECORD_TOO_LARGE = Message("not a regular file of at most {most} bytes", most=16_777_216)
RECORD_NOT_JSON = Message("not JSON: {error}", error="Expecting value: line 1 column 1 (char 0)")
RECORD_NOT_AN_OBJECT = Message("not a JSON object")
RECORD_FORMAT = Message("format {found}; expected {known}", found=3, known="1 or 2")

TEXT_EXPECTED = Message("{found} is not a string", found=3)
NUMBER_EXPECTED = Message("{found} is not a number", found="'soon'")
COUNT_EXPECTED = Message("{found} is not a whole number ≥ 0", found=1.5)
TRUTH_EXPECTED = Message("{found} is not true or false", found=1)
OBJECT_EXPECTED = Message("{found} is not an object", found="list")
TEXTS_EXPECTED = Message("{found} is not a list of strings", found="dict")
SPACE_EXPECTED = Message("{found} does not describe the space of a file system", found="list")
NODES_EXPECTED = Message("not a list of at most {most} nodes", most=100_000)
NAME_EXPECTED = Message("{found} has no name", found="dict")
VALUES_EXPECTED = Message("not a list of at most {most} values", most=2_000)
VALUE_EXPECTED = Message("{found} is not a value with its nodes", found=3)
STEPS_EXPECTED = Message("steps: not a list of at most {most}", most=2_000)
RANGES_EXPECTED = Message("{found} is not a list of node ranges such as 0-3,5", found="'a-b'")
RANGES_WRONG = Message(
    "{found}: not ascending, or beyond the last of {nodes} nodes (counted from 0)", found="'5-3'", nodes=4
)
TOO_MANY_ENTRIES = Message("{count} entries; only the first {read} were read", count=3_000, read=2_000)
VALUES_DROPPED = Message("the job dropped the values of {count} nodes", count=12)
NODE_TWICE = Message("two values for one node")
TEXT_CUT = Message("{start} ... (cut)", start="Lmod Warning: the module")
