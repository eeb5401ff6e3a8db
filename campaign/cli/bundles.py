"""The verbs about evidence: packing it, verifying it, and measuring or building a part of it again."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from campaign.cli.output import (
    ONE_FILE,
    STANDARD_OUTPUT,
    columns,
    rows_exit_status,
    say,
    show,
    table_format,
    write,
    write_document,
    write_table,
)
from campaign.cli.selection import PartSelection, checked_files, file_of, place_of
from campaign.config import rfp as rfps
from campaign.config.values import absolute_path, is_path_of_pack
from campaign.core import atomic, journal, timestamps
from campaign.core.errors import INCOMPLETE, OK, InputError, typed_path
from campaign.core.paths import bundle_of_part
from campaign.core.units import plural
from campaign.evidence import bundle, provenance, submitted_table, terms, verify, verify_bundle, verify_text
from campaign.evidence.bundle_decision import NOT_FULLY_CHECKED
from campaign.report import decision, table
from campaign.report.compare import rendering
from campaign.report.compare.comparison import parse_terms
from campaign.report.rfp_response import join_parts
from campaign.report.write import write_report
from campaign.results.store import is_begun

if TYPE_CHECKING:
    from campaign.evidence.sample import Challenge  # with numpy, which takes a while
    from campaign.report.compare.offers import Offer

Choice = tuple[decision.OpenDecision, str, str]  # a decision to accept, who accepts it, and why
Compared = submitted_table.TableComparison | None  # None: no table was handed in, or nothing can be compared with it
NOT_SAMPLED = "the bundle cannot be re-evaluated"


def pack(arguments: argparse.Namespace) -> int:
    selection, out = PartSelection(arguments), arguments.output
    bundle.check_place(out, arguments.force)
    records = {selection.label(part): bundle.open_part_record(arguments.file, say, part) for part in selection.parts}
    rfp = selection.response.rfp if selection.response else None
    files, parts = bundle.write(records, out, arguments.sign, arguments.force, rfp)
    count = plural(len(parts), "part") if rfp else plural(parts[""].attempts, "attempt")
    show(f"wrote {out}: {plural(files, 'file')}, {count}")
    for label, part_bundle in parts.items():
        of_part = f" of {label}" if label else ""
        if part_bundle.left_out:
            left_out = plural(part_bundle.left_out, "failed or superseded attempt")
            show(f"{left_out}{of_part}: listed in index.json; their logs are not included")
        show(f"journal head{of_part} (send it to the buyer): {part_bundle.evaluation.head}")
    show(f"verify:  campaign verify {typed_path(out)}")
    submissions = {part: part_bundle.evaluation.submission for part, part_bundle in parts.items()}
    for finding in selection.judge(submissions).findings:
        if finding.violated:
            selection.statuses.append(INCOMPLETE)
            show(f"no buyer accepts this bundle: {finding.rule}: {finding.message}")
    for label, part_bundle in parts.items():
        rows, part = part_bundle.evaluation.submission.rows, records[label].definition.campaign.part
        selection.statuses.append(rows_exit_status(rows))
        if selection.statuses[-1]:
            reason = f"'campaign check {typed_path(arguments.file, part)}' says why"
            show(f"{decision.status_counts(rows)}: no buyer accepts this bundle; {reason}")
    status = selection.finish()
    documents = {part: _bundled_document(part_bundle) for part, part_bundle in parts.items()}
    contents = {"rfp": rfp.id, "parts": documents} if rfp else documents[""]
    write_document({"bundle": str(out), "files": files, **contents, "exit_status": status}, arguments)
    return status


def _bundled_document(part: bundle.WrittenPart) -> dict[str, Any]:
    """What `--json` prints of a part that was packed."""
    chain, submission = part.evaluation.chain, part.evaluation.submission
    return {
        "campaign": submission.campaign.name,
        "attempts": part.attempts,
        "left_out": part.left_out,
        "journal": {"events": len(chain.heads), "head": chain.head, "nonce": chain.nonce} if chain else None,
        "results": Counter(row.status for row in submission.rows),
    }


def print_verification(arguments: argparse.Namespace) -> int:
    """Print the decision on a bundle; on one of several parts also the scores, and with --details each part."""
    demands = _buyers_demands(arguments)
    verify.load_buyers_rules(demands)
    with verify_bundle.open_parts(arguments.bundle, arguments.part) as selection:
        junit_files = checked_files(arguments.junit, selection.parts, selection.is_response, arguments.force)
        with verify_bundle.verify_parts(selection, demands, arguments.rfp) as verified:
            comparison = _compare_table(arguments, verified)
            if arguments.json:
                of_table = {"table": {"file": str(arguments.table), **asdict(comparison)}} if comparison else {}
                print(json.dumps(verify_text.as_json(verified) | of_table, indent=1))
            elif verified.is_response:
                bundle_name = typed_path(arguments.bundle)
                show(verify_text.response_text(verified, bundle_name, demands.terms, columns(), arguments.details))
            for part, verified_part in verified.parts.items():
                _print_part(arguments, verified_part, part, verified.is_response, junit_files[part], demands.terms)
            if verified.is_response and arguments.junit == STANDARD_OUTPUT:
                write(verify_text.as_junit(verified.name, verified.parts.values()), arguments.junit, arguments)
            if comparison and not arguments.json:
                show(verify_text.table_text(arguments.table, comparison))
            return INCOMPLETE if comparison and comparison.differences else verified.exit_status


def _print_part(
    arguments: argparse.Namespace,
    verified: verify.VerifiedPart,
    part: str,
    is_of_several: bool,
    junit_file: Path | None,
    buyers_terms: terms.OfferTerms | None,
) -> None:
    """Print the verification of a part, of several only with --details, and write the files that are asked for."""
    is_shown = not arguments.json and (arguments.details or not is_of_several)
    if is_shown and is_of_several:
        show(f"\n=== part {part} ===")
    if junit_file and not (is_of_several and junit_file == STANDARD_OUTPUT):  # one document of all is printed there
        write(verify_text.as_junit(verified.name, [verified]), junit_file, arguments)
    if is_shown:
        bundle_name = typed_path(arguments.bundle, part)
        show(verify_text.as_text(verified, bundle_name, buyers_terms, columns(), arguments.details))
    if verified.evaluation is None:
        return
    if is_shown and arguments.details:
        submission = verified.evaluation.submission
        rows, campaign, pack = submission.rows, submission.campaign, submission.pack
        show(f"\n{table.table_text(rows, campaign, pack, 'simple', columns(), details=True)}")
    if output := place_of(arguments.output, part if is_of_several else ""):
        bundle_directory = bundle_of_part(arguments.bundle, part)
        path = write_report(output, verify_text.report_contents(verified, verified.evaluation, bundle_directory))
        (say if arguments.json else show)(f"wrote {path}")


def _buyers_demands(arguments: argparse.Namespace) -> verify.Buyer:
    """What the buyer asks: as the terms say, and the options where they are given."""
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
    return demands.with_terms(terms.load(arguments.terms)) if arguments.terms else demands


def write_terms(arguments: argparse.Namespace) -> int:
    file = _file_name(arguments.file, "terms.yaml")
    verify_command = f"campaign verify BUNDLE --terms {typed_path(file)}"
    remark = f": replace the nonce, put the vendors' keys next to it, then '{verify_command}'"
    write(terms.new_terms(arguments.rules, file), arguments.file, arguments, remark)
    return OK


def accept_decisions(arguments: argparse.Namespace) -> int:
    """Write the acceptance of each decision that is chosen, one after another. Nothing that is accepted makes records
    agree that contradict each other.
    """
    if (arguments.decision or arguments.all_of) and not arguments.by:
        raise InputError("--by: missing; add the name of who accepts")
    demands, accepted_ids = verify.Buyer(sacct=arguments.sacct).with_terms(terms.load(arguments.terms)), list[str]()
    bundle = typed_path(arguments.bundle, arguments.part)
    verify.load_buyers_rules(demands)
    with (
        verify_bundle.open_parts(arguments.bundle, arguments.part) as selection,
        verify_bundle.verify_parts(selection, demands) as verified,
    ):
        decisions = [item for part in verified.parts.values() for item in part.decision.decisions]
        decisions += verified.own_decisions
    if verified.is_contradicted:
        say(f"{bundle}: its records contradict each other, which no terms accept; see 'campaign verify {bundle}'")
        return INCOMPLETE
    for item, by, reason in _choices(arguments, decisions):
        acceptance = terms.acceptance(item, by, date.today(), reason)
        atomic.write(arguments.terms.resolve(), terms.with_acceptance(arguments.terms, acceptance))
        accepted_ids.append(item.id)
    number_open = len(decisions) - len(accepted_ids)
    if arguments.json:
        listed_decisions = [item.as_json() for item in decisions]
        print(json.dumps({"format": 1, "decisions": listed_decisions, "accepted": accepted_ids}, indent=1))
    else:
        show(f"{plural(len(accepted_ids), 'decision')} accepted in {arguments.terms}; {number_open} open")
    return NOT_FULLY_CHECKED if number_open else OK


def _choices(arguments: argparse.Namespace, decisions: Sequence[decision.OpenDecision]) -> Iterator[Choice]:
    """The decisions to accept, by options or as the terminal answers; without both, all are listed."""
    if arguments.decision or arguments.all_of:
        for option, names, key in (("--decision", arguments.decision, "id"), ("--all-of", arguments.all_of, "rule")):
            open_names = dict.fromkeys(getattr(item, key) for item in decisions)
            for name in (name for name in names if name not in open_names):
                raise InputError(f"{option} {name}: no open decision; open are: {', '.join(open_names) or 'none'}")
        for item in decisions:
            if item.id in arguments.decision or item.rule in arguments.all_of:
                yield item, arguments.by, arguments.reason
    elif sys.stdin.isatty() and not arguments.json:
        yield from _ask(decisions, arguments.by)
    elif decisions and not arguments.json:
        bundle = typed_path(arguments.bundle, arguments.part)
        show(verify_text.decisions_text(decisions, bundle, terms.load(arguments.terms), columns()))


def _ask(decisions: Sequence[decision.OpenDecision], by: str) -> Iterator[Choice]:
    """Show each decision on the terminal, and give those that are accepted."""
    refused_rules = []
    for number, item in enumerate(decisions, 1):
        show(f"\n{verify_text.open_decision_text(item, f'{number} of {len(decisions)}', columns())}")
        while (answer := _answer("Accept? y: yes, n: no, s: skip: ")[:1].lower()) not in ("y", "n", "s"):
            pass
        if answer == "y":
            while not by:
                by = _answer("Your name: ")
            yield item, by, _answer("Why (may be empty): ")
        elif answer == "n":
            refused_rules.append(item.rule)
    if refused_rules:
        show(f"Not accepted: {', '.join(refused_rules)}. Tell the vendor, who corrects it or explains it otherwise.")


def _answer(question: str) -> str:
    """A line from the terminal. Raises InputError at its end."""
    print(question, end="", flush=True)
    if line := sys.stdin.readline():
        return line.strip()
    raise InputError("the input has ended; what was accepted before is in the terms")


def _file_name(output: Path, default: str) -> Path:
    """The file that commands in the output name: the reader saves it under this name where it is printed."""
    return Path(default) if output == STANDARD_OUTPUT else output


def _compare_table(arguments: argparse.Namespace, verified: verify_bundle.VerifiedBundle) -> Compared:
    """The comparison of the table or form that was handed in with the bundle."""
    submissions = {
        part: verified_part.vendors_evaluation.submission
        for part, verified_part in verified.parts.items()
        if verified_part.vendors_evaluation
    }
    if arguments.table is None or not submissions:
        return None
    mapping, _ = rfps.mapping_and_packs(arguments.mapping, arguments.table, "", arguments.part)
    if mapping is None and verified.rfp is not None:
        mapping = verified.rfp.form(arguments.table)
    return submitted_table.compare(arguments.table, submissions, mapping, verified.judgement.scored)


def show_head(arguments: argparse.Namespace) -> int:
    selection = PartSelection(arguments, "json" if arguments.json else "")
    queries = selection.part_files(arguments.query, arguments.force)
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
        selection.add_text(part, json.dumps(head, indent=1) + "\n" if arguments.json else chain.head)
    print(selection.joined_text(), end="")
    return selection.finish()


@contextmanager
def _open_intact(
    arguments: argparse.Namespace, demands: verify.Buyer, problem: str, buyers_rfp: Path | None = None
) -> Iterator[verify_bundle.VerifiedBundle]:
    """A bundle, all of whose parts can be re-evaluated. Raises InputError with the problem if they cannot, or if it was
    altered.
    """
    verify.load_buyers_rules(demands)
    with (
        verify_bundle.open_parts(arguments.bundle, arguments.part) as selection,
        verify_bundle.verify_parts(selection, demands, buyers_rfp) as verified,
    ):
        if not verified.is_intact:
            raise InputError(f"{arguments.bundle}: {problem}; see 'campaign verify'")
        yield verified


def draw_sample(arguments: argparse.Namespace) -> int:
    from campaign.evidence import sample
    from campaign.statistics import designs

    demands = verify.Buyer(arguments.signers, rules=arguments.rules, waiver_signers=arguments.waiver_signers)
    aims = sample.parse_aims(arguments.honest, arguments.catch)
    fixed = designs.Design(arguments.cells, arguments.repetitions, _min_share(arguments), arguments.sessions)
    with _open_intact(arguments, demands, NOT_SAMPLED, arguments.rfp) as verified:
        offers = sample.sampled_offers(verified.submissions, arguments.bundle.name)
        files = checked_files(arguments.output, [*offers], verified.is_response, arguments.force)
        aims_of_part = sample.aims_of_part(aims, len(offers))
        challenges = {
            part: sample.design_challenge(offer, verified.parts[part].chain.head, arguments.seed, aims_of_part, fixed)
            for part, offer in offers.items()
        }
        documents = {}
        for part, challenge in challenges.items():
            if verified.is_response:
                show(f"=== part {part} ===")
            settings = sample.challenge_settings(challenge, verified.submissions[part])
            settings["rules"] = _pack_of_sample(arguments, settings["rules"], verified.rfp, part)
            documents[part] = _write_sample(arguments, challenge, offers[part], settings, part, files[part])
        document = next(iter(documents.values()))
        if verified.is_response:
            typed_files = _typed_files(arguments, "", arguments.output)
            files_to_run = [typed_path(path) for path in files.values() if path]
            block = sample.parts_decision(challenges, offers, aims, files_to_run, *typed_files)
            show(f"\n{decision.decision_text(block, columns())}")
            document = {"parts": documents, "decision": asdict(block)}
    write_document({"bundle": arguments.bundle.name, **document, "exit_status": OK}, arguments)
    return OK


def _pack_of_sample(arguments: argparse.Namespace, vendors_pack: str, rfp: rfps.Rfp | None, part: str) -> str:
    """The buyer's copy of the pack that a part was measured by, or its id. Raises InputError if there is no copy."""
    if not is_path_of_pack(vendors_pack):
        return vendors_pack
    buyers_pack = rfps.pack_of(rfp, rfp.part(part)) if rfp and arguments.rfp else arguments.rules
    path = Path(buyers_pack) if buyers_pack else absolute_path(arguments.output, vendors_pack)
    if not path.is_file():
        raise InputError(
            f"{arguments.bundle}: measured by the rule pack {vendors_pack}, of which there is no copy here; give yours "
            "with --rules, or that of your RFP with --rfp"
        )
    return str(path.absolute())


def _write_sample(
    arguments: argparse.Namespace,
    challenge: Challenge,
    offer: Offer,
    settings: Mapping[str, Any],
    part: str,
    output: Path | None,
) -> dict[str, Any]:
    """Write the sample of a part, and print its decision; gives what `--json` prints of it."""
    from campaign.evidence import sample

    write(sample.challenge_text(challenge, settings), output, arguments)
    typed_files = _typed_files(arguments, part, _file_name(output or STANDARD_OUTPUT, "sample.yaml"))
    block = sample.sample_decision(challenge, offer, *typed_files)
    show(f"{decision.decision_text(block, columns())}\n")
    print(f"cells to measure again: {' '.join(f'{part}/{cell}' if part else cell for cell in challenge.cells)}")
    show("\n".join(sample.design_remarks(challenge, offer)))
    show("the vendor's machine; change what must differ, and allow it with 'campaign accept --allow KEY':")
    flat_settings = sample.flatten_settings(settings).items()
    show("\n".join(f"  {key}: {text}" for key, text in flat_settings if sample.is_machine_setting(key)))
    fields = ("seed", "aims", "design", "repetitions", "cells")
    drawn = {name: value for name, value in asdict(challenge).items() if name in fields}
    return {"sample": typed_files[1], **drawn, "decision": asdict(block)}


def _typed_files(arguments: argparse.Namespace, part: str, file: Path) -> tuple[str, str]:
    """A bundle, of which one part is meant if it is named, and the file of its sample."""
    return typed_path(arguments.bundle, part), typed_path(file)


def _min_share(arguments: argparse.Namespace) -> float:
    """0: that of the design."""
    terms_of_acceptance = parse_terms(None, arguments.at_least, False)
    return terms_of_acceptance.min_share if terms_of_acceptance else 0.0


def accept(arguments: argparse.Namespace) -> int:
    from campaign.evidence import acceptance, sample

    demands = verify.Buyer(arguments.signers, rules=arguments.rules, waiver_signers=arguments.waiver_signers)
    options = acceptance.AcceptanceOptions(tuple(arguments.allow), _min_share(arguments), arguments.reported)
    style, width = table_format(arguments), columns(arguments.output)
    with _open_intact(arguments, demands, NOT_SAMPLED, arguments.rfp) as verified:
        outcomes, blocks = {}, {}
        for part in sample.sampled_offers(verified.submissions, arguments.bundle.name):
            file = file_of(arguments.challenge, part if verified.is_response else "")
            submission, head = verified.submissions[part], verified.parts[part].chain.head
            outcomes[part] = outcome = acceptance.accept(file, submission, head, options, say)
            blocks[part] = acceptance.acceptance_decision(outcome, *_typed_files(arguments, part, file))
            if arguments.further and outcome.further:
                atomic.write(file.resolve(), acceptance.extended_challenge(outcome, file))
                say(f"wrote {file}: with further repetitions")
    tables = {
        part: rendering.comparison_text(outcome.comparison, blocks[part], style, width)
        for part, outcome in outcomes.items()
    }
    typed_files = _typed_files(arguments, "", arguments.challenge)
    block = acceptance.parts_decision(outcomes, blocks, *typed_files)
    if verified.is_response and style not in ONE_FILE:
        show(f"{decision.decision_text(block, columns())}\n")
    write_table(join_parts(style, verified.rfp, tables, decision=asdict(block)), arguments, style)
    for part, outcome in outcomes.items():
        if texts := list(acceptance.condition_texts(outcome)):
            heading = [f"part {part}:"] if verified.is_response else []
            (show if style == "simple" else say)("\n".join([*heading, *texts]))
    return acceptance.EXIT_STATUS[acceptance.worst_verdict(outcome.verdict for outcome in outcomes.values())]


def build_again(arguments: argparse.Namespace) -> int:
    problem = "the bundle was altered or cannot be re-evaluated, so its source was not built"
    with _open_intact(arguments, verify.Buyer(), problem) as verified:
        options = (arguments.mpicc, arguments.cflags, arguments.foreign_source)
        parts = verified.submissions
        folders = {part: submission.campaign.path.parent for part, submission in parts.items()}
        sources = {part: folder for part, folder in folders.items() if (folder / provenance.SOURCE).is_file()}
        rebuilt = {
            part: provenance.rebuild(folder, parts[part], *options) for part, folder in (sources or folders).items()
        }
    documents = {part: provenance.rebuilt_json(builds) for part, builds in rebuilt.items()}
    if arguments.json:
        document = {"format": 1, "parts": documents} if verified.is_response else next(iter(documents.values()))
        print(json.dumps(document, indent=1))
    else:
        for part, builds in rebuilt.items():
            show(f"{f'{part}: ' if verified.is_response else ''}{provenance.rebuilt_text(builds)}")
    return OK if all(document["identical"] for document in documents.values()) else INCOMPLETE


FUNCTIONS: Mapping[str, Callable[[argparse.Namespace], int]] = {
    "terms init": write_terms,
    "terms accept": accept_decisions,
    "bundle": pack,
    "head": show_head,
    "verify": print_verification,
    "sample": draw_sample,
    "accept": accept,
    "rebuild": build_again,
}
