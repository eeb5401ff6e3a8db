"""The forms of a finding: a wording with its values, which are named alike."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import campaign
from campaign.core.findings import Move, Severity
from campaign.judge.findings import at_full_size, note, unchecked, violation
from campaign.judge.job_records import check_times
from tests.judge.cases.environment import case, external

PACKAGE = Path(campaign.__file__).parent
OTHERS = {"about", "operation"}  # what else a form is given by name
FORM = re.compile(
    r"\(?(violation|to_explain|note|unchecked|to_explain_if_full|at_full_size|form|_missing_attempts|functools\.partial|.*\.per_line)\b"
)


def test_a_message_has_its_operation_its_values_and_its_phase() -> None:
    finding = violation(
        "{unit} of {count} differ", "8", None, about="scratch/*/*/*", operation="stat", unit="files", count=3
    )
    assert (finding.message, finding.expected, finding.actual) == ("stat: files of 3 differ", "8", "absent")
    assert (finding.subject, finding.severity, finding.values) == (
        "scratch/*/*/*",
        Severity.ERROR,
        {"unit": "files", "count": "3"},
    )
    assert finding.as_json()["message"] == "stat: files of 3 differ"


def test_a_wording_without_values_is_the_message_whatever_braces_it_has() -> None:
    assert note("{directory} is {a").message == "{directory} is {a"


def test_a_rehearsal_notes_what_a_finding_is_at_full_size() -> None:
    finding = at_full_size(violation, full=False)("{what} is short", what="create")
    assert (finding.severity, finding.at_full, finding.message) == (Severity.INFO, Severity.ERROR, "create is short")
    assert at_full_size(violation, full=True)("x").severity is Severity.ERROR
    assert not unchecked("x").checked


def test_times_that_outputs_of_a_program_never_have_are_not_the_vendors_to_supply() -> None:
    silent = {"began": None, "ended": None, "began_local": None, "ended_local": None}
    (of_another,) = check_times(external(program="fio-3.33", **silent))
    (of_the_built_in,) = check_times(case(program="campaign bench 0.3.0", **silent))
    assert of_another.message == of_the_built_in.message == "no timestamp in the output"
    assert (of_another.move, of_the_built_in.move) == (Move.NOBODY, Move.VENDOR)


def wordings() -> Iterator[tuple[str, str, set[str]]]:
    """What forms are called with: the place, each wording that is written there, and the names of the values."""
    for path in [*(PACKAGE / "judge").rglob("*.py"), *(PACKAGE / "evidence").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and FORM.match(ast.unparse(node.func)):
                names = {keyword.arg or "**" for keyword in node.keywords} - OTHERS
                for argument in node.args:
                    texts = [argument.body, argument.orelse] if isinstance(argument, ast.IfExp) else [argument]
                    written_values = [text.value for text in texts if isinstance(text, ast.Constant)]
                    yield from (
                        (f"{path.name}:{node.lineno}", text, names) for text in written_values if isinstance(text, str)
                    )


def places(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def test_every_place_of_a_wording_has_its_value() -> None:
    wordings_with_places = [(where, places(text), names) for where, text, names in wordings() if places(text)]
    assert len(wordings_with_places) > 60
    assert [
        where for where, place_names, names in wordings_with_places if not (place_names <= names or "**" in names)
    ] == []
