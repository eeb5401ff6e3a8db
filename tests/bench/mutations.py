"""Outputs that were changed at one place: how often a parser reads another number from them and says nothing.

Each round takes a captured output, changes its text at random, and reads it without JSON lines. A change is noticed
where the numbers come out as they were, or are missing, or where errors, warnings or unknown lines differ from those of
the capture. The others give wrong numbers without a word. None may be left but those that nothing in the text can
contradict: digits below 0.5% of the number, and the lines of ALONE.

`MUTATIONS=` sets the rounds and `SEED=` the first seed; the seed of each round gives its change again.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from difflib import unified_diff
from pathlib import Path
from random import Random

from tabulate import tabulate

from campaign.results.parsers.output import read_sample
from campaign.results.parsers.text_reader import Parsed

DATA = Path(__file__).parents[1] / "data"
APPLETS = ("checkpoint", "ior", "mbw_mr", "mdtest", "mpiio", "nfstest")
ROUNDS = 30_000
SHOWN = 20
SMALL = 5e-3  # relative: of digits that no other number of the text is exact enough to contradict
# Changed lines whose numbers may be so for all that the rest of the text says.
ALONE = {
    "mbw_mr": r"# \[ pairs: .*|[0-9]+( +[0-9.]+){8}",  # the number of processes is not printed; windows without a sum
    "mdtest": r"   (File|Directory) .*",  # of four numbers or more; where of fewer, it is noticed
    "mpiio": r"Processes:.*|BW:.*",  # three of the processes; a rate alone, in the text of the older program
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
    some = lines[begin : begin + chance.choice([1, 1, 1, 2, 5, 20])]
    rest = lines[:begin] + lines[begin + len(some) :]
    to = chance.randrange(len(rest) + 1)
    return "".join(
        chance.choice([rest, lines[:begin] + some + lines[begin:], rest[:to] + some + rest[to:], lines[:begin]])
    )


CHANGES: tuple[Callable[[str, Random], str], ...] = (_digit, _number, _character, _lines)


def _read(applet: str, text: str, path: Path) -> Parsed:
    path.write_text(text)
    return read_sample(applet, path)


def _numbers(parsed: Parsed) -> dict[str, tuple[float, str]]:
    return {record.operation: (record.value, record.unit) for record in parsed[0]}


def _said(parsed: Parsed) -> list[str]:
    seen = parsed[1]
    return [*sorted(remark.text for remark in (*seen.errors, *seen.warnings, *seen.unparsed)), str(seen.complete)]


def _alone(applet: str, text: str, changed: str) -> bool:
    """Whether lines were changed that nothing else in the text can contradict, and no line is missing.

    The checkpoint's text has no closing line: cut behind any number of whole iterations it is one of a shorter run.
    """
    if applet == "checkpoint" and text.startswith(changed):
        return True
    lines, now = text.splitlines(), changed.splitlines()
    pattern = re.compile(ALONE.get(applet, "(?!)"))
    return len(lines) == len(now) and all(
        pattern.fullmatch(old) for old, new in zip(lines, now, strict=True) if old != new
    )


def _captures(applet: str, path: Path) -> Iterator[tuple[str, str, Parsed]]:
    """Name, text and what is read from it, of the captures with numbers."""
    for each in sorted([*(DATA / applet).glob("*.txt"), *(DATA / applet).glob("*/stdout")]):
        text = each.read_text()
        if (parsed := _read(applet, text, path))[0]:
            yield str(each.relative_to(DATA)), text, parsed


def main() -> int:
    rounds, first = int(os.environ.get("MUTATIONS", ROUNDS)), int(os.environ.get("SEED", 0))
    outcomes: Counter[tuple[str, str]] = Counter()
    shown = 0
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        path = Path(folder) / "stdout"
        captures = {applet: list(_captures(applet, path)) for applet in APPLETS}
        for seed in range(first, first + rounds):
            chance = Random(seed)
            applet = chance.choice(APPLETS)
            name, text, original = chance.choice(captures[applet])
            changed = chance.choice(CHANGES)(text, chance)
            parsed = _read(applet, changed, path)
            before, now = _numbers(original), _numbers(parsed)
            wrong = {key: value for key, value in now.items() if before.get(key) != value}
            if not wrong:
                outcomes[applet, "missing" if len(now) < len(before) else "the same"] += 1
            elif _said(parsed) != _said(original):
                outcomes[applet, "noticed"] += 1
            elif _alone(applet, text, changed):
                outcomes[applet, "alone"] += 1
            elif all(key in before and abs(value / before[key][0] - 1) < SMALL for key, (value, _) in wrong.items()):
                outcomes[applet, "below 0.5%"] += 1
            else:
                outcomes[applet, "unnoticed"] += 1
                shown += 1
                if shown <= SHOWN:
                    print(f"seed {seed}, {name}: {wrong}, where {[before.get(key) for key in wrong]}")
                    diff = list(unified_diff(text.splitlines(), changed.splitlines(), lineterm="", n=0))[2:]
                    print(*diff[:6], sep="\n")
    columns = ("the same", "missing", "noticed", "below 0.5%", "alone", "unnoticed")
    rows = [[applet, *(outcomes[applet, column] for column in columns)] for applet in APPLETS]
    print(tabulate(rows, ["applet", *columns]))
    return int(any(outcomes[applet, "unnoticed"] for applet in APPLETS))
