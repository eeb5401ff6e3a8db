"""The command line: its help, its exit statuses, and what it does not load."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest

from campaign.cli import arguments, bundles, parsing, results, running, sandbox, selection, verbs
from campaign.cli.main import main
from campaign.core import users
from campaign.core.errors import ENVIRONMENT, INCOMPLETE, USAGE
from campaign.core.runs import State
from tests.support import reference
from tests.support.command_line import CAMPAIGN, call
from tests.support.results import Results

ROOT = Path(__file__).resolve().parents[2]
VERBS = (
    "init",
    "build",
    "plan",
    "run",
    "status",
    "rerun",
    "cancel",
    "collect",
    "table",
    "report",
    "fill",
    "check",
    "bundle",
    "head",
    "verify",
    "sample",
    "accept",
    "rebuild",
    "modifications",
    "compare",
    "rules",
    "completion",
    "help",
    "sandbox",
)

FILE = """
name: cli
rules: crossroads-mdtest
profile: rehearsal
targets:
  - name: scratch
    directory: /scratch/cli
launch:
  node: 4
  peak: {nodes: 2, processes: 8}
  max: {nodes: 4, processes: 32}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "cli.yaml"
    path.write_text(FILE)
    return path


def test_what_is_generated_in_the_docs_is_up_to_date() -> None:
    generated = reference.generated()
    outdated = [path.name for path, text in generated.items() if path.read_text(encoding="utf-8") != text]
    assert len(generated) > 50
    assert outdated == [], "run 'make docs'"


def test_every_verb_has_its_function() -> None:
    modules = (bundles, results, running, sandbox, verbs)
    functions = {(module.__name__, verb) for module in modules for verb in module.FUNCTIONS}
    parsed_verbs = {
        (f"campaign.cli.{verb.module}", f"{listed.name} {verb.name}" if listed.verbs else verb.name)
        for listed in arguments.VERBS
        for verb in listed.verbs or [listed]
    }
    assert functions == parsed_verbs


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(verb: str) -> None:
    process = call(verb, "--help")
    assert process.returncode == 0
    assert process.stdout.startswith(f"usage: campaign {verb}")


@pytest.mark.parametrize("verb", VERBS)
def test_every_argument_of_a_verb_is_explained(verb: str) -> None:
    text = call(verb, "--help").stdout.partition("positional arguments:\n")[2].partition("\n\n")[0]
    assert re.findall(r"^  (?!start\|)\S+$", text, re.MULTILINE) == []  # sandbox explains its own verbs below


def test_every_verb_stands_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [verb for verb in VERBS if not re.search(rf"campaign {verb}\b", readme)] == []


@pytest.mark.parametrize("words", [[], ["frobnicate"], ["run"], ["table", "x.yaml", "--colour"]])
def test_wrong_usage_ends_with_status_2(words: list[str]) -> None:
    assert subprocess.run([CAMPAIGN, *words], capture_output=True, timeout=800).returncode == USAGE


def test_diff_is_another_name_of_modifications() -> None:
    assert call("diff", "--help").stdout.startswith(
        "usage: campaign modifications [-h] [--part PART] [-o DIR] [--force] FILE"
    )
    assert "modifications (diff)" in call("--help").stdout


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_a_verb_is_what_its_own_option_prints(verb: str) -> None:
    assert call("help", verb).stdout == call(verb, "--help").stdout


def test_help_alone_lists_the_verbs() -> None:
    assert call("help").stdout == call("--help").stdout


def test_a_file_below_what_this_user_may_not_enter_is_reported_with_whose_that_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = tmp_path / "results"
    closed.mkdir(mode=0o500)
    plan = closed / "offer" / "plan.json"

    def refuse(*_arguments: object) -> NoReturn:
        raise PermissionError(errno.EACCES, "Permission denied", str(plan))

    monkeypatch.setattr(selection, "open_campaign", refuse)
    monkeypatch.setattr(os, "access", lambda path, _: Path(path) != closed)
    monkeypatch.setattr(users, "user_name", lambda number: f"user{number}")
    process = call("table", "c.yaml")
    user = f"user{os.geteuid()}"
    assert (process.returncode, process.stderr) == (
        ENVIRONMENT,
        f"campaign: {plan}: Permission denied: {closed} belongs to {user} and has mode 0500; you are {user}. "
        "Change its permissions\n",
    )


def test_a_file_below_what_is_no_directory_is_reported_with_what_is_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "jobs").write_text("")

    def refuse(*_arguments: object) -> NoReturn:
        (tmp_path / "jobs" / "first").mkdir()
        raise AssertionError

    monkeypatch.setattr(selection, "open_campaign", refuse)
    remedy = "move it away, then run the same command again"
    text = f"campaign: {tmp_path}/jobs/first: {tmp_path}/jobs is not a directory; {remedy}\n"
    assert call("table", "c.yaml").stderr == text


def test_help_of_an_unknown_verb_is_refused() -> None:
    process = call("help", "plna")
    assert (process.returncode, process.stderr) == (USAGE, "campaign: unknown verb plna; did you mean plan?\n")


def test_status_ends_with_1_while_results_are_missing(file: Path) -> None:
    assert call("status", file).returncode == 1


def test_a_wrong_option_is_named_above_the_usage_of_its_verb() -> None:
    process = call("table", "x.yaml", "--fromat", "csv")
    assert process.stderr.startswith("usage: campaign table ")
    assert process.stderr.endswith("campaign table: error: unknown option --fromat; did you mean --format?\n")


def test_an_absent_campaign_file_is_named(tmp_path: Path) -> None:
    process = call("plan", tmp_path / "absent.yaml")
    assert process.returncode == USAGE
    assert "absent.yaml" in process.stderr
    assert "Traceback" not in process.stderr


def test_plan_shows_runs_and_command_lines_without_slurm(file: Path) -> None:
    process = call("plan", file, environment={"PATH": "/nowhere"})
    assert process.returncode == 0
    assert "12 runs for 36 cells in 4 jobs" in process.stdout
    assert re.search(r"srun --nodes=2 --ntasks=8 .*mdtest -F -C -T -r -n 2048 -d \S+ -N 4 -S$", process.stdout, re.M)


def test_plan_says_what_it_cannot_settle_without_slurm(file: Path) -> None:
    file.write_text(file.read_text().replace("max: {nodes: 4, processes: 32}", "max: all"))
    process = call("plan", file, environment={"PATH": "/nowhere"})
    assert process.returncode == 0
    assert "not settled: launch.max is all, which needs the size of the partition from Slurm" in process.stdout


def test_run_without_slurm_ends_with_status_3_and_says_what_to_do(file: Path) -> None:
    process = call("run", file, environment={"PATH": "/nowhere"})
    assert process.returncode == ENVIRONMENT
    assert "campaign run --sandbox" in process.stderr


def test_a_table_before_any_run_has_36_missing_rows(file: Path) -> None:
    process = call("table", file, "--format", "csv")
    assert process.returncode == 1
    rows = process.stdout.splitlines()[1:]
    assert len(rows) == 36
    assert all(",missing," in row for row in rows)
    assert not (file.parent / "results").exists()


def test_a_format_that_does_not_exist_is_refused_with_the_allowed_ones(file: Path) -> None:
    process = call("table", file, "--format", "colourful")
    assert process.returncode == USAGE
    assert "github" in process.stderr
    assert "csv" in process.stderr


def test_a_cell_that_does_not_exist_is_refused_with_what_there_is(file: Path) -> None:
    process = call("rerun", file, "scratch/everything/unique/stat", environment={"PATH": "/nowhere"})
    assert process.returncode == USAGE
    assert "no launch condition everything; allowed: single, node, peak, max" in process.stderr


def test_init_quotes_a_path_with_a_space_once_in_its_hint(tmp_path: Path) -> None:
    path = tmp_path / "my rfp.yaml"
    assert f"then run 'campaign plan \"{path}\"'" in " ".join(call("init", path).stdout.split())


def test_init_prints_the_file_for_a_dash(tmp_path: Path) -> None:
    process = call("init", "-", "--rules", "ior-cache-ladder")
    assert (process.returncode, process.stdout.splitlines()[0]) == (
        0,
        "# A campaign: the benchmark ior by the run rules ior-cache-ladder, version 1",
    )
    assert not Path("-").exists()


def test_init_writes_a_file_that_plan_accepts(tmp_path: Path) -> None:
    assert call("init", tmp_path / "new.yaml").returncode == 0
    assert call("plan", tmp_path / "new.yaml").returncode == 0


def test_output_that_cannot_be_written_is_an_error(file: Path) -> None:
    with Path("/dev/full").open("w") as full:
        process = subprocess.run([CAMPAIGN, "table", file], stdout=full, stderr=subprocess.PIPE, text=True, timeout=800)
    assert process.returncode == ENVIRONMENT
    assert process.stderr == (
        "campaign: standard output: No space left on device; free space, then run the same command again\n"
    )


@pytest.mark.parametrize(("words", "status"), [(["--version"], ENVIRONMENT), (["fly"], USAGE)])
def test_nothing_is_reported_of_streams_that_take_nothing(words: list[str], status: int) -> None:
    with Path("/dev/full").open("w") as full:
        process = subprocess.run([CAMPAIGN, *words], stdout=full, stderr=full, timeout=800)
    assert process.returncode == status


@pytest.mark.parametrize(("umask", "mode"), [("000", 0o664), ("077", 0o600)])
def test_what_is_written_is_never_writable_for_everybody(tmp_path: Path, umask: str, mode: int) -> None:
    command = f"umask {umask}; exec {CAMPAIGN} init new.yaml"
    subprocess.run(["sh", "-c", command], cwd=tmp_path, timeout=800, check=True, stdout=subprocess.DEVNULL)
    assert (tmp_path / "new.yaml").stat().st_mode & 0o777 == mode


def test_closed_streams_are_none_of_the_files_that_are_written(file: Path) -> None:
    process = subprocess.run(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", CAMPAIGN, "table", file], timeout=800)
    assert process.returncode == INCOMPLETE


def test_an_operation_that_fails_without_a_files_name_is_not_taken_for_the_output(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_arguments: object) -> NoReturn:
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")  # of another process that ended

    monkeypatch.setattr(selection, "open_campaign", refuse)
    assert main(["table", str(file)]) == ENVIRONMENT
    assert re.fullmatch(
        r"campaign: the operating system refused an operation: Broken pipe, at campaign/cli/selection\.py:\d+: "
        r".*open_campaign\(self\._file, part\).*; check disks, memory and limits \(ulimit -a\), "
        r"then run the same command again\n",
        capsys.readouterr().err,
    )


def test_cells_after_a_run_are_reported_a_line_for_each_number_and_for_each_cause() -> None:
    results = Results()
    results.add("peak.unique", (1000.0, 4000.0, 800.0))
    results.add("max.unique", None, State.FAILED, "the benchmark ended with status 1: boom")
    results.add("node.unique", None, State.TIMEOUT, "job 7: TIMEOUT")
    rows = [row for row in results.rows() if row.cell.files == "unique"]
    assert running._cell_lines(rows, [row.cell for row in results.rows()]) == [
        "scratch/single/unique/*: missing: not run yet",
        "scratch/node/unique/*: failed: timeout: job 7: TIMEOUT (attempt 1 of 1)",
        "scratch/peak/unique/create: measured 1000.000 ops/s (attempt 1 of 1)",
        "scratch/peak/unique/stat: measured 4000.000 ops/s (attempt 1 of 1)",
        "scratch/peak/unique/remove: measured 800.000 ops/s (attempt 1 of 1)",
        "scratch/max/unique/*: failed: the benchmark ended with status 1: boom (attempt 1 of 1)",
    ]
    row = rows[-1]
    assert row.attempt is not None
    second = replace(row, attempt=replace(row.attempt, number=2), last_attempt=2)  # the first was never sent
    assert running._cell_line(second, "x").endswith("boom (attempt 2 of 2)")


@pytest.mark.parametrize("verb", ["", *VERBS])
def test_help_fits_a_narrow_terminal(verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    top = arguments.parser()
    text = (parsing.find_verb_parser(top, verb) if verb else top).format_help()
    assert [line for line in text.splitlines() if len(line) > 60] == []


def test_the_compliance_matrix_before_any_run_has_every_clause_of_the_pack(file: Path) -> None:
    process = call("table", file, "--clauses", "--format", "json")
    states = {line["clause"]: line["state"] for line in json.loads(process.stdout)}
    assert states["8.4"] == "open"
    assert states["8.2.2 tuning"] == "open"
    assert states["8.2.2 caching"] == "to be looked at"


def test_the_coverage_of_clauses_needs_a_pack() -> None:
    assert call("rules", "--clauses").returncode == 2
    assert call("rules", "stream", "--json").returncode == 2
    assert "8 clauses" in call("rules", "stream", "--clauses").stdout


def test_the_facts_are_listed_with_unit_source_and_when_they_are_known() -> None:
    facts = {fact["fact"]: fact for fact in json.loads(call("rules", "--facts", "--json").stdout)}
    assert facts["memory_used"] == {
        "fact": "memory_used", "unit": "bytes", "source": "job record", "known": "after it",
        "meaning": "peak memory of the run on the node that used most",
    }  # fmt: skip
    assert facts["offered.network"]["unit"] == "text"
    assert facts["nodes"]["known"] == "before the run"
    assert all(name in call("rules", "--facts").stdout for name in facts)
