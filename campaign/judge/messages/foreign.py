"""What is wrong with the file of a table."""

from campaign.core.messages import Message

BAD_PACK = Message("{path}: rule pack {pack}: {problem}", path="table.csv", pack="my-rules", problem="unusable")
NOT_A_TABLE = Message(
    "{path}: not a table; expected a list of objects as 'campaign table --format json' writes it", path="table.json"
)
EMPTY_NAME = Message("{where}: column {name} is empty; give a name", where="table.csv: line 3", name="target")
WRONG_FIELD = Message(
    "{where}: {name}: found {found}; allowed: {allowed}",
    where="table.csv: line 2",
    name="value",
    found="'1,5'",
    allowed="a number such as 1234.5, no separators",
)
A_TEXT = Message("a text")
A_WHOLE_NUMBER = Message("a whole number")
NO_VALUE_GIVEN = Message("no value in the table")
