"""The page: one campaign's contents -> HTML by templates/report.html.j2, which decides nothing. Reads only pictures."""

from __future__ import annotations

import base64
import os
import shlex
import urllib.parse
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from campaign import __version__
from campaign.config.rules.load import RulePack
from campaign.core import escaping, units
from campaign.core.model import Finding, Run, Status, Target
from campaign.core.resources import TEMPLATES
from campaign.report import layout, notes
from campaign.report import table as tables
from campaign.report.contents import Contents
from campaign.report.models import model_lines
from campaign.report.plots.kinds import Picture
from campaign.report.verdict import verdict
from campaign.results.cells import Row
from campaign.slurm import scripts
from campaign.statistics import contention

if TYPE_CHECKING:
    from jinja2 import Template

TEMPLATE = "report.html.j2"


@dataclass(frozen=True, slots=True)
class SearchSummary:
    """How a number of processes was found; `file` is its picture's name, "" where there is none."""

    key: str
    reason: str
    remarks: tuple[str, ...]
    file: str


def html(
    directory: Path,
    contents: Contents,
    pictures: Mapping[str, Sequence[Picture]],
    models: Mapping[str, contention.ContentionFit],
    searches: Sequence[SearchSummary],
) -> str:
    """`directory` is where the page will lie and its pictures do."""
    campaign, pack, rows = contents.campaign, contents.pack, contents.rows
    numbers = {str(row.cell): number for number, row in enumerate(rows, 1)}
    links = {row.record.source.file: _link(directory, contents.root, row) for row in rows if row.record is not None}
    return _template().render(
        campaign=campaign,
        pack=pack,
        program=__version__,
        verdict=verdict(contents),
        counts=contents.counts,
        tried=contents.tried,
        measured=contents.measured,
        rounding=tables.ROUNDING,
        columns=_columns(pack),
        targets=[
            _target(target, contents, numbers, _shown(directory, pictures[target.name])) for target in campaign.targets
        ],
        models=[{"name": name, "lines": model_lines(fit)} for name, fit in models.items()],
        searches=[
            {
                "key": search.key,
                "reason": search.reason,
                "remarks": search.remarks,
                "data": _data(directory / search.file),
            }
            for search in searches
        ],
        findings=_grouped(contents.findings, pack),
        modifications=contents.modifications,
        environment=contents.environment,
        projections=[_projection(row) for row in rows if row.projection is not None],
        provenance=[_origin(number, row, links) for number, row in enumerate(rows, 1)],
        runs=[_run(run) for run in contents.runs],
    )


def _template() -> Template:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=lambda value: (
            escaping.plain(value) if isinstance(value, str) and not hasattr(value, "__html__") else value
        ),
    )
    return environment.get_template(TEMPLATE)


def _target(
    target: Target, contents: Contents, numbers: Mapping[str, int], pictures: Sequence[dict[str, str]]
) -> dict[str, Any]:
    return {
        "name": target.name,
        "directory": target.directory,
        "description": target.description,
        **_table([row for row in contents.rows if row.cell.target == target.name], contents.pack, numbers),
        "pictures": pictures,
    }


def _shown(directory: Path, pictures: Sequence[Picture]) -> list[dict[str, str]]:
    return [
        {"title": picture.title, "about": picture.about, "data": _data(directory / picture.file)}
        for picture in pictures
    ]


def _run(run: Run) -> dict[str, Any]:
    words = shlex.join(scripts.command(run, "TOKEN"))
    return {"id": run.id, "geometry": run.geometry, "words": words, "notes": run.notes}


def _data(path: Path) -> str:
    """A picture as an address that holds it; "" for the directory that an empty name leads to."""
    if not path.is_file():
        return ""
    return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode("ascii")


def _columns(pack: RulePack) -> list[dict[str, str]]:
    """The columns with their unit, where all that stands in one has the same."""
    found = []
    for title in layout.columns(pack):
        units = {operation.unit for operation in pack.operations if operation.title == title}
        found.append({"title": title, "unit": units.pop() if len(units) == 1 else ""})
    return [*found, {"title": "Processes", "unit": ""}, {"title": "Nodes", "unit": ""}]


def _table(own: Sequence[Row], pack: RulePack, numbers: Mapping[str, int]) -> dict[str, Any]:
    """The lines of one target's table, and the notes that their marks name."""
    placed = tables.lines(own, pack)
    noted = notes.notes([line.cells for line in placed], pack)
    lines = [
        {
            "level": line.place.level,
            "label": line.place.label,
            "entries": [_entry(row, noted, numbers) if row else None for row in line.rows],
            "geometry": (line.processes, line.nodes) if line.geometries and line.place.level == 1 else None,
        }
        for line in placed
    ]
    return {"lines": lines, "notes": [{"number": number, "text": text} for number, text in enumerate(noted.texts, 1)]}


def _entry(row: Row, noted: notes.TableNotes, numbers: Mapping[str, int]) -> dict[str, Any]:
    broken = [finding.rule for finding in row.findings if finding.blocks and finding.checked]
    return {
        "number": numbers[str(row.cell)],
        "value": units.digits(row.value) if row.value is not None else "",
        "status": row.status,
        "rules": list(dict.fromkeys(broken)) if row.status is Status.INVALID else [],
        "marks": noted.of(row),
        "origin": _place(row),
    }


def _place(row: Row) -> str:
    """`1234.567 ops/s, attempt 2 of scratch.node.unique.r1, job 17, runs/…/stdout line 14`."""
    if row.record is None or row.attempt is None or row.run is None:
        return str(row.cell)
    source = f"{row.record.source.file} line {row.record.source.line}"
    return f"{row.value} {row.unit}, attempt {row.attempt.number} of {row.run.id}, job {row.attempt.job_id}, {source}"


def _link(directory: Path, root: Path, row: Row) -> str:
    """The raw output, as an address relative to the page."""
    assert row.record is not None
    path = os.path.relpath((root / row.record.source.file).resolve(), directory.resolve())
    return "./" + urllib.parse.quote(path)


def _origin(number: int, row: Row, links: Mapping[str, str]) -> dict[str, Any]:
    source, summary = row.record.source if row.record else None, row.summary
    spread = ""
    if summary.n > 1 and summary.median is not None:
        spread = f"median of {summary.n}: {units.digits(summary.median)}"
        if summary.low is not None and summary.high is not None:
            spread += f", 95% interval {units.digits(summary.low)} to {units.digits(summary.high)}"
        if summary.cv is not None:
            spread += f", variation {summary.cv:.1%}"
    return {
        "number": number,
        "cell": str(row.cell),
        "status": row.status,
        "value": f"{row.value:.15g} {row.unit}" if row.value is not None else "",
        "attempt": f"{row.run.id}/{row.attempt.number}" if row.run and row.attempt and source else "",
        "job": row.attempt.job_id or "" if row.attempt and source else "",
        "file": source.file if source else "",
        "line": source.line if source else "",
        "link": links[source.file] if source else "",
        "spread": spread,
        "note": row.note,
    }


def _projection(row: Row) -> dict[str, Any]:
    assert row.projection is not None and row.value is not None
    one = row.projection
    return {
        "cell": str(row.cell),
        "value": f"{units.digits(row.value)} {row.unit}",
        "range": " to ".join(units.digits(row.value * (1 + sign * one.uncertainty)) for sign in (-1, 1)),
        "base": f"{one.base_system} ({one.generation})",
        "formula": one.formula,
        "inputs": ", ".join(f"{name} = {number:g}" for name, number in one.inputs),
        "uncertainty": f"{one.uncertainty:.3g}",
        "logs": ", ".join(str(path) for path in one.logs),
    }


def _grouped(findings: Sequence[Finding], pack: RulePack) -> list[dict[str, Any]]:
    """Findings that say the same once, each with its `times` and its different values in `each`, and what those are
    about. What is broken stands first, what was not checked last.
    """
    found: dict[tuple[object, ...], dict[str, Any]] = {}
    for one in findings:
        same = (one.rule, one.severity, one.message, one.checked, one.explained, one.waived)
        clause = pack.checks.get(one.rule, "")
        group = found.setdefault(same, {**asdict(one), "clause": clause, "times": 0, "values": {}})
        group["times"] += 1
        values = (one.expected, one.actual)
        each = group["values"].setdefault(values, {"expected": values[0], "actual": values[1], "subjects": []})
        each["subjects"].append(one.subject)
    order = {"E": 0, "W": 1, "I": 2}
    return sorted(
        ({**group, "each": list(group["values"].values())} for group in found.values()),
        key=lambda one: (not one["checked"], order.get(one["severity"], 3), one["rule"]),
    )
