"""No text of anybody can break the reading of an answer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaign.core import waiting
from campaign.core.errors import UnknownState
from campaign.results.environment.slurm_text import STATES, slurm_fields
from campaign.slurm import commands

# Any text that does not hold the mark, which nobody knows; what Slurm prints otherwise comes more often.
TEXT = (
    st.text()
    | st.text(alphabet="\n|+,=\"'@ 0a\x00é")
    | st.sampled_from(["7|RUNNING|x\n8|FAILED|", "a JobState=FAILED"])
)
JOB = st.tuples(st.integers(1, 10**8).map(str), st.sampled_from(sorted(STATES)), TEXT, TEXT, TEXT, TEXT)


@pytest.fixture(autouse=True)
def clear_reports() -> Iterator[None]:
    commands._reported_commands.clear()
    yield
    commands._reported_commands.clear()


@given(st.lists(JOB))
def test_whatever_the_texts_of_jobs_are_each_job_is_read(jobs: list[tuple[str, ...]]) -> None:
    out = "".join("".join(field + commands.MARK for field in job) + "\n" for job in jobs)
    assert [tuple(row) for row in commands.rows("squeue", out, 6)] == jobs
    for job, (number, word, _, partition, directory, name) in zip(commands.parse_queue(out), jobs, strict=True):
        assert (job.id, job.word, job.partition, job.directory, job.name) == (number, word, partition, directory, name)


@given(TEXT, TEXT)
def test_a_job_is_what_scontrol_says_whatever_its_name_and_comment_are(name: str, comment: str) -> None:
    if " UserId=" in name:
        return
    line = f"JobId=7 JobName={name} UserId=me(1) GroupId=me(1) JobState=RUNNING WorkDir=/r/job-7 Comment={comment}\n"
    fields = slurm_fields(line)
    assert [fields[key] for key in ("JobId", "JobState", "WorkDir")] == ["7", "RUNNING", "/r/job-7"]
    assert fields["JobName"] == name.strip()


def test_what_cannot_be_read_beside_jobs_is_left_out_and_told_once() -> None:
    mark = commands.MARK
    out = f"Welcome!\n7{mark}x{mark}\nmany{mark}y{mark}\n8{mark}z{mark}\nGood bye\n"
    texts: list[str] = []
    with waiting.replace_listener(texts.append):
        assert [*commands.rows("squeue", out, 2)] == [("7", "x"), ("8", "z")]
        assert [*commands.rows("squeue", out, 2)] == [("7", "x"), ("8", "z")]
    assert texts == ["3 parts of what squeue answers cannot be read and are left out, the first is: 'Good bye'"]


@pytest.mark.parametrize("out", ["Maintenance tonight\n", "7@", "x@y@\n"], ids=["greeting", "half a row", "no id"])
def test_an_answer_of_which_nothing_can_be_read_is_not_no_jobs(out: str) -> None:
    with pytest.raises(UnknownState, match=r"^unexpected output of squeue: "):
        list(commands.rows("squeue", out.replace("@", commands.MARK), 2))


def test_no_jobs_are_no_jobs() -> None:
    assert list(commands.rows("squeue", "\n", 6)) == []
