"""The verbs about what was measured: tables, the report, findings, comparisons."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace

from campaign.cli.output import STANDARD_OUTPUT, columns, say, show, table_format, verdict, write
from campaign.config import response, rfp
from campaign.config.opened import Opened, open_campaign
from campaign.config.rules import packs
from campaign.config.waivers import statement
from campaign.core import outputs
from campaign.core.errors import INCOMPLETE, OK, InputError, typed
from campaign.core.grouping import grouped
from campaign.core.model import Paths
from campaign.core.strict_yaml import has_key
from campaign.core.units import listed, several
from campaign.judge.clauses import matrix
from campaign.judge.rows import with_findings
from campaign.judge.submission import Submission
from campaign.pipeline import standing
from campaign.report import clauses, contents, decision, filled, junit, printing, table, views
from campaign.report.compare import forms as printed
from campaign.report.compare import sources, verdicts
from campaign.report.foreign import judge_table
from campaign.report.workbook.write import workbook
from campaign.report.write import write_pdf, write_report
from campaign.results.source import modifications
from campaign.results.store import begun


def print_table(arguments: argparse.Namespace) -> int:
    table_style(arguments)
    return table_of(arguments, judged(arguments))


def judged(arguments: argparse.Namespace) -> Submission:
    return standing.current(open_campaign(arguments.file, arguments.part), say)


def table_style(arguments: argparse.Namespace) -> str:
    style = table_format(arguments.format, arguments.output)
    if style == "xlsx" and arguments.output is None:
        raise InputError("--format xlsx needs -o OUT, since a workbook cannot be printed")
    if arguments.decimal == "," and style != "csv":
        raise InputError(f"--decimal ,: is for CSV, and the format is {style}; add --format csv")
    return style


def table_of(arguments: argparse.Namespace, submission: Submission) -> int:
    rows, style = submission.rows, table_style(arguments)
    if style == "xlsx":
        write(workbook(arguments.output, contents.of(submission)), arguments.output, arguments)
        return verdict(rows)
    if arguments.clauses:
        text = _matrix(submission, style, columns(arguments.output))
    elif style == "json":
        text = table.as_json(rows)
    elif style == "csv":
        text = table.as_csv(rows)
    else:
        width, options = columns(arguments.output), (arguments.details, arguments.combined)
        text = table.printed(rows, submission.campaign, submission.pack, style, width, *options) + "\n"
    if arguments.decimal == ",":
        text = printing.with_decimal_commas(text)
    write(text, arguments.output, arguments)
    return verdict(rows)


def _matrix(submission: Submission, style: str, width: int) -> str:
    lines = matrix(submission)
    if not lines:
        raise InputError(f"--clauses: rule pack {submission.pack.id} does not list the clauses of its document")
    if style == "json":
        return clauses.as_json(lines)
    return clauses.as_csv(lines) if style == "csv" else clauses.printed(lines, submission.pack, style, width)


def report(arguments: argparse.Namespace) -> int:
    return report_of(arguments, judged_with_sources(arguments))


def judged_with_sources(arguments: argparse.Namespace) -> Submission:
    opened = open_campaign(arguments.file, arguments.part)
    standing.look_at_sources(opened, say)
    return standing.current(opened, say)


def report_of(arguments: argparse.Namespace, submission: Submission) -> int:
    paths = Paths(submission.campaign.results)
    directory = arguments.output or paths.report
    page = write_report(directory, contents.of(submission))
    ran = contents.executed(submission.results)
    modifications.write(directory, submission.sources, modifications.patch_of(paths), submission.pack.build, ran)
    show(f"wrote {page}")
    if arguments.pdf:
        show(f"wrote {write_pdf(page)}")
    return verdict(submission.rows)


def fill(arguments: argparse.Namespace) -> int:
    form, out = arguments.form, arguments.output
    origins = out.with_name(f"{out.name}.origins.csv")
    if out != STANDARD_OUTPUT and out.suffix.lower() != form.suffix.lower():
        raise InputError(f"-o {out}: the form is a {form.suffix} file; name a file that ends in {form.suffix}")
    outputs.check(origins, arguments.force)
    mapping, _ = rfp.form_of(arguments.mapping, form, "", "")
    parts, absent = [""], []
    if has_key(arguments.file, "parts"):
        answer = response.read(arguments.file)
        parts = [part.id for part in answer.parts]
        absent = [part.id for part in answer.rfp.parts if part not in answer.parts]
        mapping = mapping or answer.rfp.form(form)
    judged = {part: standing.current(open_campaign(arguments.file, part), say) for part in parts}
    content, cells = filled.fill(form, judged, mapping, absent)
    number = sum(cell.value is not None for cell in cells)
    write(content, out, arguments, f": {number} of {several(len(cells), 'cell')} filled")
    if out != STANDARD_OUTPUT:
        write(filled.origins(cells), origins, arguments)
    empty = grouped((cell.reason, cell) for cell in cells if cell.value is None)
    for reason, left in empty.items():
        show(f"left empty ({reason}): {listed(f'{cell.place.spot} {cell.place.entry.name}' for cell in left)}")
    if not all(whole.full for whole in judged.values()):
        say(f"{out}: rehearsal size: not a compliant result")
    return INCOMPLETE if empty else OK


def check(arguments: argparse.Namespace) -> int:
    if arguments.mapping or judge_table.is_table(arguments.file):
        return _check_table(arguments)
    opened = open_campaign(arguments.file, arguments.part)
    if arguments.waiver is not None:
        return _print_waiver(opened, arguments.waiver)
    submission = standing.from_raw_outputs(opened, say)
    block = decision.of_campaign(submission, typed(arguments.file, arguments.part))
    return _print_findings(arguments, submission, block)


def _print_findings(arguments: argparse.Namespace, submission: Submission, block: decision.DecisionBlock) -> int:
    """Print findings; gives the exit status: a violated rule about the campaign counts like one about a cell."""
    findings = submission.all_findings
    if arguments.junit:
        text = junit.document(submission.campaign.name, [junit.of_campaign(submission)])
        write(text, arguments.junit, arguments)
    if arguments.json:
        print(views.findings_json(submission.pack, findings, ascii_only=True), end="")
    else:
        show(views.check_text(submission, block, columns()))
        if asked := clauses.open_text(matrix(submission)):
            show(f"\n{asked}")
    return INCOMPLETE if any(finding.violated for finding in findings) else verdict(submission.rows)


def _print_waiver(opened: Opened, number: int) -> int:
    waivers = opened.campaign.waivers
    if not waivers:
        raise InputError(f"--waiver {number}: the campaign file has no waivers; add one under waivers")
    if not 1 <= number <= len(waivers):
        there = several(len(waivers), "waiver")
        raise InputError(f"--waiver {number}: the campaign file has {there}; allowed: 1 to {len(waivers)}")
    sys.stdout.write(statement(opened.campaign.name, opened.pack.id, waivers[number - 1]))
    return OK


def _check_table(arguments: argparse.Namespace) -> int:
    mapping, of_parts = rfp.form_of(arguments.mapping, arguments.file, arguments.rules, arguments.part)
    if len(of_parts) > 1 and (arguments.json or arguments.junit):
        raise InputError("--json and --junit are for one part of the RFP; name it with --part")
    status = OK
    for part, pack in of_parts.items():
        whole = judge_table.read(arguments.file, pack, mapping, part)
        if part and not whole.rows:
            continue
        if part:
            show(f"=== part {part} ===")
        findings = judge_table.findings_of(whole)
        judged = replace(whole, rows=with_findings(whole.rows, findings), findings=findings)
        status = max(status, _print_findings(arguments, judged, decision.of_table(judged)))
    return status


def compare(arguments: argparse.Namespace) -> int:
    if not arguments.of_part and any(sources.has_parts(path) for path in arguments.campaigns):
        from campaign.cli import parts

        return parts.compare(arguments)
    terms = verdicts.parse_terms(arguments.tolerance, arguments.at_least, arguments.reported)
    day = verdicts.parse_day(arguments.day)
    mapping, pack = rfp.form_of(arguments.mapping, arguments.campaigns[-1], arguments.rules, arguments.of_part)
    form = (mapping, {part: packs.load(each) for part, each in pack.items()}) if mapping else None
    targets = verdicts.parse_targets(arguments.map)
    comparison = sources.compare(arguments.campaigns, terms, targets, form, arguments.force, day)
    style = table_format(arguments.format, arguments.output)
    block = printed.decision_of(comparison, list(map(typed, arguments.campaigns)))
    write(printed.printed(comparison, block, style, columns(arguments.output)), arguments.output, arguments)
    return OK if comparison.passed else INCOMPLETE


def show_modifications(arguments: argparse.Namespace) -> int:
    opened = standing.with_source_rules(open_campaign(arguments.file, arguments.part))
    compared, patch = modifications.compare(opened.campaign)
    recorded = begun(opened.paths)
    if recorded:
        modifications.keep(opened.paths, compared, patch, opened.pack.build)
    modified = (
        modifications.recorded(opened.paths) if recorded else modifications.planned(opened.campaign, compared, patch)
    )
    judged = standing.current(opened, say, modified)
    ran = contents.executed(judged.results)
    if arguments.output:
        modifications.write(arguments.output, modified, patch, opened.pack.build, ran)
    show(modifications.text(modified, opened.pack.build, ran))
    findings = [finding for finding in judged.all_findings if finding.rule.startswith("SRC-")]
    if findings:
        print("\n" + views.findings_text(opened.pack, findings, width=columns()))
    return INCOMPLETE if any(finding.blocks for finding in findings) else OK


FUNCTIONS: Mapping[str, Callable[[argparse.Namespace], int]] = {
    "table": print_table,
    "report": report,
    "fill": fill,
    "check": check,
    "compare": compare,
    "modifications": show_modifications,
}
