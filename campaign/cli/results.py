"""The verbs about what was measured: tables, the report, findings, comparisons."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from campaign.cli.arguments import PACK
from campaign.cli.output import (
    FORMAT_OF,
    ONE_FILE,
    STANDARD_OUTPUT,
    columns,
    rows_exit_status,
    say,
    show,
    table_format,
    with_decimals,
    write,
    write_document,
    write_table,
)
from campaign.cli.selection import PartSelection, checked_files
from campaign.config import rfp as rfps
from campaign.config.definition import Definition
from campaign.config.rules import packs
from campaign.config.waivers import statement
from campaign.core import outputs, temporary
from campaign.core.columns import record
from campaign.core.errors import INCOMPLETE, OK, InputError, typed_path
from campaign.core.grouping import grouped
from campaign.core.paths import Paths
from campaign.core.units import listing, plural
from campaign.core.workers import results_in_order
from campaign.judge.compliance import compliance_matrix
from campaign.judge.rows import with_findings
from campaign.judge.submission import Submission
from campaign.pipeline import campaign_state
from campaign.report import (
    clauses,
    contents,
    decision,
    filled_form,
    findings_view,
    junit,
    rfp_response,
    scores,
    table,
)
from campaign.report.compare import offer_files, rendering, verdicts
from campaign.report.compare.board import Board, board_html, make_board, table_stages
from campaign.report.compare.comparison import parse_day, parse_targets, parse_terms
from campaign.report.foreign import judge_table
from campaign.report.workbook.board_sheets import board_workbook
from campaign.report.workbook.write import workbook
from campaign.report.write import write_pdf, write_report
from campaign.results.source import modifications
from campaign.results.store import is_begun

BOARD_FORMATS = ("html", "pdf", "xlsx")  # of a comparison


def print_table(arguments: argparse.Namespace) -> int:
    style = table_style(arguments)
    is_one_file = style in ONE_FILE
    selection = PartSelection(arguments, style if is_one_file else "")
    places = selection.part_files(arguments.output, arguments.force, is_one_file)
    submissions: dict[str, Submission] = {}
    for part, definition in selection:
        with_results = style == "xlsx" or selection.needs_cases
        submissions[part] = campaign_state.current_submission(definition, say, with_results=with_results)
        if arguments.clauses and selection.response and not submissions[part].pack.clauses:
            continue  # the RFP may have some
        content = _table(arguments, submissions[part], style, places[part])
        if isinstance(content, str) and is_one_file:
            selection.texts[part] = content
        else:
            write(content, places[part], arguments, style=style)
        selection.statuses.append(rows_exit_status(submissions[part].rows))
    judgement = selection.judge(submissions)
    if arguments.clauses and style == "csv" and judgement.clauses:
        selection.texts[""] = clauses.as_csv(judgement.clauses)  # of the whole offer
    if is_one_file:
        write_table(selection.joined_text(judgement), arguments, style)
    elif arguments.clauses and selection.response and judgement.clauses:
        show(f"\n{clauses.matrix_text(judgement.clauses, selection.response.rfp.title, style, columns())}")
    elif not arguments.clauses and (text := rfp_response.judgement_text(judgement, columns())):
        show(f"\n{text}")
    return selection.finish()


def table_style(arguments: argparse.Namespace) -> str:
    style = table_format(arguments)
    if style == "xlsx" and arguments.output is None:
        raise InputError("--format xlsx needs -o OUT, since a workbook cannot be printed")
    return style


def _table(arguments: argparse.Namespace, submission: Submission, style: str, place: Path | None) -> str | bytes:
    """The table of a campaign. `place`: the file that it is for."""
    rows = submission.rows
    if place and style == "xlsx":
        return workbook(place, contents.report_contents(submission))
    if arguments.clauses:
        return _matrix(submission, style, columns(place))
    if style == "json":
        return table.as_json(rows)
    if style == "csv":
        return table.as_csv(rows)
    width, options = columns(place), (arguments.details, arguments.combined)
    return table.table_text(rows, submission.campaign, submission.pack, style, width, *options) + "\n"


def _matrix(submission: Submission, style: str, width: int) -> str:
    lines = compliance_matrix(submission)
    if not lines:
        raise InputError(f"--clauses: rule pack {submission.pack.id} does not list the clauses of its document")
    if style == "json":
        return clauses.as_json(lines)
    return (
        clauses.as_csv(lines) if style == "csv" else clauses.matrix_text(lines, submission.pack.document, style, width)
    )


def report(arguments: argparse.Namespace) -> int:
    selection = PartSelection(arguments)
    submissions: dict[str, Submission] = {}
    directories, documents = {}, {}
    for part, definition in selection:
        campaign_state.compare_sources(definition, say)
        submissions[part] = campaign_state.current_submission(definition, say, with_results=True)
        directories[part] = selection.part_directory(part, arguments.output) or definition.paths.report
        documents[part] = _write_report(directories[part], submissions[part], arguments.pdf)
        selection.statuses.append(rows_exit_status(submissions[part].rows))
    document: dict[str, Any] = documents[part] if selection.response is None else {}
    if response := selection.response:
        judgement = selection.judge(submissions)
        if text := rfp_response.judgement_text(judgement, columns()):
            show(f"\n{text}")
        directory = arguments.output or next(iter(submissions.values())).campaign.results.parent / "report"
        page = rfp_response.write_page(directory, response, submissions, directories, judgement)
        show(f"wrote {page}")
        document = {"rfp": response.rfp.id, "page": str(page), "parts": documents}
    status = selection.finish()
    write_document(document | {"exit_status": status}, arguments)
    return status


def _write_report(directory: Path, submission: Submission, as_pdf: bool) -> dict[str, Any]:
    """Write the report of a part; gives what `--json` prints of it."""
    of_report = contents.report_contents(submission)
    page = write_report(directory, of_report)
    ran, patch = (
        contents.execution_sections(submission.results),
        modifications.stored_patch(Paths(submission.campaign.results)),
    )
    modifications.write(directory, submission.sources, patch, submission.pack.build, ran)
    show(f"wrote {page}")
    pdf = write_pdf(page) if as_pdf else None
    if pdf:
        show(f"wrote {pdf}")
    files = {"page": str(page), "pdf": pdf and str(pdf)}
    return {"campaign": submission.campaign.name, **files, "decision": asdict(of_report.decision)}


def fill(arguments: argparse.Namespace) -> int:
    form, out = arguments.form, arguments.output
    origins = out.with_name(f"{out.name}.origins.csv")
    if out != STANDARD_OUTPUT and out.suffix.lower() != form.suffix.lower():
        raise InputError(f"-o {out}: the form is a {form.suffix} file; name a file that ends in {form.suffix}")
    outputs.check(origins, arguments.force)
    mapping, _ = rfps.mapping_and_packs(arguments.mapping, form, "", "")
    selection, absent = PartSelection(arguments), []
    if response := selection.response:
        absent = [part.id for part in response.rfp.parts if part not in response.parts]
        mapping = mapping or response.rfp.form(form)
    submissions = {
        part: campaign_state.current_submission(definition, say, with_results=selection.needs_cases)
        for part, definition in selection.definitions().items()
    }
    scored = selection.judge(submissions).scored
    content, cells = filled_form.fill_form(form, submissions, mapping, absent, arguments.decimal, scored)
    number = sum(cell.value is not None for cell in cells)
    write(content, out, arguments, f": {number} of {plural(len(cells), 'cell')} filled")
    if out != STANDARD_OUTPUT:
        write(with_decimals(filled_form.origins_csv(cells), arguments), origins, arguments)
    empty = grouped((cell.reason, cell) for cell in cells if cell.value is None)
    for reason, left in empty.items():
        show(f"left empty ({reason}): {listing(f'{cell.place.spot} {cell.place.entry.name}' for cell in left)}")
    if not all(submission.full for submission in submissions.values()):
        say(f"{out}: rehearsal size: not a compliant result")
    status = INCOMPLETE if empty else OK
    document = {"form": str(form), "output": str(out), "origins": str(origins), "exit_status": status}
    write_document(document | {"cells": [record(filled_form.ORIGINS, cell) for cell in cells]}, arguments)
    return status


def check(arguments: argparse.Namespace) -> int:
    if arguments.mapping or arguments.file.suffix.lower() in judge_table.SUFFIXES:
        return _check_table(arguments)
    selection = PartSelection(arguments, "json" if arguments.json else "")
    junit_files = selection.part_files(arguments.junit, arguments.force)
    junit_response = selection.response if arguments.junit == STANDARD_OUTPUT else None
    submissions: dict[str, Submission] = {}
    for part, definition in selection:
        if arguments.waiver is not None:
            _print_waiver(definition, arguments.waiver)
            continue
        submissions[part] = submission = campaign_state.submission_from_outputs(definition, say)
        block = decision.campaign_decision(submission, typed_path(arguments.file, part))
        selection.add_text(
            part, _findings_text(arguments, submission, block, None if junit_response else junit_files[part])
        )
        selection.statuses.append(_check_status(submission))
    judgement = selection.judge(submissions)
    selection.statuses += [INCOMPLETE for finding in judgement.findings if finding.violated]
    print(selection.joined_text(judgement), end="")
    if submissions and junit_response:
        of_rfp = [junit.rfp_suite(junit_response.rfp.id, judgement.findings)] if judgement.conditions else []
        suites = [*map(junit.campaign_suite, submissions.values()), *of_rfp]
        write(junit.junit_document(junit_response.rfp.id, suites), arguments.junit, arguments)
    if submissions and selection.response and not arguments.json:
        if text := rfp_response.judgement_text(judgement, columns(), with_terms=False):
            show(f"\n{text}")
        block = rfp_response.response_decision(selection.response, submissions, arguments.file, judgement)
        show(f"\n{decision.decision_text(block, columns())}")
    return selection.finish()


def _findings_text(
    arguments: argparse.Namespace, submission: Submission, block: decision.DecisionBlock, junit_file: Path | None
) -> str:
    """The findings about a campaign as JSON, or as text with its decision, which is last on a terminal, so that it
    remains on the screen; also written for CI.
    """
    if junit_file:
        text = junit.junit_document(submission.campaign.name, [junit.campaign_suite(submission)])
        write(text, junit_file, arguments)
    if arguments.json:
        return findings_view.findings_json(submission.pack, submission.all_findings, ascii_only=True)
    questions = clauses.open_questions(compliance_matrix(submission))
    file = typed_path(arguments.file, submission.campaign.part or arguments.part)
    table_options = {"rules": arguments.rules if arguments.rules != PACK else None, "mapping": arguments.mapping}
    options = "".join(f" --{name} {typed_path(value)}" for name, value in table_options.items() if value)
    details = "" if arguments.details else f"campaign check {file}{options} --details"
    block = replace(block, details=details)
    texts = [decision.decision_text(block, columns()), findings_view.checked_text(submission, columns(), details)]
    texts += [questions] * bool(questions)
    return "\n\n".join([*texts[1:], texts[0]] if sys.stdout.isatty() else texts)


def _check_status(submission: Submission) -> int:
    """A violated rule about the campaign counts like one about a cell."""
    return (
        INCOMPLETE
        if any(finding.violated for finding in submission.all_findings)
        else rows_exit_status(submission.rows)
    )


def _print_waiver(definition: Definition, number: int) -> None:
    waivers = definition.campaign.waivers
    if not waivers:
        raise InputError(f"--waiver {number}: the campaign file has no waivers; add one under waivers")
    if not 1 <= number <= len(waivers):
        waiver_count = plural(len(waivers), "waiver")
        raise InputError(f"--waiver {number}: the campaign file has {waiver_count}; allowed: 1 to {len(waivers)}")
    sys.stdout.write(statement(definition.campaign.name, definition.pack.id, waivers[number - 1]))


def _check_table(arguments: argparse.Namespace) -> int:
    mapping, of_parts = rfps.mapping_and_packs(arguments.mapping, arguments.file, arguments.rules, arguments.part)
    if arguments.part and "" in of_parts:
        raise InputError(f"{arguments.file}: has no parts; leave out --part {arguments.part}")
    if len(of_parts) > 1 and (arguments.json or arguments.junit):
        raise InputError("--json and --junit are for one part of the RFP; name it with --part")
    checked_files(arguments.junit, [arguments.part], False, arguments.force)
    status = OK
    for part, pack in of_parts.items():
        unjudged = judge_table.read_submission(arguments.file, pack, mapping, part)
        if part and not unjudged.rows:
            continue
        if part:
            show(f"=== part {part} ===")
        findings = judge_table.table_findings(unjudged)
        submission = replace(unjudged, rows=with_findings(unjudged.rows, findings), findings=findings)
        text = _findings_text(arguments, submission, decision.table_decision(submission), arguments.junit)
        print(text, end="") if arguments.json else show(text)
        status = max(status, _check_status(submission))
    return status


def compare(arguments: argparse.Namespace) -> int:
    """Compare offers part by part, and those for an RFP by their scores."""
    paths: Sequence[Path] = arguments.campaigns
    if len(paths) < 2:
        raise InputError(
            f"compare needs two or more campaigns; found {len(paths)} (the others are compared with the first)"
        )
    terms = parse_terms(arguments.tolerance, arguments.at_least, arguments.reported)
    targets, day = parse_targets(arguments.map), parse_day(arguments.day)
    style, is_unequal = table_format(arguments, FORMAT_OF | {".pdf": "pdf"}), arguments.unequal or arguments.force
    if style in ("pdf", "xlsx") and arguments.output is None:
        raise InputError(f"--format {style} needs -o OUT, since it cannot be printed")
    offers = _load_offers(arguments)
    rfp, first = offers[0]
    comparisons = {
        part: verdicts.compare([parts[part] for _, parts in offers], terms, targets, is_unequal, day)
        for part in first
        if all(part in parts for _, parts in offers)
    }
    _say_other_answers(paths, offers)
    names, width = list(map(typed_path, paths)), columns(arguments.output)
    blocks = {part: rendering.comparison_decision(comparison, names) for part, comparison in comparisons.items()}
    scored = [scores.compute_scores(rfp, scores.offer_figures(rfp, parts)) for _, parts in offers] if rfp else []
    if style in BOARD_FORMATS:
        stages = _stages(arguments, offers)
        board = make_board(names, rfp, comparisons, blocks, scored, stages)
        write(_board_content(board, style), arguments.output, arguments)
    else:
        texts = {
            part: rendering.comparison_text(comparison, blocks[part], style, width)
            for part, comparison in comparisons.items()
        }
        write_table(rfp_response.comparison_text(style, rfp, texts, paths, scored), arguments, style)
    is_complete = comparisons and all(parts.keys() >= first.keys() for _, parts in offers)
    return OK if is_complete and all(comparison.passed for comparison in comparisons.values()) else INCOMPLETE


def _stages(
    arguments: argparse.Namespace, offers: Sequence[offer_files.PartsOfOffer]
) -> list[Sequence[decision.Question]]:
    """How far each offer has come: a bundle is verified, by the buyer's terms if they are given."""
    from campaign.evidence import terms as buyers_terms
    from campaign.evidence import verify, verify_bundle
    from campaign.evidence.stages import bundle_stages

    demands = verify.Buyer()
    if arguments.terms:
        demands = demands.with_terms(buyers_terms.load(arguments.terms))
        verify.load_buyers_rules(demands)
    stages: list[Sequence[decision.Question]] = []
    for path, (_, parts) in zip(arguments.campaigns, offers, strict=True):
        if not (path.name.endswith(offer_files.ARCHIVES) or (path / "bagit.txt").exists()):
            stages.append(table_stages(sum(len(offer.entries) for offer in parts.values())))
            continue
        with (
            verify_bundle.open_parts(path, arguments.of_part) as selection,
            verify_bundle.verify_parts(selection, demands) as verified,
        ):
            stages.append(bundle_stages(verified))
    return stages


def _board_content(board: Board, style: str) -> str | bytes:
    if style == "xlsx":
        return board_workbook(board)
    if style == "html":
        return board_html(board)
    with temporary.directory("campaign-board.") as directory:
        page = directory / "board.html"
        page.write_text(board_html(board), encoding="utf-8")
        return write_pdf(page).read_bytes()


def _load_offers(arguments: argparse.Namespace) -> list[offer_files.PartsOfOffer]:
    """The offers, or of each the selected part. Raises InputError if one of several parts meets one without."""
    paths, part = arguments.campaigns, arguments.of_part
    mapping, pack = rfps.mapping_and_packs(arguments.mapping, paths[-1], arguments.rules, part)
    form = (mapping, {name: packs.load(pack_id) for name, pack_id in pack.items()}) if mapping else None
    offers = list(results_in_order(lambda path: offer_files.load_offer(path, form), paths, str, "reading offers"))
    if part and "" in pack and all("" in parts for _, parts in offers):
        raise InputError(f"{paths[0]}: has no parts, as all of the offers; leave out --part {part}")
    for path, (_, parts) in zip(paths, offers, strict=True):
        if part and not {part, ""} & {*parts}:
            raise InputError(f"{path}: has no part {part}; its parts are {', '.join(parts)}")
        if "" in parts and not part and any(rfp for rfp, _ in offers):
            raise InputError(f"{path}: does not answer an RFP of several parts, as another of the offers does")
    return [(None, {"": parts.get(part) or parts[""]}) for _, parts in offers] if part else offers


def _say_other_answers(paths: Sequence[Path], offers: Sequence[offer_files.PartsOfOffer]) -> None:
    """Offers that answer another RFP than the first, or not all of it."""
    first, _ = offers[0]
    for path, (rfp, parts) in zip(paths, offers, strict=True):
        if first and rfp and rfp.digest != first.digest:
            say(f"note: {path} answers another RFP or version: {rfp.id} version {rfp.version}")
        if missing := [part.id for part in first.parts if part.id not in parts] if first else []:
            say(f"note: {path} does not answer {listing(missing)}")


def show_modifications(arguments: argparse.Namespace) -> int:
    selection = PartSelection(arguments)
    for part, definition in selection:
        directory = selection.part_directory(part, arguments.output)
        selection.statuses.append(_show_modifications(campaign_state.with_source_rules(definition), directory))
    return selection.finish()


def _show_modifications(definition: Definition, directory: Path | None) -> int:
    differences, patch = modifications.compare(definition.campaign)
    is_stored = is_begun(definition.paths)
    if is_stored:
        modifications.store_sources(definition.paths, differences, patch, definition.pack.build)
    modified = (
        modifications.recorded_sources(definition.paths)
        if is_stored
        else modifications.planned_sources(definition.campaign, differences, patch)
    )
    submission = campaign_state.current_submission(definition, say, modified, with_results=True)
    ran = contents.execution_sections(submission.results)
    if directory:
        modifications.write(directory, modified, patch, definition.pack.build, ran)
    show(modifications.text(modified, definition.pack.build, ran))
    findings = [finding for finding in submission.all_findings if finding.rule.startswith("SRC-")]
    if findings:
        print("\n" + findings_view.findings_text(definition.pack, findings, width=columns()))
    return INCOMPLETE if any(finding.blocks for finding in findings) else OK


FUNCTIONS: Mapping[str, Callable[[argparse.Namespace], int]] = {
    "table": print_table,
    "report": report,
    "fill": fill,
    "check": check,
    "compare": compare,
    "modifications": show_modifications,
}
