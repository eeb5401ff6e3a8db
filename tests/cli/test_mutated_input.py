"""Whatever a file holds that is given to a command, it is read or refused: it never ends with a traceback."""

from __future__ import annotations

import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign.core import resources
from tests.support import bundled, command_line, forms, reference, rfp
from tests.support.examples import examples
from tests.support.mutations import mutate

STATUSES = {0, 1, 2, 3, 4}  # all that the help of the verbs names, but for an interruption
ATTEMPT = "runs/scratch.peak.unique.r1/1"
RECORDS = (
    *("campaign.db", "journal.jsonl", "plan.json", f"{ATTEMPT}/attempt.json", f"{ATTEMPT}/facts.jsonl"),
    *(f"{ATTEMPT}/bench.jsonl", f"{ATTEMPT}/stdout", f"{ATTEMPT}/directory-made"),
)
TABLES = ("table.csv", "table.json", "table.xlsx", "index.html")
FORM, MAPPING = "crossroads-mdtest.csv", "crossroads-mdtest.yaml"
NEEDED = {"bag": "bag", "results": "campaign.yaml"}  # by the commands that name this word
OF_CAMPAIGN = ("table", "status", "check", "modifications", "head", "collect", "report -o report", "bundle -o o.zip")
OF_BAG = (
    "verify bag --details",
    "verify bag --json",
    "compare bag table.csv",
    "sample bag --cells 4 --seed x -o drawn.yaml",
)
OF_PACK = ("rules FILE", "rules --clauses FILE", "terms init - --rules FILE", "check table.csv --rules FILE")
PACKS = ("crossroads-mdtest", "io500", "fio", "osu", "nersc-10-io", "uk-nnss-hpl")

# File and command: every file that a command reads, with the commands that read it.
USES = (
    *((f"results/my-rfp/{name}", f"{verb} campaign.yaml") for name in RECORDS for verb in OF_CAMPAIGN),
    *(("campaign.yaml", f"{verb} campaign.yaml") for verb in ("plan", *OF_CAMPAIGN)),
    *((f"bag/data/results/{name}", command) for name in RECORDS[1:] for command in OF_BAG),
    *((f"bag/data/{name}", command) for name in ("index.json", "names.json", "campaign.yaml") for command in OF_BAG),
    *((f"bag/{name}", OF_BAG[0]) for name in ("bagit.txt", "bag-info.txt", "manifest-sha256.txt")),
    *(("my-rfp.zip", command) for command in ("verify my-rfp.zip", "compare my-rfp.zip table.csv")),
    *((name, command) for name in TABLES for command in ("check FILE", "compare FILE bag", "verify bag --table FILE")),
    *((name, f"fill campaign.yaml {FORM} --mapping {MAPPING} -o filled.csv") for name in (FORM, MAPPING)),
    *((name, f"check {FORM} --mapping {MAPPING}") for name in (FORM, MAPPING)),
    ("terms.yaml", "verify bag --terms terms.yaml"),
    *(("drawn.yaml", command) for command in ("accept my-rfp.zip drawn.yaml", "plan drawn.yaml")),
    *((f"{pack}.yaml", command) for pack in PACKS for command in OF_PACK),
    *(("rfp.yaml", command) for command in ("rules FILE", "rules --clauses FILE", "verify bag --rfp FILE")),
    *((name, f"{verb} answer.yaml") for name in ("rfp.yaml", "answer.yaml") for verb in ("plan", "check", "status")),
)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A measured campaign with its bundle, tables and all that buyers write, each file of them valid."""
    top = tmp_path_factory.mktemp("valid")
    with zipfile.ZipFile(reference.BUNDLE) as archive:
        archive.extractall(top)
    (top / reference.BUNDLE.stem).rename(top / "bag")
    (top / "bag/tagmanifest-sha256.txt.sig").unlink()
    shutil.copy(reference.BUNDLE, top)
    shutil.copytree(top / "bag/data/results", top / "results/my-rfp")
    for path in (top / "bag/data/campaign.yaml", forms.DATA / FORM, forms.DATA / MAPPING):
        shutil.copy(path, top)
    for pack in PACKS:
        shutil.copy(resources.PACKS / f"{pack}.yaml", top)
    rfp.write(top).rename(top / "answer.yaml")
    shutil.copy(reference.SIGNERS, top / "signers")
    with reference.program_of_bundle():
        for words in (
            *(["table", "campaign.yaml"], ["report", "campaign.yaml", "-o", "report"]),
            *(
                ["terms", "init"],
                ["sample", "my-rfp.zip", "--cells", "4", "--seed", "x", "--signers", "signers", "-o", "drawn.yaml"],
            ),
        ):
            process = command_line.call(*words, cwd=top)
            assert process.returncode == 0, process.stderr
        for name in TABLES:
            shutil.copy(top / "report" / name, top)
        shutil.rmtree(top / "report")
        (top / "drawn.yaml").touch()
        terms = top / "terms.yaml"
        terms.write_text(terms.read_text().replace("<a random word that you issue>", "a-nonce"))
        yield top


def test_each_file_is_read_before_it_is_changed(files: Path) -> None:
    assert {name for name, _ in USES if not (files / name).is_file()} == set()
    for command in (
        "check table.csv",
        "rules osu.yaml",
        "verify bag --terms terms.yaml",
        "verify bag --table index.html",
    ):
        assert command_line.call(*command.split(), cwd=files).stderr == "", command


@settings(max_examples=examples(120))
@given(use=st.sampled_from(USES), seed=st.integers(0, 2**32), changes=st.integers(1, 3))
def test_a_changed_file_is_read_or_refused(files: Path, use: tuple[str, str], seed: int, changes: int) -> None:
    (name, command), chance = use, Random(seed)
    with tempfile.TemporaryDirectory() as place:
        unused = [top for top in ("bag", "results") if top not in name and NEEDED[top] not in command.split()]
        folder = Path(shutil.copytree(files, Path(place) / "changed", ignore=shutil.ignore_patterns(*unused)))
        content = (folder / name).read_bytes()
        for _ in range(changes):
            content = mutate(content, name, chance)
        (folder / name).write_bytes(content)
        if name.startswith("bag/data/"):
            with suppress(OSError, ValueError, LookupError, TypeError):  # a journal that can no longer be chained
                bundled.rebind(folder / "bag")
            with suppress(OSError, ValueError, LookupError):
                bundled.forge(folder / "bag")
        words = command.replace("FILE", name).split()
        process = command_line.call(*words, environment={**os.environ, "PATH": place}, cwd=folder)
    assert process.returncode in STATUSES
    assert (
        process.returncode in (0, 1, 4) or process.stderr.startswith("campaign: ") or "\ncampaign: " in process.stderr
    )
