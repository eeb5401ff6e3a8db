"""What is wrong with an output that a rule pack's `results` describes. The place is printed before each."""

from __future__ import annotations

from campaign.core.messages import Message

NO_RECORD = Message(
    "no line matches the rule pack's records: not output of {applet}, or it ended early", applet="osu_latency"
)
NO_HEADING = Message(
    "no table: no line has all columns of a record; the closest line lacks {lacking}; its "
    "columns: {columns}",
    lacking="#bytes", columns="#bytes #repetitions | t_avg[usec]",
)  # fmt: skip
FACTS_LACKING = Message("the output lacks required `facts` of the rule pack: {names}", names="program, threads")
NO_END_LINE = Message("the line that ends a complete output is missing: the program ended early")
SECOND_END = Message("a second line that ends an output: several runs in one output")
AFTER_END_LINE = Message("a result after the line that ends the output")
VALUE_NOT_A_NUMBER = Message("{name}: {found!r} is not a number ≥ 0", name="value", found="nan")
NOT_A_NAME = Message("{name!r} is not a record's name", name="latency-8/16")
FACT_NOT_A_COUNT = Message("{name}: {found!r} is not a whole number ≥ 0", name="processes", found="two")
NOT_A_COMMAND = Message("command line with an unclosed quote: {found}", found="fio --name='a")
UNIT_NOT_EXPECTED = Message("unit {found!r}; the rule pack expects {allowed}", found="KiB/s", allowed="MiB/s, GiB/s")
UNITS_DIFFER = Message("{record} has several units", record="write")
SECOND_MATCH = Message("a second {record}; the first, in line {line}, is used", record="copy", line=24)
MATCHES_DIFFER = Message(
    "{record}: {found} matches; the rule pack expects {expected}", record="write", found=2, expected=3
)
RECORD_OF_TWO_KINDS = Message("two records of the rule pack match {record}; the first is used", record="latency-8")
FACT_TWICE = Message(
    "{name} is {second!r} here, but {first!r} in line {line}", name="elements", first="4000000", second="40", line=6
)
OF_DIFFERS = Message(
    "{record}: {found} matches, but {of} has {expected}; they cannot be paired",
    record="read", found=2, of="write", expected=3,
)  # fmt: skip
NOT_CHECKED = Message("{record}: plausibility not checked: {error}", record="copy", error="no value for elements")
NOT_PLAUSIBLE = Message(
    "{record}: {value:.8g} {unit} does not agree with {formula} = {expected:.8g}",
    record="copy", value=4287.0, unit="MB/s", formula="16 * elements / time / 1e6", expected=428.7,
)  # fmt: skip
PATH_NOT_A_SCALAR = Message("{path} is a list or an object; expected a number or a text", path="jobs[0].read")
