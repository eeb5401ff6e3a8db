"""docs/write-a-pack.md: the pack that it goes through can be read, and reads what the page shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from campaign.cli.main import main
from campaign.config.rules import packs
from tests.support.captures import DATA

PAGE = Path(__file__).parents[1] / "docs" / "write-a-pack.md"


def yaml_of(text: str) -> str:
    return "".join(re.findall(r"```yaml\n(.*?)```", text, re.DOTALL))


def test_the_pack_of_the_page_reads_what_the_page_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = PAGE.read_text(encoding="utf-8")
    pack, log = tmp_path / "my-stream.yaml", tmp_path / "stream.txt"
    pack.write_text(yaml_of(page.partition("## 5.")[0]))
    log.write_text((DATA / "declared" / "stream-5.10.txt").read_text())
    main(["rules", "--test", str(pack), str(log)])
    out = capsys.readouterr().out
    promised = page.partition("$ campaign rules --test")[2].partition("\n")[2].partition("  ...")[0].splitlines()
    assert [line for line in promised[1:] if line not in out] == []


def test_the_output_of_the_page_is_of_the_capture() -> None:
    page = PAGE.read_text(encoding="utf-8")
    output = page.partition("look at its output\n```\n")[2].partition("```")[0].splitlines()
    capture = (DATA / "declared" / "stream-5.10.txt").read_text().splitlines()
    assert output and [line for line in output if line not in capture] == []


def test_the_programs_and_the_score_of_the_page_make_a_pack(tmp_path: Path) -> None:
    first, _, second = PAGE.read_text(encoding="utf-8").partition("## 5.")
    values = yaml.safe_load(yaml_of(first))
    for key in ("applet", "arguments", "results", "fixed", "derived", "allowed"):
        values.pop(key, None)
    values |= yaml.safe_load(yaml_of(second))
    values["variables"] = [{"id": "block", "full": "1g", "rehearsal": "1m", "clause": "6.1"}]
    path = tmp_path / f"{values['id']}.yaml"
    path.write_text(yaml.safe_dump(values))
    assert [phase.program for phase in packs.load(path).phases] == ["ior", "ior", "mdtest"]
