"""The rules that compare the description of the system with what the nodes recorded (ENV-01, ENV-04, ENV-05). Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from campaign.config.rules.facts import SIZES
from campaign.config.system import CONTACT, SYSTEM, gaps, placeholder
from campaign.core.findings import Finding, Severity
from campaign.core.grouping import grouped
from campaign.core.units import bound_listing, format_size, listing
from campaign.judge.findings import (
    at_full_size,
    note,
    shorten,
    to_explain,
    to_explain_at_full_size,
    unchecked,
    violation,
)
from campaign.judge.rule import campaign_rule
from campaign.judge.submission import Submission
from campaign.judge.timing import LOCAL
from campaign.results.case import Case
from campaign.results.environment.facts import Environment, recorded_texts

KEPT_BY_FIRMWARE = 0.1  # share of a node's memory, at most
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
_SHARED = tuple(name for kind, names in _NAMES.items() if kind not in LOCAL for name in names)
_OPTIONAL = ("devices", "device_memory", "capacity")  # which not every system has, or not every rule concerns


@campaign_rule(
    "ENV-01",
    "the system description is complete, without placeholders",
    why="a result has no meaning if it is unknown which system was measured",
    remedy="replace every placeholder under system, contact and targets in the campaign file",
    is_fixed_afterwards=True,
)
def check_description(submission: Submission) -> Iterator[Finding]:
    """`system`, `contact` and the targets' descriptions; in a rehearsal noted."""
    campaign, lacks = submission.campaign, at_full_size(violation, submission.full)
    entries = [*gaps("system", campaign.system, SYSTEM), *gaps("contact", campaign.contact, CONTACT)]
    described = ((target.name, placeholder(target.description)) for target in campaign.targets)
    entries += [
        (f"description of target {name}", placeholder_text) for name, placeholder_text in described if placeholder_text
    ]
    if missing := [key for key, placeholder_text in entries if not placeholder_text]:
        yield lacks("the system description is incomplete", "a description of each", f"none of {', '.join(missing)}")
    if left := [
        f"{key}{'' if placeholder_text[0] == '<' else f' ({placeholder_text})'}"
        for key, placeholder_text in entries
        if placeholder_text
    ]:
        yield lacks("the system description still has placeholders", "a description of each", ", ".join(left))
    email = dict(campaign.contact).get("email", "@")
    if "@" not in email and not placeholder(email):
        yield lacks("contact.email is not an e-mail address", "name@domain", email)


# --- ENV-04


@campaign_rule(
    "ENV-04",
    "the file system that the nodes mounted is the one that the campaign file describes",
    why="results of another file system say nothing about the offered one",
    remedy="measure on the offered file system, or correct its description",
    is_always_judged=True,
)
def check_file_system(submission: Submission) -> Iterator[Finding]:
    """The mounted type compared with `system: file system` and the target's description. A node-local one (tmpfs, ext4,
    xfs …) described as shared is a violation on several nodes at full size; any other unnamed type: W; in a
    rehearsal noted. A text that names a shared file system describes no node-local one.
    """
    cases_with_files = [
        case for case in submission.results if any("{directory}" in word for word in case.run.arguments)
    ]
    by_target = mounted_types(cases_with_files)
    file_system = dict(submission.campaign.system).get("file system", "")
    for target in submission.campaign.targets:
        pattern, cases_of_target = (
            f"{target.name}/*/*/*",
            [case for case in cases_with_files if case.run.target == target.name],
        )
        described = [text for text in (file_system, target.description) if text and not placeholder(text)]
        kinds = by_target.get(target.name, [])
        if cases_of_target and not kinds:
            yield unchecked(
                "the file system of {target} was not recorded",
                about=pattern,
                target=target.name,
                remedy="run again, so that jobs record it: campaign run FILE",
            )
        elif kinds and not described:
            yield (unchecked if submission.full else note)(
                "the file system of {target} is not described; fill in 'file system' under system, or the target's "
                "description (the nodes mounted {found})",
                about=pattern,
                target=target.name,
                found=listing(kinds),
            )
        elif kinds:
            yield from _check_mounted_types(submission, target.name, cases_of_target, kinds, described)


def mounted_types(cases: Iterable[Case]) -> dict[str, list[str]]:
    """The types of the file systems of each target, from the mount tables of the nodes that measured it."""
    targets_and_types = (
        (case.run.target, kind) for case in cases for kind in case.evidence.environment.values("mount.type")
    )
    return grouped(dict.fromkeys(targets_and_types))


def _check_mounted_types(
    submission: Submission, target: str, cases: Sequence[Case], kinds: Iterable[str], described: Sequence[str]
) -> Iterator[Finding]:
    for kind in kinds:
        if _is_described(described, kind):
            continue
        # A node's own file system under the name of a shared one is a different storage.
        wrong = kind in LOCAL and any(case.run.geometry.nodes > 1 for case in cases)
        form = at_full_size(violation if wrong else to_explain, submission.full)
        yield form(
            "the file system mounted for {target} is not the described one",
            shorten(described[0]),
            kind,
            about=f"{target}/*/*/*",
            target=target,
        )


def _is_described(texts: Sequence[str], kind: str) -> bool:
    """Whether texts describe a file system of that type. That of a node alone is not described by a text that names a
    shared one too; of several texts the last decides that names a file system.
    """
    names = _NAMES.get(kind.removeprefix("fuse."), (kind.removeprefix("fuse."),))
    if kind not in LOCAL:
        return _is_named(" ".join(texts), names)
    last = next((text for text in reversed(texts) if _is_named(text, (*_SHARED, *LOCAL))), "")
    return _is_named(last, names) and not _is_named(last, _SHARED)


def _is_named(text: str, names: Iterable[str]) -> bool:
    """Whether one of these file systems is in a text, as a word that may have a version: nfsv4, wekafs."""
    pattern = rf"(?<![a-z])(?:{'|'.join(map(re.escape, names))})(?:fs|io|v?\d\S*)?(?![a-z])"
    return re.search(pattern, text.casefold()) is not None


# --- ENV-05


@campaign_rule(
    "ENV-05",
    "the measured system is configured as the proposed one, or each difference is explained",
    why="results of a system with another configuration do not show how the proposed one will perform",
    remedy="explain each difference, measure on the proposed configuration, or correct the entries under proposed",
    severity=Severity.WARNING,
    is_always_judged=True,
)
def check_proposed(submission: Submission) -> Iterator[Finding]:
    """Each field of `proposed`, and texts of `system`, compared with the partition and the nodes' records
    ([how](campaign-file.md#the-proposed-system)); empty fields are noted; in a rehearsal noted.
    """
    fields = asdict(submission.campaign.proposed)
    proposed_fields = {name: value for name, value in fields.items() if value not in (None, "")}
    lacking = [name for name in fields if name not in proposed_fields and name not in _OPTIONAL]
    if lacking and submission.full:
        yield note(
            "proposed system not described under proposed: {names}; not compared with the measured system",
            names=", ".join(lacking),
        )
    environments = [case.evidence.environment for case in submission.results]
    planned = submission.partition
    usable = [str(partition.usable) for partition in (planned.alternatives or (planned,))] if planned else []
    unrecorded = []
    for name, proposed_value in proposed_fields.items():
        of_jobs = list(
            dict.fromkeys(text for environment in environments for text in recorded_texts(environment, name) if text)
        )
        recorded_values = usable if name == "nodes" else of_jobs
        other_values = [text for text in recorded_values if not _is_as_proposed(name, proposed_value, text)]
        if not recorded_values:
            unrecorded.append(name)
        elif other_values:
            label = name.replace("_", " ")
            is_size = name in SIZES
            yield to_explain_at_full_size(submission.full)(
                "the measured system differs from the proposed one: {name}",
                f"{label} {format_size(proposed_value) if is_size else proposed_value}",
                ", ".join(map(_memory_text if is_size else shorten, other_values)),
                name=label,
            )
    yield from _check_contradictions(submission)
    if unrecorded and submission.results:
        yield unchecked("not recorded on the measured system: {names}", names=", ".join(unrecorded))


def _is_as_proposed(field: str, proposed_value: Any, text: str) -> bool:
    """Whether what was recorded of a field is what was proposed."""
    if field in SIZES:
        size = kibibytes(text)
        return size is not None and proposed_value * (1 - KEPT_BY_FIRMWARE) <= size * 1024 <= proposed_value
    if field == "file_system":
        return _is_described([proposed_value], text)
    if field in ("nodes", "cores", "devices"):
        return str(proposed_value) == text
    return all(word in text.casefold() for word in proposed_value.casefold().replace(",", " ").split())


def kibibytes(text: str) -> int | None:
    size = text.partition(" ")[0]
    return int(size) if size.isdigit() else None


def _memory_text(text: str) -> str:
    size = kibibytes(text)
    return shorten(text) if size is None else format_size(size * 1024)


# --- ENV-05: what the description says of the nodes. Only what can be read with certainty is compared: of several
# processors, sizes or adapters in a text it is enough that one fits, and what no node records, such as a product's
# name, contradicts nothing.


_Differs = Callable[[str, str], str]  # of a description and a fact: the words that the fact contradicts, "" if none
_MARKS = re.compile(r"\((?:R|TM)\)|[®™]", re.IGNORECASE)
_FAMILY = r"\b(epyc|xeon|opteron|ryzen|a64fx|altra|graviton|kunpeng|grace|power ?\d+)"
# Four digits behind the family's name, except a series such as 9004 or 8400, or a size.
_MODEL = (
    r"\b(?:epyc|xeon)\b(?:[ -](?!with\b|at\b|and\b|or\b)[a-z]+\b){0,3}[ -]+(?:e\d-)?"
    r"(?!\d00\d|\d\d00)(\d{4})(?!\d| ?(?:[kmgt]i?b|[mg]hz|nodes?|cores?|x)\b)"
)
_DISTRIBUTION = r"\b(rocky|red hat|almalinux|centos|suse|ubuntu|debian|fedora|oracle linux|amazon linux)\b"
_ALIASES = {"rhel": "red hat", "sles": "suse"}
_CORES = re.compile(r"\b(\d+)[ -]?(?:(?:physical|cpu|compute|x86) )?cores?\b")
_MEMORY = re.compile(
    r"(?:\b(\d+) ?[x×*] ?)?\b(\d+(?:\.\d+)?) ?([kmgtp])i?b (?:of )?(?:(?:main|system|node) )?"
    r"(?:memory|ram|dram|l?p?ddr)"
)
_FABRIC_WORDS = re.compile(r"\b(infiniband|[efhnx]dr\d*|omni-?path|slingshot)\b")
_OTHER_NETWORK = re.compile(r"\b(?:ethernet|\d*gbe|roce|tcp|routers?|gateways?)\b")
_OF_FABRIC = ("fabric.", "net.ib", "net.hsn", "net.opa")


def _check_contradictions(submission: Submission) -> Iterator[Finding]:
    """ENV-05: what the description says of the nodes fits what they recorded, or the difference is explained."""
    environments = {
        id(job_environment): job_environment
        for job_environment in (case.evidence.environment for case in submission.results)
    }
    texts = {key: _MARKS.sub("", text) for key, text in submission.campaign.system if not placeholder(text)}
    contradictions = (
        job_environment
        for environment in environments.values()
        for job_environment in _contradictions(texts, environment)
    )
    for (key, words), texts_of_nodes in grouped(
        ((key, words), shorten(text)) for key, words, text in contradictions
    ).items():
        yield to_explain_at_full_size(submission.full)(
            "the description of the system contradicts what the nodes recorded: {key}",
            words,
            bound_listing(dict.fromkeys(texts_of_nodes)),
            key=f"system: {key}",
        )


def _contradictions(texts: Mapping[str, str], environment: Environment) -> Iterator[tuple[str, str, str]]:
    """Keys of the description, each with the words that a node's record contradicts, and that record."""
    for key, fact, differs in _COMPARED:
        for recorded_text in environment.values(fact):
            if words := differs(texts.get(key, "").casefold(), _MARKS.sub("", recorded_text).casefold()):
                yield key, words, recorded_text
    if environment.values("cpu.model"):  # where a node reports its processors, it has also looked for adapters
        yield from _missing_adapters(texts, environment)


def _missing_adapters(texts: Mapping[str, str], environment: Environment) -> Iterator[tuple[str, str, str]]:
    adapters = listing(
        fact for fact in environment.fact_names("net.") if "operstate" in " ".join(environment.values(fact))
    )
    for key in ("node", "network"):
        text = texts.get(key, "").casefold()
        # The network may lead to the storage through nodes with both kinds of adapters.
        elsewhere = key == "network" and _OTHER_NETWORK.search(text)
        has_adapter = any(map(environment.fact_names, _OF_FABRIC))
        if (fabric := _FABRIC_WORDS.search(text)) and not elsewhere and not has_adapter:
            yield key, fabric[0], f"no such adapter ({adapters or 'none at all'})"


def _other_names(pattern: str, of_record: str, text: str, recorded_text: str) -> str:
    """Names of which the record has one, and the description only others."""
    for short, name in _ALIASES.items():
        text = text.replace(short, name)
    described_names, recorded_names = re.findall(pattern, text), re.findall(of_record, recorded_text)
    return (
        listing(dict.fromkeys(described_names))
        if described_names and recorded_names and recorded_names[0] not in described_names
        else ""
    )


def _excess_cores(text: str, recorded_text: str) -> str:
    """More cores than the node has hardware threads."""
    core_counts = [int(count) for count in _CORES.findall(text)]
    return (
        f"{min(core_counts)} cores"
        if core_counts and recorded_text.isdigit() and min(core_counts) > int(recorded_text)
        else ""
    )


def _excess_memory(text: str, recorded_text: str) -> str:
    """More memory than the node has."""
    recorded_kib = kibibytes(recorded_text)
    sizes = {
        match[0]: int(match[1] or 1) * float(match[2]) * 1000.0 ** ("kmgtp".index(match[3]) + 1)
        for match in _MEMORY.finditer(text)
    }
    smallest = min(sizes, key=sizes.__getitem__, default="")
    return (
        smallest if smallest and recorded_kib and sizes[smallest] * (1 - KEPT_BY_FIRMWARE) > recorded_kib * 1024 else ""
    )


_COMPARED: tuple[tuple[str, str, _Differs], ...] = (
    ("node", "cpu.model", partial(_other_names, _FAMILY, _FAMILY)),
    ("node", "cpu.model", partial(_other_names, _MODEL, _MODEL)),
    ("node", "cpu.threads", _excess_cores),
    ("node", "memory.total", _excess_memory),
    ("operating system", "os", partial(_other_names, _DISTRIBUTION, _DISTRIBUTION)),
    ("operating system", "kernel.release", partial(_other_names, r"\bkernel v?(\d+\.\d+)", r"^(\d+\.\d+)")),
)
