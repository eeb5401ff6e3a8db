"""Checks the directories and programs that a campaign names, as far as this machine can: the nodes may see more.

Mistakes are reported like those of the schema, with the place in the campaign file.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from campaign.config import init
from campaign.config.definition import Definition
from campaign.config.format import Campaign
from campaign.config.values import forbidden_reason
from campaign.core.errors import InputError
from campaign.core.outputs import identity
from campaign.core.paths import Paths
from campaign.core.runs import Run
from campaign.core.strict_yaml import Place, path_text
from campaign.slurm import partitions

LONGEST_DATABASE = 504  # bytes of its path: SQLite allows 512 for that of its journal


@dataclass(frozen=True, slots=True)
class Mistake:
    """What is wrong with the value at a place of the campaign file."""

    at: Place
    text: str


def refusal(campaign: Campaign, mistakes: Iterable[Mistake]) -> InputError:
    """An error with all of them, each with file:line:column and key, in the order of the file."""
    distinct = list(dict.fromkeys(mistakes))
    if campaign.document is None:
        return InputError(*(f"{path_text(mistake.at)}: {mistake.text}" for mistake in distinct))
    document = campaign.document.with_root(campaign.document.root)
    for mistake in distinct:
        document.problem(mistake.at, mistake.text)
    try:
        document.finish()
    except InputError as error:
        return error
    return InputError()


def mistakes(definition: Definition) -> Iterator[Mistake]:
    for index, target in enumerate(definition.campaign.targets):
        if not target.is_in_job and (problem := _target_problem(target.directory)):
            yield Mistake(("targets", index, "directory"), problem)
    yield from _overlapping_targets(definition.campaign)
    if problem := _results_problem(definition.paths):
        yield Mistake(("results",), problem)


def site() -> init.Site:
    """What `campaign init` can find out about this cluster."""
    partition = partitions.at_hand()
    candidates = ("$SCRATCH", "$CAMPAIGN_SCRATCH", "/scratch/$USER")
    existing = (path for path in candidates if os.path.isdir(os.path.expandvars(path)))  # noqa: PTH112
    directory = next(existing, init.DIRECTORY)
    if partition is None or not partition.usable:
        return init.Site(directory=directory)
    return init.Site(partition.name, partition.cores_per_node, directory, partition.usable)


def _target_problem(directory: str) -> str:
    """Why the benchmark cannot work in a directory; "" if it can, or if only the nodes can tell."""
    if directory == init.DIRECTORY:
        return f"still the placeholder {directory}; name a directory that all nodes see"
    if where := forbidden_reason(directory, resolve=True):
        return f"{directory} resolves to {where}; name another directory"
    if os.path.isdir(directory):  # noqa: PTH112  # never raises, as Path.is_dir does
        cause, number = _write_problem(directory)
        # The submit host may see it read-only.
        return (
            f"{directory} is not writable: {cause}; name another directory" if cause and number != errno.EROFS else ""
        )
    if os.path.lexists(directory):
        return directory_is_a_file(directory)
    return (
        f"{directory} does not exist; create it where all nodes see it"
        if _is_missing_everywhere(Path(directory))
        else ""
    )


def missing_targets(definition: Definition) -> Iterator[str]:
    """Remarks on targets that this machine does not see: the nodes may."""
    for index, target in enumerate(definition.campaign.targets):
        if not target.is_in_job and not os.path.lexists(target.directory):
            yield (
                f"targets[{index}].directory: {target.directory} does not exist on this machine; unless the nodes have "
                "it, all runs fail: 'campaign plan --probe' looks for it there"
            )


def targets_in_jobs(definition: Definition, runs: Iterable[Run]) -> Iterator[str]:
    """Remarks on runs of several nodes on a target that exists only in a job, which each node may have for itself."""
    for index, target in enumerate(definition.campaign.targets):
        launches = dict.fromkeys(
            run.launch for run in runs if run.target == target.name and run.job_nodes > 1 and target.is_in_job
        )
        if launches:
            yield (
                f"targets[{index}].directory: {target.directory} exists only in a job; where each node has its own, "
                f"jobs of several nodes measure nothing: {', '.join(launches)}"
            )


def _is_missing_everywhere(directory: Path) -> bool:
    """Whether a directory that is missing here is surely missing on the nodes too. Its file system may be mounted only
    there: then here is nothing, or an empty directory, below the mount point.
    """
    parent = directory.parent
    try:
        mounted = parent.stat().st_dev != Path("/").stat().st_dev
        return mounted or (len(parent.parts) > 2 and next(parent.iterdir(), None) is not None)
    except OSError:
        return False


def _overlapping_targets(campaign: Campaign) -> Iterator[Mistake]:
    lines = [_ancestry(target.directory) for target in campaign.targets]
    for index, target in enumerate(campaign.targets):
        for earlier, other in enumerate(campaign.targets[:index]):
            if target.is_in_job or other.is_in_job:
                continue
            if lines[index][0] in lines[earlier] or lines[earlier][0] in lines[index]:
                problem = (
                    f"{target.directory} resolves to {os.path.realpath(target.directory)}, which shares files with "
                    f"{os.path.realpath(other.directory)} of target {other.name}; name separate directories"
                )
                yield Mistake(("targets", index, "directory"), problem)


def _ancestry(directory: str) -> list[tuple[int, int] | Path]:
    """A directory and those above it, each by its device and inode, which links and bind mounts do not change; by its
    path if it is missing here.
    """
    path = Path(os.path.realpath(directory))
    return [identity(place) or place for place in (path, *path.parents)]


def _results_problem(paths: Paths) -> str:
    """Why the results cannot be stored where the campaign file says."""
    ancestor = nearest_existing_path(paths.root)
    if not os.path.isdir(ancestor):  # noqa: PTH112
        return directory_is_a_file(ancestor)
    if (length := len(os.fsencode(os.path.realpath(paths.database)))) > LONGEST_DATABASE:
        return (
            f"the path of {paths.database.name} there has {length} bytes; allowed: {LONGEST_DATABASE} (SQLite); name a "
            "directory with a shorter path"
        )
    cause, _ = _write_problem(ancestor)
    return f"{paths.root.parent} cannot be created: {cause}; name another directory" if cause else ""


def nearest_existing_path(path: Path) -> Path:
    """It, or the nearest directory above it that exists."""
    while not os.path.lexists(path):
        path = path.parent
    return path


def directory_is_a_file(path: object) -> str:
    return f"{path} is not a directory; name a directory"


def _write_problem(directory: str | Path) -> tuple[str, int]:
    """Why nothing can be created in a directory, with the error's number; tested by creating a directory in it."""
    try:
        os.rmdir(tempfile.mkdtemp(prefix=".campaign-", dir=directory))  # noqa: PTH106
    except OSError as error:
        return error.strerror or str(error), error.errno or 0
    return "", 0


# --- whether a file can be the benchmark's program on the nodes

PLACEHOLDER = re.compile(r"<(?! )[^<>]*(?<! )>")  # as `campaign init` writes what is to be replaced
# e_machine of an ELF file, with the name that `uname -m` has for it.
_MACHINES = {3: "i686", 20: "ppc", 21: "ppc64", 22: "s390x", 40: "arm", 62: "x86_64", 183: "aarch64", 243: "riscv64",
             258: "loongarch64"}  # fmt: skip
_ALSO = {("i686", "x86_64"), ("ppc64", "ppc64le"), ("arm", "aarch64")}  # what also runs on another kind of machine


def execution_problem(program: Path) -> str:
    """Why a file cannot be executed on any machine; "" if it can."""
    if program.is_dir():
        return f"{program} is a directory; name the program in it"
    if not program.exists():
        if PLACEHOLDER.fullmatch(program.name):
            return placeholder_problem(program.name)
        return f"{program} not found; build it or correct the path"
    if not os.access(program, os.X_OK):
        return f"{program} is not executable by this user; make it so (chmod +x)"
    head = _first_bytes(program)
    if head and not head.startswith((b"\x7fELF", b"#!")):
        return f"{program} is neither an ELF program nor a script with #!; name the benchmark's program"
    return ""


def placeholder_problem(placeholder: object) -> str:
    return f"still a placeholder: {placeholder}; fill it in"


def benchmark_problem(program: Path, prefix: Sequence[str]) -> str:
    """Why a file cannot be the benchmark after the words of `launcher.prefix`; "" if it can."""
    if problem := execution_problem(program):
        return problem
    interpreter = _interpreter(program)
    return (
        ""
        if not interpreter or _has_word(interpreter, prefix)
        else (
            f"{program} is a script of {interpreter}, which can start any program; if it starts the benchmark, "
            "name the benchmark's program here and the script under launcher.prefix; if it is the benchmark itself, "
            f"put {interpreter} under launcher.prefix"
        )
    )


def image_problem(image: str) -> str:
    """Why a container image cannot be used; "" if it can, or if it is no path, so that only its runtime can tell."""
    missing = image.startswith("/") and not Path(image).exists()
    return f"{image} not found; build the image or correct the path" if missing else ""


def _interpreter(program: Path) -> str:
    """The interpreter in the first line of a script; "" for other files."""
    head = _first_bytes(program, 256)
    words = head.split(b"\n")[0][2:].decode("utf-8", "replace").split() if head.startswith(b"#!") else []
    word = words[1] if len(words) > 1 and words[0].endswith("/env") else next(iter(words), "")
    return shutil.which(word) or word


def _has_word(program: str, prefix: Sequence[str]) -> bool:
    """Whether one of the words before a script is its interpreter."""
    programs = (shutil.which(word) or word for word in prefix)
    return os.path.realpath(program) in map(os.path.realpath, programs)


def foreign_machine(program: Path) -> str:
    """Target architecture, if it is not this machine's; "" otherwise."""
    head, this_machine = _first_bytes(program), os.uname().machine
    if not head.startswith(b"\x7fELF") or len(head) < 20:
        return ""
    number = int.from_bytes(head[18:20], "big" if head[5] == 2 else "little")
    name = _MACHINES.get(number, f"machine {number}")
    return "" if can_run_on(name, this_machine) else name


def can_run_on(built_for: str, machine_type: str) -> bool:
    return built_for == machine_type or (built_for, machine_type) in _ALSO


def _first_bytes(program: Path, length: int = 20) -> bytes:
    """The beginning of a file; empty if it may be executed but not read."""
    try:
        with program.open("rb") as file:
            return file.read(length)
    except OSError:
        return b""
