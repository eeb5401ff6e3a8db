"""What a JUnit file says of a rule."""

from campaign.core.messages import Message

CASE = Message("{rule} {statement}", rule="FLG-01", statement="all mandatory flags were used")
CASE_OF = Message(
    "{rule} {statement} [{subject}]",
    rule="FLG-01",
    statement="all mandatory flags were used",
    subject="scratch.node.shared.r1/1",
)
CASE_ASKED = Message("explanation required: {message}", message="phases are short")
CASE_UNCHECKED = Message("not checked: {message}", message="rank shift not in the output")
CASE_VALUE = Message("{word}: {value}", word="expected", value="-F -C -T -r")
