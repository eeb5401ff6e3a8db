"""The fitted model of contention in words."""

from __future__ import annotations

import re

from campaign.core import units
from campaign.report import page
from campaign.statistics import contention
from tests.statistics.test_contention import FREE, LIMITED, clean_fit, sweep


def lines_of(fit: contention.ContentionFit) -> dict[str, str]:
    """The rows of the page's table, by their first cells."""
    output = page.render_page("contention.html.j2", fit=fit, digits=units.digits)
    return dict(re.findall('<th scope="row">(.*?)</th><td>(.*?)</td>', output))


def test_a_model_is_reported_with_its_units_and_its_errors() -> None:
    lines = lines_of(clean_fit(LIMITED))
    assert lines["α, latency of a message"].startswith("2 µs (")
    assert lines["R_N, highest rate of a node"].startswith("3000 MB/s (")
    assert lines["R_Ci, rate that each further process adds"].startswith("500 MB/s (")
    assert re.fullmatch(
        r"\d+\.\d% median, \d+\.\d% ninth decile, \d+\.\d% largest, of 88 points",
        lines["prediction error on held-out points"],
    )
    assert "prediction error on the most pairs, held out together" in lines


def test_large_rates_are_written_out() -> None:
    lines = lines_of(contention.fit(sweep(FREE, pairs=20)))
    assert lines["R_N, highest rate of a node"] == "at least 16200 MB/s (limit not reached)"


def test_a_limit_that_was_not_reached_is_reported_as_a_bound() -> None:
    lines = lines_of(clean_fit(FREE))
    assert lines["R_N, highest rate of a node"] == "at least 6600 MB/s (limit not reached)"
