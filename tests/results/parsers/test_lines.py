"""A line that holds no result is an error, a warning or unknown, by its words; and only so many are kept."""

from __future__ import annotations

import pytest

from campaign.core.model import Observation, OutputRemark
from campaign.results.parsers.lines import KEPT, SHOWN, UNPARSED_KEPT, Notes, grade, shown
from tests.support.captures import said


@pytest.mark.parametrize(
    "text",
    [
        "srun: error: n2: task 3: Exited with exit code 1",
        "slurmstepd: error: Detected 1 oom_kill event in StepId=12.0.",
        "srun: n1: error: task 0 launch failed: Invalid MPI plugin name",
        "application called MPI_Abort(MPI_COMM_WORLD, 1) - process 0",
        "[n1:77] *** Process received signal ***",
        "mpirun noticed that process rank 1 with PID 0 on node n1 exited on signal 9 (Killed).",
        "WARNING: write failed: No space left on device",
        "cp: cannot stat 'x': No such file or directory",
        "Permission denied",
        "lfs quota: Disk quota exceeded",
        "3 errors",
        "INVALID: 3 operations failed",
    ],
)
def test_an_error_is_known_by_its_words(text: str) -> None:
    assert grade(text) == "error"


@pytest.mark.parametrize(
    "text",
    [
        "WARNING: There was an error initializing an OpenFabrics device.",
        "libibverbs: Warning: couldn't load driver 'x'",
        '[n1:7] Set MCA parameter "orte_base_help_aggregate" to 0 to see all help / error messages',
        "[n1:7] 3 more processes have sent help message help-mpi-btl-openib.txt / no device",
    ],
)
def test_a_warning_is_known_by_its_words(text: str) -> None:
    assert grade(text) == "warning"


@pytest.mark.parametrize("text", ["", "no errors", "0 errors", "terror", "failover is on", "Loading modules"])
def test_other_words_say_nothing(text: str) -> None:
    assert grade(text) is None


def test_what_is_shown_can_be_printed_anywhere() -> None:
    assert shown("a\x1b[31mb\0\t\u2028c\ud800") == "a\\x1b[31mb\\x00\\t\\u2028c\\ud800"
    assert shown("é漢 x") == "é漢 x"
    long = shown("y" * 10_000)
    assert long == "y" * SHOWN + "… (10000 characters)"


def test_each_is_kept_with_its_place() -> None:
    notes = Notes("stdout")
    notes.unknown(3, "an error")
    notes.unknown(4, "a warning")
    notes.unknown(5, "a word")
    notes.unknown(6, "   ")
    notes.unknown(7, "-----")
    notes.error(None, "of the whole file")
    assert notes.added_to(Observation(program="p")) == Observation(
        program="p",
        errors=(OutputRemark("an error", "stdout", 3), OutputRemark("of the whole file", "stdout")),
        warnings=(OutputRemark("a warning", "stdout", 4),),
        unparsed=(OutputRemark("a word", "stdout", 5),),
    )


def test_that_srun_waited_for_the_step_before_says_nothing() -> None:
    notes = Notes("stderr")
    notes.unknown(1, "srun: Job 12 step creation temporarily disabled, retrying (Requested nodes are busy)")
    notes.unknown(2, "srun: Step created for job 12")
    notes.unknown(3, "srun: Step created for StepId=12.3")
    assert notes.added_to(Observation()) == Observation()


def test_of_very_many_the_first_are_kept_and_the_rest_is_counted() -> None:
    notes = Notes("stdout")
    for line in range(1000):
        notes.error(line, "e")
        notes.warning(line, "w")
        notes.unparsed(line, "u")
    seen = notes.added_to(Observation())
    assert (len(seen.errors), said(seen.errors)[-1]) == (KEPT + 1, f"stdout: {1000 - KEPT} more errors")
    assert (len(seen.warnings), said(seen.warnings)[-1]) == (KEPT + 1, f"stdout: {1000 - KEPT} more warnings")
    assert len(seen.unparsed) == UNPARSED_KEPT + 1
    assert said(seen.unparsed)[-1] == f"stdout: {1000 - UNPARSED_KEPT} more unrecognised lines"
