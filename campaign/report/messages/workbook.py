"""Sentences of the workbook."""

from __future__ import annotations

from campaign.core.messages import Message

PROFILE = Message("{profile}: not a compliant result", profile="rehearsal")
NOT_GIVEN = Message("not given in the campaign file")
NO_RESULTS = Message("no results yet")
TABLE_MARKS = Message(
    "struck through: invalid (see Status and Notes); italic: projected; Notes: numbers of the notes below the table"
)
ORIGIN = Message(
    "click a value to go to its row on the sheet Provenance; click the file name there to open the raw output (works "
    "while this workbook is in report/ of the results)"
)
CHECK_OUTPUT = Message("open the raw output at the line given on the sheet Provenance: it contains the value")
CHECK_CAMPAIGN = Message("campaign check {file}: re-reads all raw output and re-checks every rule", file="acme.yaml")
CHECK_BUNDLE = Message("campaign verify BUNDLE: does the same offline on the submitted bundle and compares the results")
RAW_OUTPUT = Message("open the raw output")
IN_TABLE = Message("go to the value in the table")
CUT = Message("… (truncated, {length} characters)", length=40000)
NONE = Message("none")
KEY_ERROR = Message("E: violation; makes the result invalid unless waived")
KEY_WARNING = Message("W: explanation required (not checked: does not count as passed)")
KEY_INFO = Message("I: note; nothing to do")
