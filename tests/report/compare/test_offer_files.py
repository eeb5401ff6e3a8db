"""Where offers come from: tables, results, bundles, and what a stranger may put into them."""

from __future__ import annotations

import hashlib
import io
import json
import os
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from campaign.cli.main import main
from campaign.core import bagit
from campaign.core.errors import InputError
from campaign.core.runs import Status
from campaign.report import table
from campaign.report.compare import offer_files
from campaign.report.compare.offers import Offer, parse_offer
from campaign.report.workbook.write import workbook
from tests.report.test_write import contents
from tests.support import forms, offers, reference
from tests.support.examples import examples
from tests.support.offers import CELLS, row
from tests.support.results import eventful_results

TABLE = json.dumps([row((1.0, 2.0))]).encode()


def only_part(path: Path) -> Offer:
    """The offer of a file that answers a single rule pack."""
    rfp, parts = offer_files.load_offer(path)
    assert rfp is None
    return parts[""]


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        offer_files.load_offer(path)
    return str(caught.value)


# --- rows


@pytest.mark.parametrize("suffix", [".csv", ".xlsx"])
def test_a_table_of_this_program_is_the_same_offer_in_every_form(tmp_path: Path, suffix: str) -> None:
    rows = eventful_results().rows()
    path = tmp_path / f"table{suffix}"
    if suffix == ".csv":
        path.write_text(table.as_csv(rows))
    else:
        path.write_bytes(workbook(path, contents(eventful_results())))
    expected = parse_offer("table.json", json.loads(table.as_json(rows)))
    offer = only_part(path)
    assert offer.entries == expected.entries
    assert offer.remark == "a table; its values are not verified"


def test_a_table_that_does_not_say_which_value_is_the_best_is_read_with_a_remark(tmp_path: Path) -> None:
    path = tmp_path / "contract.csv"
    path.write_text("target;launch;files;operation;value\nscratch;node;unique;create;7.5\n")
    offer = only_part(path)
    (entry,) = offer.entries.values()
    assert (entry.number, entry.unit, entry.best, entry.values) == (7.5, "not given", "highest", ())
    assert offer.remark.endswith("; it has no column best, so the highest value is taken as the best")


def test_a_decimal_comma_between_commas_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "contract.csv"
    path.write_text('target,launch,files,operation,value\nscratch,node,unique,create,"7,5"\n')
    assert refusal(path) == (
        f'{path}: line 2: value: found "7,5"; allowed: a number with a decimal point '
        "and without thousands separators, such as 1234.5, or null"
    )


def test_a_campaigns_own_table_is_read_with_all_its_values() -> None:
    rows = eventful_results().rows()
    offer = parse_offer("table.json", json.loads(table.as_json(rows)))
    assert [entry.cell for entry in offer.entries.values()] == [row.cell for row in rows]
    assert [entry.values for entry in offer.entries.values()] == [row.values for row in rows]
    assert [entry.number for entry in offer.entries.values()] == [
        row.value if row.status in (Status.MEASURED, Status.PROJECTED) else None for row in rows
    ]
    assert (offer.campaign, offer.rules, offer.version, offer.profile) == ("test", "test-rules", 7, "rehearsal")


def test_a_list_of_numbers_written_by_hand_is_a_commitment() -> None:
    keys = ("target", "launch", "files", "operation", "value", "unit", "status")
    fields = {key: value for key, value in row((7.0,)).items() if key in keys}
    (entry,) = parse_offer("contract.json", [fields]).entries.values()
    assert (entry.number, entry.values, entry.best) == (7.0, (), "highest")


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"target": "a/b"}, 'target: found "a/b"; allowed: letters, digits and .-_, a letter or digit first'),
    ({"operation": "=1+1"}, 'operation: found "=1+1"'),
    ({"launch": "\x1b[2J"}, 'launch: found "\\x1b[2J"'),
    ({"files": None}, "files: found null"),
    ({"value": None}, "value: found null; allowed: a number from 0"),
    ({"value": -1.0}, "value: found -1.0"),
    ({"value": True}, "value: found true"),
    ({"value": "7"}, 'value: found "7"'),
    ({"value": 10**400}, "value: found 1000"),
    (
        {"value": 3.0},
        "value: found 3.0; allowed: one of statistics.values: a measured number is that of one repetition",
    ),
    ({"unit": ""}, 'unit: found ""'),
    ({"unit": "a\nb"}, 'unit: found "a\\nb"'),
    ({"best": "middle"}, 'best: found "middle"; allowed: highest, lowest'),
    ({"status": "fine"}, 'status: found "fine"; allowed: measured, projected, declined, invalid, failed, missing'),
    ({"status": []}, "status: found a list of 0"),
    ({"statistics": {"n": 1}}, "statistics.values: missing; allowed: a list"),
    ({"statistics": {"n": 2, "values": [1.0]}}, "statistics.values: found a list of 1"),
    ({"statistics": {"n": 0, "values": []}}, "statistics.values: found a list of 0"),
    ({"statistics": {"n": 2, "values": [1.0, "x"]}}, 'statistics.values[1]: found "x"'),
    ({"statistics": {"n": 1, "values": [1.0], "jobs": -1}}, "statistics.jobs: found -1"),
    ({"true_value": "x"}, 'true_value: found "x"; allowed: a number from 0'),
    ({"processes": 1.5}, "processes: found 1.5; allowed: a whole number from 0, or null"),
    ({"campaign": "../x"}, 'campaign: found "../x"'),
    ({"rules": "x"}, 'rules: found "x"'),
    ({"rules": {**offers.RULES, "id": "<b>"}}, 'rules.id: found "<b>"'),
    ({"rules": {**offers.RULES, "sha256": "f00"}}, 'rules.sha256: found "f00"; allowed: 64 hexadecimal digits'),
    ({"rules": {**offers.RULES, "version": "3"}}, 'rules.version: found "3"'),
    ({"rules": {**offers.RULES, "version": 10**30}}, "rules.version: found 1000"),
    ({"rules": {**offers.RULES, "variables": {"a": "b\n"}}}, "rules.variables: found an object of 1"),
]


@pytest.mark.parametrize(("changes", "message"), WRONG, ids=[message[:40] for _, message in WRONG])
def test_a_wrong_value_is_named_with_its_row_and_key(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_offer("x.json", [row((1.0,), **changes)])
    assert str(caught.value).startswith(f"x.json: row 1: {message}")


def test_a_cell_stands_once_and_a_table_is_of_one_campaign() -> None:
    with pytest.raises(InputError, match=r"x.json: row 2: scratch/node/shared/create appears twice"):
        parse_offer("x.json", [row(), row()])
    with pytest.raises(InputError, match="rows belong to several campaigns"):
        parse_offer("x.json", [row(), row(cell=CELLS[1], campaign="other")])


@pytest.mark.parametrize("rows", [[], {}, None, 7, "x", [7], [[]]])
def test_what_is_no_table_is_refused(rows: Any) -> None:
    with pytest.raises(InputError, match=r"x\.json: "):
        parse_offer("x.json", rows)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from(sorted(row())), json_values)
def test_whatever_a_key_holds_it_is_read_or_refused(key: str, value: Any) -> None:
    try:
        assert isinstance(parse_offer("x.json", [row(**{key: value})]), Offer)
    except InputError as error:
        assert str(error).startswith("x.json: ")
        assert str(error).isprintable()


# --- files


def test_a_table_is_read_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    path.write_bytes(TABLE)
    assert only_part(path).source == str(path)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", ":1:1: not valid JSON"),
        (b"[1,", ":1:4: not valid JSON"),
        (b"[{},\n{]", ":2:2: not valid JSON"),
        (b"\xff\xfe", ": byte 0 is not UTF-8"),
        (b"[NaN]", ": found NaN, which is not a JSON number"),
        (b"[" * 10**6, ": nested too deeply"),
        (b"[" + b"9" * 5000 + b"]", ": Exceeds the limit"),
    ],
    ids=["empty", "cut", "second line", "encoding", "nan", "deep", "digits"],
)
def test_a_file_that_is_no_table_is_named_with_the_place(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(data)
    assert refusal(path).startswith(f"{path}{message}")


def test_a_file_that_is_too_large_a_pipe_and_nothing_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offer_files, "MAX_BYTES", 10)
    large, pipe = tmp_path / "large.json", tmp_path / "pipe"
    large.write_bytes(TABLE)
    os.mkfifo(pipe)
    assert "larger than 10 bytes" in refusal(large)
    assert "not a regular file" in refusal(pipe)
    assert "not found" in refusal(tmp_path / "absent.json")


# --- campaign files and results


CAMPAIGN = """
name: offer
rules: crossroads-mdtest
profile: rehearsal
targets: [{name: scratch, directory: /scratch/offer}]
launch: {node: 4, peak: {nodes: 2, processes: 8}, max: {nodes: 4, processes: 32}}
declined: [{cells: "*/max/*/*", reason: "no time left"}]
"""


def test_a_campaign_that_was_not_run_has_its_gaps_and_what_it_declined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    file = tmp_path / "offer.yaml"
    file.write_text(CAMPAIGN)
    offer = only_part(file)
    assert [entry.status for entry in offer.entries.values()].count(Status.DECLINED) == 9
    assert [entry.status for entry in offer.entries.values()].count(Status.MISSING) == 27
    assert not (tmp_path / "results").exists()


def test_results_say_where_their_campaign_file_is(tmp_path: Path) -> None:
    file, results = tmp_path / "offer.yaml", tmp_path / "results" / "offer"
    file.write_text(CAMPAIGN)
    results.mkdir(parents=True)
    (results / "plan.json").write_text(json.dumps({"file": str(file)}))
    assert only_part(results).campaign == "offer"
    assert only_part(results).source == str(results)
    moved = tmp_path / "moved"
    results.rename(moved)
    assert "its campaign file" in refusal(moved)
    assert str(results) in refusal(moved)
    (moved / "plan.json").write_text("{}")
    assert "give the campaign file" in refusal(moved)
    (moved / "plan.json").write_text("[")
    assert ":1:2: not valid JSON" in refusal(moved)
    (moved / "plan.json").unlink()
    assert "neither a bundle (bagit.txt missing) nor results (plan.json missing)" in refusal(moved)


# --- bundles


def manifest(data: bytes = TABLE) -> bytes:
    return f"{hashlib.sha256(data).hexdigest()}  data/tables/table.json\n".encode()


def bag(directory: Path, data: bytes = TABLE, listed: bytes | None = None) -> Path:
    (directory / "data" / "tables").mkdir(parents=True)
    (directory / "bagit.txt").write_text("BagIt-Version: 1.0\n")
    (directory / offer_files.TABLE).write_bytes(data)
    (directory / "manifest-sha256.txt").write_bytes(manifest() if listed is None else listed)
    return directory


def archives(folder: Path, members: dict[str, bytes]) -> list[Path]:
    """The same members as a zip and as a tar archive."""
    with zipfile.ZipFile(folder / "b.zip", "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, data in members.items():
            zipped.writestr(name, data)
    with tarfile.open(folder / "b.tar.gz", "w:gz") as tarred:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tarred.addfile(info, io.BytesIO(data))
    return [folder / "b.zip", folder / "b.tar.gz"]


RFP = b"""id: small
version: 3
title: Two tiers
parts: [{id: slow, pack: stream}, {id: fast, pack: stream}]
"""
OF_PARTS = {
    "data/rfp.yaml": RFP,
    "manifest-sha256.txt": f"{hashlib.sha256(RFP).hexdigest()}  data/rfp.yaml\n".encode(),
    **{f"data/parts/{part}/{offer_files.TABLE}": TABLE for part in ("fast", "slow")},
    **{f"data/parts/{part}/manifest-sha256.txt": manifest() for part in ("fast", "slow")},
}


def test_the_parts_of_a_bundle_are_read_in_the_order_of_its_rfp(tmp_path: Path) -> None:
    for path in archives(tmp_path, {f"offer/{name}": data for name, data in OF_PARTS.items()}):
        rfp, parts = offer_files.load_offer(path)
        assert rfp is not None and (rfp.id, rfp.version) == ("small", 3)
        assert [*parts] == ["slow", "fast"]
        assert parts["fast"].source == f"{path}/data/parts/fast/data/tables/table.json"


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        (f"data/parts/slow/{offer_files.TABLE}", TABLE + b" ", "data/parts/slow/data/tables/table.json was changed"),
        ("data/rfp.yaml", RFP + b"#", "data/rfp.yaml was changed after bundling"),
        ("data/parts/slow/manifest-sha256.txt", b"", "manifest-sha256.txt does not list data/tables/table.json"),
        ("data/parts/slow/data/parts/x/manifest-sha256.txt", b"", ""),
    ],
)
def test_a_part_that_was_changed_is_refused(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    for path in archives(tmp_path, OF_PARTS | {name: data}):
        if message:
            assert message in refusal(path)
        else:
            assert len(offer_files.load_offer(path)[1]) == 2, "what is no part of the bundle is not read"


def test_an_archive_with_more_parts_than_any_rfp_has_is_refused(tmp_path: Path) -> None:
    tables = {f"data/parts/p{number}/{offer_files.TABLE}": b"[]" for number in range(offer_files.MAX_BUNDLE_FILES + 1)}
    for path in archives(tmp_path, tables):
        assert "more than 200 tables and manifests" in refusal(path)


def test_what_campaign_bundle_packs_is_read(tmp_path: Path) -> None:
    (tmp_path / "bag" / "data" / "tables").mkdir(parents=True)
    (tmp_path / "bag" / offer_files.TABLE).write_bytes(TABLE)
    bagit.finish(tmp_path / "bag", {})
    paths = [tmp_path / name for name in ("bag", "b.zip", "b.tar.gz")]
    for path in paths[1:]:
        bagit.pack(tmp_path / "bag", path)
    assert [only_part(path).campaign for path in paths] == ["offer"] * 3


@pytest.mark.parametrize("top", ["", "offer/", "./"])
def test_a_bundle_is_read_from_a_directory_and_from_archives(tmp_path: Path, top: str) -> None:
    bag(tmp_path / "bag")
    names = {f"{top}manifest-sha256.txt": manifest(), f"{top}{offer_files.TABLE}": TABLE, f"{top}data/other": b"x"}
    offers = [only_part(path) for path in (tmp_path / "bag", *archives(tmp_path, names))]
    assert len({tuple(offer.entries) for offer in offers}) == 1
    assert {offer.remark.split(",")[0] for offer in offers} == {"a bundle's table"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.tar.gz", "b.zip", "bag"]


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({}, "data/tables/table.json missing"),
        ({offer_files.TABLE: TABLE}, "manifest-sha256.txt missing"),
        (
            {offer_files.TABLE: TABLE, "manifest-sha256.txt": b"x"},
            "manifest-sha256.txt does not list data/tables/table.json",
        ),
        (
            {offer_files.TABLE: TABLE + b" ", "manifest-sha256.txt": manifest()},
            "data/tables/table.json was changed after bundling",
        ),
        ({"a/b/" + offer_files.TABLE: TABLE, "manifest-sha256.txt": manifest()}, "data/tables/table.json missing"),
        ({"../" + offer_files.TABLE: TABLE, "manifest-sha256.txt": manifest()}, "data/tables/table.json missing"),
        ({"/" + offer_files.TABLE: TABLE, "manifest-sha256.txt": manifest()}, "data/tables/table.json missing"),
        (
            {offer_files.TABLE: TABLE, "x/" + offer_files.TABLE: TABLE, "manifest-sha256.txt": manifest()},
            "duplicate entry",
        ),
    ],
    ids=["empty", "no manifest", "not listed", "changed", "deep", "outside", "absolute", "twice"],
)
def test_a_bundle_that_does_not_hold_is_refused(tmp_path: Path, members: dict[str, bytes], message: str) -> None:
    for path in archives(tmp_path, {"bagit.txt": b"", **members}):
        assert message in refusal(path)


def test_a_bundle_with_a_link_in_the_way_is_refused(tmp_path: Path) -> None:
    outside = tmp_path / "outside.json"
    outside.write_bytes(TABLE)
    path = bag(tmp_path / "bag")
    (path / offer_files.TABLE).unlink()
    (path / offer_files.TABLE).symlink_to(outside)
    assert "symbolic links are not allowed in a bundle" in refusal(path)
    with tarfile.open(tmp_path / "b.tar.gz", "w:gz") as tarred:
        tarred.add(path, "bag")
    assert "not a regular file" in refusal(tmp_path / "b.tar.gz")
    link = zipfile.ZipInfo(offer_files.TABLE)
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as zipped:
        zipped.writestr(link, str(outside))
    assert "not a regular file" in refusal(tmp_path / "b.zip")


def test_members_that_grow_too_large_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offer_files, "MAX_BYTES", 20_000)
    bomb = {"bagit.txt": b"", "manifest-sha256.txt": manifest(), offer_files.TABLE: b" " * 10**6}
    for path in archives(tmp_path, bomb):
        assert path.stat().st_size < 20_000
        assert "more than 20000 bytes" in refusal(path)


def test_an_archive_of_too_many_or_too_large_members_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = archives(tmp_path, {f"data/{number}": b"x" * 1000 for number in range(30)})
    monkeypatch.setattr(offer_files, "MAX_MEMBERS", 20)
    assert all("20" in refusal(path) for path in paths)
    monkeypatch.undo()
    monkeypatch.setattr(offer_files, "MAX_UNPACKED_BYTES", 10_000)
    assert "larger than 10000 bytes unpacked" in refusal(paths[1])


def test_a_header_that_claims_a_huge_length_is_not_believed(tmp_path: Path) -> None:
    info = tarfile.TarInfo("pax")
    info.type, info.size = tarfile.XHDTYPE, 2**40
    path = tmp_path / "b.tar.gz"
    import gzip

    path.write_bytes(gzip.compress(info.tobuf(tarfile.GNU_FORMAT) + b"\0" * 10240))
    assert "damaged tar archive" in refusal(path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=examples(150))
@given(st.booleans(), st.integers(0, 400), st.integers(0, 255), st.integers(0, 200))
def test_a_damaged_archive_is_read_or_refused(tmp_path: Path, zipped: bool, place: int, byte: int, cut: int) -> None:
    members = {"bagit.txt": b"", "manifest-sha256.txt": manifest(), offer_files.TABLE: TABLE}
    path = archives(tmp_path, members)[0 if zipped else 1]
    data = bytearray(path.read_bytes())
    data[place % len(data)] = byte
    path.write_bytes(data[: len(data) - cut])
    try:
        assert only_part(path).campaign == "offer"
    except InputError as error:
        assert str(error).startswith(str(path))


def test_two_campaigns_are_the_fewest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "a.json"]) == 2
    assert "compare needs two or more campaigns; found 1" in capsys.readouterr().err


def test_filled_forms_are_compared_by_their_mapping(capsys: pytest.CaptureFixture[str]) -> None:
    form, mapping = forms.DATA / "crossroads-mdtest-published.csv", forms.DATA / "crossroads-mdtest.yaml"
    assert main(["compare", str(reference.BUNDLE), str(form), "--mapping", str(mapping), "--format", "csv"]) == 1
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("scratch,max,shared,stat,"))
    assert line.split(",")[4:6] == ["ops/s", "highest"] and "104354" in line
