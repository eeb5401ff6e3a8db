"""What is printed on a terminal fits it; what goes into a pipe or a file does not depend on one."""

from __future__ import annotations

import io

import pytest

from campaign.cli import output

LINE = "  note: 15 placeholders still to be filled in before a run with profile full: system.node, contact.name"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_lines_are_folded_between_words_and_go_on_indented(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    lines = output.fold_to_terminal(f"short\n{LINE}", Terminal()).split("\n")
    assert lines[0] == "short"
    assert all(len(line) <= 60 for line in lines)
    assert [line[:6].count(" ") for line in lines[1:]] == [2, 6]
    assert " ".join(" ".join(lines[1:]).split()) == LINE.strip()


def test_a_path_is_never_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert "/a-long-directory" * 6 in output.fold_to_terminal(f"results: {'/a-long-directory' * 6}", Terminal())


def test_a_pipe_gets_lines_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert output.fold_to_terminal(LINE, io.StringIO()) == LINE


@pytest.mark.parametrize(("columns", "width"), [("80", 80), ("200", 200), ("10", 40)])
def test_tables_have_the_terminals_width_and_in_a_file_a_fixed_one(
    columns: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert output.columns() == output.PIPE == 100
    monkeypatch.setattr("sys.stdout", Terminal())
    assert output.columns() == width
