"""The clauses of packs: each is accounted for, and each mention of a clause is one of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from campaign.config.rules import packs
from campaign.config.rules.entries import CheckedBy, Clause
from campaign.core.errors import InputError
from tests.config.rules.test_packs import SMALL, Problems, problems

__all__ = ["problems"]  # a fixture

LISTED = """clauses:
  - {id: "1", requires: one node}
  - {id: "2", requires: files}
  - {id: "3", requires: flags}
  - {id: "4", requires: the best value}
"""
SHIPPED = sorted(path.stem for path in packs.PACKS.glob("*.yaml"))


def _evidence(tmp_path: Path, text: str) -> dict[str, Clause]:
    path = tmp_path / "small.yaml"
    path.write_text(text)
    return {clause.id: clause for clause in packs.load(path).clauses}


def test_what_checks_a_clause_is_found_by_itself(tmp_path: Path) -> None:
    evidence_by_clause = _evidence(tmp_path, SMALL + LISTED + 'checks: {FLG-01: "3", CMP-01: {clause: "1"}}\n')
    assert evidence_by_clause["1"].evidence == (CheckedBy("launch", "one"), CheckedBy("checks", "CMP-01"))
    assert evidence_by_clause["3"].evidence == (
        CheckedBy("fixed", "-F"),
        CheckedBy("derived", "-n"),
        CheckedBy("checks", "FLG-01"),
    )
    assert {clause.accounting for clause in evidence_by_clause.values()} == {"checked"}


def test_a_check_with_another_clause_is_named(tmp_path: Path) -> None:
    further_text = '  - {id: "5", requires: logs, by: [CMP-04]}\nchecks: {CMP-04: practice}\n'
    assert _evidence(tmp_path, SMALL + LISTED + further_text)["5"].evidence == (CheckedBy("checks", "CMP-04"),)


@pytest.mark.parametrize("accounting", ["answered", "person", "out_of_scope"])
def test_what_no_check_can_see_is_answered_looked_at_or_left_out_with_the_reason(
    tmp_path: Path, accounting: str
) -> None:
    clause = _evidence(tmp_path, SMALL + LISTED + f'  - {{id: "5", requires: a word, {accounting}: why so}}\n')["5"]
    assert (clause.accounting, clause.text, clause.evidence) == (accounting, "why so", ())


def test_a_clause_that_nothing_checks_is_refused(problems: Problems) -> None:
    (problem,) = problems(SMALL + LISTED + '  - {id: "5", requires: logs}\n')
    assert problem == (
        "20:10: clauses[4].id: found 5, which nothing in the pack checks; give this clause to the rule or the entry "
        "that checks it, name rules under by, or add one of answered, person, out_of_scope"
    )


def test_a_note_checks_nothing(problems: Problems) -> None:
    further_text = '  - {id: "5", requires: logs}\nnotes: [{clause: "5", text: so it is read}]\n'
    assert len(problems(SMALL + LISTED + further_text)) == 1


@pytest.mark.parametrize(
    "entry_text",
    ['notes: [{clause: "9", text: a note}]\n', 'checks: {FLG-01: "9"}\n', 'checks: {FLG-01: {clause: "9"}}\n'],
)
def test_a_clause_that_is_not_listed_is_refused_wherever_it_is(problems: Problems, entry_text: str) -> None:
    (problem,) = problems(SMALL + LISTED + entry_text)
    assert problem.endswith("found 9, which is not among the clauses; add it to clauses")


def test_practice_and_distribution_are_no_clauses_of_the_text(tmp_path: Path) -> None:
    assert len(_evidence(tmp_path, SMALL + LISTED + "checks: {FLG-01: practice, SRC-01: distribution}\n")) == 4


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ('{id: "1", requires: again}', "clauses[4].id: found 1 a second time; allowed: ids that differ"),
        (
            '{id: "5", requires: w, answered: how, person: look}',
            "clauses[4].person: found answered, person; allowed: one of them",
        ),
        (
            '{id: "5", requires: w, by: [FLG-01]}',
            "clauses[4].by[0]: found FLG-01; allowed: a rule of the pack's checks",
        ),
    ],
)
def test_a_clause_is_accounted_for_once_and_in_one_way(problems: Problems, entry: str, problem: str) -> None:
    assert [message.split(": ", 1)[1] for message in problems(f"{SMALL}{LISTED}  - {entry}\n")] == [problem]


def test_a_pack_that_lists_no_clauses_is_valid(tmp_path: Path) -> None:
    assert _evidence(tmp_path, SMALL) == {}


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_pack_lists_the_clauses_of_its_document(name: str) -> None:
    assert packs.load(name).clauses


def _reduce(value: Any, clause: str) -> Any:
    """A pack's values without the entries of a clause."""
    if isinstance(value, list):
        return [
            _reduce(entry, clause) for entry in value if not (isinstance(entry, dict) and entry.get("clause") == clause)
        ]
    if isinstance(value, dict):
        remaining = {
            key: entry for key, entry in value.items() if not isinstance(entry, dict) or entry.get("clause") != clause
        }
        return {key: _reduce(entry, clause) for key, entry in remaining.items()}
    return value


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_pack_without_what_checks_a_clause_is_refused(name: str, tmp_path: Path) -> None:
    """Of each pack one clause that rules check, and one that other parts of the pack do."""
    pack = packs.load(name)
    assert pack.path is not None
    document = yaml.load(pack.path.read_text(), Loader=yaml.CSafeLoader)
    for clause in {bool(clause.by): clause for clause in pack.clauses if clause.evidence}.values():
        reduced = _reduce(document, clause.id)
        reduced["checks"] = {
            rule: check for rule, check in reduced["checks"].items() if check != clause.id and rule not in clause.by
        }
        path = tmp_path / f"{name}.yaml"
        path.write_text(yaml.dump(reduced, Dumper=yaml.CSafeDumper, sort_keys=False, width=10**6))
        with pytest.raises(InputError) as caught:
            packs.load(path)
        clause_problems = [problem for problem in caught.value.problems if ": clauses[" in problem]
        expected = (
            "a rule of the pack's checks" if clause.by else f"found {clause.id}, which nothing in the pack checks"
        )
        assert any(expected in problem for problem in clause_problems), (clause.id, caught.value.problems)
