"""Packs that say how an output is read, from the plan to the bundle: programs that print what was captured."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from campaign.slurm.sandbox.cluster import Sandbox
from tests.support.captures import DATA
from tests.support.cases import Case, new_target
from tests.support.command_line import call

pytestmark = [pytest.mark.slurm, pytest.mark.mpi, pytest.mark.timeout(900)]
CAPTURES = DATA / "declared"


def case_of(folder: Path, sandbox: Sandbox, pack: str, launch: str, prints: str) -> Case:
    """A campaign with a script as its program, which runs the shell's words `prints`: its interpreter is declared."""
    program = folder / pack
    program.write_text(f"#!/bin/sh\n{prints}\n")
    program.chmod(0o755)
    case = with_program(folder, sandbox, pack, launch, program)
    case.file.write_text(f"{case.file.read_text()}launcher:\n  prefix: [/bin/sh]\n")
    return case


def with_program(folder: Path, sandbox: Sandbox, pack: str, launch: str, program: Path) -> Case:
    case = Case(folder / f"try-{pack}.yaml", new_target(sandbox, f"try-{pack}-{folder.name}"), sandbox)
    case.call("init", "--rules", pack)
    text = case.file.read_text()
    text = re.sub(r"(?m)^    directory: .*", f"    directory: {case.target}", text)
    text = re.sub(r"(?m)^slurm:\n(?:  .*\n)+", "", text.replace(f"<path of {pack}>", str(program)))
    text = re.sub(r"(?m)^launch:\n(?:  .*\n)+", f"launch:\n  {launch}\n", text)
    case.file.write_text(f"{text}\nslurm:\n  time: 2m\n")
    return case


def test_the_numbers_of_a_declared_output_are_in_the_table_with_their_lines(tmp_path: Path, sandbox: Sandbox) -> None:
    case = case_of(tmp_path, sandbox, "stream", "node: 1", f"cat {CAPTURES}/stream-5.10.txt")
    case.call("run")
    rows = {row["operation"]: row for row in case.table()}
    assert {name: row["value"] for name, row in rows.items()} == {
        "copy": 4287.0, "scale": 3815.7, "add": 7790.8, "triad": 6111.9
    }  # fmt: skip
    assert {row["status"] for row in rows.values()} == {"measured"}
    case.call("bundle", "-o", str(tmp_path / "evidence.zip"))
    shown = call("verify", tmp_path / "evidence.zip").stdout
    assert "bundle intact" in shown
    assert "6112" in shown


def test_an_output_that_is_cut_off_gives_no_valid_number(tmp_path: Path, sandbox: Sandbox) -> None:
    case = case_of(tmp_path, sandbox, "stream", "node: 1", f"head -29 {CAPTURES}/stream-5.10.txt")
    case.call("run", status=1)
    assert "measured" not in {row["status"] for row in case.table(status=1)}


def test_fio_itself_runs_by_its_pack_and_its_evidence_is_judged_the_same_again(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    fio = Path(shutil.which("fio") or "fio")
    case = with_program(tmp_path, sandbox, "fio", "node: 1", fio)
    built = "source:\n  build: {compiler: gcc, flags: -O2, libraries: [glibc]}\n"
    case.file.write_text(f"{case.file.read_text()}{built}")
    case.call("run")
    rows = case.table()
    assert {row["status"] for row in rows} == {"measured"}
    assert all(row["value"] > 0 for row in rows)
    case.call("bundle", "-o", str(tmp_path / "evidence.zip"))
    shown = call("verify", tmp_path / "evidence.zip").stdout
    assert "bundle intact" in shown
