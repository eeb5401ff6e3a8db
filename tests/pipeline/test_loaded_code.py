"""What the records say of the code in the ranks' memory, on a real Slurm: of packages, and put in a function's way."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from campaign.results.environment import reading
from campaign.sandbox.cluster import Sandbox
from tests.support import command_line
from tests.support.bench_binary import SOURCES, build
from tests.support.bench_faults import library
from tests.support.cases import Case, make_case

pytestmark = [pytest.mark.slurm, pytest.mark.mpi, pytest.mark.timeout(900)]

SINGLE = "scratch/single/shared/*"
WRAPPER = """#!/bin/bash
for word in "$@"; do
    [[ $word != */mdtest ]] || exec {srun} {words}
done
exec {srun} "$@"
"""


def run_under(case: Case, folder: Path, words: str = "", cells: str = SINGLE) -> list[dict[str, Any]]:
    """Runs one geometry with another srun on PATH, which gives these words on; what SRC-05 says of loaded code."""
    environment = case.environment()
    if words:
        folder.mkdir()
        srun = folder / "srun"
        srun.write_text(WRAPPER.format(srun=shutil.which("srun", path=environment["PATH"]), words=words))
        srun.chmod(0o755)
        environment["PATH"] = f"{folder}:{environment['PATH']}"
    Case(case.file, case.target, case.sandbox, {"PATH": environment["PATH"]}).call("run", "--only", cells, status=None)
    findings = json.loads(case.call("check", "--json", status=None))
    return [finding for finding in findings if finding["rule"] == "SRC-05" and "load" in finding["message"]]


def test_a_patched_external_program_is_unproven_without_its_source_and_a_violation_with_it(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    patched = tmp_path / "bench-src"
    shutil.copytree(SOURCES, patched, ignore=shutil.ignore_patterns("build-san", "test", "limits"))
    published = shutil.copytree(patched, tmp_path / "published")
    items = patched / "mdtest" / "items.c"
    items.write_text(items.read_text().replace("return stat(job->path, &status) == 0", "return &status != NULL"))
    subprocess.run(["make", "-C", patched, "-s", "build/mdtest"], check=True, timeout=600, capture_output=True)
    program = f"benchmark: {{executable: {patched}/build/mdtest, dialect: rank-offset}}\n"
    case = make_case(tmp_path, sandbox, "patched", items=64, lines=program)
    case.call("run", "--only", SINGLE, status=None)
    bundle = tmp_path / "patched.zip"
    case.call("bundle", "-o", str(bundle), status=None)
    process = command_line.call("verify", bundle, environment=case.environment())
    missing = "Missing: re-measurement, published source"
    assert (process.returncode, missing in process.stdout) == (1, True), process.stdout
    case.file.write_text(f"{case.file.read_text()}source: {{pristine: {published}, modified: {patched}}}\n")
    findings = json.loads(case.call("check", "--json", status=None))
    violations = [finding["message"] for finding in findings if finding["rule"] == "SRC-03"]
    assert any(text.startswith("mdtest/items.c:") for text in violations), violations


@pytest.mark.parametrize("kind", ["built-in", "external"])
def test_a_preloaded_library_that_hides_itself_is_named_with_its_hash(
    sandbox: Sandbox, tmp_path: Path, kind: str
) -> None:
    program = shutil.copy(build() / "mdtest", tmp_path / "mdtest")
    lines = "" if kind == "built-in" else f"benchmark: {{executable: {program}, dialect: rank-offset}}"
    honest = make_case(tmp_path, sandbox, f"honest-{kind}", items=64, lines=lines)
    assert run_under(honest, tmp_path / "none") == []
    evidence = reading.read(next(honest.results.glob("runs/*/1")))
    assert len(evidence.packages) > 10
    assert evidence.environment.values("executable.loader")[0].rpartition(" ")[2] in evidence.packages
    shim = Path(shutil.copy(library("hidden_stat"), tmp_path / "libc-tuned.so.1"))
    hidden = make_case(tmp_path, sandbox, f"hidden-{kind}", items=64, lines=lines)
    (finding,) = run_under(hidden, tmp_path / "bin", f'"${{@/--export=ALL/--export=ALL,LD_PRELOAD={shim}}}"')
    digest = hashlib.sha256(shim.read_bytes()).hexdigest()
    assert (finding["values"]["library"], finding["values"]["functions"]) == (str(shim), "stat")
    assert (finding["actual"], finding["move"]) == (f"{shim} (SHA-256 {digest})", "buyer")
    assert finding["message"].startswith(f"{shim} is loaded ") or kind == "external"  # whose variables a node saw


def test_a_library_that_one_rank_of_a_node_alone_has_is_named_too(sandbox: Sandbox, tmp_path: Path) -> None:
    program = shutil.copy(build() / "mdtest", tmp_path / "mdtest")
    shim, prolog = Path(shutil.copy(library("hidden_stat"), tmp_path / "libc-tuned.so.1")), tmp_path / "prolog"
    prolog.write_text(f"#!/bin/sh\n[ $SLURM_PROCID != 1 ] || echo export LD_PRELOAD={shim}\n")
    prolog.chmod(0o755)
    lines = f"benchmark: {{executable: {program}, dialect: rank-offset}}"
    case = make_case(tmp_path, sandbox, "second-rank", items=4096, lines=lines)
    run_under(case, tmp_path / "bin", f'--task-prolog={prolog} "$@"', "scratch/node/shared/*")
    witness = reading.read(next(case.results.glob("runs/*/1"))).witness
    assert witness.libraries[shim.name] == (f"{shim} {hashlib.sha256(shim.read_bytes()).hexdigest()}",)
