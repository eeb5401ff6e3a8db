"""The parts of a campaign file that a command works on."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from campaign.cli.output import STANDARD_OUTPUT, say, show
from campaign.config import response
from campaign.config.definition import Definition, open_campaign
from campaign.core import outputs
from campaign.core.errors import INCOMPLETE, OK
from campaign.core.strict_yaml import has_key
from campaign.core.units import listing

if TYPE_CHECKING:
    from campaign.judge.submission import Submission
    from campaign.report.rfp_judgement import RfpJudgement


class PartSelection:
    """All parts of a file that answers an RFP, or a single one, which has no `response`. A campaign of one rule pack is
    a part without a name. Iterating gives each part, opened, after its heading.

    `style`: csv or json, if what is printed of all parts is one text; `texts`: those of the parts.
    """

    def __init__(self, arguments: argparse.Namespace, style: str = "") -> None:
        self._file, self._style, part = arguments.file, style, getattr(arguments, "part", "")
        self.response = response.read(self._file) if not part and has_key(self._file, "parts") else None
        self.parts = tuple(response_part.id for response_part in self.response.parts) if self.response else (part,)
        self.texts: dict[str, str] = {}
        self.statuses: list[int] = []

    def definitions(self) -> dict[str, Definition]:
        return {part: open_campaign(self._file, part) for part in self.parts}

    def __iter__(self) -> Iterator[tuple[str, Definition]]:
        for part in self.print_headings():
            yield part, open_campaign(self._file, part)

    def print_headings(self) -> Iterator[str]:
        for number, part in enumerate(self.parts):
            if self.response and not self._style:
                from campaign.report import rfp_response

                heading = rfp_response.part_heading(self.response.rfp.part(part))
                show(f"\n{heading}" if number else heading)
            yield part

    @property
    def needs_cases(self) -> bool:
        """Whether the RFP has figures that are facts of runs, not only results."""
        return bool(self.response and self.response.rfp.facts)

    def label(self, part: str) -> str:
        """The name of a part among several; "" of the only one."""
        return part if self.response else ""

    def part_directory(self, part: str, path: Path | None) -> Path | None:
        """The directory of a part's files, below `path` if the file answers an RFP."""
        return place_of(path, self.label(part))

    def part_files(self, path: Path | None, force: bool, is_one_file: bool = False) -> dict[str, Path | None]:
        """The file of each part, or the one of all. Raises InputError for one that must not be written."""
        return checked_files(path, self.parts, self.response is not None and not is_one_file, force)

    def add_text(self, part: str, text: str) -> None:
        """Print the text of a part, or keep it for that of all parts."""
        if self._style:
            self.texts[part] = text
        else:
            show(text)

    def judge(self, submissions: Mapping[str, Submission]) -> RfpJudgement:
        """What the parts show together; of none, or of a part without others, nothing."""
        from campaign.report.rfp_judgement import RfpJudgement, judge_rfp

        if self.response is None or not submissions:
            return RfpJudgement()
        return judge_rfp(self.response.rfp, submissions, self.response.answers)

    def joined_text(self, judgement: RfpJudgement | None = None) -> str:
        """What is printed of all parts. `judgement`: what they show together."""
        if self.response is None:
            return "".join(self.texts.values())
        from campaign.report import rfp_judgement, rfp_response

        judgement = judgement or rfp_judgement.RfpJudgement()
        return rfp_response.response_text(self._style, self.response, self.texts, judgement)

    def finish(self) -> int:
        """Name the mandatory parts that the file leaves out; gives the exit status."""
        worst = max(self.statuses, default=OK)
        if self.response and (missing := self.response.unanswered):
            names = listing([part.id for part in missing])
            say(f"mandatory parts of RFP {self.response.rfp.id} that are not answered: {names}")
            return max(worst, INCOMPLETE)
        return worst


def place_of(path: Path | None, part: str) -> Path | None:
    """The directory of a part of several, in that of all."""
    return path / part if path else None


def file_of(path: Path, part: str) -> Path:
    """The file of a part of several, next to those of the others."""
    return path.with_name(f"{path.stem}-{part}{path.suffix}") if part and path != STANDARD_OUTPUT else path


def checked_files(path: Path | None, parts: Sequence[str], is_of_several: bool, force: bool) -> dict[str, Path | None]:
    """The file of each part. Raises InputError for one that must not be written."""
    files = {part: path and file_of(path, part if is_of_several else "") for part in parts}
    for file in files.values():
        if file is not None and file != STANDARD_OUTPUT:
            outputs.check(file, force)
    return files
