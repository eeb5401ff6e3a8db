"""What is wrong with a table that was given as CSV or XLSX."""

from __future__ import annotations

from campaign.core.messages import Message

_PATH = "offer.csv"

NO_FILE = Message("{path}: not found; give {allowed}", path=_PATH, allowed="a table (.csv, .json or .xlsx)")
TABLE_EMPTY = Message(
    "{path}: empty; give a table as 'campaign table --format {kind}' writes it", path=_PATH, kind="csv"
)
TABLE_WITHOUT_ROWS = Message("{path}: no rows below the column names; one row for each cell is needed", path=_PATH)
TOO_MANY_ROWS = Message("{path}: more than {most} rows; give one table of one campaign", path=_PATH, most=100000)
NO_COLUMN = Message(
    "{path}: no column {missing}; found: {found}; needed: {needed}",
    path=_PATH,
    missing="value",
    found="target, launch, files, operation, rate",
    needed="target, launch, files, operation, value",
)
NO_COLUMN_NEAR = Message(
    "{path}: no column {missing}; found: {found}; did you mean {meant} for {near}?",
    path=_PATH,
    missing="operation",
    found="target, launch, files, opration, value",
    meant="operation",
    near="opration",
)
COLUMN_TWICE = Message(
    "{path}: column {name} appears {times} times; remove all but one", path=_PATH, name="value", times=2
)
MORE_FIELDS = Message(
    "{where}: more fields than columns; put a field that contains the separator in quotes", where="offer.csv: line 7"
)
NOT_CSV = Message("{where}: {why}; give a table in CSV", where="offer.csv: line 7", why="field larger than field limit")
NOT_A_NUMBER = "a number with a decimal point and without thousands separators, such as 1234.5"
NOT_XLSX = Message(
    "{path}: not an XLSX workbook: {why}; save it as .xlsx or .csv", path="offer.xlsx", why="File is not a zip file"
)
EXTERNAL_LINKS = Message(
    "{path}: links to other workbooks ({member}); save it with values in place of the links",
    path="offer.xlsx",
    member="xl/externalLinks/externalLink1.xml",
)
TOO_LARGE = Message(
    "{path}: {what}; give a table of up to {most}",
    path="offer.xlsx",
    what="unpacks to 900000000 bytes",
    most="268435456 bytes",
)
UNSAFE_XML = Message(
    "{path}: {member} is not plain UTF-8 XML (it declares entities or another encoding); save the workbook again",
    path="offer.xlsx",
    member="xl/workbook.xml",
)
