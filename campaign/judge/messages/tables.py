"""Findings over a table by itself."""

from campaign.core.messages import Message

UNITS_DIFFER = Message("unit differs from the rule pack's")
ROUNDED = Message("values are rounded without explanation")
MULTIPLES = Message("multiples of {step}", step=100)
INFLATED = Message("inflated by the process count; actual rate not given")
ACTUAL_TOO = Message("the actual rate as well")
FOUND_BESIDE = Message("{value}, compared with {others}", value="4351769", others="205460 (unique)")
NO_OPERATIONS = Message("actual operation count not in the table")
