"""What a rule reports: a finding, its severity, and whose move it is. Plain frozen data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from campaign.core.runs import Cell


class ChangeClass(StrEnum):
    """Classes of changes of a source, most significant first: a file has that of its most significant hunk."""

    MEASUREMENT = "measurement path"
    OTHER = "other"
    PORTABILITY = "portability"
    BUILD = "build"
    DATA = "data"
    DOCUMENTATION = "documentation"


class Severity(StrEnum):
    ERROR = "E"  # makes the result invalid
    WARNING = "W"  # requires an explanation
    INFO = "I"  # is disclosed


class Move(StrEnum):
    """Who can do something about a finding."""

    VENDOR = "vendor"  # by a setting or a run
    BUYER = "buyer"  # who has what a check lacks, or alone decides
    NOBODY = "nobody"  # the outputs of such a run cannot show it


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule reports on its subject. Findings with one rule and one wording that differ in one value have one
    cause.
    """

    rule: str
    severity: Severity
    subject: str  # a run's id, a cell, "campaign"
    wording: str  # what is wrong; a `str.format` string if there are `values`
    expected: str = ""
    actual: str = ""
    checked: bool = True  # False: could not be checked, which never counts as passed
    explained: str = ""  # the campaign file's explanation
    waived: str = ""  # by whom and why: it is shown, and does not make the result invalid
    at_full: Severity | None = None  # of a note in a rehearsal: its severity at full size
    operation: str = ""  # the only operation of the run that it is about; "" for all
    phase: str = ""  # the phases of the run in which it was found, if not all: `ior-easy-write, find`
    clause: str = ""  # that of the pack's entry that it is about; "": of its rule
    move: Move = Move.VENDOR
    remedy: str = field(default="", compare=False)  # what to do in this case; "": what its rule says
    values: Mapping[str, str] = field(default_factory=dict, hash=False)  # the values in its message
    cells: tuple[Cell, ...] = field(default=(), hash=False)  # that it is about; none: the whole campaign

    @property
    def message(self) -> str:
        text = self.wording.format_map(self.values) if self.values else self.wording
        phase = f" (phase {self.phase})" if self.phase else ""
        return f"{self.operation}: {text}{phase}" if self.operation else f"{text}{phase}"

    def as_json(self) -> dict[str, Any]:
        return {
            "rule": self.rule,
            "severity": self.severity,
            "subject": self.subject,
            "message": self.message,
            "expected": self.expected,
            "actual": self.actual,
            "checked": self.checked,
            "explained": self.explained,
            "waived": self.waived,
            "at_full": self.at_full,
            "operation": self.operation,
            "phase": self.phase,
            "move": self.move,
            "values": dict(self.values),
            "cells": list(map(str, self.cells)),
        }

    def concerns(self, cell: Cell) -> bool:
        return not self.cells or cell in self.cells

    @property
    def blocks(self) -> bool:
        """Whether it makes the result invalid. What only the buyer may lift waits for the buyer once explained."""
        return self.severity is Severity.ERROR and not (self.waived or (self.lifted_by_buyer and self.explained))

    @property
    def violated(self) -> bool:
        return self.checked and self.blocks

    @property
    def asks(self) -> bool:
        """Whether it requires an explanation, given or not."""
        return self.checked and (self.severity is Severity.WARNING or (self.lifted_by_buyer and bool(self.explained)))

    @property
    def unanswered(self) -> bool:
        """Whether it requires an explanation and has neither one nor a waiver."""
        return self.asks and not (self.explained or self.waived)

    @property
    def lifted_by_buyer(self) -> bool:
        """Whether it is a violation that only the buyer lifts: with an explanation, it waits for the buyer."""
        return self.severity is Severity.ERROR and self.move is Move.BUYER

    @property
    def open(self) -> bool:
        """Whether it was not checked, or not explained, and nobody has said anything to it."""
        return self.unanswered or not (self.checked or self.explained or self.waived)

    @property
    def undecided(self) -> bool:
        """Whether it waits until the buyer accepts it: an explanation, or what is left to the buyer."""
        left = self.checked and self.severity is Severity.INFO and self.move is Move.BUYER
        return not self.waived and (bool(self.explained) or left)
