"""The buyer's form with the results in it: three public shapes there and back, what changes, and what is refused."""

from __future__ import annotations

import csv
import io
import math
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import docx
import openpyxl
import pytest
import xlsxwriter

from campaign.cli import selection
from campaign.cli.main import main
from campaign.config import forms as mappings
from campaign.config.forms import FormMapping
from campaign.config.rules import packs
from campaign.config.system import Proposed
from campaign.core import keys
from campaign.core.errors import InputError
from campaign.judge.submission import Submission
from campaign.pipeline import campaign_state
from campaign.report import filled_form
from campaign.report.foreign import form_file, judge_table
from campaign.report.scores import Scored
from campaign.results.environment.facts import Metered
from campaign.statistics import intervals
from tests.support import forms
from tests.support.forms import DATA
from tests.support.results import eventful_results

SSNI = FormMapping(
    cells=tuple((f"D{row}", f"scratch/peak/shared/{name}.nodes") for row, name in enumerate(forms.SCORE, 5)),
    tables=(
        mappings.FormTable(
            "scratch/peak/shared/{rows} in {columns}",
            rows=tuple((name.title(), name) for name in forms.SCORE),
            columns=(("FOM", "kops/s"),),
        ),
    ),
)


@pytest.fixture(scope="module")
def submission() -> Iterator[Submission]:
    clauses = packs.load("crossroads-mdtest").clauses  # the pack of that campaign had none yet
    with forms.full_submission() as submission:
        yield replace(submission, pack=replace(submission.pack, clauses=clauses))


def rates(submission: Submission) -> dict[str, float]:
    return {str(row.cell): row.value for row in submission.rows if row.value is not None}


def filled_in(tmp_path: Path, form: Path, submission: Submission, mapping: FormMapping | None) -> Path:
    path = tmp_path / f"response{form.suffix}"
    path.write_bytes(filled_form.fill_form(form, {"": submission}, mapping)[0])
    return path


def test_the_crossroads_table_has_36_of_36_and_is_read_back(tmp_path: Path, submission: Submission) -> None:
    form, mapping = DATA / "crossroads-mdtest.csv", keys.load(FormMapping, DATA / "crossroads-mdtest.yaml")
    path = filled_in(tmp_path, form, submission, mapping)
    before, after = (list(csv.reader(io.StringIO(path.read_text()))) for path in (form, path))
    cells = [pair for lines in zip(before, after, strict=True) for pair in zip(*lines, strict=True)]
    assert [old for old, new in cells if old != new] == 36 * [""]
    read = judge_table.read_submission(path, "crossroads-mdtest", mapping)
    assert {str(row.cell): row.value for row in read.rows} == rates(submission)
    assert {row.unit for row in read.rows} == {"ops/s"}


@pytest.mark.parametrize("name", ["crossroads-mdtest.csv", "form.xlsx", "form.docx"])
def test_numbers_of_a_rehearsal_are_marked_in_the_file_and_read_back(
    name: str, tmp_path: Path, submission: Submission
) -> None:
    rehearsed = replace(submission, pack=replace(submission.pack, profile="rehearsal"))
    mapping = keys.load(FormMapping, DATA / "crossroads-mdtest.yaml") if name.endswith(".csv") else None
    if name.endswith(".csv"):
        form = DATA / name
    elif name.endswith(".xlsx"):
        form = forms.write_scored_form(tmp_path / name, marked=True)
    else:
        form = tmp_path / name
        document = docx.Document()
        document.add_paragraph("{{ scratch/peak/shared/stat }}")
        document.save(str(form))
    mark = "REHEARSAL: not a compliant result"
    texts = [
        [box.text for box in form_file.read_form(filled_in(tmp_path, form, version, mapping)).boxes.values()]
        for version in (rehearsed, submission)
    ]
    assert texts[0].count(mark) == 1
    assert mark not in texts[1]
    if mapping:
        path = filled_in(tmp_path, form, rehearsed, mapping)
        read = judge_table.read_submission(path, "crossroads-mdtest", mapping)
        assert {str(row.cell): row.value for row in read.rows} == rates(submission)


def test_the_mark_names_the_parts_of_an_rfp_that_are_rehearsals(tmp_path: Path, submission: Submission) -> None:
    form = tmp_path / "form.csv"
    form.write_text("{{ fast/scratch/peak/shared/stat }},{{ slow/scratch/peak/shared/stat }}\n")
    slow = replace(submission, pack=replace(submission.pack, profile="rehearsal"))
    content, _ = filled_form.fill_form(form, {"fast": submission, "slow": slow})
    assert content.decode().splitlines()[1] == "REHEARSAL: not a compliant result (part slow)"


def test_a_sheet_of_three_headings_a_row_has_numbers_in_its_own_unit(tmp_path: Path, submission: Submission) -> None:
    form, mapping = DATA / "esif-hpc-4-mdtest.csv", keys.load(FormMapping, DATA / "esif-hpc-4-mdtest.yaml")
    path = filled_in(tmp_path, form, submission, mapping)
    before, after = form.read_text().splitlines(), path.read_text().splitlines()
    assert [old for old, new in zip(before, after, strict=True) if old != new] == ["Standard,Target,As-is,,,,,"]
    row = next(row for row in submission.rows if str(row.cell) == "scratch/peak/shared/stat")
    assert row.value is not None and row.geometry is not None
    numbers = after[3].split(",")[3:]
    assert numbers[:2] == [str(row.geometry.processes_per_node), str(row.geometry.processes)]
    assert float(numbers[3]) == pytest.approx(row.value / 1000, rel=1e-14)
    read = {str(row.cell): row.value for row in judge_table.read_submission(path, "crossroads-mdtest", mapping).rows}
    assert read == pytest.approx({cell: value for cell, value in rates(submission).items() if "/peak/shared/" in cell})


def test_a_workbook_computes_its_score_from_the_filled_cells(tmp_path: Path, submission: Submission) -> None:
    form = forms.write_scored_form(tmp_path / "form.xlsx")
    path = filled_in(tmp_path, form, submission, SSNI)
    known_values = {name: rates(submission)[f"scratch/peak/shared/{name}"] / 1000 for name in forms.SCORE}
    cells = forms.values(path, "SSNI")
    assert [cells[f"E{row}"] for row in (5, 6, 7)] == pytest.approx(list(known_values.values()), rel=1e-14)
    formulas, inputs = {"G5", "G6", "G7", "H5", "H6", "H7", "H9"}, {"D5", "D6", "D7", "E5", "E6", "E7"}
    assert forms.changed_cells(form, path) == {f"sheet1!{cell}" for cell in formulas | inputs}
    assert {cell: cells[cell] for cell in formulas} == {cell: forms.values(form, "SSNI")[cell] for cell in formulas}
    book = openpyxl.load_workbook(path, data_only=True)
    assert book.calculation.fullCalcOnLoad and book["SSNI"]["H9"].value is None
    if shutil.which("soffice"):
        words = ["soffice", f"-env:UserInstallation=file://{tmp_path}/profile", "--headless", "--convert-to", "csv"]
        subprocess.run([*words, "--outdir", tmp_path, path], check=True, timeout=800, capture_output=True)
        line = list(csv.reader(io.StringIO((tmp_path / "response.csv").read_text())))[8]
        weights = dict(zip(forms.SCORE, (0.5, 0.3, 0.2), strict=True))
        score = math.exp(math.fsum(weights[name] * math.log(rate / 20.5) for name, rate in known_values.items()))
        assert float(line[7]) == pytest.approx(score, rel=1e-3)


def test_marks_are_filled_without_a_mapping_and_keep_the_text_around_them(
    tmp_path: Path, submission: Submission
) -> None:
    submission = replace(
        submission,
        campaign=replace(submission.campaign, answers=(("8.2.2 tuning", "none & <as delivered>"),)),
    )
    form = forms.write_scored_form(tmp_path / "form.xlsx", marked=True)
    (tmp_path / "response.xlsx").write_bytes(filled_form.fill_form(form, {"": submission})[0])
    assert forms.values(tmp_path / "response.xlsx", "Terms") == {"A1": "Offeror's answer: none & <as delivered>"}
    unanswered, cells = filled_form.fill_form(
        form, {"": replace(submission, campaign=replace(submission.campaign, answers=()))}
    )
    assert [(str(cell.place.spot), cell.reason) for cell in cells if cell.value is None] == [
        ("Terms!A1", "no answer in the campaign file")
    ]
    (tmp_path / "response.xlsx").write_bytes(unanswered)
    assert forms.values(tmp_path / "response.xlsx", "Terms") == {"A1": "Offeror's answer: "}


def test_a_word_form_keeps_its_runs_and_everything_else(tmp_path: Path, submission: Submission) -> None:
    form = forms.document(tmp_path / "form.docx")
    table = mappings.FormTable(
        "scratch/peak/shared/{rows} in {columns}",
        rows=(("Remove", "remove"),),
        columns=(("Rate", "kops/s"),),
        sheets=(("table 1", "-"),),
    )
    path = filled_in(tmp_path, form, submission, FormMapping(tables=(table,)))
    known_rates = rates(submission)
    document = docx.Document(str(path))
    stat, remove = (known_rates[f"scratch/peak/shared/{name}"] for name in ("stat", "remove"))
    assert document.paragraphs[0].text == f"Peak: {stat:.15g} ops/s, measured."
    assert [(run.text, run.bold) for run in document.paragraphs[0].runs] == [
        ("Peak: ", None),
        (f"{stat:.15g}", False),
        ("", True),
        ("", False),
        (" ops/s, measured.", True),
    ]
    cells = [[cell.text for cell in row.cells] for row in document.tables[0].rows]
    assert cells[1:] == [["Create", "ops/s", ""], ["Remove", "", f"{remove / 1000:.15g}"]]
    old, new = forms.contents(form), forms.contents(path)
    assert [name for name in old if old[name] != new[name]] == ["word/document.xml"]
    assert list(old) == list(new)


def test_a_part_of_an_rfp_has_its_name_before_its_results(tmp_path: Path, submission: Submission) -> None:
    form = tmp_path / "form.csv"
    result = "scratch/peak/shared/stat"
    form.write_bytes(
        f"{{{{ meta/{result} }}}};{{{{ data/{result}.note }}}};{{{{ data/answers/8.2.2 tuning }}}}\r\n".encode()
    )
    data, cells = filled_form.fill_form(form, {"meta": submission, "data": submission})
    rate, note, answer = next(csv.reader(io.StringIO(data.decode()), delimiter=";"))
    assert float(rate) == rates(submission)["scratch/peak/shared/stat"] and data.endswith(b"\r\n")
    assert "GEO-04 several" in note and answer == ""
    origin = next(csv.DictReader(io.StringIO(filled_form.origins_csv(cells))))
    row = next(row for row in submission.rows if str(row.cell) == "scratch/peak/shared/stat")
    assert row.record is not None and row.attempt is not None
    assert [origin[key] for key in ("unit", "cell", "result", "run", "job_id", "file", "line", "left_empty")] == [
        "ops/s", "A1", "meta/scratch/peak/shared/stat", "scratch.peak.shared.r1", row.attempt.job_id,
        row.record.source.file, str(row.record.source.line), "",
    ]  # fmt: skip


def test_cells_without_a_valid_result_stay_empty_and_are_listed(tmp_path: Path) -> None:
    form = tmp_path / "form.csv"
    names = [
        "single/shared/create",
        "peak/unique/stat",
        "max/onefile/stat",
        "peak/shared/create",
        "peak/shared/create.status",
    ]
    form.write_text("".join(f'"{{{{ scratch/{name} }}}}"\n' for name in names))
    data, cells = filled_form.fill_form(form, {"": eventful_results().submission()})
    assert data.decode() == '1309.4\n""\n""\n""\ninvalid\nREHEARSAL: not a compliant result\n'
    assert [(str(cell.place.spot), cell.reason.split(" ")[0]) for cell in cells if cell.value is None] == [
        ("A2", "failed"), ("A3", "declined"), ("A4", "invalid"),
    ]  # fmt: skip
    assert "declined no time left" in filled_form.origins_csv(cells)


def filled_texts(folder: Path, submission: Submission, *marks: str) -> list[str]:
    form = folder / "form.csv"
    form.write_text("".join(f'"{{{{ {mark} }}}}"\n' for mark in marks))
    content, _ = filled_form.fill_form(form, {"": submission}, scores=[SCORE])
    return [text for (text,) in csv.reader(content.decode().splitlines())]


SCORE = Scored("storage", "Storage", "geometric", 1.5, low=1.25, high=1.75)


def test_repetitions_dates_descriptions_and_scores_can_be_filled(tmp_path: Path, submission: Submission) -> None:
    repeated = tuple(
        replace(
            row,
            values=(90.0, 100.0, 110.0),
            summary=intervals.summarize((90.0, 100.0, 110.0)),
            started=(0.0, 86400.0, 3600.0),
            energy=Metered(joules=7.2e6, peak_w=1500.0),
        )
        for row in submission.rows
    )
    campaign = replace(
        submission.campaign, contact=(("organisation", "Acme"),), proposed=Proposed(nodes=512, memory=2**30)
    )
    described = replace(submission, rows=repeated, campaign=campaign)
    fields = ("n", "sd", "cv in %", "median", "minimum", "maximum", "maximum in kops/s", "date", "energy", "peak_power")
    texts = filled_texts(tmp_path, described, *(f"{STAT}.{field}" for field in fields))
    assert texts == ["3", "10", "10", "100", "90", "110", "0.11", "1970-01-02", "2", "1.5"]
    names = ("contact/organisation", "offered.nodes", "offered.memory in GiB", "scores/storage", "scores/storage.high")
    assert filled_texts(tmp_path, described, *names) == ["Acme", "512", "1", "1.5", "1.75"]


def test_a_unit_and_a_field_may_be_in_either_order(tmp_path: Path, submission: Submission) -> None:
    rate = rates(submission)[STAT]
    names = (f"{STAT} in kops/s.value", f"{STAT}.value in kops/s", f"{STAT} in kops/s.unit", f"{STAT} in kops/s.nodes")
    value, same_value, unit, nodes = filled_texts(tmp_path, submission, *names)
    assert float(value) == float(same_value) == pytest.approx(rate / 1000)
    assert (unit, nodes) == ("kops/s", "4")


def test_a_date_is_one_in_a_cell_that_shows_dates(tmp_path: Path, submission: Submission) -> None:
    path = tmp_path / "form.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet("A")
        sheet.write_blank("A1", None, book.add_format({"num_format": "yyyy-mm-dd"}))
        sheet.write_string("A2", f"{{{{ {STAT}.date }}}}")
    mapping = FormMapping(cells=(("A1", f"{STAT}.date"),))
    started = replace(submission, rows=tuple(replace(row, started=(0.0,)) for row in submission.rows))
    read = form_file.read_form(filled_in(tmp_path, path, started, mapping))
    assert {str(spot): box.value for spot, box in read.boxes.items()} == {
        "A!A1": datetime(1970, 1, 1), "A!A2": "1970-01-01"
    }  # fmt: skip
    assert read.box(form_file.Spot("A", 1, 1)).text == "1970-01-01"


STAT = "scratch/peak/shared/stat"


@pytest.mark.parametrize(
    ("cells", "problem"),
    [
        ({"D5": f"{STAT}s"}, f"cell SSNI!D5: {STAT}s: no result {STAT}s; did you mean {STAT}?"),
        ({"D5": "xyz"}, "cell SSNI!D5: xyz: no result xyz; allowed: scratch/single/shared/create, "),
        ({"D5": f"{STAT} in MB/s"}, "found unit MB/s; allowed: ops/s, also with another prefix such as k, M, Mi"),
        ({"D5": STAT, "SSNI!D5": STAT}, "2 results are mapped to this cell; keep one"),
        ({"B5": STAT}, "cannot be written: the sheet is protected, and the cell is locked"),
        ({"Terms!B3": STAT}, "cannot be written: it is merged into another cell"),
        ({"Terms!A1": STAT}, 'found "nothing to fill in" in the cell; clear it, or map another one'),
        ({"Results!A1": STAT}, "form.xlsx: no sheet 'Results'; allowed: SSNI, Terms"),
        ({}, "form.xlsx: no cell is marked or mapped; mark one as {{ scratch/"),
    ],
)
def test_what_cannot_be_filled_is_reported_with_its_place(
    tmp_path: Path, submission: Submission, cells: dict[str, str], problem: str
) -> None:
    form = forms.write_scored_form(tmp_path / "form.xlsx")
    with pytest.raises(InputError) as error:
        filled_form.fill_form(form, {"": submission}, FormMapping(cells=tuple(cells.items())))
    assert problem in str(error.value)


@pytest.mark.parametrize("separator", [";", "\t"])
def test_decimal_commas_in_a_csv_are_read_back(separator: str, tmp_path: Path, submission: Submission) -> None:
    lines = ["name", "stat", "create"], ["peak", "", ""]
    (tmp_path / "form.csv").write_text("".join(f"{separator.join(line)}\n" for line in lines))
    mapping = FormMapping(cells=(("B2", STAT), ("C2", "scratch/peak/shared/create")))
    content, cells = filled_form.fill_form(tmp_path / "form.csv", {"": submission}, mapping, decimal=",")
    (tmp_path / "response.csv").write_bytes(content)
    _, *numbers = content.decode().splitlines()[1].split(separator)
    assert [float(number.replace(",", ".")) for number in numbers] == [cell.value for cell in cells]
    assert all(len(number.partition(",")[2]) > 3 for number in numbers), "three may be taken for thousands"
    assert [
        row.fields["value"] for row in form_file.form_rows(tmp_path / "response.csv", mapping, {"": submission.pack})
    ] == [cell.value for cell in cells]
    assert {name: value for name, value in rates(submission).items() if name == STAT} == {STAT: cells[0].value}


def test_decimal_commas_are_refused_in_forms_that_cannot_have_them(tmp_path: Path, submission: Submission) -> None:
    (tmp_path / "form.csv").write_text(f"name,stat\npeak,{{{{ {STAT} }}}}\n")
    for form, reason in (
        (tmp_path / "form.csv", "commas separate its fields; save it with semicolons between them"),
        (
            forms.write_scored_form(tmp_path / "form.xlsx", marked=True),
            "numbers of a workbook have the decimal sign of the program that shows it; leave --decimal out",
        ),
    ):
        with pytest.raises(InputError) as error:
            filled_form.fill_form(form, {"": submission}, decimal=",")
        assert str(error.value) == f"--decimal ,: {form}: {reason}"


def test_the_list_of_origins_has_the_decimal_commas_of_the_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, submission: Submission
) -> None:
    form, response = tmp_path / "form.csv", tmp_path / "response.csv"
    form.write_text(f"name;stat\npeak;{{{{ {STAT} }}}}\n")
    monkeypatch.setattr(campaign_state, "current_submission", lambda *_, **__: submission)
    monkeypatch.setattr(selection, "open_campaign", lambda *_: None)
    assert main(["fill", str(tmp_path / "c.yaml"), str(form), "--decimal", ",", "-o", str(response)]) == 0
    written_text = response.read_text().splitlines()[1].removeprefix("peak;")
    (origin,) = csv.DictReader((tmp_path / "response.csv.origins.csv").read_text().splitlines(), delimiter=";")
    assert (origin["written"], float(written_text.replace(",", "."))) == (written_text, rates(submission)[STAT])


def test_the_command_writes_form_and_origins_or_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], submission: Submission
) -> None:
    form, response = forms.write_scored_form(tmp_path / "form.xlsx", marked=True), tmp_path / "response.xlsx"
    mapping = tmp_path / "map.yaml"
    mapping.write_text("cells: {E5: scratch/peak/shared/create, E6: scratch/peak/shared/sta}")
    monkeypatch.setattr(campaign_state, "current_submission", lambda *_, **__: submission)
    monkeypatch.setattr(selection, "open_campaign", lambda *_: None)
    words = ["fill", str(tmp_path / "c.yaml"), str(form), "--mapping", str(mapping), "-o"]
    assert main([*words, str(response)]) == 2
    assert "did you mean scratch/peak/shared/stat?" in capsys.readouterr().err
    assert main([*words, str(form)]) == 2 and "form.xlsx: this command reads it" in capsys.readouterr().err
    assert main([*words, str(tmp_path / "response.csv")]) == 2
    assert {path.name for path in tmp_path.iterdir()} == {"form.xlsx", "map.yaml"}
    mapping.write_text("cells: {E5: scratch/peak/shared/create, E6: scratch/peak/shared/stat}")
    assert main([*words, str(response)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        f"wrote {response}: 2 of 3 cells filled",
        f"wrote {tmp_path / 'response.xlsx.origins.csv'}",
        "left empty (no answer in the campaign file): Terms!A1 answers/8.2.2 tuning",
    ]
