"""What every parser of text gets from TextReader: rules in their order, and a note of each line that none knows."""

from __future__ import annotations

import re
from dataclasses import replace

from campaign.core.model import Observation, OutputRemark, Record, Source
from campaign.results.parsers.lines import LONGEST_LINE, LineRules, TextReader
from tests.support.captures import said


class _HplReader(TextReader):
    rules = LineRules(known=r"|=+")

    @rules(r"WR\S+ +(?P<rate>[0-9.]+)")
    def result(self, number: int, match: re.Match[str]) -> None:
        rate = float(match["rate"])
        if "hpl" not in self.records or self.records["hpl"].value < rate:
            self.records["hpl"] = Record("hpl", rate, "Gflop/s", Source(self.file, number))

    @rules(r"WR.*")
    def other(self, number: int, match: re.Match[str]) -> None:
        self.notes.unreadable(number, match[0], f"no rate: {match[0]}")

    def finish(self, text: str) -> None:
        self.seen = replace(self.seen, complete=bool(self.records))


def test_the_first_rule_that_matches_the_whole_line_takes_it() -> None:
    records, seen = _HplReader("stdout").read("====\r\n\nWR11 2.5\nWR12 4.0\nWR13 fast\n")
    assert [(record.operation, record.value, record.source) for record in records] == [
        ("hpl", 4.0, Source("stdout", 4))
    ]
    wrong = OutputRemark("no rate: WR13 fast", "stdout", 5)
    assert seen == Observation(complete=True, errors=(wrong,), unparsed=(replace(wrong, text="WR13 fast"),))


def test_a_line_that_no_rule_knows_is_noted_by_its_words() -> None:
    _, seen = _HplReader("stdout").read("a word\nan error\na warning\n")
    assert (said(seen.unparsed), said(seen.errors), said(seen.warnings)) == (
        ("stdout:1: a word",),
        ("stdout:2: an error",),
        ("stdout:3: a warning",),
    )


def test_an_endless_line_is_an_error_and_is_given_to_no_rule() -> None:
    _, seen = _HplReader("stdout").read("=" * (LONGEST_LINE + 1))
    assert said(seen.errors) == (
        f"stdout:1: line of {LONGEST_LINE + 1} characters ignored; at most {LONGEST_LINE} are read",
    )
