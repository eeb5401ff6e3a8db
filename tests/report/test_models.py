"""The fitted model of contention in words."""

from __future__ import annotations

import re

from campaign.report import models
from campaign.statistics import contention
from tests.statistics.test_contention import FREE, LIMITED, sweep


def test_a_model_is_told_with_its_units_and_its_errors() -> None:
    lines = dict(models.model_lines(contention.fit(sweep(LIMITED))))
    assert lines["α, a message without its bytes"].startswith("2 µs (")
    assert lines["R_N, what a node can send"].startswith("3000 MB/s (")
    assert lines["R_Ci, what each further one adds"].startswith("500 MB/s (")
    assert re.fullmatch(
        r"\d+\.\d% median, \d+\.\d% ninth decile, \d+\.\d% largest, of 88 points", lines["error on points held back"]
    )
    assert "error on the most pairs, held back together" in lines


def test_a_limit_that_was_not_reached_is_told_as_a_bound() -> None:
    lines = dict(models.model_lines(contention.fit(sweep(FREE))))
    assert lines["R_N, what a node can send"] == "not reached by this sweep: 6600 MB/s or more"
