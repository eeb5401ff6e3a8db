"""One digit of an output is changed: it then contradicts itself, or its numbers are the same but for rounding."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from campaign.results.parsers import output
from tests.support import captures
from tests.support.examples import examples

# Each number of these stands in them twice, or follows from others. Not mdtest 1.9.3: its rows may be of all ranks.
TEXTS = [
    ("checkpoint", "bench-0.1.0-restart/stdout"),
    ("ior", "ior-3.3.0-script.txt"),
    ("ior", "ior-4.1-F-C-e.txt"),
    ("ior", "ior-4.1.json"),
    ("ior", "bench-0.1.0-synced/stdout"),
    ("mbw_mr", "osu_mbw_mr-7.4-4-processes.txt"),
    ("mbw_mr", "bench-0.1.0-sweep/stdout"),
    ("mbw_mr", "bench-0.1.0-windows/stdout"),
    ("mdtest", "mdtest-1.8.4-unique-dirs.txt"),
    ("mdtest", "mdtest-4.1-two-nodes-unique-dirs.txt"),
    ("mdtest", "mdtest-4.1-two-nodes-three-iterations.txt"),
    ("nfstest", "bench-0.1.0-verbose/stdout"),
    ("nfstest", "bench-0.1.0-terse/stdout"),
]
ROUNDED = 0.005  # relative: a bandwidth of 1.52 MB/s, with two decimals


@settings(max_examples=examples(200))
@given(st.sampled_from(TEXTS), st.integers(0, 2**32), st.sampled_from("0123456789"))
def test_a_changed_digit_is_found_out_or_changes_no_number(capture: tuple[str, str], place: int, digit: str) -> None:
    parse, text = output.parser(capture[0]), captures.DATA.joinpath(*capture).read_text()
    # How many pairs there are stands in the header alone.
    header = re.search(r"# \[ pairs: .*?\]", text)
    header_places = range(*header.span()) if header else range(0)
    digits = [match.start() for match in re.finditer("[0-9]", text) if match.start() not in header_places]
    at = digits[place % len(digits)]
    true_values = {record.operation: record.value for record in parse(text, "stdout")[0]}
    records, seen = parse(text[:at] + digit + text[at + 1 :], "stdout")
    if len(seen.errors) == 0:
        found_values = {record.operation: record.value for record in records}
        assert found_values.keys() >= true_values.keys()
        # A phase that was not run has zeros, of which one may be rounded.
        assert all(
            abs(value - true_values.get(name, 0)) <= ROUNDED * max(value, 1) for name, value in found_values.items()
        )
