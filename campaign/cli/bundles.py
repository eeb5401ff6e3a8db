"""The verbs about evidence: packing it, verifying it, and measuring or building a part of it again."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from campaign.cli.output import STANDARD_OUTPUT, columns, rows_exit_status, say, show, table_format, write, write_table
from campaign.cli.selection import PartSelection, checked_files, file_of, place_of
from campaign.config import rfp as rfps
from campaign.core import atomic, journal, timestamps
from campaign.core.errors import INCOMPLETE, OK, InputError, typed_path
from campaign.core.units import plural
from campaign.evidence import bundle, provenance, response_bundle, submitted_table, terms, verify, verify_text
from campaign.judge.submission import Submission
from campaign.pipeline import campaign_state, planning
from campaign.report import decision, table
from campaign.report.compare import rendering
from campaign.report.compare.comparison import parse_terms
from campaign.report.rfp_response import scores_text
from campaign.report.write import write_report
from campaign.results.store import is_begun

Parts = Mapping[str, verify.VerifiedBundle]
Compared = submitted_table.TableComparison | None  # None: no table was handed in, or nothing can be compared with it
NOT_SAMPLED = "the bundle cannot be re-evaluated"


def pack(arguments: argparse.Namespace) -> int:
    selection, out = PartSelection(arguments), arguments.output
    bundle.check_place(out, arguments.force)
    if selection.response is None:
        bundles = {part: _pack_part(arguments, out, part, arguments.force) for part in selection.parts}
        contents = [plural(part_bundle.attempts, "attempt") for part_bundle in bundles.values()]
        files = sum(part_bundle.files for part_bundle in bundles.values())
    else:
        with bundle.staging_directory(out) as place:
            root = place / "bag"
            bundles = {part: _pack_part(arguments, root / verify.PARTS / part, part) for part in selection.parts}
            files = response_bundle.write(selection.response.rfp, root, bundles, out, arguments.sign, arguments.force)
        contents = [plural(len(bundles), "part")]
    show(f"wrote {out}: {plural(files, 'file')}, {', '.join(contents)}")
    for part, part_bundle in bundles.items():
        of_part = f" of {part}" if selection.response else ""
        if part_bundle.left_out:
            excluded = plural(part_bundle.left_out, "attempt")
            show(f"{excluded}{of_part} without raw output: listed only in the bundle's index")
        show(f"journal head{of_part} (send it to the buyer): {part_bundle.evaluation.head}")
    show(f"verify:  campaign verify {typed_path(out)}")
    selection.statuses = [
        _part_status(part_bundle, typed_path(arguments.file, part)) for part, part_bundle in bundles.items()
    ]
    return selection.end()


def _pack_part(arguments: argparse.Namespace, out: Path, part: str, force: bool = False) -> bundle.WrittenBundle:
    bundle.check_place(out, force)
    definition, names = bundle.open_recorded(arguments.file, part)
    planned, attempts = campaign_state.recorded_plan(definition, say)
    if is_begun(definition.paths):
        planning.write_plan(definition, planned)
    return bundle.write(definition, names, planned, attempts, out, arguments.sign, force)


def _part_status(part_bundle: bundle.WrittenBundle, file: str) -> int:
    """The exit status, which is explained where it is not 0."""
    rows = part_bundle.evaluation.submission.rows
    if status := rows_exit_status(rows):
        show(f"{decision.status_counts(rows)}: no buyer accepts this bundle; 'campaign check {file}' says why")
    return status


def verify_bundle(arguments: argparse.Namespace) -> int:
    """Print the decision on a bundle, or that on all parts with their scores, and with --details each part."""
    with _verify_parts(arguments) as (response, parts):
        comparison = _compare_table(arguments, parts, response.rfp if response else None)
        table_lines = [verify_text.table_text(arguments.table, comparison)] if comparison and not arguments.json else []
        if arguments.json:
            print(json.dumps(_verified_json(arguments, response, parts, comparison), indent=1))
        elif response:
            score_lines = [scores_text(response.scored, columns(), arguments.details)] if response.scored else []
            response_lines = [
                decision.decision_text(response.decision, columns()),
                "",
                *response_bundle.finding_lines(response),
                *score_lines,
                *table_lines,
            ]
            show("\n".join(response_lines))
        for part, verified in parts.items():
            _print_verified(arguments, verified, part, response is not None)
        if response and arguments.junit == STANDARD_OUTPUT:
            write(verify_text.as_junit(response.name, parts.values()), arguments.junit, arguments)
        if table_lines and not response:
            show(*table_lines)
        status = response.exit_status if response else parts[arguments.part].decision.exit_status
    return INCOMPLETE if comparison and comparison.differences else status


@contextmanager
def _verify_parts(arguments: argparse.Namespace) -> Iterator[tuple[response_bundle.VerifiedResponse | None, Parts]]:
    """All parts of a bundle that answers an RFP; or a single part, without a response."""
    demands, rfp = _buyers_demands(arguments)
    verify.load_buyers_rules(demands)
    with verify.open_bundle(arguments.bundle) as bag:
        parts = verify.part_names(bag)
        if parts and not arguments.part:
            checked_files(arguments.junit, parts, True, arguments.force)
            with response_bundle.verify_response(arguments.bundle.name, bag, demands, rfp) as response:
                yield response, response.parts
        else:
            checked_files(arguments.junit, [arguments.part], False, arguments.force)
            with verify.verify_part(arguments.bundle, bag, demands, arguments.part if parts else "") as verified:
                yield None, {arguments.part: verified}


def _verified_json(
    arguments: argparse.Namespace, response: response_bundle.VerifiedResponse | None, parts: Parts, comparison: Compared
) -> dict[str, Any]:
    of_table = {"table": {"file": str(arguments.table), **asdict(comparison)}} if comparison else {}
    of_parts = {part: verify_text.as_json(verified) for part, verified in parts.items()}
    if response is None:
        return of_parts[arguments.part] | of_table
    return {"format": 1, "bundle": response.name, **response.as_json(), **of_table, "parts": of_parts}


def _print_verified(
    arguments: argparse.Namespace, verified: verify.VerifiedBundle, part: str, is_of_several: bool
) -> None:
    """Print the verification of a part, of several only with --details, and write the files that are asked for."""
    is_shown = not arguments.json and (arguments.details or not is_of_several)
    of_part = part if is_of_several else ""
    junit, output = file_of(arguments.junit, of_part), place_of(arguments.output, of_part)
    if is_shown and is_of_several:
        show(f"\n=== part {part} ===")
    if junit and not (is_of_several and junit == STANDARD_OUTPUT):  # one document of all parts is printed there
        write(verify_text.as_junit(verified.name, [verified]), junit, arguments)
    if is_shown:
        show(verify_text.as_text(verified, columns(), part, arguments.details))
    if verified.evaluation is None:
        return
    if is_shown and arguments.details:
        submission = verified.evaluation.submission
        rows, campaign, pack = submission.rows, submission.campaign, submission.pack
        print(f"\n{table.table_text(rows, campaign, pack, 'simple', columns(), details=True)}")
    if output:
        path = write_report(output, verify_text.report_contents(verified, verified.evaluation))
        (say if arguments.json else show)(f"wrote {path}")


def _buyers_demands(arguments: argparse.Namespace) -> tuple[verify.Buyer, Path | None]:
    """What the buyer asks, and the buyer's RFP: as the terms say, and the options where they are given."""
    demands = verify.Buyer(
        arguments.signers,
        arguments.nonce,
        tuple(arguments.head),
        arguments.rules,
        arguments.waiver_signers,
        tuple(arguments.timestamp),
        arguments.authority,
        sacct=arguments.sacct,
    )
    if not arguments.terms:
        return demands, arguments.rfp
    buyers_terms = terms.load(arguments.terms)
    demands = replace(
        demands,
        signers=demands.signers or buyers_terms.signers,
        nonce=demands.nonce or buyers_terms.nonce,
        heads=(*demands.heads, *buyers_terms.heads),
        rules=demands.rules or (None if buyers_terms.is_of_rfp else buyers_terms.rules),
        waiver_signers=demands.waiver_signers or buyers_terms.waiver_signers,
        authority=demands.authority or buyers_terms.authority,
        terms=buyers_terms,
    )
    return demands, arguments.rfp or (Path(buyers_terms.rules) if buyers_terms.is_of_rfp else None)


def write_terms(arguments: argparse.Namespace) -> int:
    file = _file_name(arguments.file, "terms.yaml")
    verify_command = f"campaign verify BUNDLE --terms {typed_path(file)}"
    remark = f": replace the nonce, put the vendors' keys next to it, then '{verify_command}'"
    write(terms.new_terms(arguments.rules, file.name), arguments.file, arguments, remark)
    return OK


def _file_name(output: Path, default: str) -> Path:
    """The file that commands in the output name: the reader saves it under this name where it is printed."""
    return Path(default) if output == STANDARD_OUTPUT else output


def _compare_table(arguments: argparse.Namespace, parts: Parts, rfp: rfps.Rfp | None) -> Compared:
    """The comparison of the table or form that was handed in with the bundle."""
    submissions = {
        part: verified.vendors_evaluation.submission for part, verified in parts.items() if verified.vendors_evaluation
    }
    if arguments.table is None or not submissions:
        return None
    mapping, _ = rfps.mapping_and_packs(arguments.mapping, arguments.table, "", arguments.part)
    if mapping is None and rfp is not None:
        mapping = rfp.form(arguments.table)
    return submitted_table.compare(arguments.table, submissions, mapping)


def show_head(arguments: argparse.Namespace) -> int:
    selection = PartSelection(arguments, "json" if arguments.json else "")
    queries = selection.places(arguments.query, arguments.force)
    for part, definition in selection:
        if not is_begun(definition.paths):
            raise InputError(
                f"no journal: campaign {definition.campaign.name} has not been run; start with 'campaign run "
                f"{typed_path(arguments.file, part)}'"
            )
        chain = journal.read_chain(definition.paths.journal)
        if chain.problem:
            raise InputError(f"journal.jsonl: {chain.problem}")
        if query := queries[part]:
            write(timestamps.request(chain.head), query, arguments)
        head = {
            "campaign": definition.campaign.name,
            "events": len(chain.heads),
            "head": chain.head,
            "nonce": chain.nonce,
        }
        selection.add(part, json.dumps(head, indent=1) + "\n" if arguments.json else chain.head)
    print(selection.text(), end="")
    return selection.end()


@contextmanager
def _open_intact(
    arguments: argparse.Namespace, demands: verify.Buyer, problem: str
) -> Iterator[tuple[verify.VerifiedBundle, Submission]]:
    """A bundle and its re-evaluated campaign. Raises InputError with the problem if the bundle was altered or cannot be
    re-evaluated.
    """
    with verify.verify(arguments.bundle, demands, arguments.part) as verified:
        if verified.evaluation is None or not verified.intact:
            raise InputError(f"{arguments.bundle}: {problem}; see 'campaign verify'")
        yield verified, verified.evaluation.submission


def draw_sample(arguments: argparse.Namespace) -> int:
    from campaign.evidence import sample
    from campaign.statistics import designs

    demands = verify.Buyer(arguments.signers, waiver_signers=arguments.waiver_signers)
    aims = sample.parse_aims(arguments.honest, arguments.catch)
    fixed = designs.Design(arguments.cells, arguments.repetitions, _min_share(arguments))
    with _open_intact(arguments, demands, NOT_SAMPLED) as (verified, submission):
        offer = sample.offer_of(submission, arguments.bundle.name)
        challenge = sample.design_challenge(offer, verified.chain.head, arguments.seed, aims, fixed)
        settings = sample.challenge_settings(challenge, submission)
        write(sample.challenge_text(challenge, settings), arguments.output, arguments)
        flat_settings = sample.flatten_settings(settings).items()
        machine_lines = [f"  {key}: {text}" for key, text in flat_settings if sample.is_machine_setting(key)]
        file = _file_name(arguments.output, "sample.yaml")
        block = sample.sample_decision(challenge, offer, *_typed_files(arguments, file))
        show(f"{decision.decision_text(block, columns())}\n")
        print(f"cells to measure again: {' '.join(challenge.cells)}")
        show("\n".join(sample.design_remarks(challenge, offer)))
        show("the vendor's machine; change what must differ, and allow it with 'campaign accept --allow KEY':")
        show("\n".join(machine_lines))
    return OK


def _typed_files(arguments: argparse.Namespace, file: Path) -> tuple[str, str]:
    """A bundle, and the file of its sample."""
    return typed_path(arguments.bundle, arguments.part), typed_path(file)


def _min_share(arguments: argparse.Namespace) -> float:
    """0: that of the design."""
    terms_of_acceptance = parse_terms(None, arguments.at_least, False)
    return terms_of_acceptance.min_share if terms_of_acceptance else 0.0


def accept(arguments: argparse.Namespace) -> int:
    from campaign.evidence import acceptance

    demands = verify.Buyer(arguments.signers, waiver_signers=arguments.waiver_signers)
    options = acceptance.AcceptanceOptions(tuple(arguments.allow), _min_share(arguments), arguments.reported)
    with _open_intact(arguments, demands, NOT_SAMPLED) as (verified, submission):
        outcome = acceptance.accept(arguments.challenge, submission, verified.chain.head, options, say)
        style = table_format(arguments)
        block = acceptance.acceptance_decision(outcome, *_typed_files(arguments, arguments.challenge))
        write_table(rendering.comparison_text(outcome.comparison, block, style, columns(arguments.output)), arguments)
        if texts := list(acceptance.condition_texts(outcome)):
            (show if style == "simple" else say)("\n".join(texts))
        if arguments.further and outcome.further:
            atomic.write(arguments.challenge.resolve(), acceptance.extended_challenge(outcome, arguments.challenge))
            say(f"wrote {arguments.challenge}: with further repetitions")
    return acceptance.EXIT_STATUS[outcome.verdict]


def build_again(arguments: argparse.Namespace) -> int:
    problem = "the bundle was altered or cannot be re-evaluated, so its source was not built"
    with _open_intact(arguments, verify.Buyer(), problem) as (_, submission):
        options = (arguments.mpicc, arguments.cflags, arguments.foreign_source)
        rebuilt = provenance.rebuild(submission.campaign.path.parent, submission, *options)
    show(json.dumps(provenance.rebuilt_json(rebuilt), indent=1) if arguments.json else provenance.rebuilt_text(rebuilt))
    return OK if all(binary.identical for binary in rebuilt) else INCOMPLETE


FUNCTIONS: Mapping[str, Callable[[argparse.Namespace], int]] = {
    "bundle": pack,
    "head": show_head,
    "verify": verify_bundle,
    "terms": write_terms,
    "sample": draw_sample,
    "accept": accept,
    "rebuild": build_again,
}
