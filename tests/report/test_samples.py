"""`campaign rules --test`: what a pack reads from sample outputs."""

from __future__ import annotations

from pathlib import Path
from statistics import geometric_mean

import pytest

from campaign.cli.main import main
from tests.support.captures import DATA

CAPTURES = DATA / "declared"


def test_each_number_is_shown_with_its_line_and_nothing_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "--test", "stream", str(CAPTURES / "stream-5.10.txt")]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "  program: STREAM version $Revision: 5.10 $",
        "  record   value  unit  iterations  minimum  mean  stddev  line",
        "  copy      4287  MB/s           1                         stream-5.10.txt:27",
        "  scale   3815.7  MB/s           1                         stream-5.10.txt:28",
        "  add     7790.8  MB/s           1                         stream-5.10.txt:29",
        "  triad   6111.9  MB/s           1                         stream-5.10.txt:30",
        "4 numbers, 0 errors, 0 warnings, 0 unrecognised lines",
        "",
    ]


def test_what_is_wrong_with_a_sample_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "stream.txt"
    log.write_text("hello (it's)\n" + (CAPTURES / "stream-5.10.txt").read_text().partition("Triad")[0])
    assert main(["rules", "--test", "stream", str(log)]) == 1
    out = capsys.readouterr().out
    assert "not complete" in out
    assert "  unrecognised: stream.txt:1: hello (it's)" in out
    assert "as patterns:\n    - 'hello \\(it''s\\)'\n" in out
    assert "in the pack's table, but not in these outputs: triad" in out


def test_a_pack_of_a_built_in_benchmark_can_be_tried_too(capsys: pytest.CaptureFixture[str]) -> None:
    main(["rules", "--test", "crossroads-mdtest", str(DATA / "mdtest" / "mdtest-4.1-one-file.txt")])
    assert "create" in capsys.readouterr().out


def test_a_sample_has_to_be_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "--test", "stream"]) == 2
    assert "no LOG" in capsys.readouterr().err
    assert main(["rules", "--test", "stream", "no/such.txt"]) == 2
    assert "not found" in capsys.readouterr().err


@pytest.mark.parametrize(("form", "digits"), [("app", "{:.6f}"), ("script", "{:.6g}")])
def test_what_the_packs_formulas_make_of_a_sample_is_shown(
    form: str, digits: str, capsys: pytest.CaptureFixture[str]
) -> None:
    sample = CAPTURES / f"io500-{form}.txt"
    assert main(["rules", "--test", "io500-app", str(sample)]) == 0
    out = capsys.readouterr().out
    words = [word for word in sample.read_text().split() if word.replace(".", "").isdigit()]
    computed_texts = dict(line.split()[:2] for line in out.splitlines() if " = " in line)
    names = ("bandwidth:", "metadata:", "score:")
    assert [digits.format(float(computed_texts[name])) for name in names] == words[-3:]


def test_outputs_of_several_phases_are_computed_together(capsys: pytest.CaptureFixture[str]) -> None:
    logs = [str(CAPTURES / f"npb-3.4-{kernel}.txt") for kernel in ("ep", "mg", "cg", "ft", "is")]
    assert main(["rules", "--test", "npb", *logs]) == 0
    out = capsys.readouterr().out
    assert out.count("1 numbers, 0 errors, 0 warnings, 0 unrecognised lines") == 5
    mean = geometric_mean([37.63, 3174.36, 364.3, 653.76, 319.22])
    mean_line = f"  mean: {mean:.10g} Mop/s = geomean(ep, mg, cg, ft, is)"
    assert out.splitlines()[-3:] == ["  computed by the pack's formulas:", mean_line, ""]


def test_all_unrecognised_lines_are_counted_though_not_all_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "stream.txt"
    log.write_text("hello\n" * 70 + (CAPTURES / "stream-5.10.txt").read_text())
    main(["rules", "--test", "stream", str(log)])
    assert "4 numbers, 0 errors, 0 warnings, 70 unrecognised lines" in capsys.readouterr().out


def test_operations_that_failed_are_shown_and_are_not_clean(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """fio goes on after an error and ends with its output complete; a run with it is INVALID (RUN-06)."""
    text = (CAPTURES / "fio-3.33-write.json").read_text()
    (tmp_path / "fio.json").write_text(text.replace('"error" : 0', '"error" : 28', 1))
    assert main(["rules", "--test", "fio", str(tmp_path / "fio.json")]) == 1
    assert "  failed operations: 28" in capsys.readouterr().out.splitlines()
    main(["rules", "--test", "fio", str(CAPTURES / "fio-3.33-write.json")])
    assert "failed operations" not in capsys.readouterr().out


def test_results_that_fio_prints_meanwhile_are_not_blamed_on_copies(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --status-interval it prints the same document again and again, each with the numbers so far."""
    text = (CAPTURES / "fio-3.33-write.json").read_text()
    (tmp_path / "fio.json").write_text(text + text)
    assert main(["rules", "--test", "fio", str(tmp_path / "fio.json")]) == 1
    out = capsys.readouterr().out
    assert f"fio.json:{text.count(chr(10)) + 1}: a second JSON document, which is not used" in out
    assert "--status-interval" in out and "MPI job" not in out
