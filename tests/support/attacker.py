"""Somebody who may write in a target, and does there as fast as they can what harms whoever measures in it.

`attacker.py TARGET OUTSIDE PREFIXES SEED FILE`: in the place of what has a name in TARGET that begins with one of
PREFIXES (with commas between them), it puts links to the directory OUTSIDE, directories and files of its own, fifos and
directories of others, moves that away and back, removes what it can, and creates the names that it guesses come next.
SEED is any text. At SIGTERM it writes to FILE how often it did what, and ends. It is a program of its own without
imports of this project, so that any user can be it.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

MOVED, MOST_MOVED = ".moved-", 200
DEPTH, MOST = 4, 6  # of directories that it looks into, and entries of each
PRECIOUS = "precious"  # how the names of the files begin that others have
FOREIGN = ("foreign-ours", "foreign-theirs")  # directories that others have in the target
NAMES = ("owner", "test-dir.0-0", "file.mdtest.0.0")  # of what jobs open in what they have created


class Attacker:
    """What it has moved away, and what it did."""

    def __init__(self, target: Path, outside: Path, prefixes: tuple[str, ...], chance: random.Random) -> None:
        self.target, self.outside, self.prefixes, self.chance = target, outside, prefixes, chance
        self.act_counts: Counter[str] = Counter()
        self.moved: list[tuple[Path, Path]] = []  # from, to
        self.number = 0
        self.planted: set[Path] = set()
        self.when: dict[str, float] = {}  # by name in the target: from when on it is touched
        self.acts = (
            self.link, self.link, self.link, self.link_briefly, self.link_briefly, self.own_directory, self.file,
            self.fifo, self.foreign, self.remove, self.move, self.guess,
        )  # fmt: skip

    def step(self) -> None:
        """One act on something that campaign has there, where there is something, some time after it came."""
        paths = [path for path in self.victims() if self.due(path)]
        if not paths:
            time.sleep(0.0005)
            return
        act, victim = self.chance.choice(self.acts), self.chance.choice(paths)
        with suppress(OSError):  # it went away, or may not be touched by this user
            act(victim)
            self.act_counts[act.__name__.replace("_", " ")] += 1
        if len(self.moved) > MOST_MOVED or self.chance.random() < 0.3:
            self.put_back()

    def due(self, victim: Path) -> bool:
        """Some are touched at once, before a job has entered them, some while it measures or removes."""
        top = victim.relative_to(self.target).parts[0]
        if top not in self.when:
            self.when[top] = time.monotonic() + self.chance.choice([0, 0, self.chance.uniform(0, 2)])
        return time.monotonic() >= self.when[top]

    def victims(self) -> list[Path]:
        """What jobs have in the target, and where this user may look into it, also something of what lies below."""
        paths: list[Path] = []
        for _ in range(DEPTH):
            for folder in [path for path in paths[:MOST] if path.is_dir()] if paths else [self.target]:
                with suppress(OSError):
                    paths += [path for path in folder.iterdir() if self.is_victim(path)][:MOST]
        return paths

    def is_victim(self, path: Path) -> bool:
        """Nothing that it has planted, nor a file of others."""
        at_top = path.parent == self.target
        if path in self.planted or path.is_symlink() or path.name.startswith(PRECIOUS):
            return False
        return not at_top or path.name.startswith(self.prefixes)

    def move_away(self, victim: Path) -> Path:
        self.number += 1
        to = self.target / f"{MOVED}{os.getpid()}-{self.number}"
        victim.rename(to)
        self.moved.append((victim, to))
        return to

    def put_back(self) -> None:
        """In the place of whatever of this user is there now."""
        if not self.moved:
            return
        victim, to = self.moved.pop(self.chance.randrange(len(self.moved)))
        with suppress(OSError):
            if victim.is_symlink() or victim.is_file():
                victim.unlink()
            to.rename(victim)

    def link(self, victim: Path) -> None:
        self.move_away(victim)
        victim.symlink_to(self.outside)

    def link_briefly(self, victim: Path) -> None:
        for _ in range(self.chance.choice([10, 100, 1000])):
            to = self.move_away(victim)
            victim.symlink_to(self.outside)
            self.act_counts["swap with a link and back"] += 1
            victim.unlink()
            self.moved.pop()
            to.rename(victim)

    def own_directory(self, victim: Path) -> None:
        """With links and a fifo of the names that a job opens."""
        self.move_away(victim)
        self.planted.add(victim)
        victim.mkdir()
        victim.chmod(0o777)
        for name in NAMES:
            (victim / name).symlink_to(self.outside / name)

    def file(self, victim: Path) -> None:
        self.move_away(victim)
        self.planted.add(victim)
        victim.write_text("of somebody else\n")

    def fifo(self, victim: Path) -> None:
        self.move_away(victim)
        self.planted.add(victim)
        os.mkfifo(victim)

    def foreign(self, victim: Path) -> None:
        """A directory that others have in the target."""
        self.move_away(victim)
        foreign = self.target / self.chance.choice(FOREIGN)
        foreign.rename(victim)
        self.moved.append((foreign, victim))

    def remove(self, victim: Path) -> None:
        if victim.is_symlink() or not victim.is_dir():
            victim.unlink()
        elif not any(name.startswith(PRECIOUS) for _, _, names in os.walk(victim) for name in names):
            shutil.rmtree(victim)

    def move(self, victim: Path) -> None:
        self.move_away(victim)

    def guess(self, victim: Path) -> None:
        """The names that would come next if they were counted, and those of files that show what nodes see."""
        token = victim.name.rpartition("-")[2]
        for step in range(1, 20):
            with suppress(ValueError, OSError):
                name = self.target / f"campaign-{int(token, 16) + step:08x}"
                name.symlink_to(self.outside)
        with suppress(OSError):
            deep = self.target / f".deep-{os.getpid()}"
            for _ in range(50):
                deep.mkdir(exist_ok=True)
                deep /= "deep"
        job = self.chance.randrange(1, 60)
        for number in range(20):
            with suppress(OSError):
                (self.target / f".campaign-{job}-{number}").symlink_to(self.outside / "owner")
        with suppress(OSError):
            (self.target / f".campaign-probe-{job}").symlink_to(self.outside / "owner")


def main(target: str, outside: str, prefixes: str, seed: str, report: str) -> int:
    signals: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: signals.append(number))
    attacker = Attacker(Path(target), Path(outside), tuple(prefixes.split(",")), random.Random(seed))
    while not signals:
        attacker.step()
    Path(report).write_text(json.dumps(attacker.act_counts))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
