"""Acceptance by sample: cells drawn by a seed, measured again, and compared alone; with the rates of both errors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from campaign.cli.main import main
from campaign.config.opened import Opened, open_campaign
from campaign.core.errors import InputError
from campaign.core.model import Cell, Input, Status
from campaign.core.strict_yaml import Document
from campaign.evidence import sample
from campaign.plan import matrix
from campaign.results.cells import Row
from tests.judge.cases.submissions import whole
from tests.support import reference

ROWS = tuple(replace(row, status=Status.MEASURED) for row in whole().rows)


def names(rows: list[Row]) -> list[str]:
    return [str(row.cell) for row in rows]


def test_the_same_seed_draws_the_same_cells_and_another_one_others() -> None:
    assert names(sample.drawn(ROWS, 3, "a")) == names(sample.drawn(ROWS, 3, "a"))
    assert names(sample.drawn(ROWS, 3, "a")) == names(sample.drawn(tuple(reversed(ROWS)), 3, "a"))[::-1]
    assert len({tuple(names(sample.drawn(ROWS, 3, str(seed)))) for seed in range(20)}) > 15


def test_cells_of_many_nodes_are_drawn_more_often() -> None:
    drawn = [row.cell.launch for seed in range(300) for row in sample.drawn(ROWS, 3, str(seed))]
    assert drawn.count("max") > 1.3 * drawn.count("single")


@pytest.mark.parametrize("number", [0, 37])
def test_more_cells_than_were_measured_cannot_be_drawn(number: int) -> None:
    with pytest.raises(InputError, match="1 to 36"):
        sample.drawn(ROWS, number, "a")


@pytest.mark.parametrize(
    ("every", "drawn", "inflated", "expected"),
    [(36, 3, 36, 1.0), (36, 3, 0, 0.0), (36, 1, 18, 0.5), (10, 2, 5, 1 - (5 * 4) / (10 * 9)), (2, 2, 1, 1.0)],
)
def test_the_chance_to_catch_an_inflated_cell_is_the_one_to_draw_it(
    every: int, drawn: int, inflated: int, expected: float
) -> None:
    assert sample.caught_with(every, drawn, inflated, passes=0.0, honest=1.0) == pytest.approx(expected)


def test_an_honest_vendor_and_a_lucky_one_pass_as_often_as_their_cells_do() -> None:
    assert sample.caught_with(36, 3, 0, passes=0.0, honest=0.9) == pytest.approx(1 - 0.9**3)
    assert sample.caught_with(36, 3, 36, passes=0.2, honest=1.0) == pytest.approx(1 - 0.2**3)


def test_what_is_no_challenge_is_refused(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("name: own\n")
    for path in (tmp_path / "absent", tmp_path / "own.yaml"):
        with pytest.raises(InputError, match="not a challenge"):
            sample.read(path)


def test_a_sample_is_measured_with_the_same_input_wherever_it_is(tmp_path: Path) -> None:
    given, file = whole(), tmp_path / "challenge.yaml"
    written = "name: x\nlaunch: {}\ninputs: [{id: box, path: in put}]\n"
    document = Document(written.encode(), "c.yaml")
    box = Input("box", "/work/in put", "ab" * 32)
    offer = replace(
        given,
        campaign=replace(given.campaign, document=document),
        rows=ROWS,
        runs=tuple(replace(run, inputs=(box,)) for run in given.runs),
    )
    drawn = sample.challenge(offer, "head", 1, "a")
    assert f"inputs:\n- id: box\n  path: in put\n  sha256: {box.sha256}\n" in drawn
    file.write_text(drawn.replace("in put", "elsewhere"))
    assert sample._other_settings(sample.read(file), file, offer) == ()
    file.write_text(drawn.replace(box.sha256, "cd" * 32))
    with pytest.raises(InputError, match="changed after it was drawn: inputs;"):
        sample._other_settings(sample.read(file), file, offer)


@reference.as_when_made()
def test_a_sample_is_drawn_of_a_bundle_and_not_accepted_before_it_was_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The other rows of the table are declined, and the drawn cells alone are compared."""
    target, bundle = tmp_path / "challenge.yaml", str(reference.BUNDLE)
    words = ["sample", bundle, "--cells", "2", "--seed", "2026-117", "-o", str(target)]
    assert main(words) == 0
    cells = sample.read(target).cells
    printed = capsys.readouterr().out
    assert f"cells to measure again: {' '.join(cells)}" in printed and "is caught with probability" in printed
    opened = open_campaign(target)
    assert (opened.campaign.nonce, opened.campaign.name) == ("sample-2026-117", "my-rfp-sample")
    rows = {cell.rpartition("/")[0] for cell in cells}
    assert len(opened.campaign.declined) == 12 - len(rows)
    assert not rows & {entry.cells.rpartition("/")[0] for entry in opened.campaign.declined}
    assert main(["accept", bundle, str(target), "--reported"]) == 1
    printed = capsys.readouterr().out
    assert printed.endswith("NOT ACCEPTED: not every drawn cell is shown to reach its committed value\n")
    assert [cell for cell in map(str, opened_cells(opened)) if f"\n{cell} " in printed and cell not in cells] == []
    assert main(words) == 2
    target.write_text(target.read_text().replace("seed 2026-117", "seed 2026-118"))
    assert main(["accept", bundle, str(target)]) == 2
    assert "are not those that seed 2026-118 draws" in capsys.readouterr().err


def opened_cells(opened: Opened) -> tuple[Cell, ...]:
    return tuple(matrix.cells(opened.campaign, opened.pack))
