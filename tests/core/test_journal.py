from __future__ import annotations

import errno
import json
import resource
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign.core import events as journal_events
from campaign.core import journal
from campaign.core.errors import EnvironmentLacks
from campaign.core.events import START, Event, hash_of
from tests.support.examples import examples

quick = settings(max_examples=examples(60))
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
events = st.dictionaries(
    texts.filter(lambda key: key not in ("event", "format", "time", "previous")), texts, max_size=3
).map(lambda texts: {"event": "note", **texts})


def write(path: Path, written: list[Event]) -> str:
    previous = START
    for event in written:
        journal.append(path, event, previous)
        previous = steps(path)[-1][1]
    return previous


def place(data: st.DataObject, start: int, end: int) -> int:
    """Anywhere from `start` to before `end`: drawn as a share, since lines differ in length with the time of day."""
    return start + int(data.draw(st.floats(0, 1, exclude_max=True)) * (end - start))


def steps(path: Path, offset: int = 0, previous: str = START) -> list[tuple[Event, str, int]]:
    """Each event from an offset on, with its hash and the offset behind it."""
    reading = journal.Reading(path, offset, previous)
    return [(event, reading.previous, reading.offset) for event in reading]


def events_of(path: Path) -> list[Event]:
    return list(journal.Reading(path))


@quick
@given(st.lists(events, min_size=1, max_size=5))
def test_what_was_written_comes_back_in_order(written: list[Event]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        write(path, written)
        stamps = ("format", "time", "previous")
        assert [{k: v for k, v in event.items() if k not in stamps} for event in events_of(path)] == written


@quick
@given(st.lists(events, min_size=1, max_size=5), st.data())
def test_reading_goes_on_from_any_line(written: list[Event], data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        write(path, written)
        whole = steps(path)
        at = data.draw(st.integers(0, len(whole) - 1))
        _, previous, offset = whole[at]
        assert steps(path, offset, previous) == whole[at + 1 :]


@quick
@given(st.lists(events, min_size=2, max_size=4), st.data())
def test_a_changed_byte_in_any_line_but_the_last_is_found(written: list[Event], data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        write(path, written)
        content = bytearray(path.read_bytes())
        last = content.rindex(b"\n", 0, -1) + 1
        content[place(data, 0, last)] ^= data.draw(st.integers(1, 255))
        path.write_bytes(content)
        with pytest.raises(EnvironmentLacks, match=r"journal\.jsonl:\d+: "):
            events_of(path)


@quick
@given(st.lists(events, min_size=1, max_size=4), st.data())
def test_a_line_that_a_crash_cut_off_is_taken_back_and_the_next_one_follows(
    written: list[Event], data: st.DataObject
) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        write(path, written)
        content = path.read_bytes()
        start = content.rfind(b"\n", 0, -1) + 1
        path.write_bytes(content[: place(data, start, len(content))])
        assert len(events_of(path)) == len(written) - 1
        assert path.read_bytes() == content[:start]
        whole = steps(path)
        journal.append(path, {"event": "next"}, whole[-1][1] if whole else START)
        assert events_of(path)[-1]["event"] == "next"


def test_a_line_that_was_taken_out_is_found(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    write(path, [{"event": name} for name in ("one", "two", "three")])
    first, _, third = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + third)
    with pytest.raises(EnvironmentLacks) as caught:
        events_of(path)
    line = json.loads(third)
    assert str(caught.value) == (
        f"{path}:2: the hash chain is broken "
        f"(expected {hash_of(first)[:12]}…, found {line['previous'][:12]}…): a line was changed, added or removed; "
        "the journal was edited; restore it from a backup, or keep what the rest of it proves with 'campaign collect "
        "FILE --recover'"
    )


def test_a_line_that_is_no_event_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b'["event"]\n')
    with pytest.raises(EnvironmentLacks, match=r"""journal.jsonl:1: not a JSON event: b'\["event"\]\\n'"""):
        events_of(path)


def test_a_line_that_is_nested_without_end_is_no_event(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"[" * 200_000 + b"\n")
    assert journal.look(path).problem.startswith("line 1: not a JSON event")


def test_another_format_is_refused_with_the_one_that_is_known(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text(json.dumps({"format": 2, "event": "job", "previous": START}) + "\n")
    with pytest.raises(EnvironmentLacks, match=r"journal.jsonl:1: found format 2; known: 1; use a newer campaign$"):
        events_of(path)


def test_a_line_that_does_not_fit_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    previous = write(path, [{"event": "one"}])
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 50, limits[1]))
        with pytest.raises(
            EnvironmentLacks, match="No space left on device; the journal is written before every other step"
        ):
            journal.append(path, {"event": "two", "text": "x" * 200}, previous)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before


def test_a_journal_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentLacks, match=r"gone/journal\.jsonl: cannot be written: No such file or directory"):
        journal.append(tmp_path / "gone" / "journal.jsonl", {"event": "one"}, START)


def test_a_line_without_an_end_is_not_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_events, "LONGEST_LINE", 1000)
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b'{"format": 1, "text": "' + b"x" * 5000)
    assert journal.look(path).problem.startswith("line 1: not a JSON event")
    with pytest.raises(EnvironmentLacks):
        steps(path)
    assert path.stat().st_size > 5000


@pytest.mark.parametrize("number", [errno.EIO, errno.EMFILE])
def test_trouble_of_this_machine_is_no_fault_of_the_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refused(path: Path, *_: object) -> None:
        raise OSError(number, "refused", str(path))

    monkeypatch.setattr(Path, "open", refused)
    with pytest.raises(OSError, match=r"refused: .*journal\.jsonl"):
        journal.look(tmp_path / "journal.jsonl")
