"""State of the fake cluster: a JSON file for each job in $FAKE_SLURM/jobs, faults switched on by files in `faults/`.

A fault's file holds its text (a message, a number of seconds). `NAME` stays on, `NAME.once` strikes one time.
"""

# pathlib takes longer to load than a command takes to answer.
# ruff: noqa: PTH104, PTH110, PTH123, PTH208

import fcntl
import json
import os
import re
import sys
import time

ROOT = os.environ["FAKE_SLURM"]
ENDED = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY")
NODES = 4


def fault(name):
    """The text of a fault that is on, else None."""
    path = f"{ROOT}/faults/{name}"
    try:
        with open(path) as file:
            return file.read()
    except FileNotFoundError:
        pass
    mine = f"{path}.{os.getpid()}"
    try:
        os.rename(f"{path}.once", mine)
    except FileNotFoundError:
        return None
    with open(mine) as file:
        return file.read()


def hold(name):
    """Wait until the test takes away `faults/NAME.held`."""
    path = f"{ROOT}/faults/{name}.held"
    with open(path, "w"):
        pass
    while os.path.exists(path):
        time.sleep(0.02)


class locked:
    def __enter__(self):
        self.file = open(f"{ROOT}/lock", "w")
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def __exit__(self, *_):
        self.file.close()


def new_job(begin, **values):
    """`begin` is given its number; the job is known once that is done, however soon its sbatch is killed then."""
    with locked():
        number = str(len(os.listdir(f"{ROOT}/jobs")) + 101)
        begin(number)
        _write({"id": number, "state": "PENDING", "reason": "None", "submitted": time.time(), "exit": 0, **values})
    return number


def change(number, **values):
    with locked():
        job = load(number)
        job.update(values)
        _write(job)
        return job


def load(number):
    with open(f"{ROOT}/jobs/{number}.json") as file:
        return json.load(file)


def _write(job):
    path = f"{ROOT}/jobs/{job['id']}.json"
    with open(f"{ROOT}/new", "w") as file:
        json.dump(job, file)
    os.rename(f"{ROOT}/new", path)


def all_jobs():
    """Every job that there ever was, by id."""
    numbers = sorted(int(name.removesuffix(".json")) for name in os.listdir(f"{ROOT}/jobs"))
    return [load(number) for number in numbers]


def remembered(job):
    """Whether slurmctld still knows a job: an ended one is forgotten at once where the fault `forgets` is on."""
    return not (job["state"] in ENDED and fault("forgets") is not None) and fault("vanish") is None


def options(arguments, flags=()):
    """({name: value}, rest) of --name=value and --name."""
    values, other_arguments = {}, []
    for position, word in enumerate(arguments):
        if not word.startswith("--"):
            other_arguments = arguments[position:]
            break
        name, _, value = word[2:].partition("=")
        values[name] = value
    return values, other_arguments


def fail(text, status=1):
    print(text, file=sys.stderr)
    sys.exit(status)


def fill_format(template, values):
    """A --format of squeue or sinfo with these values; an empty one as Slurm prints it."""
    return re.sub("%([A-Za-z])", lambda match: values[match[1]], template)


def trouble(command):
    """The faults that every command can have."""
    seconds = fault(f"{command}-hangs")
    if seconds is not None:
        time.sleep(float(seconds or 60))
    text = fault(f"{command}-fails")
    if text is not None:
        fail(text or f"{command}: error: Unable to contact slurm controller (connect failure)")
    text = fault(f"{command}-garbage")
    if text is not None:
        print(text)
        sys.exit(0)
