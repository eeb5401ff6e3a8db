"""An external mdtest shows what it takes -N for, and gets the value that shifts by one node."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from campaign.core.errors import EnvironmentLacks, InputError, UnknownState
from campaign.core.runs import Geometry
from campaign.plan.dialect import (
    Dialect,
    dialect_in_output,
    dialect_in_program,
    expected_shift,
    identify,
    offset_argument,
)

DATA = Path(__file__).parents[1] / "data" / "mdtest"
RANK, NODE = Dialect.RANK_OFFSET, Dialect.NODE_OFFSET


@dataclass
class Machine:
    """Runs programs for real, and remembers how it was asked to."""

    calls: list[Sequence[str]] = field(default_factory=list)

    def run(self, arguments: Sequence[str], timeout_s: float) -> str:
        self.calls.append(arguments)
        try:
            process = subprocess.run(arguments, capture_output=True, timeout=timeout_s, check=False)
        except subprocess.TimeoutExpired:
            raise UnknownState(f"{arguments[0]} did not answer") from None
        except FileNotFoundError:
            raise EnvironmentLacks(f"{arguments[0]} is not on PATH") from None
        return process.stdout.decode()


def program(path: Path, body: str) -> Path:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def printing_program(path: Path, capture: str) -> Path:
    return program(path, f"cat {shlex.quote(str(DATA / capture))}")


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory for temporary files, which must be as empty afterwards as before."""
    directory = tmp_path / "tmp"
    directory.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(directory))
    return directory


# --- finding out


@pytest.mark.parametrize(
    ("capture", "dialect"),
    [
        ("mdtest-1.8.4-shared-dir.txt", RANK),
        ("mdtest-1.9.3-two-nodes-shared-dir.txt", RANK),
        ("mdtest-3.2.1-two-nodes-shared-dir.txt", RANK),
        ("mdtest-3.3alpha1-two-nodes-shared-dir.txt", RANK),
        ("mdtest-3.3.0-rate-and-time.txt", NODE),
        ("mdtest-4.0.0-two-nodes-unique-dirs.txt", NODE),
        ("mdtest-4.1-shared-dir.txt", NODE),
        ("bench-0.1.0-two-nodes-shared-dir/stdout", RANK),
    ],
)
def test_the_output_of_each_version_shows_its_dialect(tmp_path: Path, capture: str, dialect: Dialect) -> None:
    text = (DATA / capture).read_text().replace("on 2 node(s)", "on 1 node(s)")
    assert dialect_in_output(text) == dialect


def shifted_output(shift: int) -> str:
    text = (DATA / "mdtest-4.1-two-nodes-shift-trap.txt").read_text()
    return text.replace("Shifting ranks by 4", f"Shifting ranks by {shift}")


def test_where_nodes_can_be_pretended_the_shift_that_comes_of_it_decides() -> None:
    assert dialect_in_output(shifted_output(3)) == NODE
    assert dialect_in_output(shifted_output(1)) == RANK


def test_a_late_version_that_did_not_come_to_its_shift_shows_nothing() -> None:
    text = shifted_output(3)
    assert dialect_in_output(text[: text.index("V-0")]) is None


def test_what_is_no_output_of_mdtest_shows_nothing() -> None:
    for text in ("", "usage: ior\n", "mdtest-x was launched with 1 total task(s) on 1 node(s)\n"):
        assert dialect_in_output(text) is None


def test_a_program_is_run_once_alone_under_pretended_nodes_and_nothing_stays_behind(
    tmp_path: Path, temporary: Path
) -> None:
    mdtest = program(tmp_path / "mdtest", f'echo "$@" > {tmp_path}/seen; env | grep IOR_FAKE >> {tmp_path}/seen\n'
                     f'while [ "$1" != -d ]; do shift; done; mkdir -p "$2/left/over"\n'
                     f"cat {DATA}/mdtest-4.1-shared-dir.txt")  # fmt: skip
    machine = Machine()
    assert identify(mdtest, machine.run, ["srun", "-n", "1"]) == NODE
    arguments, *environment = (tmp_path / "seen").read_text().splitlines()
    assert arguments.startswith(f"-F -C -T -r -n 1 -N 1 -d {temporary}/campaign-dialect-")
    assert sorted(environment) == ["IOR_FAKE_NODES=2", "IOR_FAKE_TASK_PER_NODES=3"]
    assert len(machine.calls) == 1
    assert list(temporary.iterdir()) == []


def test_a_program_that_only_starts_under_the_launcher_is_run_by_it(tmp_path: Path, temporary: Path) -> None:
    capture = shlex.quote(str(DATA / "mdtest-1.8.4-shared-dir.txt"))
    mdtest = program(tmp_path / "mdtest", f'[ -n "$LAUNCHED" ] && cat {capture} || echo PMI_Init failed; exit 1')
    srun = program(tmp_path / "srun", 'shift 2; export LAUNCHED=1; exec "$@"')
    machine = Machine()
    assert identify(mdtest, machine.run, [str(srun), "-n", "1"]) == RANK
    assert [call[0] for call in machine.calls] == ["bash", "bash", str(srun)]
    assert list(temporary.iterdir()) == []


def test_a_program_that_says_its_dialect_before_a_test_is_asked_for_none(tmp_path: Path) -> None:
    capture = shlex.quote(str(DATA / "mdtest-4.1-shared-dir.txt"))
    machine = Machine()
    path = program(tmp_path / "mdtest", f'case "$*" in *" -f 2 -l 1") head -n 8 {capture}; exit 1;; esac; sleep 60')
    assert identify(path, machine.run) == NODE
    assert len(machine.calls) == 1


def test_a_program_that_says_it_only_with_a_test_is_run_with_one(tmp_path: Path, temporary: Path) -> None:
    capture = shlex.quote(str(DATA / "mdtest-4.1-shared-dir.txt"))
    refuses = program(
        tmp_path / "mdtest", f'case "$*" in *"-f 2"*) echo first above last; exit 1;; esac; cat {capture}'
    )
    assert identify(refuses, Machine().run) == NODE
    assert list(temporary.iterdir()) == []


def binary(path: Path, *texts: bytes) -> Path:
    """A program that this machine cannot execute."""
    path.write_bytes(b"\x7fELF\2\1\1".ljust(16, b"\0") + b"\0".join(os.urandom(64) + text for text in texts))
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("texts", "dialect"),
    [
        ([b"mdtest-%s was launched with %d total task(s) on %d nodes"], RANK),
        ([b"Shifting ranks by %d for each phase.", b"mdtest-%s was launched with %d total task(s)"], NODE),
        ([b"Shifting ranks by %d for each phase.", b"mdtest (campaign bench %s) was launched with %d"], RANK),
        ([b"Shifting ranks by %d for each phase."], None),
        ([b"hello"], None),
    ],
)
def test_the_texts_in_a_program_that_does_not_start_show_its_dialect(
    tmp_path: Path, texts: list[bytes], dialect: Dialect | None
) -> None:
    assert dialect_in_program(binary(tmp_path / "mdtest", *texts)) == dialect


def test_a_program_for_another_machine_is_identified_by_its_texts(tmp_path: Path, temporary: Path) -> None:
    mdtest = binary(tmp_path / "mdtest", b"mdtest-%s was launched with", b"Shifting ranks by %d")
    assert identify(mdtest, Machine().run) == NODE
    assert list(temporary.iterdir()) == []


def test_the_bytes_of_a_program_for_another_machine_are_not_taken_for_commands(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    mdtest = binary(tmp_path / "mdtest")
    mdtest.write_bytes(b"\x7fELF\2\1\1".ljust(16, b"\0") + b"\n: >written\nexit\n\0mdtest-%s was launched with\0")
    identify(mdtest, Machine().run)
    assert {path.name for path in tmp_path.iterdir()} == {"mdtest", "tmp"}


def test_a_program_that_hangs_is_given_up(tmp_path: Path, temporary: Path) -> None:
    def hang(arguments: Sequence[str], timeout_s: float) -> Machine.Reply:
        assert timeout_s <= 30
        raise UnknownState(f"{arguments[0]} did not answer within {timeout_s:g} s")

    with pytest.raises(InputError, match=r"did not answer within 20 s.*set benchmark\.dialect to rank-offset"):
        identify(program(tmp_path / "mdtest", "sleep 100"), hang)
    assert list(temporary.iterdir()) == []


def test_a_program_of_another_kind_is_refused_with_what_it_said_and_what_to_do(tmp_path: Path, temporary: Path) -> None:
    with pytest.raises(InputError) as raised:
        identify(program(tmp_path / "mdtest", "echo hello world"), Machine().run, ["no-such-launcher"])
    assert str(raised.value) == (
        f"{tmp_path}/mdtest: cannot determine whether -N counts ranks or nodes (in a test run "
        "it printed 'hello world', then no-such-launcher is not on PATH, and the file contains no text of mdtest); set "
        "benchmark.dialect to rank-offset (mdtest up to 1.9.3, IOR up to 3.2) or node-offset (IOR 3.3.0 and later)"
    )


# --- what follows from it


@pytest.mark.parametrize(
    ("dialect", "nodes", "processes", "value", "disclosed"),
    [
        (RANK, 1, 1, 1, False),
        (RANK, 1, 16, 16, False),
        (RANK, 4, 64, 16, False),
        (NODE, 1, 1, 1, False),
        (NODE, 1, 16, 16, False),
        (NODE, 4, 4, 1, False),
        (NODE, 4, 64, 1, True),
    ],
)
def test_the_value_of_N_shifts_by_one_node_and_is_disclosed_where_it_is_not_the_processes_per_node(
    dialect: Dialect, nodes: int, processes: int, value: int, disclosed: bool
) -> None:
    geometry = Geometry(nodes, processes)
    offset, note = offset_argument(dialect, geometry)
    assert offset == value
    assert bool(note) == disclosed == (offset != geometry.processes_per_node)
    assert expected_shift(dialect, offset, geometry) == geometry.processes_per_node


def test_the_disclosure_says_what_was_done_and_why() -> None:
    assert offset_argument(NODE, Geometry(4, 64))[1] == (
        "-N 1 instead of -N 16: this mdtest counts -N in nodes of 16 processes; -N 16 would shift by "
        "256 ranks, -N 1 shifts by 16, one node"
    )


def test_the_expected_shift_is_that_which_real_runs_on_two_nodes_of_two_printed() -> None:
    two_by_two = Geometry(2, 4)
    for capture, offset, shift in (("two-nodes-shared-dir", 1, 2), ("shift-trap", 2, 4)):
        for version in ("3.3.0", "4.0.0", "4.1"):
            text = (DATA / f"mdtest-{version}-{capture}.txt").read_text()
            assert f"'-N' '{offset}'" in text
            assert f"Shifting ranks by {shift} for each phase." in text
            assert expected_shift(NODE, offset, two_by_two) == shift


def test_no_offset_is_no_shift() -> None:
    assert [expected_shift(dialect, 0, Geometry(4, 64)) for dialect in Dialect] == [0, 0]


def test_the_names_are_those_of_the_campaign_file() -> None:
    assert [str(dialect) for dialect in Dialect] == ["rank-offset", "node-offset"]
