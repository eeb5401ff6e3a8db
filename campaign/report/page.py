"""The page: a campaign's contents -> HTML by templates/report.html.j2, which decides nothing.

Style and script are beside the template and are inserted into the page; its Content-Security-Policy allows only these,
by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from campaign import __version__
from campaign.config.format import Target
from campaign.config.rules.pack import RulePack
from campaign.core import escaping, resources, units
from campaign.core.columns import Column, used_columns
from campaign.core.findings import Finding
from campaign.core.grouping import grouped
from campaign.core.runs import Status
from campaign.judge.compliance import count_states
from campaign.report import causes, clauses, decision, notes, origins, table
from campaign.report.contents import PROJECTIONS, Contents
from campaign.report.findings_view import GROUPS, finding_json, group_number
from campaign.report.plots import attempts, figures, svg
from campaign.report.plots.drawing import DrawnPlot
from campaign.report.plots.kinds import Picture
from campaign.results.cells import Row
from campaign.results.source.modifications import Section
from campaign.statistics import contention

TEMPLATE, STYLE, SCRIPT = "report.html.j2", "report.css", "report.js"


def page_html(
    directory: Path,
    contents: Contents,
    pictures: Mapping[str, Sequence[Picture]],
    models: Mapping[str, contention.ContentionFit],
    searches: Sequence[Mapping[str, Any]],
    jobs: DrawnPlot | None,
) -> str:
    """`directory` is where the page will be."""
    campaign, pack, rows = contents.campaign, contents.pack, contents.rows
    numbers = {str(row.cell): number for number, row in enumerate(rows, 1)}
    return render_page(
        TEMPLATE,
        campaign=campaign,
        pack=pack,
        verdict=decision.compliance_verdict(contents),
        decision=contents.decision,
        tiles=_tiles(contents),
        days=contents.days,
        attempts=contents.attempt_counts,
        period=contents.period,
        rounding=table.ROUNDING,
        titles=list(table.column_titles(pack)),
        statuses=list(dict.fromkeys(row.status for row in rows)),
        of_rows=sorted({finding.rule for row in rows for finding in row.findings}),
        targets=[
            {
                "name": target.name,
                "directory": target.directory,
                "description": target.description,
                **_target_table([row for row in rows if row.cell.target == target.name], pack, numbers),
                "pictures": pictures[target.name],
            }
            for target in campaign.targets
        ],
        overview=_overview(rows, campaign.targets, pack, numbers),
        models=models,
        searches=searches,
        jobs=jobs,
        jobs_title=attempts.TITLE,
        findings=_finding_groups(contents.findings, pack),
        found_rules=sorted({finding.rule for finding in contents.findings}),
        found_moves=sorted({finding.move for finding in contents.findings}),
        clauses=Section("Compliance matrix", count_states(contents.clauses), clauses.COLUMNS, contents.clauses),
        modifications=contents.modifications,
        environment=contents.environment,
        column=Column,
        projections=contents.projections,
        projected=[column for column in PROJECTIONS if column.title],
        origins=origins.cell_origins(directory, contents),
        operations={operation.id: operation for operation in pack.operations},
        runs=contents.runs,
        words=lambda run: "\n".join(
            shlex.join(command.words(run.attempt_directory("TOKEN"))) for command in run.commands
        ),
        digits=units.separated_digits,
        separated=units.with_separators,
    )


def _tiles(contents: Contents) -> list[tuple[str, str, str]]:
    """The numbers above the decision: what each says, what it counts, and the class of its colour."""
    results = sum(row.value is not None and row.status.counts for row in contents.rows)
    violated = {finding.rule for finding in contents.findings if finding.violated}
    open_rules = {finding.rule for finding in contents.findings if finding.open}
    signer, seal = contents.signature or ("", "")
    return [
        (f"{results} / {len(contents.rows)}", "results", "" if results == len(contents.rows) else "missing"),
        (str(len(violated)), "rules violated", "E" if violated else ""),
        (str(len(open_rules)), "rules open", "W" if open_rules else ""),
        *([(signer or seal, "signed by" if signer else "signature", "" if signer else "W")] if seal else []),
    ]


def render_page(template: str, **values: Any) -> str:
    """A page by a template, which escapes every text."""
    from markupsafe import Markup

    style, script = ((resources.TEMPLATES / name).read_text(encoding="utf-8") for name in (STYLE, SCRIPT))
    environment = resources.templates(
        autoescape=True,
        finalize=lambda value: (
            escaping.plain(value) if isinstance(value, str) and not hasattr(value, "__html__") else value
        ),
    )
    policy = _policy(style, script)
    page_parts: dict[str, Any] = {
        "program": __version__,
        "style": Markup(style),
        "script": Markup(script),
        "policy": policy,
    }
    page_parts |= {
        "plot_columns": figures.COLUMNS,
        "plot_figures": figures.plot_figures,
        # svg escapes every text that it is given.
        "panel_svg": lambda panel: Markup(svg.panel_svg(panel)),
        "key_svg": lambda key: Markup(svg.key_svg(key)),
    }
    return environment.get_template(template).render(**page_parts, **values)


def _policy(style: str, script: str) -> str:
    """A policy under which nothing is loaded, sent or run except this style and this script."""
    hashed = [
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}'"
        for text in (style, script)
    ]
    return f"default-src 'none'; style-src {hashed[0]}; script-src {hashed[1]}; base-uri 'none'; form-action 'none'"


def _target_table(rows: Sequence[Row], pack: RulePack, numbers: Mapping[str, int]) -> dict[str, Any]:
    """The columns and lines of one target's table, and the notes that their marks refer to."""
    lines = table.table_lines(rows, pack)
    noted = notes.table_notes([line.cells for line in lines], pack)
    common, noted = noted.divided({row.cell for row in rows if row.value is not None})
    columns = table.value_columns(table.column_titles(pack), partial(_entry, noted, numbers))
    return {
        "columns": [*columns, *used_columns(table.run_columns(), lines)],
        "lines": lines,
        "common_notes": common.texts,
        "notes": [{"number": number, "text": text} for number, text in enumerate(noted.texts, 1)],
    }


def _overview(
    rows: Sequence[Row], targets: Sequence[Target], pack: RulePack, numbers: Mapping[str, int]
) -> dict[str, Any]:
    """The columns and lines of several targets side by side; without lines for one target."""
    names = [target.name for target in targets]
    noted = notes.table_notes([], pack)  # notes are below the tables of the targets
    return {
        "columns": table.value_columns(dict.fromkeys(names, ""), partial(_entry, noted, numbers)),
        "lines": table.overview_lines(rows, names, pack) if len(names) > 1 else [],
    }


def _entry(noted: notes.TableNotes, numbers: Mapping[str, int], row: Row | None) -> dict[str, Any] | None:
    if row is None:
        return None
    broken = [finding.rule for finding in row.findings if finding.blocks and finding.checked]
    return {
        "number": numbers[str(row.cell)],
        "value": units.separated_digits(row.value) if row.value is not None else "",
        "status": row.status,
        "rules": list(dict.fromkeys(broken)) if row.status is Status.INVALID else [],
        "marks": noted.numbers_of(row),
        "anchor": origins.anchor(row),
        "origin": origins.describe_origin(row),
    }


def _finding_groups(findings: Sequence[Finding], pack: RulePack) -> list[tuple[str, list[dict[str, Any]]]]:
    """The groups of the text form that have findings, each with its title. Their findings are without duplicates: each
    has its `times`, its different values in `each`, and their subjects.
    """
    by_text = grouped(
        (
            (
                group_number(finding),
                finding.rule,
                finding.severity,
                finding.message,
                finding.explained,
                finding.waived,
                finding.clause,
            ),
            finding,
        )
        for finding in causes.merge_causes(findings)
    )
    lines_by_group: dict[int, list[dict[str, Any]]] = {}
    remedies: set[str] = set()  # each is there once
    for (number, *_), equal_findings in sorted(by_text.items(), key=lambda item: item[0][:2]):
        first = equal_findings[0]
        by_values = grouped(((finding.expected, finding.actual), finding.subject) for finding in equal_findings)
        values = [
            {"expected": expected, "actual": actual, "subjects": subjects}
            for (expected, actual), subjects in by_values.items()
        ]
        line = finding_json(pack, first) | {"times": len(equal_findings), "each": values}
        line["guided"] = GROUPS[number].guided and line.get("remedy") not in remedies
        remedies.add(line.get("remedy") or "")
        lines_by_group.setdefault(number, []).append(line)
    return [(GROUPS[number].title, lines) for number, lines in lines_by_group.items()]
