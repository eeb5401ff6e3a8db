"""Whole jobs on a target in which somebody else renames, links, plants and removes: `python -m tests.hostile`.

A campaign runs on a sandbox, first while another user who may write in its target is at work there, then while one is
who has the rights of the jobs themselves (tests/support/attacker.py). In every round what failed runs again: two in
which the attempts' directories are attacked, one of the lock, one of all; and more, until HOSTILE_JOBS=40 jobs have
begun with each attacker. Then nobody disturbs, and the campaign must be measured to its end.

At the end of each part everything is as it was that campaign did not create: 200 files outside the target to which
the links lead, and those that others have in the target. Content, inode, mode, owner and time are compared, and every
attempt has ended with a state and, where it failed, with a reason. What a benchmark creates below a link that it
follows is counted: it opens what lies in the target by path, as SECURITY.md says. SEED= sets the order of the acts.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from campaign.sandbox.cluster import Sandbox
from campaign.sandbox.layout import Shape
from tests.support import attacker
from tests.support.cases import Case, make_case

JOBS = 40
FILES = 200
NOBODY = 65534
LONGEST = 600  # seconds of one `campaign run`
ROUNDS = ("campaign-", "campaign-", ".campaign-lock", "campaign-,.campaign")  # beginnings of what is attacked
KILLED = 0.04  # probability, in each second of a round
READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
LAST_RUNS = 3  # that nobody disturbs: each attempt may be tried again

Facts = dict[int, tuple[bytes, int, int, int]]  # of files, by inode: content, mode, owner, time of the last change


def facts(top: Path) -> Facts:
    """Of the regular files below a directory, links not followed."""
    facts_by_inode: Facts = {}
    for folder, _, names in os.walk(top):
        for path in (Path(folder) / name for name in names):
            if path.is_file() and not path.is_symlink():
                status = path.stat()
                facts_by_inode[status.st_ino] = (path.read_bytes(), status.st_mode, status.st_uid, status.st_mtime_ns)
    return facts_by_inode


def fill(folder: Path, owner: int = 0) -> Facts:
    """A directory of files, one of them in a directory of its own."""
    lower_path = folder / f"{attacker.PRECIOUS}.below"
    lower_path.mkdir(parents=True)
    for number in range(FILES):
        (folder / f"{attacker.PRECIOUS}.{number}" if number else lower_path / f"{attacker.PRECIOUS}.0").write_text(
            f"{folder.name} {number}\n"
        )
    for path in (folder, *folder.rglob("*")):
        os.chown(path, owner, owner)
    return facts(folder)


@contextmanager
def attack(case: Case, outside: Path, user: int, prefixes: str, seed: str, acts: Counter[str]) -> Iterator[None]:
    """Somebody with the rights of a user is at work in the target."""
    report = case.file.parent / f"attacker-{seed}"
    report.touch()
    os.chown(report, user, user)
    command = [sys.executable, "-I", attacker.__file__, str(case.target), str(outside), prefixes, seed, str(report)]
    # What changes outside, it has not changed: it sees that mounted so that it cannot.
    private = ["unshare", "--mount", "sh", "-c", READ_ONLY, str(outside)]
    process = subprocess.Popen(
        [*private, "setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *command], cwd="/"
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)
        acts.update(json.loads(report.read_text()))


def run(case: Case, chance: random.Random | None, *options: str) -> int:
    """`campaign run`, up to its end; its messages go to the end of the file `drivers`. With `chance` some of its jobs
    are killed under way, and leave their directories on the target.
    """
    with (case.file.parent / "drivers").open("ab") as output:
        process = subprocess.Popen(
            [*case.command("run"), "--keep-going", "--quiet", *options],
            env=case.environment(),
            stdout=output,
            stderr=output,
        )
        end = time.monotonic() + LONGEST
        try:
            while process.poll() is None:
                assert time.monotonic() < end, f"the driver is at work after {LONGEST} s"
                time.sleep(1)
                if chance and chance.random() < KILLED:
                    with suppress(subprocess.SubprocessError):  # Slurm does not answer, or the job has ended
                        for job in case.slurm("squeue", "--noheader", "--states=running", "--format=%A").split():
                            case.slurm("scancel", "--signal=KILL", "--full", job)
            return process.returncode
        finally:
            process.kill()


def is_ours(status: os.stat_result) -> bool:
    """As jobs create their directories; one of somebody else may have got the number of one that is gone."""
    return stat.S_ISDIR(status.st_mode) and status.st_uid == 0 and stat.S_IMODE(status.st_mode) == 0o700


def jobs_ended(case: Case) -> int:
    """Jobs that have begun."""
    return len(list(case.results.glob("jobs/*/stdout")))


def home(target: Path, folders: dict[int, Path]) -> None:
    """Puts the directories that others have in the target back to their names."""
    for folder, names, _ in os.walk(target):
        for path in (Path(folder) / name for name in names):
            place = folders.get(path.lstat().st_ino)
            if place not in (None, path):
                if place.is_symlink() or place.exists():
                    remove(place)
                path.rename(place)
                return home(target, folders)
    return None


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def tidy(outside: Path, known_files: Facts) -> int:
    """Removes what the benchmark has created outside by following a link; how many entries that were."""
    strange = [
        path
        for path in outside.rglob("*")
        if not path.name.startswith(attacker.PRECIOUS) and path.lstat().st_ino not in known_files
    ]
    for path in reversed(strange):
        remove(path)
    return len(strange)


def part(folder: Path, sandbox: Sandbox, user: int, seed: int, most_jobs: int) -> list[str]:
    """A campaign under attack, and then without; what is wrong."""
    name = "other" if user else "same"
    outside, target = folder / f"outside-{name}", folder / f"target-{name}"
    target.mkdir()
    target.chmod(0o777)
    fill(outside)
    (outside / "owner").write_text("of nobody's lock\n")  # a name that jobs use
    expected = {outside: facts(outside)}
    before = {target: fill(target / "foreign-ours") | fill(target / "foreign-theirs", NOBODY)}
    homes = {path.stat().st_ino: path for path in target.iterdir()}
    chance = random.Random(seed)
    case = make_case(folder, sandbox, name, items=512, target=target, limit="1m", allocation="run", launch_max="all")
    acts, statuses, rounds, began = Counter[str](), Counter[int](), 0, time.monotonic()
    while rounds < len(ROUNDS) or jobs_ended(case) < most_jobs:
        with attack(case, outside, user, ROUNDS[rounds % len(ROUNDS)], f"{seed}-{name}-{rounds}", acts):
            statuses[run(case, chance, *(["--failed"] if rounds else []))] += 1
        rounds += 1
        home(target, homes)
        for path in target.glob(".campaign*"):  # as whoever planted it would be asked to
            remove(path)
    problems = changed_files(expected) + changed_files(before)
    linked_entries = tidy(outside, expected[outside])
    jobs = jobs_ended(case)
    outcomes = Counter(record["outcome"] for record in case.completions())
    reasons = Counter(record["reason"].split(": ")[-1] for record in case.completions() if record["outcome"] != "done")
    unexplained = [
        record["run"] for record in case.completions() if record["outcome"] != "done" and not record["reason"]
    ]
    states = json.loads(case.call("status", "--json", status=None))
    for _ in range(LAST_RUNS):
        last = run(case, None, "--failed")
        if last == 0:
            break
    rows = case.table(status=None)
    measured = sum(row["status"] == "measured" for row in rows)
    inodes = {path.read_text().strip() for path in case.results.glob("runs/*/*/directory-made")}
    ours = [path for path in target.iterdir() if str(path.lstat().st_ino) in inodes and is_ours(path.lstat())]
    left = [path for path in ours if not path.name.startswith(attacker.MOVED)]
    problems += changed_files(expected) + changed_files(before)
    problems += [f"{run} ended without a reason" for run in unexplained]
    problems += [f"{row['run']} has the state {row['state']}" for row in states if row["state"] in ("", None)]
    problems += [f"{measured} of {len(rows)} measured at the end"] if measured != 36 or len(rows) != 36 else []
    problems += [f"left on the target: {name}" for name in left]
    problems += [f"driver ended with {status}" for status in statuses if status not in (0, 1)]
    who = "another user" if user else "the jobs' own user"
    print(f"\n{who}: {jobs} jobs in {rounds} rounds, {(time.monotonic() - began) / 60:.1f} minutes")
    print("  acts:", ", ".join(f"{count} {act}" for act, count in sorted(acts.items())))
    print("  attempts under attack:", ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items())))
    print(*(f"  {count:5} {reason}" for reason, count in reasons.most_common(12)), sep="\n")
    print(
        f"  exit statuses of run: {dict(statuses)}; the last, undisturbed: {last}; {measured} of {len(rows)} measured"
    )
    print(f"  created outside by a benchmark that followed a link: {linked_entries} entries; left under names that")
    print(f"  somebody else gave them: {len(ours) - len(left)} directories of attempts")
    return [f"{who}: {problem}" for problem in problems]


def changed_files(expected: dict[Path, Facts]) -> list[str]:
    """Files that are gone or others now."""
    problems = []
    for top, files in expected.items():
        current = facts(top)
        for inode, fact in files.items():
            if inode not in current:
                problems.append(f"{fact[0].decode().strip()} is gone from {top}")
            elif current[inode] != fact:
                problems.append(f"{fact[0].decode().strip()} of {top} is {current[inode]}, was {fact}")
    return problems


def main() -> int:
    seed, most_jobs = int(os.environ.get("SEED", "0")), int(os.environ.get("HOSTILE_JOBS", JOBS))
    folder = Path(tempfile.mkdtemp(prefix="campaign-hostile-"))
    folder.chmod(0o755)
    sandbox = Sandbox.start(folder / "cluster", Shape(nodes=2, cpus=8), os.getpid())
    try:
        problems = [problem for user in (NOBODY, 0) for problem in part(folder, sandbox, user, seed, most_jobs)]
    finally:
        sandbox.stop()
    if problems:
        print("NOT RIGHT:", *problems[:40], f"kept in {folder}", sep="\n")
        return 1
    shutil.rmtree(folder)
    print("Right: nothing of others was changed or removed, every attempt has a reason, all is measured at the end.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
