"""The witness of a job (bench-src/witness): what one node says, and what the job makes of the lines of its nodes."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from campaign.core import resources
from campaign.results.environment import facts_file, reading
from campaign.results.environment.facts import Environment

LIMIT_S = 60


def run_node(*words: str, stdin: str = "", **variables: str) -> bytes:
    """The lines of one node, to which `said` is said."""
    process = subprocess.run(
        [resources.witness(), "node", *words],
        input=stdin.encode(),
        env=os.environ | variables,
        capture_output=True,
        timeout=LIMIT_S,
        check=True,
    )
    assert process.stderr == b""
    return process.stdout


def facts_of(
    folder: Path, root: Path, directory: Path | str, executable: str = "/no/such", **variables: str
) -> Environment:
    """What one node says whose /proc and /sys are below `root`."""
    where = ("-r", "" if root == Path("/") else str(root))
    return read_environment(folder, run_node(*where, "-d", str(directory), "-x", executable, **variables))


def read_environment(folder: Path, lines: bytes, nodes: int = 1, **variables: str) -> Environment:
    """What the job makes of the lines of its nodes."""
    return reading.evidence_of(facts_file.parse(run_job(folder, lines, nodes, **variables)[0])).environment


def run_job(folder: Path, lines: bytes, nodes: int = 1, *words: str, **variables: str) -> tuple[bytes, str]:
    """The job's facts.jsonl, and what it answers to its script."""
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    (folder / "lines").write_bytes(lines)
    texts = {"srun": f'[ "$1" = --version ] || exec cat "{folder}/lines"'}
    for name in ("srun", "scontrol", "squeue"):
        if not (programs / name).exists():
            (programs / name).write_text(f"#!/bin/sh\n{texts.get(name, 'exit 1')}\n")
            (programs / name).chmod(0o755)
    slurm = {"SLURM_JOB_NUM_NODES": str(nodes), "PATH": f"{programs}:{os.environ['PATH']}"}
    command: list[str | Path] = [resources.witness(), "job", "-d", "/no/scratch", "-x", "/bench", *words, "--", folder]
    variables, pipe = os.environ | slurm | variables, subprocess.PIPE
    with subprocess.Popen(command, env=variables, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin and process.stdout
        process.stdin.write(b"lock\naround\n")
        process.stdin.flush()
        process.stdout.readline()  # there is no such target
        answer = process.stdout.readline()  # it ends when its input does
        assert process.communicate(timeout=LIMIT_S) == (b"", b"")
    content = (folder / facts_file.NAME).read_bytes()
    for line in content.decode("utf-8").splitlines():
        json.loads(line)
    return content, answer.decode().strip()
