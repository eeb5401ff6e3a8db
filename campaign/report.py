"""What a person hands in or opens: the table in every form, the findings, the plots, and one page that holds it all.

The page, index.html, needs nothing beside it: no script, no network, pictures inside. Every text of the campaign and
of raw outputs is escaped.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from campaign import contention, layout, plots, scripts, searching, workbook
from campaign import table as tables
from campaign.cells import Row
from campaign.config import Campaign
from campaign.errors import InputError
from campaign.model import Run
from campaign.plots import searches
from campaign.plots.drawing import save
from campaign.rules import RulePack

TEMPLATE = "report.html.j2"


@dataclass(frozen=True, slots=True)
class Contents:
    """All that a report is made of. `findings` are rows as `campaign check --json` gives them, `root` the results."""

    campaign: Campaign
    pack: RulePack
    runs: Sequence[Run]
    rows: Sequence[Row]
    findings: Sequence[dict[str, Any]]
    findings_text: str
    root: Path
    searches: Sequence[searching.Standing] = ()


def write(directory: Path, contents: Contents) -> Path:
    """Write the report's files into a directory, which is made; gives the path of its page.

    Raises InputError where it cannot be written. Files of an earlier report are written over, others stay.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        pictures = _pictures(directory, contents)
        found = _searches(directory, contents)
        models = {
            picture.file.removesuffix(".png") + (f" ({name})" if name else ""): fit
            for found in pictures.values()
            for picture in found
            for name, fit in picture.models
        }
        for name, text in _files(contents, models).items():
            (directory / name).write_text(text, encoding="utf-8")
        workbook.write(directory / "table.xlsx", contents.rows, contents.campaign, contents.pack)
        page = directory / "index.html"
        page.write_text(_page(directory, contents, pictures, models, found), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{error.filename or directory}: cannot be written: {error.strerror}") from error
    return page


def _pictures(directory: Path, contents: Contents) -> dict[str, list[plots.Picture]]:
    """By target."""
    return {
        target.name: plots.draw(
            contents.pack,
            target.name,
            [row for row in contents.rows if row.cell.target == target.name],
            contents.root,
            directory,
        )
        for target in contents.campaign.targets
    }


def _searches(directory: Path, contents: Contents) -> list[dict[str, Any]]:
    """Each search in words, with its picture."""
    units = {operation.id: operation.unit for operation in contents.pack.operations}
    found = []
    for number, standing in enumerate(contents.searches, 1):
        unit = units[standing.sought.operation]
        figure = searches.figure(standing, unit)
        file = directory / f"search-{number}-{standing.sought.key.replace('/', '-').replace('*', 'all')}.png"
        if figure is not None:
            save(figure, file)
        decision = standing.decision
        found.append(
            {
                "key": standing.sought.key,
                "reason": decision.reason if decision else "The search has not ended.",
                "remarks": [*(decision.remarks if decision else ()), *_law(standing, unit)],
                "data": _data(file) if figure is not None else "",
            }
        )
    return found


def _law(standing: searching.Standing, unit: str) -> list[str]:
    """What the Universal Scalability Law makes of the search's points at twice what was measured."""
    most = max((request.processes for request in standing.points), default=0)
    found = searching.extrapolated(standing, 2 * most)
    if found is None:
        return []
    rate, low, high = (tables.digits(value) for value in found)
    return [
        f"extrapolated by the Universal Scalability Law, not measured: {2 * most} processes, {rate} {unit} "
        f"(95% interval of the fit {low} to {high})"
    ]


def _files(contents: Contents, models: Mapping[str, contention.Fit]) -> dict[str, str]:
    rows, campaign, pack = contents.rows, contents.campaign, contents.pack
    files = {
        "table.txt": tables.printed(rows, campaign, pack, "simple") + "\n",
        "table.csv": tables.as_csv(rows),
        "table.json": tables.as_json(rows),
        "findings.txt": contents.findings_text + "\n",
        "findings.json": json.dumps(contents.findings, indent=1, ensure_ascii=False) + "\n",
    }
    if contents.searches:
        found = [searching.as_json(one) for one in contents.searches]
        files["searches.json"] = json.dumps(found, indent=1, ensure_ascii=False) + "\n"
    if models:
        fits = {name: fit.as_json() for name, fit in models.items()}
        files["contention.json"] = json.dumps(fits, indent=1) + "\n"
    return files


# --- the page


def _page(
    directory: Path,
    contents: Contents,
    pictures: Mapping[str, Sequence[plots.Picture]],
    models: Mapping[str, contention.Fit],
    found: Sequence[dict[str, Any]],
) -> str:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(scripts.TEMPLATES),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    campaign, pack = contents.campaign, contents.pack
    return environment.get_template(TEMPLATE).render(
        campaign=campaign,
        pack=pack,
        foreign=tables.origin(pack).strip(" []"),
        counts=_counts(contents.rows),
        columns=[*layout.columns(pack), "Processes", "Nodes"],
        targets=[
            {
                "name": target.name,
                "directory": target.directory,
                "description": target.description,
                **_table([row for row in contents.rows if row.cell.target == target.name], pack),
                "pictures": [
                    {"title": one.title, "about": one.about, "data": _data(directory / one.file)}
                    for one in pictures[target.name]
                ],
            }
            for target in campaign.targets
        ],
        models=[{"name": name, "lines": model_lines(fit)} for name, fit in models.items()],
        searches=found,
        findings=_grouped(contents.findings),
        provenance=[_origin(row) for row in contents.rows],
        runs=[
            {"id": run.id, "geometry": run.geometry, "words": scripts.command(run, "TOKEN"), "notes": run.notes}
            for run in contents.runs
        ],
    )


def _data(path: Path) -> str:
    return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode("ascii")


def _counts(rows: Sequence[Row]) -> str:
    found = {status: sum(row.status == status for row in rows) for status in dict.fromkeys(row.status for row in rows)}
    return f"{len(rows)} cells: " + ", ".join(f"{number} {status}" for status, number in found.items())


def _table(own: Sequence[Row], pack: RulePack) -> dict[str, Any]:
    """The lines of one target's table, and the remarks that their marks name."""
    notes: dict[str, int] = {}
    lines = [
        {
            "level": line.place.level,
            "label": line.place.label,
            "entries": [_entry(row, notes) if row else None for row in line.rows],
            "geometry": (line.processes, line.nodes) if line.geometries and line.place.level == 1 else None,
        }
        for line in tables.lines(own, pack)
    ]
    return {"lines": lines, "notes": [{"number": number, "text": text} for text, number in notes.items()]}


def _entry(row: Row, notes: dict[str, int]) -> dict[str, Any]:
    return {
        "value": tables.digits(row.value) if row.value is not None else "",
        "status": row.status,
        "marks": [notes.setdefault(text, len(notes) + 1) for text in tables.remarks(row)],
        "origin": _place(row),
    }


def _place(row: Row) -> str:
    """`1234.567 ops/s, attempt 2 of scratch.node.unique.r1, job 17, runs/…/stdout line 14`."""
    if row.record is None or row.attempt is None or row.run is None:
        return str(row.cell)
    source = f"{row.record.source.file} line {row.record.source.line}"
    return f"{row.value} {row.unit}, attempt {row.attempt.number} of {row.run.id}, job {row.attempt.job_id}, {source}"


def _origin(row: Row) -> dict[str, Any]:
    return {"cell": str(row.cell), "status": row.status, "origin": _place(row) if row.record else row.note}


def _grouped(findings: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Findings that differ in nothing but what they are about, once, with all that they are about."""
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for one in findings:
        key = tuple(str(one[name]) for name in ("rule", "severity", "message", "expected", "actual", "checked"))
        found.setdefault(key, {**one, "subjects": []})["subjects"].append(one["subject"])
    order = {"E": 0, "W": 1, "I": 2}
    return sorted(found.values(), key=lambda one: (order.get(one["severity"], 3), one["rule"]))


def model_lines(fit: contention.Fit) -> list[tuple[str, str]]:
    """A fitted model in words: what a number is, and the number with its unit."""
    low_high = fit.ranges

    def rate(name: str, value: float) -> str:
        low, high = low_high[name]
        return f"{value / 1e6:.4g} MB/s ({low / 1e6:.4g} to {high / 1e6:.4g} over the fits)"

    low, high = low_high["latency_s"]
    lines = [
        ("T", "α + k·m / min(R_N, R_Cb + (k − 1)·R_Ci), for k pairs and messages of m bytes"),
        ("α, a message without its bytes", f"{fit.model.latency_s * 1e6:.4g} µs ({low * 1e6:.4g} to {high * 1e6:.4g})"),
        (
            "R_N, what a node can send",
            rate("node_bytes_s", fit.model.node_bytes_s)
            if fit.node_limit_reached
            else f"not reached by this sweep: {fit.model.rate(fit.pairs) / 1e6:.4g} MB/s or more",
        ),
        ("R_Cb, what its first process can send", rate("first_bytes_s", fit.model.first_bytes_s)),
        ("R_Ci, what each further one adds", rate("further_bytes_s", fit.model.further_bytes_s)),
        ("error on the points of the fit", _errors(fit.fitted)),
        ("error on points held back", _errors(fit.held_back)),
    ]
    if fit.most_pairs is not None:
        lines.append(("error on the most pairs, held back together", _errors(fit.most_pairs)))
    if fit.without_model is not None:
        lines.append(("error without a model: as one pair alone", _errors(fit.without_model)))
    return lines


def _errors(errors: contention.Errors) -> str:
    return (
        f"{errors.median:.1%} median, {errors.ninth_decile:.1%} ninth decile, {errors.largest:.1%} largest, "
        f"of {errors.points} points"
    )
