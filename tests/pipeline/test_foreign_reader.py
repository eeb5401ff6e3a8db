"""A reader in a package of its own: a pack names it, and its program's output is read, planned, judged and verified."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from campaign.config.rules import packs, readers
from campaign.core import resources
from campaign.core.errors import ENVIRONMENT, InputError, MachineLacks
from campaign.results.parsers import output
from campaign.sandbox.cluster import Sandbox
from tests.pipeline.test_declared_packs import case_of
from tests.support.command_line import call

READER = """
from campaign.core.records import Observation, Record, Source
from campaign.results.parsers.lines import Notes


def read(text, file):
    notes = Notes(file)
    records = []
    for number, line in enumerate(text.splitlines(), 1):
        name, _, value = line.partition("|")
        if value:
            records.append(Record(name, float(value), "MB/s", Source(file, number)))
        elif line != "dots 1.0":
            notes.unknown(number, line)
    seen = Observation(program="dots 1.0", complete="triad|" in text)
    return records, notes.added_to(seen)
"""
PRINTED = r"printf 'dots 1.0\ncopy|11\nscale|12\nadd|13\ntriad|14\n'"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the package of the reader is installed."""
    site = tmp_path / "site"
    (site / "dots-1.0.dist-info").mkdir(parents=True)
    (site / "dots_reader.py").write_text(READER)
    (site / "dots-1.0.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: dots\nVersion: 1.0\n")
    (site / "dots-1.0.dist-info/entry_points.txt").write_text("[campaign.readers]\ndots = dots_reader:read\n")
    monkeypatch.syspath_prepend(str(site))
    readers.load.cache_clear()
    return site


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with a pack that names the reader."""
    text = (resources.PACKS / "stream.yaml").read_text().replace("id: stream\n", "id: dots\n", 1)
    place = tmp_path / "rules"
    place.mkdir()
    text = re.sub(r"(?m)^results:\n(?:(?: .*)?\n)+", "results:\n  format: dots\n\n", text)
    text = text.replace("ticks >= 20", "copy >= 1").replace("iterations >= 2", "add >= copy")  # it gives no facts
    (place / "dots.yaml").write_text(text.replace("applet: stream", "applet: dots"))
    return place


@pytest.mark.slurm
@pytest.mark.mpi
def test_a_campaign_with_a_reader_of_another_package(
    tmp_path: Path, sandbox: Sandbox, site: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = case_of(tmp_path, sandbox, "dots", "node: 1", PRINTED, place)
    case.call("run")
    table = {row["operation"]: (row["value"], row["status"]) for row in case.table()}
    assert table == {name: (value, "measured") for value, name in enumerate(("copy", "scale", "add", "triad"), 11)}
    bundle = tmp_path / "evidence.zip"
    case.check_bundle(bundle)
    monkeypatch.syspath_prepend(str(tmp_path))
    (site / "dots-1.0.dist-info/entry_points.txt").unlink()
    process = call("verify", bundle)
    assert process.returncode == ENVIRONMENT
    assert "found reader dots, which is not installed; installed: ior, mdtest; install the package" in process.stderr


def test_a_sample_is_read_and_nothing_is_imported_before(site: Path, place: Path, tmp_path: Path) -> None:
    (program,) = packs.load(place / "dots.yaml").programs
    assert program.output.has_reader and not program.output.end
    (tmp_path / "log").write_text("dots 1.0\ncopy|11\nfailed\n")
    records, seen = output.read_sample(program.output, tmp_path / "log")
    assert [(record.operation, record.value, record.source.line) for record in records] == [("copy", 11.0, 2)]
    assert [error.text for error in seen.errors] == ["failed"] and not seen.complete


@pytest.mark.parametrize("key", ["facts: {program: '(dots .*)'}", "required: [program]"])
def test_a_pack_does_not_describe_what_the_reader_reads(site: Path, place: Path, key: str) -> None:
    pack = place / "dots.yaml"
    pack.write_text(pack.read_text().replace("format: dots\n", f"format: dots\n  {key}\n"))
    with pytest.raises(InputError, match=r"found dots; allowed with .*: text, .*; a reader in code does not use them"):
        packs.load(pack)


def test_a_reader_that_is_not_installed_or_broken_is_named(site: Path, place: Path) -> None:
    with pytest.raises(MachineLacks, match=r"^program cards: found reader solitaire, .*; installed: dots, ior, mdtest"):
        readers.load("solitaire", "program cards")
    (site / "dots-1.0.dist-info/entry_points.txt").write_text("[campaign.readers]\nhalf = dots_readers:read\n")
    with pytest.raises(MachineLacks, match="reader half cannot be imported: No module named 'dots_readers'"):
        readers.load("half", "program cards")
    with pytest.raises(MachineLacks, match=r"dots.yaml: results.format: found reader dots, .* installed: half, ior"):
        packs.load(place / "dots.yaml")


def test_an_installation_older_than_its_source_is_named_with_its_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "log").write_text("")
    readers.load.cache_clear()
    monkeypatch.setattr(readers, "names", list)
    with pytest.raises(MachineLacks, match=r"^program mdtest: found reader mdtest, but this installation of campaign"):
        output.read_sample("mdtest", tmp_path / "log")


def test_the_own_readers_are_those_that_the_project_registers() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert sorted(project["project"]["entry-points"][readers.GROUP]) == [*readers.OWN]
