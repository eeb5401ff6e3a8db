"""The forms of an RFP before anybody has measured: their names, and what they may hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaign.config import rfp
from campaign.core.errors import InputError
from campaign.report import form_check
from tests.support.rfp import RFP

RESULT = "fast/scratch/single/shared/create"


def forms_text(folder: Path, *marks: str) -> str:
    (folder / "form.csv").write_text("".join(f'"{{{{ {mark} }}}}"\n' for mark in marks))
    (folder / "rfp.yaml").write_text(f"{RFP}forms: [{{file: form.csv}}]\n")
    return form_check.forms_text(*rfp.load_with_packs(folder / "rfp.yaml"), 100)


def test_each_cell_of_a_form_is_there_with_a_sample_of_what_it_holds(tmp_path: Path) -> None:
    marks = {
        RESULT: "1234.5 ops/s",
        f"{RESULT}.sd in kops/s": "1234.5 kops/s",
        f"{RESULT} in kops/s.unit": "kops/s",
        f"{RESULT}.processes": "16",
        f"{RESULT}.date": "2026-01-31",
        "scores/both.low": "1.23",
        "contact/organisation": "a text of the campaign file",
        "fast/answers/8.2.2 tuning": "a text of the campaign file",
        "offered.memory in GiB": "16 GiB",
        "slow/offered.nodes": "16",
    }
    form, _, _, *lines = forms_text(tmp_path, *marks).splitlines()
    assert form == "form form.csv:"
    cells = [f"A{number}" for number in range(1, len(marks) + 1)]
    assert [line.split("  ", 1)[0].strip() for line in lines] == cells
    for line, (mark, sample) in zip(lines, marks.items(), strict=True):
        assert f"  {mark}  " in line and line.endswith(f"  {sample}")


@pytest.mark.parametrize(
    ("mark", "problem"),
    [
        ("swift/scratch/single/shared/create", "found swift; allowed: fast, slow, later"),
        ("fast/scratch/singel/shared/create", "found singel; did you mean single?"),
        ("fast/scratch/single/shared", "found no result; allowed: part/target/launch/files/operation"),
        (f"{RESULT} in MB/s", "found unit MB/s; allowed: ops/s, also with another prefix"),
        ("scores/bath", "found bath; did you mean both?"),
        ("fast/answers/8.2.2 tunnig", "found 8.2.2 tunnig; did you mean 8.2.2 tuning?"),
        ("fast/offered.node", "found node; did you mean nodes?"),
    ],
)
def test_a_name_that_the_rfp_does_not_have_is_refused_with_its_cell(tmp_path: Path, mark: str, problem: str) -> None:
    with pytest.raises(InputError) as refused:
        forms_text(tmp_path, RESULT, mark)
    assert f"form.csv: cell A2: {mark}: {problem}" in str(refused.value)


def test_a_form_that_is_missing_or_holds_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"form\.csv: no cell is marked or mapped"):
        forms_text(tmp_path)
    (tmp_path / "form.csv").unlink()
    with pytest.raises(InputError, match=r"form\.csv: not found; give a form"):
        form_check.forms_text(*rfp.load_with_packs(tmp_path / "rfp.yaml"), 100)
