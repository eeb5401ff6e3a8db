from __future__ import annotations

from campaign.config.rules.settle import settle
from campaign.report import layout
from tests.config.rules.test_settle import LAUNCH, PACK
from tests.support import builders


def test_rows_stand_below_their_launch_condition_and_columns_hold_one_title_each() -> None:
    pack = settle(PACK, "full", LAUNCH, {})
    assert layout.columns(pack) == ("Rate", "1m", "4m")
    lines = layout.lines(pack, pack.files[0], "")
    assert [("  " * line.level + line.label, line.operations) for line in lines] == [
        ("Blocks of 16m", ()),
        ("  One node", ("best", None, None)),
        ("    1 processes", (None, "rate-1-1m", "rate-1-4m")),
        ("    2 processes", (None, "rate-2-1m", "rate-2-4m")),
        ("    3 processes", (None, "rate-3-1m", "rate-3-4m")),
        ("  Two nodes", ("best", None, None)),
        ("    1 processes", (None, "rate-1-1m", "rate-1-4m")),
        ("    2 processes", (None, "rate-2-1m", "rate-2-4m")),
    ]


def test_without_rows_each_launch_condition_has_one_line() -> None:
    pack = builders.pack()
    lines = layout.lines(pack, pack.files[0], "4096")
    assert lines[0].label == "4096 files in shared dir"
    assert [line.operations for line in lines[1:]] == [("create", "stat", "remove")] * 4
