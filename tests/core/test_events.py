"""What is in a journal whose chain is right, and is not what belongs there, is an error that names it."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from campaign.config.definition import Definition
from campaign.core import journal
from campaign.core.bagit import Bag
from campaign.core.errors import CampaignError, EnvironmentLacks
from campaign.core.events import START, Event, hash_of
from campaign.core.runs import Planned, State
from campaign.evidence import copies, replay
from campaign.pipeline import campaign_state
from campaign.results.store import Store
from campaign.slurm import scripts
from tests.support import builders, driving

Json = Any
STRANGE: tuple[Json, ...] = (
    None, True, -1, 2**63, 10**400, 1e300, float("nan"), float("inf"), "", "x" * 300, "1e400",
    "..", "a/b", "a\0b", "\ud800", [None], {"x": 1},
)  # fmt: skip


@pytest.fixture
def definition(tmp_path: Path) -> Definition:
    """A campaign whose journal has an event of every kind."""
    campaign = driving.campaign(tmp_path)
    definition = Definition(campaign, builders.small_pack())
    runs = builders.expand(definition.campaign, definition.pack)
    with Store(definition.paths) as store:
        store.begin(nonce="n", campaign="offer", rules=["mdtest-3", 3, "00"])
        steps = [
            Planned(run, 1, f"0000000{place}", definition.paths.attempt(run.id, 1)) for place, run in enumerate(runs)
        ]
        store.plan_job("job-1", "target1", "host:1:1", steps, *scripts.rendered_by())
        store.note("uncertain", job="job-1", message="timed out")
        store.submitted("job-1", "17", "Submitted batch job 17")
        definition.paths.attempt(runs[0].id, 1).mkdir(parents=True)
        (definition.paths.attempt(runs[0].id, 1) / "stdout").write_text("nothing\n")
        store.record_end(store.attempts()[0], State.DONE, "", 1.5, 2.5)
        store.record_end(store.attempts()[1], State.FAILED, "exit status 1")
        store.note("stop", jobs=["17"], cause="exit status 1")
        store.note("cancel", jobs=["17"])
        store.note("of a later version", what=["ever"])
    return definition


def events_of(path: Path) -> list[Event]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def write(path: Path, written_entries: list[Event]) -> None:
    """A chain that is right, whatever the events say; a value that has no UTF-8 is escaped."""
    previous, lines = START, []
    for event in written_entries:
        line = json.dumps({**event, "previous": previous}).encode() + b"\n"
        previous = hash_of(line)
        lines.append(line)
    path.write_bytes(b"".join(lines))


def places(value: Json, *at: str | int) -> Iterator[tuple[str | int, ...]]:
    """Of every value, from the outside in."""
    if at and at[-1] not in ("previous", "format"):
        yield at
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(item, *at, key)


def container_at(value: Json, at: tuple[str | int, ...]) -> Json:
    """The place and the thing that has it."""
    for key in at[:-1]:
        value = value[key]
    return value


def look_at_everything(definition: Definition) -> None:
    """As `collect`, `status`, `table`, `check` and `verify` do."""
    definition.paths.database.unlink(missing_ok=True)
    _, chain = campaign_state.collect(definition)
    submission = campaign_state.recorded_submission(definition)
    replay._render_files(submission)
    data = definition.paths.root.parent
    list(copies._check_output_hashes(data, Bag(data), chain.ends if chain else ()))


def test_no_value_of_a_journal_ends_a_command_with_a_traceback(definition: Definition) -> None:
    sound = events_of(definition.paths.journal)
    look_at_everything(definition)
    refused = 0
    for at in (place for place in list(places(sound)) if len(place) > 1):
        accepted_count = 0  # one value of a place that takes several says what the others would
        for strange in STRANGE:
            doctored = copy.deepcopy(sound)
            container_at(doctored, at)[at[-1]] = strange
            write(definition.paths.journal, doctored)
            problem = journal.read_chain(definition.paths.journal).problem
            accepted_count += not problem
            if not problem and accepted_count > 1:
                continue
            try:
                if problem:
                    Store(definition.paths, in_memory=True).close()
                else:
                    look_at_everything(definition)
            except CampaignError as error:
                assert problem.partition(": ")[2] in str(error) or problem == "", (at, strange)
                refused += 1
            else:
                assert not problem, (at, strange)
    assert refused > 100


@pytest.mark.parametrize(
    ("kind", "key", "value", "message"),
    [
        ("job", "job", "../x", 'job.job: found "../x"; allowed: a plain name'),
        ("submitted", "message", 7, "submitted.message: found 7; allowed: a text"),
        ("ended", "number", 0, "ended.number: found 0; allowed: 1 to 100000"),
        ("ended", "started", float("inf"), "not a JSON event: b'{"),  # Infinity is no JSON
        ("ended", "files", {"stdout": 1}, "ended.files[stdout]: found 1; allowed: 64 hexadecimal digits"),
        ("job", "attempts", [{}], "job.attempts[0].run: missing; allowed: a plain name"),
        ("cancel", "time", "soon", 'time: found "soon"; allowed: seconds since 1970'),
    ],
)
def test_an_event_that_is_not_of_its_form_is_named_with_its_line(
    definition: Definition, kind: str, key: str, value: Json, message: str
) -> None:
    doctored = events_of(definition.paths.journal)
    line = next(number for number, event in enumerate(doctored, 1) if event["event"] == kind)
    doctored[line - 1][key] = value
    write(definition.paths.journal, doctored)
    assert journal.read_chain(definition.paths.journal).problem.startswith(f"line {line}: {message}")
    with pytest.raises(EnvironmentLacks, match=f"^{re.escape(f'{definition.paths.journal}:{line}: {message}')}"):
        list(journal.Reading(definition.paths.journal))


def test_an_event_that_could_not_be_read_again_is_not_written(definition: Definition) -> None:
    before = definition.paths.journal.read_bytes()
    with pytest.raises(EnvironmentLacks, match=r"stop\.cause: found 1; allowed: a text"):
        journal.append(definition.paths.journal, {"event": "stop", "jobs": [], "cause": 1}, "")
    assert definition.paths.journal.read_bytes() == before


def test_no_interrupt_while_it_is_loaded_crashes_python() -> None:
    """At each place where it loads a module, in a copy of the process."""
    code = (
        "import os, sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        child = os.fork()\n"
        "        if not child:\n"
        "            sys.meta_path.remove(self)\n"
        "            raise KeyboardInterrupt\n"
        "        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "try:\n"
        "    import campaign.core.events\n"
        "except KeyboardInterrupt:\n"
        "    sys.exit(130)\n"
    )
    process = subprocess.run([sys.executable, "-uc", code], capture_output=True, text=True, timeout=800)
    statuses = process.stdout.split()
    assert (process.returncode, process.stderr, set(statuses)) == (0, "", {"130"})
    assert len(statuses) > 50
