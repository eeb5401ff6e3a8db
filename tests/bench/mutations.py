"""Outputs that were changed at one place: how often a parser reads another number from them and says nothing.

Each round takes a captured output, changes its text at random, and reads it without JSON lines.
The outcome is one of these:

- same: the numbers came out as they were.
- refused: a number is missing, or there is an error.
- pointed out: there is a warning or an unrecognised line that the capture does not give.
- consistent: another number, which nothing else in the text contradicts: the only number that tells (ALONE), or digits
  below 0.5% of it (SMALL), which no other number of the text is exact enough to contradict.
- wrong: another number, although the text contradicts itself. There may be none.

`MUTATIONS=` sets the rounds and `SEED=` the first seed; the seed of each round gives its change again.
"""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from difflib import unified_diff
from random import Random
from typing import NamedTuple

from tabulate import tabulate

from campaign.core.records import Observation, Record
from campaign.results.parsers.lines import Parsed
from tests.bench.machine import FULL
from tests.bench.table import Row
from tests.support import captures

ROUNDS = 30_000 if FULL else 5_000
SHOWN = 20
SMALL = {"ior csv": 1e-2}  # relative, of a format whose numbers have so few digits
SMALLEST = 5e-3
OUTCOMES = ("same", "refused", "pointed out", "consistent", "wrong")
# Changed lines whose numbers may be so for all that the rest of the text says.
ALONE = {
    "mbw_mr": r"# \[ pairs: .*|[0-9]+( +[0-9.]+){8}",  # the number of processes is not printed; windows without a sum
    "mdtest": r"   (File|Directory) .*",  # of four numbers or more; where of fewer, it is noticed
    "mpiio": r"Processes:.*|BW:.*",  # three of the processes; a rate alone, in the text of the older program
    "hpcc": r"RandomlyOrderedRing.*",  # two of some hundred numbers that are measured by themselves
    "esif": r"Loop time of .* atoms",  # the number of atoms after they were replicated
    "mlperf": r' *("data_size_per_host_GB": )?[0-9.]+,?',  # what the tool computed, and the memory of the only host
    "fio": r'\s*"99\.0+" : .*',  # a percentile between its neighbours
    "omb": r"[0-9]+ +[0-9.]+",  # a number alone
    "osu": r"[0-9]+ +[0-9.]+( +[0-9.]+ +[0-9.]+ +[0-9]+)?",  # a number alone; the mean of others, between the two
    "nfstest": r"--- TFS=.* (LWR|LRR)=.*",  # how many processes had the lowest rate is not printed
}
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def _digit(text: str, chance: Random) -> str:
    at = chance.choice([match.start() for match in re.finditer(r"\d", text)])
    return text[:at] + chance.choice("0123456789") + text[at + 1 :]


def _number(text: str, chance: Random) -> str:
    match = chance.choice(list(_NUMBER.finditer(text)))
    new = float(match[0]) * chance.choice([0.1, 0.5, 1.01, 1.5, 10])
    return text[: match.start()] + f"{new:.{len(match[0].partition('.')[2])}f}" + text[match.end() :]


def _character(text: str, chance: Random) -> str:
    at = chance.randrange(len(text))
    return text[:at] + chance.choice(["", " ", "\n", "-", ".", "x", ":", "\0"]) + text[at + 1 :]


def _lines(text: str, chance: Random) -> str:
    """Lines missing, twice, moved, or the end of the text cut."""
    lines = text.splitlines(keepends=True)
    begin = chance.randrange(len(lines))
    block = lines[begin : begin + chance.choice([1, 1, 1, 2, 5, 20])]
    other_words = lines[:begin] + lines[begin + len(block) :]
    to = chance.randrange(len(other_words) + 1)
    return "".join(
        chance.choice(
            [
                other_words,
                lines[:begin] + block + lines[begin:],
                other_words[:to] + block + other_words[to:],
                lines[:begin],
            ]
        )
    )


CHANGES: tuple[Callable[[str, Random], str], ...] = (_digit, _number, _character, _lines)


class Capture(NamedTuple):
    """An output whose numbers are read."""

    name: str
    applet: str
    parse: Callable[[str, str], Parsed]
    text: str
    numbers: dict[str, tuple[float, str]]
    seen: Observation

    @property
    def format(self) -> str:
        """The row of the table: applet and version of the program, or of the form of its output."""
        file = self.name.partition("/")[2]
        if self.applet == "mdtest":
            return f"mdtest {file.removeprefix('mdtest-').split('-')[0]}".replace("mdtest bench", "mdtest, built in")
        return f"{self.applet} {file.rpartition('.')[2]}" if file.endswith((".json", ".csv")) else self.applet


def _captures() -> Iterator[Capture]:
    for capture in captures.find():
        if capture.text_path.is_file():
            applet = captures.program(capture.path.name) if capture.applet == "declared" else capture.applet
            name = capture.text_path.relative_to(captures.DATA).as_posix()
            records, seen = capture.parse(capture.text, "stdout")
            if records:
                yield Capture(name, applet, capture.parse, capture.text, _numbers(records), seen)


def _numbers(records: Iterable[Record]) -> dict[str, tuple[float, str]]:
    return {record.operation: (record.value, record.unit) for record in records}


def _remark_texts(seen: Observation) -> list[str]:
    return sorted(remark.text for remark in (*seen.warnings, *seen.unparsed))


def _outcome(capture: Capture, changed_text: str) -> tuple[str, dict[str, tuple[float, str]]]:
    """What became of the changed text, and the numbers that are others now."""
    records, seen = capture.parse(changed_text, "stdout")
    before, numbers = capture.numbers, _numbers(records)
    # A number of an unknown name belongs to no cell; the cell that lacks it is missing.
    lost = before.keys() - numbers.keys()
    wrong = {
        key: value for key, value in numbers.items() if before.get(key) != value and not (lost and key not in before)
    }
    more_errors = {error.text for error in seen.errors} - {error.text for error in capture.seen.errors}
    if more_errors or seen.complete < capture.seen.complete or (lost and not wrong):
        return "refused", wrong
    if not wrong:
        return "same", wrong
    if _remark_texts(seen) != _remark_texts(capture.seen):
        return "pointed out", wrong
    limit = SMALL.get(capture.format, SMALLEST)
    small = all(key in before and abs(value / before[key][0] - 1) < limit for key, (value, _) in wrong.items())
    return ("consistent" if small or _alone(capture, changed_text) else "wrong"), wrong


def _alone(capture: Capture, changed_text: str) -> bool:
    """Whether lines were changed that nothing else in the text can contradict, and no line is missing.

    The checkpoint's text and IOR's CSV have no closing line: cut behind whole iterations they are of a shorter run.
    """
    if capture.format in ("checkpoint", "ior csv") and capture.text.startswith(changed_text):
        return True
    lines, changed_lines = capture.text.splitlines(), changed_text.splitlines()
    pattern = re.compile(ALONE.get(capture.applet, "(?!)"))
    return len(lines) == len(changed_lines) and all(
        pattern.fullmatch(old) for old, new in zip(lines, changed_lines, strict=True) if old != new
    )


def main() -> Iterator[Row]:
    rounds, first = int(os.environ.get("MUTATIONS", ROUNDS)), int(os.environ.get("SEED", 0))
    outcomes: Counter[tuple[str, str]] = Counter()
    by_format: dict[str, list[Capture]] = {}
    for capture in _captures():
        by_format.setdefault(capture.format, []).append(capture)
    began = time.process_time()
    for seed in range(first, first + rounds):
        chance = Random(seed)
        capture = chance.choice(by_format[chance.choice(list(by_format))])
        changed_text = chance.choice(CHANGES)(capture.text, chance)
        outcome, wrong = _outcome(capture, changed_text)
        outcomes[capture.format, outcome] += 1
        if outcome == "wrong" and sum(outcomes[name, "wrong"] for name in by_format) <= SHOWN:
            print(f"seed {seed}, {capture.name}: {wrong}, where {[capture.numbers.get(key) for key in wrong]}")
            diff = unified_diff(capture.text.splitlines(), changed_text.splitlines(), lineterm="", n=0)
            print(*list(diff)[2:8], sep="\n")
    body = [[name, *(outcomes[name, outcome] for outcome in OUTCOMES)] for name in sorted(by_format)]
    print(tabulate(body, ["output of", *OUTCOMES]))
    print(f"{1e3 * (time.process_time() - began) / rounds:.2f} ms of CPU per mutation")
    misread = sum(outcomes[name, "wrong"] for name in by_format)
    yield Row(f"{rounds:,} outputs changed at one place: numbers read wrongly without a word", "0", str(misread),
              missed=misread > 0)  # fmt: skip
