from __future__ import annotations

import errno
import json
import resource
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign.core import events as journal_events
from campaign.core import journal, untrusted
from campaign.core.errors import EnvironmentLacks
from campaign.core.events import START, Event, hash_of
from campaign.core.journal import Salvage
from tests.support.examples import examples

quick = settings(max_examples=examples(60))
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
events = st.dictionaries(
    texts.filter(lambda key: key not in ("event", "format", "time", "previous")), texts, max_size=3
).map(lambda texts: {"event": "note", **texts})


def write(path: Path, written_entries: list[Event]) -> str:
    previous = START
    for event in written_entries:
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
def test_what_was_written_comes_back_in_order(written_events: list[Event]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        write(path, written_events)
        stamps = ("format", "time", "previous")
        assert [{k: v for k, v in event.items() if k not in stamps} for event in events_of(path)] == written_events


@quick
@given(st.lists(events, min_size=1, max_size=5), st.data())
def test_reading_goes_on_from_any_line(written_events: list[Event], data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        write(path, written_events)
        all_steps = steps(path)
        at = data.draw(st.integers(0, len(all_steps) - 1))
        _, previous, offset = all_steps[at]
        assert steps(path, offset, previous) == all_steps[at + 1 :]


@quick
@given(st.lists(events, min_size=2, max_size=4), st.data())
def test_a_changed_byte_in_any_line_but_the_last_is_found(written_events: list[Event], data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        write(path, written_events)
        content = bytearray(path.read_bytes())
        last = content.rindex(b"\n", 0, -1) + 1
        content[place(data, 0, last)] ^= data.draw(st.integers(1, 255))
        path.write_bytes(content)
        with pytest.raises(EnvironmentLacks, match=r"journal\.jsonl:\d+: "):
            events_of(path)


@quick
@given(st.lists(events, min_size=1, max_size=4), st.data())
def test_a_line_that_a_crash_cut_off_is_taken_back_and_the_next_one_follows(
    written_events: list[Event], data: st.DataObject
) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        write(path, written_events)
        content = path.read_bytes()
        start = content.rfind(b"\n", 0, -1) + 1
        path.write_bytes(content[: place(data, start, len(content))])
        assert len(events_of(path)) == len(written_events) - 1
        assert path.read_bytes() == content[:start]
        remaining_steps = steps(path)
        journal.append(path, {"event": "next"}, remaining_steps[-1][1] if remaining_steps else START)
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
    assert journal.read_chain(path).problem.startswith("line 1: not a JSON event")


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
    assert journal.read_chain(path).problem.startswith("line 1: not a JSON event")
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
        journal.read_chain(tmp_path / "journal.jsonl")


# --- a damaged journal

Lines = list[bytes]


def write_journal(path: Path) -> Lines:
    """A journal of nine events: two attempts are begun, and one of them ends."""
    attempts = [{"run": f"r{number}", "number": 1, "token": "t", "fingerprint": "f"} for number in (1, 2)]
    events = [
        {"event": "begin", "nonce": "n", "campaign": "offer"},
        {"event": "job", "job": "j", "target": "t", "submitter": "host:1:1", "attempts": attempts},
        {"event": "submitted", "job": "j", "job_id": "17", "message": ""},
        *({"event": "note", "text": f"{number} é"} for number in range(4)),
        {"event": "ended", "run": "r1", "number": 1, "state": "done", "reason": "", "started": 1.0, "ended": 2.0},
        {"event": "note", "text": "last"},
    ]
    previous = START
    for event in events:
        journal.append(path, event, previous)
        previous = hash_of(path.read_bytes().splitlines(keepends=True)[-1])
    return path.read_bytes().splitlines(keepends=True)


def edit_line(line: bytes) -> bytes:
    return line.replace(b'"time": ', b'"time": 1')


def garbage(lines: Lines) -> Lines:
    return [*lines[:4], b"\0\xff{" * 30 + b"\n", *lines[5:]]


def change_line(lines: Lines) -> Lines:
    return [*lines[:4], edit_line(lines[4]), *lines[5:]]


def taken_out(lines: Lines) -> Lines:
    return [*lines[:4], *lines[5:]]


def first_damaged(lines: Lines) -> Lines:
    return [b"x" + lines[0], *lines[1:]]


def first_taken_out(lines: Lines) -> Lines:
    return lines[1:]


def end_changed(lines: Lines) -> Lines:
    return [*lines[:7], edit_line(lines[7]), lines[8]]


def end_without_a_line_before(lines: Lines) -> Lines:
    return [*lines[:7], b"x\n", edit_line(lines[8])]


def cut_off(lines: Lines) -> Lines:
    return [*lines[:8], lines[8][:-7]]


def nothing_left(lines: Lines) -> Lines:
    return [b"\0" * 100 + b"\n"] * 3


def too_long(lines: Lines) -> Lines:
    return [*lines[:4], b" " * (5 << 20) + lines[4], *lines[5:]]


@pytest.mark.parametrize(
    ("damage", "lost", "kept_numbers", "open_"),
    [
        (garbage, [[4, 5]], [1, 2, 3, 6, 7, 8, 9], ["r2/1"]),
        (change_line, [[5, 5]], [1, 2, 3, 4, 6, 7, 8, 9], ["r2/1"]),
        (taken_out, [[4, 4]], [1, 2, 3, 5, 6, 7, 8], ["r2/1"]),
        (first_damaged, [[1, 1]], [2, 3, 4, 5, 6, 7, 8, 9], ["r2/1"]),
        (first_taken_out, [[0, 0]], [1, 2, 3, 4, 5, 6, 7, 8], ["r2/1"]),
        (end_changed, [[8, 9]], [1, 2, 3, 4, 5, 6, 7], ["r1/1", "r2/1"]),
        (end_without_a_line_before, [[7, 9]], [1, 2, 3, 4, 5, 6], ["r1/1", "r2/1"]),
        (cut_off, [[9, 9]], [1, 2, 3, 4, 5, 6, 7, 8], ["r2/1"]),
        (nothing_left, [[1, 3]], [], []),
        (too_long, [[4, 5]], [1, 2, 3, 6, 7, 8, 9], ["r2/1"]),
    ],
)
def test_a_line_is_kept_if_the_next_one_proves_it(
    tmp_path: Path, damage: Callable[[Lines], Lines], lost: list[list[int]], kept_numbers: list[int], open_: list[str]
) -> None:
    path = tmp_path / "journal.jsonl"
    damaged = damage(write_journal(path))
    path.write_bytes(b"".join(damaged))
    salvage = Salvage(path)
    second_lines = list(salvage.lines())
    assert (salvage.lost, salvage.open) == (lost, open_)
    unlinked_events = [{**json.loads(line), "previous": ""} for line in second_lines]
    assert unlinked_events == [{**json.loads(damaged[number - 1]), "previous": ""} for number in kept_numbers]
    proven = kept_numbers[
        : next((place for place, number in enumerate(kept_numbers) if number > lost[0][0]), len(kept_numbers))
    ]
    assert second_lines[: len(proven)] == [damaged[number - 1] for number in proven]  # byte for byte
    assert list(salvage.earlier) == [hash_of(damaged[number - 1]) for number in kept_numbers[len(proven) :]]


def recover(path: Path, number: int = 1) -> Lines:
    """As `campaign collect --recover` does; gives the lines."""
    salvage = Salvage(path)
    lines = list(salvage.lines())
    damaged = path.rename(path.with_name(f"journal.damaged-{number}.jsonl"))
    path.write_bytes(b"".join(lines))
    loss_fields = {"damaged": damaged.name, "sha256": untrusted.digest(damaged), "lost": salvage.lost, "missing": 0}
    journal.append(path, {"event": "recovered", **loss_fields, "open": salvage.open, "unnamed": []}, salvage.head)
    return path.read_bytes().splitlines(keepends=True)


def rechain_lines(lines: Lines) -> bytes:
    previous, second_data = START, b""
    for line in lines:
        data = (json.dumps({**json.loads(line), "previous": previous}, ensure_ascii=False) + "\n").encode()
        previous, second_data = hash_of(data), second_data + data
    return second_data


@pytest.mark.parametrize("damage", [garbage, change_line, taken_out, first_taken_out, nothing_left])
def test_a_recovered_journal_is_a_chain_that_tells_what_it_lost(
    tmp_path: Path, damage: Callable[[Lines], Lines]
) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"".join(damage(write_journal(path))))
    assert journal.read_chain(path).problem
    recover(path)
    chain = journal.read_chain(path)
    assert (chain.problem, [event["damaged"] for event in chain.recovered]) == ("", ["journal.damaged-1.jsonl"])


def test_a_recovered_journal_that_is_damaged_again_is_recovered_again(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"".join(change_line(write_journal(path))))
    lines = recover(path)
    for line in ('{"event": "note", "text": "after"}',) * 3:
        journal.append(path, json.loads(line), hash_of(path.read_bytes().splitlines(keepends=True)[-1]))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(taken_out(lines)))
    recover(path, 2)
    chain = journal.read_chain(path)
    assert (chain.problem, len(chain.recovered)) == ("", 2)
    first = tmp_path / "journal.damaged-1.jsonl"
    first.write_bytes(first.read_bytes()[:-1] + b" \n")
    assert journal.read_chain(path).problem == "journal.damaged-1.jsonl, from which it was recovered, was changed"


def repeat_line(lines: Lines) -> Lines:
    return [*lines[:-1], lines[1], lines[-1]]


def edit_sixth_line(lines: Lines) -> Lines:
    return [*lines[:5], edit_line(lines[5]), *lines[6:]]


def drop_sixth_line(lines: Lines) -> Lines:
    return [*lines[:5], *lines[6:]]


def fewer_losses(lines: Lines) -> Lines:
    return [*lines[:-1], lines[-1].replace(b'"lost": [[5, 5]]', b'"lost": []')]


def fewer_attempts(lines: Lines) -> Lines:
    return [*lines[:-1], lines[-1].replace(b'"open": ["r2/1"]', b'"open": []')]


@pytest.mark.parametrize("forged", [repeat_line, edit_sixth_line, drop_sixth_line, fewer_losses, fewer_attempts])
def test_what_does_not_follow_from_the_damaged_file_is_found(tmp_path: Path, forged: Callable[[Lines], Lines]) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"".join(change_line(write_journal(path))))
    path.write_bytes(rechain_lines(forged(recover(path))))
    problem = journal.read_chain(path).problem
    assert "journal.damaged-1.jsonl" in problem


def test_a_recovered_journal_needs_the_damaged_file(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"".join(change_line(write_journal(path))))
    recover(path)
    (tmp_path / "journal.damaged-1.jsonl").unlink()
    assert journal.read_chain(path).problem == "journal.damaged-1.jsonl, from which it was recovered, is missing"


def test_the_hashes_of_lines_behind_lost_ones_are_known_and_are_no_heads(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    lines = write_journal(path)
    path.write_bytes(b"".join(change_line(lines)))
    recover(path)
    chain = journal.read_chain(path)
    assert (hash_of(lines[8]) in chain.earlier, hash_of(lines[8]) in chain.heads) == (True, False)
    assert (hash_of(lines[3]) in chain.earlier, hash_of(lines[3]) in chain.heads) == (False, True)


@pytest.mark.parametrize(
    ("field", "value"),
    [("damaged", "../journal.jsonl"), ("sha256", "x"), ("lost", [[2, 1]]), ("lost", [[1]]), ("open", ["a/b/1"])],
)
def test_what_tells_of_a_recovery_names_no_path_and_no_lines_that_cannot_be(
    tmp_path: Path, field: str, value: object
) -> None:
    loss_fields = {
        "damaged": "journal.damaged-1.jsonl",
        "sha256": "0" * 64,
        "lost": [],
        "missing": 0,
        "open": [],
        "unnamed": [],
    }
    with pytest.raises(EnvironmentLacks, match=rf"recovered\.{field}\S*: found .*; allowed: "):
        journal.append(tmp_path / "journal.jsonl", {"event": "recovered", **loss_fields, field: value}, START)
