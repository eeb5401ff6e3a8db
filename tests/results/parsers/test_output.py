"""An execution's files are read together: the number from the text, the rest from the JSON lines, no quarrel unsaid."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from campaign.core.errors import InputError
from campaign.core.records import Observation, OutputRemark, Record, Source
from campaign.results.parsers import output
from tests.support.captures import texts_of

DATA = Path(__file__).parents[2] / "data" / "mdtest"
WHOLE = "bench-0.1.0-two-nodes-one-file"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files of a whole execution, at runs/x/1 under the results."""
    path = tmp_path / "runs" / "x" / "1"
    shutil.copytree(DATA / WHOLE, path)
    return path


def read(folder: Path) -> tuple[list[Record], Observation]:
    return output.read("mdtest", folder, folder.parents[2])


def edit(path: Path, change: Callable[[str], str]) -> None:
    before = path.read_text()
    after = change(before)
    assert after != before
    path.write_text(after)


def edit_line(path: Path, kind: str, **changes: Any) -> None:
    """Change fields of the first JSON line of this type."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    next(line for line in lines if line["type"] == kind).update(changes)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_the_number_and_its_place_are_those_of_the_text_and_the_rest_is_that_of_the_json_lines(folder: Path) -> None:
    records, seen = read(folder)
    assert [record.operation for record in records] == ["create", "stat", "remove", "tree_create", "tree_remove"]
    assert records[2] == Record(
        operation="remove",
        value=232871.018,
        unit="ops/s",
        source=Source("runs/x/1/stdout", 17),
        minimum=232871.018,
        mean=232871.018,
        stddev=0.0,
        iterations=1,
        true_value=58217.754,
        operations_done=64,
        files_true=64,
        elapsed_s=0.001099321,
        remote_share=None,
        rank_fastest=129489.649,
        rank_median=129489.649,
        rank_slowest=129489.649,
    )
    assert (seen.placement, seen.processes_per_node, seen.whole_nodes, seen.failed_operations) == ("block", 2, True, 0)
    assert seen.binary_sha256 == "0e30b271251d4ed510ad80737f389a828ea55523b83467cb697fb7a6f266b8b8"
    assert seen.files_reported == 256
    assert (seen.errors, seen.warnings, seen.unparsed, seen.complete) == ((), (), (), True)


def test_how_exact_the_times_are_comes_from_the_json_lines(folder: Path) -> None:
    edit_line(folder / "bench.jsonl", "start", clock_step_s=3e-8)
    assert read(folder)[1].clock_step_s == 3e-8


def test_numbers_of_ranks_are_removed_where_the_launcher_was_asked_for_them_and_nowhere_else(folder: Path) -> None:
    plain, label = read(folder), re.compile("^", re.MULTILINE)
    for name in ("stdout", "stderr"):
        (folder / name).touch()
        edit(folder / name, lambda text: label.sub(" 0: ", text))
    assert read(folder)[0] == []
    record = folder / "attempt.json"
    record.write_text(json.dumps({"launcher_options": ["--label"]}))
    assert read(folder) == plain, "lines keep their numbers"
    for text in ('{"launcher_options": ["--labels"]}', '{"launcher_options": 7}', "[]", "{"):
        record.write_text(text)
        assert read(folder)[0] == []


def test_an_upstream_mdtest_has_no_json_lines_and_needs_none(tmp_path: Path) -> None:
    shutil.copy(DATA / "mdtest-4.1-two-nodes-unique-dirs.txt", tmp_path / "stdout")
    records, seen = output.read("mdtest", tmp_path, tmp_path)
    assert len(records) == 5
    assert (texts_of(seen.errors), texts_of(seen.warnings), seen.complete) == ((), (), True)


def test_json_lines_that_this_projects_benchmark_should_have_written_are_missed(folder: Path) -> None:
    (folder / "bench.jsonl").unlink()
    records, seen = read(folder)
    assert len(records) == 5
    assert texts_of(seen.warnings) == (
        "runs/x/1/bench.jsonl: file not found: rank placement, failed operations and binary hash are unknown",
    )


def test_an_execution_that_left_nothing_is_reported(tmp_path: Path) -> None:
    records, seen = output.read("mdtest", tmp_path / "none", tmp_path)
    assert records == []
    assert seen == Observation(errors=(OutputRemark("no benchmark output: the file does not exist", "none/stdout"),))


def test_an_applet_that_is_not_known_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"unknown applet 'solitaire'; allowed: .*mdtest"):
        output.read("solitaire", tmp_path, tmp_path)


@pytest.mark.parametrize(
    ("kind", "changes", "error"),
    [
        ("start", {"processes": 8}, "processes is 4 in runs/x/1/stdout, but 8 in runs/x/1/bench.jsonl"),
        ("start", {"nodes": 4}, "nodes is 2 in runs/x/1/stdout, but 4 in runs/x/1/bench.jsonl"),
        (
            "start",
            {"argv": ["./mdtest", "-C"]},
            "command line is ./mdtest -F -C -T -r",
        ),
        (
            "start",
            {"version": "0.2.0"},
            "program is campaign bench 0.1.0 in runs/x/1/stdout, but campaign bench 0.2.0 in runs/x/1/bench.jsonl",
        ),
        ("shift", {"effective": 1}, "rank shift is 2 in runs/x/1/stdout, but 1 in runs/x/1/bench.jsonl"),
        ("shift", {"requested": 1}, "rank shift requested (-N) is 2 in runs/x/1/stdout, but 1 in runs/x/1/bench.jsonl"),
        (
            "phase",
            {"rate_ops_s": 6168.956},
            "value of tree_create is 6168.955 in runs/x/1/stdout:18, but 6168.956 in runs/x/1/bench.jsonl:",
        ),
    ],
)
def test_text_and_json_lines_that_disagree_are_a_contradiction(
    folder: Path, kind: str, changes: dict[str, Any], error: str
) -> None:
    edit_line(folder / "bench.jsonl", kind, **changes)
    _, seen = read(folder)
    assert any(text.startswith(error) for text in seen.contradictions), seen.contradictions


def test_a_result_that_only_one_of_the_two_has_is_an_error(folder: Path) -> None:
    """What is missing contradicts nothing."""
    edit_line(folder / "bench.jsonl", "phase", operation="tree_remove")
    _, seen = read(folder)
    assert "runs/x/1/bench.jsonl: tree_create: result in stdout, but not in bench.jsonl" in texts_of(seen.errors)


def test_iterations_that_only_one_of_the_two_has_are_a_contradiction(folder: Path) -> None:
    edit(folder / "bench.jsonl", lambda text: re.sub(r'(\{"type": "phase", .*\n)', r"\1\1", text, count=1))
    expected = "iterations of tree_create is 1 in runs/x/1/stdout:18, but 2 in runs/x/1/bench.jsonl:"
    assert any(text.startswith(expected) for text in read(folder)[1].contradictions)


@pytest.mark.parametrize("name", ["stdout", "bench.jsonl"])
def test_where_one_record_was_cut_off_its_numbers_contradict_nothing(name: str, tmp_path: Path) -> None:
    """The last iteration of one is compared with an earlier one of the other: an error, which accuses nobody."""
    shutil.copytree(DATA / "bench-0.1.0-two-nodes-three-iterations", tmp_path / "1")
    lines = (tmp_path / "1" / name).read_text().splitlines(keepends=True)
    for count in range(len(lines)):
        (tmp_path / "1" / name).write_text("".join(lines[:count]))
        seen = output.read("mdtest", tmp_path / "1", tmp_path)[1]
        assert seen.contradictions == () and not (seen.complete and count < len(lines) - 1), count


def test_the_mean_and_the_deviation_of_the_text_are_those_of_the_phases(tmp_path: Path) -> None:
    shutil.copytree(DATA / "bench-0.1.0-two-nodes-three-iterations", tmp_path / "1")
    path = tmp_path / "1" / "bench.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    created = [line for line in lines if line["type"] == "phase" and line["operation"] == "create"]
    middle = sorted(created, key=lambda line: line["rate_ops_s"])[1]
    rate = middle["rate_ops_s"] + 1.0
    middle |= {"rate_ops_s": rate, "true_rate_ops_s": rate, "elapsed_s": middle["operations_counted"] / rate}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    _, seen = output.read("mdtest", tmp_path / "1", tmp_path)
    assert [text.split(" ")[:3] for text in seen.contradictions] == [
        [column, "of", "create"] for column in ("mean", "stddev")
    ]


@pytest.mark.parametrize(
    ("nodemap", "error"),
    [
        ("1110", "ranks per node is 0 in runs/x/1/stdout, but 2 in runs/x/1/bench.jsonl"),
        ("1010", "placement is cyclic in runs/x/1/stdout, but block in runs/x/1/bench.jsonl"),
    ],
)
def test_a_node_map_that_is_not_that_of_the_json_lines_is_a_contradiction(
    folder: Path, nodemap: str, error: str
) -> None:
    edit(folder / "stdout", lambda text: text.replace("Nodemap: 1100", f"Nodemap: {nodemap}"))
    _, seen = read(folder)
    assert error in seen.contradictions


def test_a_number_changed_in_the_text_is_found_out(folder: Path) -> None:
    edit(folder / "stdout", lambda text: text.replace("232871.018", "932871.018"))
    records, seen = read(folder)
    assert records[2].value == 932871.018
    contradiction = seen.contradictions[0]
    assert re.fullmatch(
        r"value of remove is 932871\.018 in runs/x/1/stdout:17, but 232871\.018 in runs/x/1/bench\.jsonl:[0-9]+",
        contradiction,
    )


def test_a_shift_beyond_the_number_of_processes_is_the_same_where_a_rank_ends_up(folder: Path) -> None:
    edit(folder / "stdout", lambda text: text.replace("Shifting ranks by 2", "Shifting ranks by 6"))
    assert texts_of(read(folder)[1].errors) == ()


def test_json_lines_of_another_format_are_refused_and_the_text_still_read(folder: Path) -> None:
    edit_line(folder / "bench.jsonl", "start", format=2)
    records, seen = read(folder)
    assert len(records) == 5
    assert not seen.complete
    assert (seen.processes, seen.placement, seen.binary_sha256) == (4, "block", None)
    assert texts_of(seen.errors) == ("runs/x/1/bench.jsonl:1: format 2; expected 1; file ignored",)


def test_an_execution_is_complete_only_where_both_files_are(folder: Path) -> None:
    edit(folder / "bench.jsonl", lambda text: "".join(text.splitlines(keepends=True)[:-1]))
    assert not read(folder)[1].complete
    shutil.copy(DATA / WHOLE / "bench.jsonl", folder)
    edit(folder / "stdout", lambda text: text[: text.index("-- finished")])
    assert not read(folder)[1].complete


def test_what_the_benchmark_says_itself_comes_first_among_the_errors() -> None:
    _, seen = output.read("mdtest", DATA / "bench-0.1.0-two-nodes-stat-of-absent-files", DATA)
    kinds = [text.split("/", 1)[1].split(":")[0] for text in texts_of(seen.errors)]
    assert kinds == sorted(kinds, key=["bench.jsonl", "stdout", "stderr"].index)
    assert "No such file or directory (ENOENT)" in texts_of(seen.errors)[0]
    assert seen.failed_operations == 32


def test_the_aborting_of_the_processes_is_reported_from_stderr() -> None:
    records, seen = output.read("mdtest", DATA / "mdtest-1.9.3-aborted", DATA)
    assert records == []
    assert [text for text in texts_of(seen.errors) if "stderr" in text] == [
        "mdtest-1.9.3-aborted/stderr:2: MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD"
    ]
    assert len([text for text in texts_of(seen.warnings) if "stderr" in text]) == 2
    assert not [text for text in texts_of(seen.unparsed) if "stderr" in text]  # Open MPI explains the first


@pytest.mark.parametrize(
    ("line", "where"),
    [
        ("srun: launch/slurm: _step_signal: Terminating StepId=377.3", "errors"),
        ("srun: Job step aborted: Waiting up to 4 seconds for job step to finish.", "errors"),
        ("srun: error: n2: task 3: Bus error (core dumped)", "errors"),
        ("mdtest: option -n: '1x' is not a whole number", "errors"),
        ("mdtest: rank 3 on n2: bug: out of items", "errors"),
        ("mdtest: warning: the clock is coarse", "warnings"),
        ("mdtest: rank 3 on n2: warning: the clock is coarse", "warnings"),
        ("libibverbs: Warning: couldn't load driver 'libmlx5-rdmav34.so'", "warnings"),
        ("Lmod: loading gcc/12", "unparsed"),
    ],
)
def test_a_line_of_stderr_is_kept_where_it_belongs(folder: Path, line: str, where: str) -> None:
    (folder / "stderr").write_text(f"\n{line}\n")
    _, seen = read(folder)
    assert texts_of(getattr(seen, where)) == (f"runs/x/1/stderr:2: {line}",)
    assert len(seen.errors) + len(seen.warnings) + len(seen.unparsed) == 1


def test_a_huge_output_is_read_as_far_as_the_limit_and_that_is_an_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = (folder / "stdout").stat().st_size
    monkeypatch.setattr(output, "READ_BYTES", size - 100)
    records, seen = read(folder)
    assert records
    assert not seen.complete
    assert f"runs/x/1/stdout: {size} bytes; only the first {size - 100} were read" in texts_of(seen.errors)


def test_an_output_of_millions_of_lines_is_read_as_far_as_the_limit_and_that_is_an_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "READ_LINES", 16)
    _, seen = read(folder)
    assert not seen.complete
    assert "runs/x/1/stdout: more than 16 lines; the rest was not read" in texts_of(seen.errors)


@pytest.mark.parametrize("kind", ["short lines", "Latin", "Greek", "wide characters", "a timeline for each process"])
def test_reading_the_longest_outputs_takes_less_memory_than_is_documented(kind: str, folder: Path) -> None:
    """The most that the process had at any time, which the kernel counts."""
    with (folder / "stdout").open("a") as out:
        if kind == "short lines":
            out.writelines(["x\n" * 1_000_000] * 40)
        elif kind in ("Latin", "Greek"):
            out.writelines([("x" * 60 + {"Latin": "\u00fc", "Greek": "\u03bc"}[kind] + "\n") * 10_000] * 110)
        elif kind == "wide characters":
            out.writelines([("\U0001f600" + "x" * 60 + "\n") * 100_000] * 11)
        else:
            line = {"type": "process", "rank": 1, "node": "n1", "operation": "write", "interval_s": 1}
            line["timeline_bytes"] = [1234567] * 500
            first, *other_words = (folder / "bench.jsonl").read_text().splitlines(keepends=True)
            (folder / "bench.jsonl").write_text("".join([first, *[f"{json.dumps(line)}\n"] * 10_000, *other_words]))
    words = "import sys; from pathlib import Path; from campaign.results.parsers import output; "
    words += "output.read('mdtest', Path(sys.argv[1]), Path(sys.argv[1])); print(Path('/proc/self/status').read_text())"
    process = subprocess.run(
        [sys.executable, "-c", words, folder], capture_output=True, text=True, check=True, timeout=800
    )
    (most_kib,) = re.findall(r"^VmHWM:\s*([0-9]+) kB$", process.stdout, re.MULTILINE)
    assert int(most_kib) * 1024 < 300_000_000


@pytest.mark.parametrize(
    ("end", "width"),
    [
        (b"x\n", 1),
        ("\u00fc\n".encode(), 1),
        ("\u00ff".encode(), 1),
        ("\u0100\n".encode(), 2),
        ("\u20ac\n".encode(), 2),
        (b"\xbc\n", 2),
        (b"\xc3\n", 2),
        (b"\xc3", 2),
        ("\uffff\n".encode(), 2),
        ("\N{GRINNING FACE}\n".encode(), 4),
        ("\u20ac\n\N{GRINNING FACE}\n".encode(), 4),
    ],
)
@pytest.mark.parametrize("chunk", [1, 1 << 20])
def test_a_text_is_read_as_far_as_the_width_of_its_characters_allows(
    folder: Path, monkeypatch: pytest.MonkeyPatch, end: bytes, width: int, chunk: int
) -> None:
    monkeypatch.setattr(output, "_CHUNK_BYTES", chunk)
    with (folder / "stdout").open("ab") as out:
        out.write(end)
    size = (folder / "stdout").stat().st_size
    monkeypatch.setattr(output, "READ_BYTES", width * size)
    assert not [text for text in texts_of(read(folder)[1].errors) if "stdout: " in text and "were read" in text]
    monkeypatch.setattr(output, "READ_BYTES", width * size - 1)
    assert f"runs/x/1/stdout: {size} bytes; only the first {size - 1} were read" in texts_of(read(folder)[1].errors)


def test_a_character_that_the_limit_cuts_is_not_invalid(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = (folder / "stdout").stat().st_size
    with (folder / "stdout").open("a") as out:
        out.write("\u00fc\n")
    monkeypatch.setattr(output, "READ_BYTES", size + 1)
    assert f"runs/x/1/stdout: {size + 3} bytes; only the first {size + 1} were read" in texts_of(read(folder)[1].errors)


def test_one_character_beyond_ascii_does_not_make_a_long_output_an_error(folder: Path) -> None:
    with (folder / "stdout").open("a") as out:
        out.write(("x" * 999 + "\n") * 18_000 + "\u00fc\n")
    assert not [text for text in texts_of(read(folder)[1].errors) if "were read" in text]


def test_a_chunk_pool_of_a_hundred_thousand_processes_is_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a twentieth of their number, of which a twentieth of the lines may be read."""
    monkeypatch.setattr(output, "READ_LINES", output.READ_LINES // 20)
    processes = "".join(
        f"Rank {rank:05} | Wrote 3 chunks, 300\nProcess on rank {rank} said 'bye'\n" for rank in range(0, 10**5, 20)
    )
    phase = f"Rank 00000 | Blocksize: 100\nRank 00000 | Bytes to write: 100\n{processes}BW:\t9.00 MiB/sec\n"
    (tmp_path / "stdout").write_text(
        phase + phase.replace("Wrote", "Read").replace("BW", "Read BW").replace("to write", "to read")
    )
    records, seen = output.read("mpiio", tmp_path, tmp_path)
    assert [record.operation for record in records] == ["write", "read"]
    assert (seen.errors, seen.complete) == ((), True)


def test_a_file_of_many_gigabytes_is_not_taken_into_memory(folder: Path) -> None:
    os.truncate(folder / "stdout", 1 << 40)
    _, seen = read(folder)
    assert any(f"only the first {output.READ_BYTES} were read" in text for text in texts_of(seen.errors))


def test_bytes_that_are_no_text_do_no_harm(folder: Path) -> None:
    content = (folder / "stdout").read_bytes()
    (folder / "stdout").write_bytes(content.replace(b"SUMMARY", b"\xff\xfe\n\nSUMMARY", 1))
    records, seen = read(folder)
    assert len(records) == 5
    assert len(seen.unparsed) == 1


def test_a_link_is_not_followed_out_of_the_folder(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text((folder / "stdout").read_text())
    (folder / "stdout").unlink()
    (folder / "stdout").symlink_to(tmp_path / "elsewhere")
    records, seen = read(folder)
    assert records == []
    assert "runs/x/1/stdout: cannot be read: Too many levels of symbolic links" in texts_of(seen.errors)


@pytest.mark.timeout(300)
def test_a_pipe_or_a_directory_in_place_of_a_file_is_not_read(folder: Path) -> None:
    for name in ("stdout", "bench.jsonl"):
        (folder / name).unlink()
    os.mkfifo(folder / "stdout")
    (folder / "bench.jsonl").mkdir()
    records, seen = read(folder)
    assert records == []
    assert texts_of(seen.errors) == (
        "runs/x/1/stdout: not a regular file; ignored",
        "runs/x/1/bench.jsonl: not a regular file; ignored",
    )
