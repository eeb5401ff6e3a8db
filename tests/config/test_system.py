"""What is an answer about the proposed system, and what stands in the place of one."""

from __future__ import annotations

import pytest

from campaign.config.system import CONTACT, SYSTEM, gaps, placeholder


@pytest.mark.parametrize("text", [*SYSTEM.values(), *CONTACT.values()])
def test_what_init_writes_is_no_answer(text: str) -> None:
    assert placeholder(text) == text


@pytest.mark.parametrize(
    ("text", "expected_placeholder"),
    [
        ("TBD", "TBD"),
        ("8 servers, tbc by the vendor", "tbc"),
        ("To Be Announced", "To Be Announced"),
        ("XXXX nodes", "XXXX"),
        ("Lorem ipsum dolor", "Lorem"),
        ("fill me in", "fill me in"),
        ("todo: ask the storage team", "todo"),
        ("", "nothing"),
        ("  ", "nothing"),
        ("-", "-"),
        ("...", "..."),
        ("???", "???"),
        ("n/a", "n/a"),
        ("Unknown", "Unknown"),
        ("test", "test"),
    ],
)
def test_a_placeholder_is_found_in_whatever_spelling(text: str, expected_placeholder: str) -> None:
    assert placeholder(text) == expected_placeholder


@pytest.mark.parametrize(
    "text",
    [
        "none",
        "2 x 64 cores, 512 GiB",
        "latency < 2 us, bandwidth > 20 GB/s",
        "Example Linux 9, kernel 5.14; see the test report",
        "Foobar Systems 9000",
        "Lustre 2.15, 2 MDS; unknown to the client: the HSM behind it",
        "axxxb",
    ],
)
def test_an_answer_is_one(text: str) -> None:
    assert placeholder(text) == ""


def test_each_gap_is_named_by_its_key() -> None:
    answers = (("node", "64 cores"), ("network", "TBD"), ("more", "..."))
    assert list(gaps("system", answers, {"node": "<a>", "media": "<what>", "network": "<b>"})) == [
        ("system.media", ""),
        ("system.network", "TBD"),
        ("system.more", "..."),
    ]
