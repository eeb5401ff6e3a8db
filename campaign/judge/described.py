"""What `system` says of the nodes in words, compared with what they recorded (ENV-05). Pure.

Only what can be read with certainty is compared: of several processors, sizes or adapters in a text it is enough that
one fits, and what no node records, such as a product's name, contradicts nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from campaign.config.system import placeholder
from campaign.core.grouping import grouped
from campaign.core.model import Finding
from campaign.core.units import listed
from campaign.judge.findings import cut, doubt
from campaign.judge.submission import Submission
from campaign.judge.timing import adapters_of
from campaign.results.environment.facts import Environment

KEPT_BY_FIRMWARE = 0.1  # share of a node's memory, at most
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
_FABRIC = re.compile(r"\b(infiniband|[efhnx]dr\d*|omni-?path|slingshot)\b")
_OTHER_NETWORK = re.compile(r"\b(?:ethernet|\d*gbe|roce|tcp|routers?|gateways?)\b")
_OF_FABRIC = ("fabric.", "net.ib", "net.hsn", "net.opa")
_GIGABITS = re.compile(r"\b(\d+) ?Gb(?:it)?(?:/s|ps)")


def contradicted(submission: Submission) -> Iterator[Finding]:
    """ENV-05: what the description says of the nodes fits what they recorded, or the difference is explained."""
    environments = {id(each): each for each in (case.evidence.environment for case in submission.results)}
    description = dict(submission.campaign.system)
    found = (each for environment in environments.values() for each in _contradictions(description, environment))
    for (key, said), recorded in grouped(((key, said), cut(text)) for key, said, text in found).items():
        yield doubt(submission.full)(
            "the description of the system contradicts what the nodes recorded: {key}",
            said,
            listed(dict.fromkeys(recorded)),
            key=f"system: {key}",
        )


def _contradictions(system: Mapping[str, str], environment: Environment) -> Iterator[tuple[str, str, str]]:
    """Keys of the description, each with the words that a node's record contradicts, and that record."""
    texts = {key: _MARKS.sub("", text) for key, text in system.items() if not placeholder(text)}
    for key, fact, differs in _COMPARED:
        for recorded in environment.values(fact):
            if said := differs(texts.get(key, "").casefold(), _MARKS.sub("", recorded).casefold()):
                yield key, said, recorded
    if environment.values("cpu.model"):  # where a node reports its processors, it has also looked for adapters
        yield from _adapters(texts, environment)


def _adapters(texts: Mapping[str, str], environment: Environment) -> Iterator[tuple[str, str, str]]:
    found = listed(fact for fact in environment.under("net.") if "operstate" in " ".join(environment.values(fact)))
    for key in ("node", "network"):
        text = texts.get(key, "").casefold()
        # The network may lead to the storage through nodes with both kinds of adapters.
        elsewhere = key == "network" and _OTHER_NETWORK.search(text)
        if (said := _FABRIC.search(text)) and not elsewhere and not any(map(environment.under, _OF_FABRIC)):
            yield key, said[0], f"no such adapter ({found or 'none at all'})"
    rate, unknown = adapters_of(environment)
    speeds = [int(gigabits) for gigabits in _GIGABITS.findall(texts.get("node", ""))]
    if speeds and not unknown and min(speeds) * 1e9 / 8 > rate:
        yield "node", f"{min(speeds)} Gb/s", f"adapters of {rate * 8 / 1e9:g} Gb/s together"


def _names(pattern: str, of_record: str = "") -> _Differs:
    """Names of which the record has one, and the description only others."""

    def differs(text: str, recorded: str) -> str:
        for short, name in _ALIASES.items():
            text = text.replace(short, name)
        said, found = re.findall(pattern, text), re.findall(of_record or pattern, recorded)
        return listed(dict.fromkeys(said)) if said and found and found[0] not in said else ""

    return differs


def _cores(text: str, recorded: str) -> str:
    """More cores than the node has hardware threads."""
    said = [int(count) for count in _CORES.findall(text)]
    return f"{min(said)} cores" if said and recorded.isdigit() and min(said) > int(recorded) else ""


def _memory(text: str, recorded: str) -> str:
    """More memory than the node has."""
    kibibytes = recorded.partition(" ")[0]
    said = {
        match[0]: int(match[1] or 1) * float(match[2]) * 1000.0 ** ("kmgtp".index(match[3]) + 1)
        for match in _MEMORY.finditer(text)
    }
    if not said or not kibibytes.isdigit():
        return ""
    least = min(said, key=said.__getitem__)
    return least if said[least] * (1 - KEPT_BY_FIRMWARE) > int(kibibytes) * 1024 else ""


_COMPARED: tuple[tuple[str, str, _Differs], ...] = (
    ("node", "cpu.model", _names(_FAMILY)),
    ("node", "cpu.model", _names(_MODEL)),
    ("node", "cpu.threads", _cores),
    ("node", "memory.total", _memory),
    ("operating system", "os", _names(_DISTRIBUTION)),
    ("operating system", "kernel.release", _names(r"\bkernel v?(\d+\.\d+)", r"^(\d+\.\d+)")),
)
