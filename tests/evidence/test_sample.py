"""Acceptance by sample, the buyer's side: the design, the drawing by a seed, and the challenge's file."""

from __future__ import annotations

import math
import random
import re
from dataclasses import replace
from pathlib import Path

import pytest

from campaign.cli.main import main
from campaign.config.definition import open_campaign
from campaign.core.errors import InputError
from campaign.core.runs import Cell, Input, Status
from campaign.core.strict_yaml import Document
from campaign.evidence import sample
from campaign.report.compare.offers import Offer, OfferedCell
from campaign.statistics import designs
from campaign.statistics.designs import OPEN, Aims, Design
from tests.judge.cases.submissions import good_submission
from tests.support import reference

AIMS = Aims(0.05, 0.15, 0.25, 0.9)


def offer(repetitions: int = 3, noise: float = 0.02, targets: int = 1) -> Offer:
    chance, entries = random.Random(1), {}
    for target in range(1, targets + 1):
        for launch in ("single", "node", "peak", "max"):
            for files in ("shared", "unique", "onefile"):
                for operation in ("create", "stat", "remove"):
                    cell = Cell(f"tier{target}", launch, files, operation)
                    varies = noise * (2 if operation == "stat" else 1)
                    values = tuple(1000 * math.exp(chance.gauss(0, varies)) for _ in range(repetitions))
                    entries[cell] = OfferedCell(cell, Status.MEASURED, max(values), "ops/s", "highest", values)
    return Offer("the bundle", "", None, None, None, None, entries)


def test_the_same_seed_draws_the_same_cells_and_another_one_others() -> None:
    drawn_offer = offer()
    backwards = replace(drawn_offer, entries=dict(reversed(drawn_offer.entries.items())))
    assert (
        sample.draw_cells(drawn_offer, 3, "a")
        == sample.draw_cells(drawn_offer, 3, "a")
        == sample.draw_cells(backwards, 3, "a")[::-1]
    )
    assert len({tuple(sample.draw_cells(drawn_offer, 3, str(seed))) for seed in range(20)}) > 15


def test_every_class_of_cells_is_drawn_with_the_same_chance() -> None:
    """With any preference, an offer could be inflated where it is drawn least."""
    drawn_offer = offer(targets=2)
    drawn = [name.split("/") for seed in range(500) for name in sample.draw_cells(drawn_offer, 10, str(seed))]
    for place, names in enumerate((2, 4, 3, 3)):
        counts = [sum(parts[place] == name for parts in drawn) for name in {parts[place] for parts in drawn}]
        assert len(counts) == names
        assert min(counts) > 0.9 * max(counts)


@pytest.mark.parametrize("number", [0, 37])
def test_more_cells_than_were_measured_cannot_be_drawn(number: int) -> None:
    with pytest.raises(InputError, match="1 to 36"):
        sample.draw_cells(offer(), number, "a")


def test_cells_without_a_positive_number_are_not_drawn() -> None:
    drawn_offer = offer()
    (first, second, third), entries = list(drawn_offer.entries)[:3], dict(drawn_offer.entries)
    entries[first] = replace(entries[first], status=Status.DECLINED, value=None, values=())
    entries[second] = replace(entries[second], value=0.0, values=(0.0, 1.0))
    entries[third] = replace(entries[third], status=Status.INVALID)
    assert len(sample.comparable_cells(replace(drawn_offer, entries=entries))) == 33


def test_the_repetitions_of_a_cell_are_in_the_sessions_in_which_they_were_measured() -> None:
    days = (0.0, 3600.0, 86400.0, 90000.0)
    timed = replace(next(iter(offer(4).entries.values())), started=days)
    assert [repetitions.sessions for repetitions in sample.cell_repetitions([timed])] == [(1, 1, 2, 2)]
    assert [repetitions.sessions for repetitions in sample.cell_repetitions([replace(timed, started=())])] == [(0,) * 4]
    (noise,) = sample.noise_model(replace(offer(4), entries={timed.cell: timed})).noises
    assert (noise.repetitions, noise.sessions) == (4, 2)


def test_a_sample_is_designed_and_described_with_its_true_rates() -> None:
    vendors_offer = offer(5, noise=0.01)
    challenge = sample.design_challenge(vendors_offer, "head", "a", AIMS, OPEN)
    assert len(challenge.cells) == challenge.design.cells and challenge.repetitions == challenge.design.stage
    rates = designs.outcome_probabilities(sample.noise_model(vendors_offer), AIMS, challenge.design)
    block = sample.sample_decision(challenge, vendors_offer, "offers/offer.zip", "sample.yaml")
    answers = {question.name: (question.answer, question.reason) for question in block.questions}
    assert answers["size"] == (
        f"{challenge.design.cells} of 36",
        f"{challenge.design.cells} of 36 results are drawn, with 2 repetitions each.",
    )
    assert answers["honest"] == ("yes", f"False rejections: {rates[0]:.1%} of honest vendors (limit: 5%).")
    caught = f"Detection: {rates[2]:.1%} of vendors who inflate 25% of their results by 15% (required: 90%)."
    assert answers["inflated"] == ("yes", caught)
    assert answers["days"][0] == "assumed"
    assert "The rates assume that days differ by 3.0%, an assumption: the bundle has one session." in answers["days"][1]
    assert " At 5%: " in answers["days"][1]
    assert [step.what.partition(" in ")[0] for step in block.steps] == [
        "Adapt sample.yaml to the installed system (below).", "campaign run sample.yaml",
        "campaign accept offers/offer.zip sample.yaml"
    ]  # fmt: skip
    texts = list(sample.design_remarks(challenge, vendors_offer))
    assert [name.split()[0] for name in texts[1].partition(": ")[2].split(", ")] == [
        "tier1", "single", "create", "stat", "remove", "node", "peak", "max",
    ]  # fmt: skip


def test_what_no_sample_shows_is_refused_with_what_one_does() -> None:
    with pytest.raises(InputError) as refused:
        sample.design_challenge(offer(1), "head", "a", replace(AIMS, inflation=0.05), OPEN)
    text = str(refused.value)
    assert "no sample of the 36 measured results keeps --honest 5% and --catch 5%,25%,90% at a noise of 5.0%" in text
    larger = text.partition("reached: --catch ")[2].partition(" ")[0]
    assert (
        len(sample.design_challenge(offer(1), "head", "a", sample.parse_aims("5%", larger), OPEN).cells)
        >= designs.FEWEST
    )


def test_a_buyer_may_insist_on_a_sample_that_shows_less() -> None:
    challenge = sample.design_challenge(offer(1), "head", "a", AIMS, Design(2, 0, 0.0))
    assert (challenge.design.cells, challenge.design.repetitions) == (2, sample.FEW_REPETITIONS)
    challenge = sample.design_challenge(offer(1), "head", "a", AIMS, Design(1, 1, 0.95))
    assert challenge.design == Design(1, 1, 0.95)


@pytest.mark.parametrize(
    ("honest", "catch"),
    [
        ("5", "15%,25%,90%"),
        ("5%", "15%,25%"),
        ("5%", "15%,x,90%"),
        ("5%", ""),
        ("150%", "15%,25%,90%"),
        ("5%", "15%,125%,90%"),
        ("5%", "15%,25%,100%"),
    ],
)
def test_wrong_percentages_are_named(honest: str, catch: str) -> None:
    assert sample.parse_aims("5%", "15%,25%,90%") == AIMS
    with pytest.raises(InputError, match=f"--honest .?{honest}.?, --catch .*: allowed: percentages from 0.1% to 900%"):
        sample.parse_aims(honest, catch)


def test_wrong_seeds_and_repetitions_are_named() -> None:
    with pytest.raises(InputError, match="--seed"):
        sample.design_challenge(offer(), "head", "a b", AIMS, OPEN)
    with pytest.raises(InputError, match="--sessions 3: allowed: 1 to 2"):
        sample.design_challenge(offer(), "head", "a", AIMS, Design(0, 2, 0.0, 3))
    with pytest.raises(InputError, match="--repetitions 1001: allowed: 1 to 1000"):
        sample.design_challenge(offer(), "head", "a", AIMS, Design(0, 1001, 0.0))


def test_what_is_no_challenge_is_refused(tmp_path: Path) -> None:
    challenge = sample.design_challenge(offer(), "head", "a", AIMS, OPEN)
    texts = {
        "own.yaml": "name: own\n",
        "older.yaml": "# challenge of the bundle with journal head ab, seed a, cells: a/b/c/d\nname: x\n",
        "newer.yaml": sample.challenge_text(replace(challenge, format=4), {}),
        "former.yaml": sample.challenge_text(replace(challenge, format=2), {}),
        "never.yaml": sample.challenge_text(replace(challenge, repetitions=0), {}),
        "all.yaml": sample.challenge_text(replace(challenge, design=replace(challenge.design, limit=1.5)), {}),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    for name in ("absent", *texts):
        with pytest.raises(InputError, match=f"{name}: not a challenge as this version's 'campaign sample' writes it"):
            sample.read_challenge(tmp_path / name)
    with pytest.raises(
        InputError, match=r"an earlier version drew it .format 2, this one's is 3.* accept it with that"
    ):
        sample.read_challenge(tmp_path / "former.yaml")
    (tmp_path / "good.yaml").write_text(sample.challenge_text(challenge, {}))
    assert sample.read_challenge(tmp_path / "good.yaml") == challenge


def test_the_nonce_has_the_hash_of_the_design_but_not_of_further_repetitions() -> None:
    challenge = sample.design_challenge(offer(), "head", "a", AIMS, OPEN)
    assert challenge.nonce.startswith("sample-a-")
    assert replace(challenge, repetitions=12).nonce == challenge.nonce
    lower = replace(challenge.design, limit=0.5)
    assert len({challenge.nonce, replace(challenge, design=lower).nonce, replace(challenge, head="other").nonce}) == 3


def test_settings_have_keys_by_name_or_by_place() -> None:
    settings = {
        "slurm": {"partition": "a"},
        "targets": [{"name": "x", "directory": "/x"}],
        "inputs": [{"id": 1}],
        "n": 2,
    }
    assert sample.flatten_settings(settings) == {
        "slurm.partition": "a", "targets.x.name": "x", "targets.x.directory": "/x", "inputs.0.id": "1", "n": "2",
    }  # fmt: skip
    assert [key for key in sample.flatten_settings(settings) if sample.is_machine_setting(key)] == [
        "slurm.partition", "targets.x.name", "targets.x.directory",
    ]  # fmt: skip


def test_a_challenge_writes_below_its_own_folder_and_has_the_inputs_that_were_measured_with() -> None:
    submission = good_submission()
    written_text = "name: x\nlaunch: {}\nresults: ../../results\nrepetitions: 7\ninputs: [{id: box, path: in put}]\n"
    box = Input("box", "/work/in put", "ab" * 32)
    measured = replace(
        submission,
        campaign=replace(submission.campaign, document=Document(written_text.encode(), "c.yaml")),
        runs=tuple(replace(run, inputs=(box,)) for run in submission.runs),
    )
    challenge = sample.Challenge(2, "head", "a", AIMS, Design(1, 3, 0.9), 3, ("scratch/single/shared/stat",))
    settings = sample.challenge_settings(challenge, measured)
    assert (settings["results"], settings["repetitions"], settings["nonce"]) == ("results", 3, challenge.nonce)
    assert settings["inputs"] == [{"id": "box", "path": "in put", "sha256": box.sha256}]
    assert len(settings["declined"]) == 11


@reference.program_of_bundle()
def test_a_sample_is_drawn_of_a_bundle_and_not_accepted_before_it_was_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The other rows of the table are declined, and the drawn cells alone are to be measured."""
    target, bundle = tmp_path / "challenge.yaml", str(reference.BUNDLE)
    words = ["sample", bundle, "--cells", "2", "--seed", "2026-117", "-o", str(target)]
    assert main(words) == 0
    challenge = sample.read_challenge(target)
    out = capsys.readouterr().out
    assert f"cells to measure again: {' '.join(challenge.cells)}" in out and "is detected with probability" in out
    assert "  targets.scratch.directory: /scratch\n" in out
    definition = open_campaign(target)
    assert (definition.campaign.nonce, definition.campaign.name) == (challenge.nonce, "my-rfp-sample")
    assert definition.campaign.results == tmp_path / "results/my-rfp-sample"
    rows = {cell.rpartition("/")[0] for cell in challenge.cells}
    assert len(definition.campaign.declined) == 12 - len(rows)
    assert not rows & {entry.cells.rpartition("/")[0] for entry in definition.campaign.declined}
    assert main(["accept", bundle, str(target), "--reported"]) == 2
    assert "not measured yet; run it on the installed system: 'campaign run " in capsys.readouterr().err
    assert main(words) == 2
    head, other_remaining_text = target.read_text().split("\n", 1)
    target.write_text(head.replace('"seed": "2026-117"', '"seed": "2026-118"') + "\n" + other_remaining_text)
    assert main(["accept", bundle, str(target)]) == 2
    assert "are not those that seed 2026-118 draws" in capsys.readouterr().err


@reference.program_of_bundle()
def test_a_bundle_without_repetitions_gets_a_refusal_or_a_range(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["sample", str(reference.BUNDLE), "--seed", "s", "-o", str(tmp_path / "challenge.yaml")]
    assert main(words) == 2
    assert "reached: --catch 20%,25%,90%" in capsys.readouterr().err
    challenge = sample.design_challenge(offer(1), "head", "a", AIMS, Design(8, 2, 0.9))
    texts = [question.reason for question in sample.error_rate_questions(challenge, offer(1))]
    assert all(re.match(r"(False rejections|Detection): [0-9.]+% to [0-9.]+% of ", text) for text in texts[:2])
