"""The description of the proposed system: the keys that a buyer expects, and which texts are not an answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from campaign.config import values
from campaign.core.keys import key
from campaign.core.schema import Number

USER_TUNING, ADMINISTRATOR_TUNING = "tuning by users", "tuning by administrators"

# The keys of `system:` and `contact:`, with the texts that `campaign init` writes for them.
SYSTEM: Mapping[str, str] = {
    "system": "<name, vendor and number of compute nodes>",
    "node": "<processor, cores, memory and network adapters of a compute node>",
    "network": "<network between clients and storage>",
    "storage servers": "<number and kind>",
    "storage media": "<kind and number of devices of each tier>",
    "file system": "<name, version and configuration>",
    "clients": "<number of clients, mount options and drivers>",
    "operating system": "<distribution, kernel and kernel settings>",
    "compiler and MPI": "<versions and flags>",
    USER_TUNING: "<what a user can set>",
    ADMINISTRATOR_TUNING: "<what only an administrator can set>",
}
CONTACT: Mapping[str, str] = {
    "name": "<person responsible for the results>",
    "organisation": "<company or institute>",
    "email": "<email address>",
}


@dataclass(frozen=True, slots=True)
class Proposed:
    """The proposed system, with which ENV-05 compares the measured one. None or "": not given."""

    nodes: int | None = key(Number(1, 10**7), "its compute nodes")
    processor: str = key(values.LINE, "words of the processor's name, such as EPYC 9654", "")
    cores: int | None = key(Number(1, 10**5), "cores of a compute node")
    memory: int | None = key(values.SIZE, "memory of a compute node, such as 768G")  # bytes
    devices: int | None = key(Number(1, 1000), "accelerators of a compute node")
    device_memory: int | None = key(values.SIZE, "memory of an accelerator, such as 80G")  # bytes
    network: str = key(values.LINE, "words of its network adapters, such as InfiniBand 400 Gb/sec", "")
    file_system: str = key(values.LINE, "name of its file system, such as Lustre", "")
    mpi: str = key(values.LINE, "words of the MPI's name and version, such as Open MPI 4.1", "")
    operating_system: str = key(values.LINE, "words of its name and version, such as Rocky Linux 9", "")
    capacity: int | None = key(values.SIZE, "usable capacity of its file system, such as 900T")  # bytes


_PLACEHOLDER = re.compile(
    r"<(?! )[^<>]*(?<! )>|\b(?:tbd|tba|tbc|todo|fixme|x{3,}|lorem|ipsum|foo|bar|placeholder|fill (?:me )?in)\b"
    r"|\bto be (?:defined|determined|done|decided|confirmed|announced|filled)\b",
    re.IGNORECASE,
)
_EMPTY = re.compile(r"[\W_]*|n/?a|unknown|test|example|dummy|asdf\w*", re.IGNORECASE)


def placeholder(text: str) -> str:
    """The placeholder in a text; "" if the text is an answer."""
    if match := _PLACEHOLDER.search(text):
        return match[0]
    return text.strip() or "nothing" if _EMPTY.fullmatch(text.strip()) else ""


def gaps(section: str, answers: Sequence[tuple[str, str]], expected: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """(key, "") for each expected key that is missing, and (key, placeholder) for each that contains one."""
    answer_texts = dict(answers)
    for name in expected:
        if name not in answer_texts:
            yield f"{section}.{name}", ""
    for name, text in answer_texts.items():
        if placeholder_text := placeholder(text):
            yield f"{section}.{name}", placeholder_text
