"""Facts of an output that are numbers: conditions of a pack may name them."""

from __future__ import annotations

from campaign.config.rules.output_format import DeclaredRecord, OutputFormat
from campaign.core.records import Record, Source
from campaign.results.parsers import declared


def test_a_fact_that_is_a_number_is_kept_with_its_line() -> None:
    form = OutputFormat(
        format="text",
        facts=(("program", "(solver .*)"), ("size", "size (.*)")),
        records=(DeclaredRecord(name="time", unit="s", pattern="time (?P<value>.*)"),),
    )
    _, seen = declared.parse(form, "solver 1\nsize 1000\ntime 2.5\n", "stdout")
    assert seen.facts == (Record("size", 1000.0, "", Source("stdout", 2)),)
