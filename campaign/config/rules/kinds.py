"""What is allowed in a single value of a rule pack."""

from __future__ import annotations

import re

from campaign.config import values
from campaign.config.rules.catalogue import CATALOGUE
from campaign.core import formula
from campaign.core.schema import MapOf, Text, checked_text, full_match, matching, nearest_name
from campaign.core.strict_yaml import quoted

_ID = r"[A-Z]{3}-[0-9]{2}"


def _parse_rule(text: str) -> str:
    if not re.fullmatch(_ID, text):
        similar_rule = nearest_name(text, [rule.lower() for rule in CATALOGUE]).upper()
        remedy = f"did you mean {similar_rule}?" if similar_rule else "allowed: a rule's id such as FLG-01"
        raise ValueError(f"found {quoted(text)}; {remedy}")
    return text


PROFILES = ("rehearsal", "full")
MEDIAN = "median"  # reports the median of the valid runs, instead of the best
GEOMETRY = ("processes", "nodes", "processes_per_node")  # placeholders whose values come from a launch condition
PLACES = ("same", "other")  # where a phase runs, if not on a number of nodes
FILL = "fill"  # as many copies of a phase as there is room for
PLACEHOLDERS = (
    "{items_per_process}", "{items_total}", "{directory}", "{processes}", "{nodes}", "{processes_per_node}",
    "{rank_offset}", "{flags}",
)  # fmt: skip
# What has one value for all nodes: such a command line needs the same number of processes on each node.
EQUAL_BLOCKS = ("{rank_offset}", "{processes_per_node}")
BY_CHECKS = "checked"  # how a clause is accounted for, if not by one of UNCHECKED, which are keys of a clause
UNCHECKED = ("answered", "person", "out_of_scope")
OWN = ("practice", "distribution")  # clauses that are not of the RFP's text
NAMING = ("id", "flag", "name", "program", "holds")  # the first of these keys that an entry of a list has is its name
PLOTS = ("bars", "lines", "contention", "timeline", "latency")

LINE = Text("a text on one line")
ARGUMENTS = Text("the words of the command line after the program, on one line", longest=1000)
CLAUSE = Text('a clause in quotes, such as "8.4"', longest=80)
DEMAND = Text("a text on one line", longest=300)
ID = matching(r"[a-z][a-z0-9-]*", "lower-case letters, digits and -, a letter first", longest=40)
APPLET = matching(r"[a-z][a-z0-9_-]*", "lower-case letters, digits, - and _, a letter first", longest=40)
NAME = matching(r"[a-z][a-z0-9_]*", "lower-case letters, digits and _, a letter first", longest=40)
FIGURE = matching(
    r"[a-z](?:[a-z0-9.-]|\{[a-z0-9_]+\})*",
    "lower-case letters, digits, -, . and placeholders of sweeps, a letter first",
    longest=100,
)
RECORD = matching(
    r"[a-z](?:[a-z0-9_.-]|\{[a-z0-9_]+\})*",
    "lower-case letters, digits, -, _, . and placeholders of sweeps, a letter first",
    longest=100,
)
FIXED = matching(r"[!-z|~]+", "a flag such as -F or --name, or another word such as v1", longest=60)
FLAG = matching(r"-[A-Za-z0-9][A-Za-z0-9_]*|--[a-z][A-Za-z0-9._-]*", "a flag such as -F, -name or --name", longest=60)
SHA256 = matching(r"[0-9a-f]{64}", "a SHA-256 in 64 digits 0-9 and a-f")
WORD = matching(r"[!-~]+", "printable ASCII without spaces", longest=60)
_SETTING = "letters, digits and _.,:%+-"
SETTING = Text(
    _SETTING, full_match(r"[A-Za-z0-9_.,:%+-]+", _SETTING), numbers=True
)  # what a word of a command line may hold
NUMBER = Text("a whole number, or a placeholder such as {largest}", longest=60, numbers=True)
INPUT_PATH = Text(
    "a path without $, backquote, ~ and braces",
    full_match(r"(?!~)[^$`{}]*", "a path without $, backquote, ~ and braces (nothing is expanded here)"),
    longest=1000,
)
RULE = Text("a rule's id such as FLG-01", _parse_rule, pattern=_ID)
CHECKED = 'a clause in quotes, such as "8.4", or a mapping of `clause`, `text` and the rule\'s parameters'
CHECK = MapOf(Text("clause, text, or a parameter of the rule", longest=40), Text("a value", longest=160, numbers=True))
LIST = Text("values with commas between them, or a placeholder", longest=1000, numbers=True)


COUNT = Text(values.SHARE, values.parse_share, numbers=True)
COUNTS = Text(values.SHARE_IN_PACKS, lambda text: values.parse_share(text, in_pack=True), numbers=True)
FORMULA = Text(formula.ALLOWED, checked_text(formula.names), longest=formula.LONGEST, numbers=True)
WITHIN = Text(
    "{directory}, or a path below it", full_match(r"\{directory\}(/[A-Za-z0-9_{}-][A-Za-z0-9._{}-]*)*", "{directory}/…")
)
CONDITION = Text(
    f"two formulas with {formula.SIGNS}, such as moved >= 1.5 * memory * nodes",
    checked_text(lambda text: formula.Condition.parse(re.sub(r"\{([a-z_]\w*)\}", r"(\1)", text))),
    longest=formula.LONGEST,
)
