"""The rules about the system: its description, and whether it stayed the same during the campaign. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from campaign.config.system import ADMINISTRATOR_TUNING, CONTACT, SYSTEM, USER_TUNING, gaps, placeholder
from campaign.core.model import Finding
from campaign.core.units import listed, several
from campaign.judge.findings import at_full_size, cut, doubt, note, to_explain, unchecked, violation
from campaign.judge.submission import Submission
from campaign.results.case import Case
from campaign.results.environment.facts import Environment

MEMORY_SHARE = 0.02  # relative difference in memory of equal nodes, reserved by firmware
# Facts that change with time, and variables that identify the job and the login: they differ between jobs without any
# change of the system.
_PASSING = ("state.", "zone")
_OF_THE_JOB = ("SLURM", "SBATCH_", "BENCH_", "PMIX_SERVER", "PATH", "TMPDIR", "LANG", "LC_ALL", "TZ")
# Variables by which a user tunes MPI, the network or the loader.
_TUNES = re.compile(
    r"(?:OMPI_MCA|PRTE_MCA|PMIX_MCA|UCX|FI|I_MPI|MPICH|MV2|PSM2?|HFI|NCCL|MALLOC|GLIBC|LUSTRE|DARSHAN|GPFS)_\w+"
    r"|LD_(?:PRELOAD|AUDIT|BIND_NOW)|ROMIO_HINTS"
)
_LOCAL = frozenset({"tmpfs", "ramfs", "ext2", "ext3", "ext4", "xfs", "btrfs", "overlay", "f2fs", "jfs"})
# Names of file systems in descriptions, by their type in a mount table; others by their type.
_NAMES: Mapping[str, tuple[str, ...]] = {
    "gpfs": ("gpfs", "spectrum scale", "storage scale", "ess"),
    "nfs": ("nfs", "vast", "isilon", "powerscale", "netapp", "flashblade", "qumulo", "hammerspace", "ganesha"),
    "nfs4": ("nfs", "vast", "isilon", "powerscale", "netapp", "flashblade", "qumulo", "hammerspace", "ganesha"),
    "beegfs": ("beegfs", "fhgfs", "beeond"),
    "wekafs": ("weka",),
    "panfs": ("panfs", "panasas", "activestor", "vdura"),
    "lustre": ("lustre", "exascaler", "clusterstor", "sfa"),
    "glusterfs": ("gluster",),
    "ceph": ("ceph",),
    "dfuse": ("daos",),
    "daos": ("daos",),
    "cvmfs2": ("cvmfs",),
    "orangefs": ("orangefs", "pvfs"),
    "quobyte": ("quobyte",),
    "smb3": ("smb", "cifs"),
    "cifs": ("smb", "cifs"),
    "juicefs": ("juicefs",),
    "ext2": ("ext2", "ext4", "ext3"),
    "zfs": ("zfs",),
}
_OF_THE_TARGET = ("mount.", "fs.", "nfs.", "lustre.", "beegfs.", "gluster.")
# Of file systems without a device of their own, such as network file systems: each kernel numbers its mounts itself.
_ANONYMOUS = "0:"


def described(submission: Submission) -> Iterator[Finding]:
    """ENV-01: the system, the contact and each target are described; in a rehearsal, gaps are only noted."""
    campaign, lacks = submission.campaign, at_full_size(violation, submission.full)
    entries = [*gaps("system", campaign.system, SYSTEM), *gaps("contact", campaign.contact, CONTACT)]
    for target in campaign.targets:
        if asked := placeholder(target.description):
            entries.append((f"description of target {target.name}", asked))
    if missing := [key for key, asked in entries if not asked]:
        yield lacks("the system description is incomplete", "a description of each", f"none of {', '.join(missing)}")
    if left := [f"{key}{'' if asked[0] == '<' else f' ({asked})'}" for key, asked in entries if asked]:
        yield lacks("the system description still has placeholders", "a description of each", ", ".join(left))
    email = dict(campaign.contact).get("email", "@")
    if "@" not in email and not placeholder(email):
        yield lacks("contact.email is not an e-mail address", "name@domain", email)


def tuning_split(submission: Submission) -> Iterator[Finding]:
    """ENV-02: tuning by users and tuning by administrators are listed separately."""
    known = dict(submission.campaign.system)
    user, administrator = known.get(USER_TUNING, ""), known.get(ADMINISTRATOR_TUNING, "")
    lacking = [key for key in (USER_TUNING, ADMINISTRATOR_TUNING) if placeholder(known.get(key, ""))]
    if lacking:
        keys = " and ".join(lacking)
        yield doubt(submission.full)("system: {keys} not filled in", "a description, or the word none", keys=keys)
    elif user.strip() == administrator.strip() and user.strip().lower() not in ("none", "nothing"):
        yield doubt(submission.full)(
            "the same tuning is given for users and for administrators", "different entries", user
        )
    told = " ".join(text for _, text in submission.campaign.system).casefold()
    names: set[str] = set()
    environments = [case.evidence.environment for case in submission.results]
    for environment in {id(each): each for each in environments}.values():  # attempts share their job's environment
        of_ranks = (name.removeprefix("env.") for name in environment.under("env."))
        names |= {*environment.variables, *of_ranks}.difference(environment.set_by_slurm)
    names -= {name for name, _ in submission.campaign.slurm.environment}
    unsaid = sorted(name for name in names if _TUNES.fullmatch(name) and name.casefold() not in told)
    if unsaid:
        yield doubt(submission.full)(
            "tuning variables of MPI, network or loader were set, but are not in the system description",
            "named under system (tuning by users) or slurm.environment",
            listed(unsaid),
        )


# --- ENV-04


def file_system_as_declared(submission: Submission) -> Iterator[Finding]:
    """ENV-04: the file system mounted at each target is the one that the campaign file describes."""
    written = [case for case in submission.results if any("{directory}" in word for word in case.run.arguments)]
    by_target = mounted(written)
    file_system = dict(submission.campaign.system).get("file system", "")
    for target in submission.campaign.targets:
        about, cases = f"{target.name}/*/*/*", [case for case in written if case.run.target == target.name]
        described = [text for text in (file_system, target.description) if text and not placeholder(text)]
        kinds = by_target.get(target.name, {})
        if cases and not kinds:
            yield unchecked("the file system of {target} was not recorded", about=about, target=target.name)
        elif kinds and not described:
            form = unchecked if submission.full else note
            yield form(
                "the file system of {target} is not described; fill in 'file system' under system, or the target's "
                "description (the nodes mounted {found})",
                about=about,
                target=target.name,
                found=listed(kinds),
            )
        elif kinds:
            yield from _as_described(submission, target.name, cases, kinds, described)


def mounted(cases: Iterable[Case]) -> dict[str, dict[str, None]]:
    """The types of the file systems of each target, from the mount tables of the nodes that measured it."""
    types: dict[str, dict[str, None]] = {}
    for case in cases:
        types.setdefault(case.run.target, {}).update(dict.fromkeys(case.evidence.environment.values("mount.type")))
    return types


def _as_described(
    submission: Submission, target: str, cases: Sequence[Case], kinds: Iterable[str], described: Sequence[str]
) -> Iterator[Finding]:
    text = " ".join(described).casefold()
    for kind in kinds:
        if any(name in text for name in names_of(kind)):
            continue
        # A node's own file system under the name of a shared one is a different storage.
        wrong = kind in _LOCAL and any(case.run.geometry.nodes > 1 for case in cases)
        form = at_full_size(violation if wrong else to_explain, submission.full)
        yield form(
            "the file system mounted for {target} is not the described one",
            cut(described[0]),
            kind,
            about=f"{target}/*/*/*",
            target=target,
        )


def names_of(kind: str) -> tuple[str, ...]:
    """Names by which a file system of that type may be described."""
    return _NAMES.get(kind.removeprefix("fuse."), (kind.removeprefix("fuse."),))


# --- ENV-03


@dataclass(frozen=True, slots=True)
class _Stated:
    """What one job's environment reports about one item on one node ("" if about the whole job)."""

    text: str
    node: str
    attempts: tuple[str, ...]


def unchanged(submission: Submission) -> Iterator[Finding]:
    """ENV-03: kernel, settings, mounts, executable and libraries did not change, and are the same on all nodes."""
    jobs, without = _jobs(submission.results)
    if without:
        yield unchecked(
            "environment not recorded for {attempts} (first: {first})",
            attempts=several(len(without), "attempt"),
            first=without[0],
        )
    yield from _silent(jobs)
    for name, statements in _differing(jobs).items():
        changed = _changed(name, statements)
        if changed:
            before, after = changed
            told_of = _said(before, attempts=True), _said(after, attempts=True)
            yield to_explain("{name} changed during the campaign", *told_of, name=name)
        else:
            alike = [sum(_same(name, statement.text, other.text) for other in statements) for statement in statements]
            usual = statements[alike.index(max(alike))]
            others = [statement for statement in statements if not _same(name, statement.text, usual.text)]
            differing = "; ".join(dict.fromkeys(_said(statement, attempts=False) for statement in others[:4]))
            yield to_explain("{name} differs between nodes", _said(usual, attempts=False), differing, name=name)


def _silent(jobs: Sequence[_Job]) -> Iterator[Finding]:
    """Nodes of which nothing, or not everything, is recorded."""
    told: dict[tuple[str, str], list[str]] = {}
    for environment, _, _, attempts in jobs:
        if environment.recorded and environment.silent:
            key = listed(environment.silent), next(iter(environment.problems), "")
            told.setdefault(key, []).extend(attempts)
    for (nodes, why), names in told.items():
        counted, reason = several(len(names), "attempt"), f": {why}" if why else ""
        yield unchecked(
            "environment of {nodes} not recorded in {attempts} (first: {first}){why}",
            nodes=nodes,
            attempts=counted,
            first=names[0],
            why=reason,
        )


_Job = tuple[Environment, str, str, tuple[str, ...]]  # with target, executable and the attempts that share it


def _jobs(results: Sequence[Case]) -> tuple[list[_Job], list[str]]:
    """The recorded environments with the attempts that share each, in the order of time; and attempts without one."""
    shared: dict[tuple[int, str, str], list[str]] = {}
    environments: dict[int, Environment] = {}
    without = []
    for result in sorted(results, key=lambda result: result.attempt.started or 0.0):
        environment, name = result.evidence.environment, result.subject
        if not environment.recorded:
            without.append(name)
        else:
            environments[id(environment)] = environment
            shared.setdefault((id(environment), result.run.target, result.run.executable), []).append(name)
    return [
        (environments[key], target, executable, tuple(names)) for (key, target, executable), names in shared.items()
    ], without


def _differing(jobs: Sequence[_Job]) -> dict[str, list[_Stated]]:
    """The items that differ between jobs or nodes, in the order in which jobs report them."""
    texts: dict[str, list[str]] = {}
    for environment, target, executable, _ in jobs:
        for name, values in (*_of_nodes(environment, target, executable), *_of_job(environment, target)):
            known = texts.setdefault(name, [])
            for text in values:
                if not any(_same(name, text, other) for other in known):
                    known.append(text)
    differing: dict[str, list[_Stated]] = {name: [] for name, values in texts.items() if len(values) > 1}
    for environment, target, executable, attempts in jobs if differing else ():
        for name, values in (*_of_nodes(environment, target, executable), *_of_job(environment, target)):
            if name in differing:
                nodes = environment.by_node(name.rpartition(" of ")[0] or name)
                if nodes:
                    differing[name] += [_Stated(text, node, attempts) for node, text in nodes.items()]
                else:
                    differing[name] += [_Stated(text, "", attempts) for text in values]
    return differing


def _of_nodes(environment: Environment, target: str, executable: str) -> Iterator[tuple[str, Sequence[str]]]:
    """Items about nodes that must not change, each with the reported values."""
    for name in environment.facts:
        if name.startswith(_PASSING):
            continue
        of = target if name.startswith(_OF_THE_TARGET) else executable if name.startswith(("exec", "library.")) else ""
        yield f"{name} of {of}" if of else name, environment.values(name)


def _of_job(environment: Environment, target: str) -> Iterator[tuple[str, Sequence[str]]]:
    """The same for items that a job reports once for all its nodes."""
    for name, text in environment.software.items():
        yield f"version of {name}", (text,)
    for name, text in environment.storage.items():
        yield f"{name} ({target})", (text,)
    for name, text in environment.variables.items():
        if not name.startswith(_OF_THE_JOB):
            yield f"variable {name}", (text,)


def _changed(name: str, statements: Sequence[_Stated]) -> tuple[_Stated, _Stated] | None:
    """The first two different values that one node reported, in the order of time."""
    first: dict[str, _Stated] = {}
    for statement in statements:
        earlier = first.setdefault(statement.node, statement)
        if not _same(name, earlier.text, statement.text):
            return earlier, statement
    return None


def _same(name: str, first: str, second: str) -> bool:
    if first == second:
        return True
    if name.startswith("mount.device of "):
        return first.startswith(_ANONYMOUS) and second.startswith(_ANONYMOUS)
    if name != "memory.total":
        return False
    sizes = [text.split()[0] for text in (first, second) if text]
    if len(sizes) < 2 or not all(size.isdigit() for size in sizes):
        return False
    low, high = sorted(int(size) for size in sizes)
    return high - low <= MEMORY_SHARE * high


def _said(statement: _Stated, attempts: bool) -> str:
    where = [f"on {statement.node}"] if statement.node else []
    if attempts:
        more = len(statement.attempts) - 1
        where.append(f"in {statement.attempts[0]}" + (f" and {more} more" if more else ""))
    return f"{cut(statement.text)} ({', '.join(where)})" if where else cut(statement.text)
