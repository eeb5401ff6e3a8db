"""Compares published IO500 results with the rules of the pack `io500-app`: a page in Markdown, each claim with its
line.

usage: python public_results.py DIRECTORY > page.md

DIRECTORY has files named result_summary.txt, such as a copy of the repository of the list's submissions. The page
repeats of each file only the lines that it is about.
"""

from __future__ import annotations

import csv
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from campaign.config.rules import catalogue, packs
from campaign.config.rules.pack import settle
from campaign.core.errors import InputError
from campaign.report.foreign import judge_table
from campaign.results.parsers import output

PACK = "io500-app"
# What a summary cannot show, whichever system it is of: the logs are beside it.
OF_EVERY_SUMMARY = {"CMP-03", "CMP-04"}
INTRODUCTION = """\
# Published IO500 results, and the rules

Made by `docs/examples/public_results.py`. A line below is no accusation: a rule may have been another when the result
was submitted, the list may have accepted the reason, and a summary shows less than the logs. It is what a buyer would
ask about.
"""


@dataclass(frozen=True)
class Claim:
    rule: str
    text: str
    file: str
    line: int
    quoted: str


def claims(summary: Path, name: str) -> Iterator[Claim]:
    """What the rules have to say about one summary."""
    pack = settle(packs.load(PACK), "full", {}, {})
    (program,) = pack.programs
    records, seen = output.read_sample(program.output, summary)
    lines = summary.read_text(encoding="utf-8", errors="replace").splitlines()
    by_record = {record.operation: record for record in records}

    def claim(rule: str, text: str, line: int) -> Claim:
        return Claim(rule, text, name, line, lines[line - 1].strip() if 0 < line <= len(lines) else "")

    for remark in seen.errors:
        yield claim("RUN-06", remark.text, remark.line or 0)
    table = [each for each in pack.operations if each.record in by_record]
    for operation in table:
        record = by_record[operation.record]
        least = float(operation.lasts.removesuffix("s")) if operation.lasts else 0.0
        if record.elapsed_s is not None and record.elapsed_s < least:
            yield claim(
                "RUN-07",
                f"a writing phase: expected {least:g} s or more; found {record.elapsed_s:g} s",
                record.source.line,
            )
    if not table:
        return
    with tempfile.NamedTemporaryFile("w", suffix=".csv", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["target", "launch", "files", "operation", "value", "unit"])
        rows.writerows(
            ["published", "production", "all", each.id, by_record[each.record].value, each.unit] for each in table
        )
        file.flush()
        for finding in judge_table.table_findings(judge_table.read_submission(Path(file.name), PACK)):
            if finding.checked and finding.rule not in OF_EVERY_SUMMARY and finding.cells:
                operation = next((each for each in table if each.id == finding.cells[0].operation), None)
                line = by_record[operation.record].source.line if operation else 0
                yield claim(
                    finding.rule, f"{finding.message}: expected {finding.expected}; found {finding.actual}", line
                )


def main(directory: Path) -> None:
    found: dict[str, list[Claim]] = defaultdict(list)
    read, unread = 0, []
    for summary in sorted(directory.rglob("result_summary.txt")):
        name = str(summary.relative_to(directory).parent)
        try:
            for claim in claims(summary, name):
                found[claim.rule].append(claim)
            read += 1
        except InputError as error:
            unread.append(f"{name}: {error}")
    print(INTRODUCTION)
    concerned = {claim.file for same in found.values() for claim in same}
    print(f"{read} summaries were read; nothing was found in {read - len(concerned)} of them.")
    for rule, same in sorted(found.items()):
        files = len({each.file for each in same})
        print(f"\n## {rule}: {catalogue.CATALOGUE[rule].statement}\n\n{len(same)} lines in {files} files.\n")
        print("| submission | line | as published | what a buyer would ask |\n|---|---|---|---|")
        for each in same:
            cells = (each.file, str(each.line or ""), f"`{each.quoted}`" if each.quoted else "", each.text)
            print(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    for text in unread:
        print(f"\nnot read: {text}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
