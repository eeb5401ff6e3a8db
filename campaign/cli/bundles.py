"""The verbs about evidence: packing it, verifying it, and measuring or building a part of it again."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict

from campaign.cli.output import columns, say, show, table_format, verdict, write
from campaign.config import rfp
from campaign.config.opened import open_campaign
from campaign.core import journal, timestamps
from campaign.core.errors import INCOMPLETE, OK, InputError, typed
from campaign.core.units import several
from campaign.evidence import bundle, handed, rebuild, sample, text, verify
from campaign.evidence.verify import Asked, VerifiedBundle
from campaign.judge.submission import Submission
from campaign.pipeline import planning, standing
from campaign.report import table
from campaign.report.compare import forms, verdicts
from campaign.report.write import write_report
from campaign.results.store import begun

NOT_SAMPLED = "the bundle cannot be re-evaluated"


def pack(arguments: argparse.Namespace) -> int:
    bundle.check_place(arguments.output)
    opened, names = bundle.open_recorded(arguments.file, arguments.part)
    planned, attempts = standing.on_record(opened, say)
    if begun(opened.paths):
        planning.write(opened, planned)
    written = bundle.write(opened, names, planned, attempts, arguments.output, arguments.sign)
    show(f"wrote {arguments.output}: {several(written.files, 'file')}, {several(written.attempts, 'attempt')}")
    if written.left_out:
        show(f"{several(written.left_out, 'attempt')} without raw output: listed only in the bundle's index")
    show(f"journal head (send it to the buyer): {written.judged.head}")
    show(f"verify:  campaign verify {typed(arguments.output)}")
    return verdict(written.judged.submission.rows)


def verify_bundle(arguments: argparse.Namespace) -> int:
    asked = Asked(
        arguments.signers,
        arguments.nonce,
        tuple(arguments.head),
        arguments.rules,
        arguments.waiver_signers,
        tuple(arguments.timestamp),
        arguments.authority,
    )
    mapping, _ = rfp.form_of(arguments.mapping, arguments.table or arguments.bundle, "", arguments.of_part)
    differing: list[handed.CellDifference] = []
    with verify.verify(arguments.bundle, asked) as verified:
        judged = verified.judged
        if arguments.table and judged:
            differing = handed.differences(arguments.table, judged.submission, mapping, arguments.of_part)
        if arguments.junit:
            write(text.as_junit(verified), arguments.junit)
        if arguments.json:
            of_table = {"table": {"file": str(arguments.table), "differences": list(map(asdict, differing))}}
            print(json.dumps(text.as_json(verified) | (of_table if arguments.table and judged else {}), indent=1))
        else:
            show(text.as_text(verified, columns()))
            if judged is not None:
                whole = judged.submission
                print(f"\n{table.printed(whole.rows, whole.campaign, whole.pack, 'simple', columns())}")
            show(text.conclusion(verified))
            if arguments.table and judged:
                show(text.of_table(arguments.table, differing))
        if arguments.output and judged is not None:
            tell = say if arguments.json else show
            path = write_report(arguments.output, text.for_report(verified, judged))
            tell(f"wrote {path}")
    return INCOMPLETE if differing else verified.conclusion.exit_status


def show_head(arguments: argparse.Namespace) -> int:
    opened = open_campaign(arguments.file, arguments.part)
    if not begun(opened.paths):
        raise InputError(
            f"no journal: campaign {opened.campaign.name} has not been run; start with 'campaign run "
            f"{typed(arguments.file, arguments.part)}'"
        )
    chain = journal.look(opened.paths.journal)
    if chain.problem:
        raise InputError(f"journal.jsonl: {chain.problem}")
    if arguments.query:
        timestamps.request(chain.head, arguments.query)
    head = {"campaign": opened.campaign.name, "events": len(chain.heads), "head": chain.head, "nonce": chain.nonce}
    print(json.dumps(head, indent=1) if arguments.json else chain.head)
    return OK


@contextmanager
def _intact(arguments: argparse.Namespace, asked: Asked, problem: str) -> Iterator[tuple[VerifiedBundle, Submission]]:
    """A bundle and its re-evaluated campaign. Raises InputError with the problem if the bundle was altered or cannot be
    re-evaluated.
    """
    with verify.verify(arguments.bundle, asked) as verified:
        if verified.judged is None or not verified.intact:
            raise InputError(f"{arguments.bundle}: {problem}; see 'campaign verify'")
        yield verified, verified.judged.submission


def draw_sample(arguments: argparse.Namespace) -> int:
    asked = Asked(arguments.signers, waiver_signers=arguments.waiver_signers)
    with _intact(arguments, asked, NOT_SAMPLED) as (verified, whole):
        challenge = sample.challenge(whole, verified.chain.head, arguments.cells, arguments.seed)
        if arguments.output.exists():
            raise InputError(f"{arguments.output}: already exists; name a new file")
        write(challenge, arguments.output)
        print(f"cells to measure again: {' '.join(sample.read(arguments.output).cells)}")
        print(sample.error_rates(whole.rows, arguments.cells, float(arguments.at_least)))
    return OK


def accept(arguments: argparse.Namespace) -> int:
    terms = verdicts.parse_terms(None, arguments.at_least, arguments.reported)
    assert terms is not None, "the share has a default"
    asked = Asked(arguments.signers, waiver_signers=arguments.waiver_signers)
    with _intact(arguments, asked, NOT_SAMPLED) as (verified, whole):
        accepted = sample.accept(arguments.bundle, arguments.challenge, whole, verified.chain.head, terms, say)
        style = table_format(arguments.format, arguments.output)
        write(forms.printed(accepted.comparison, style), arguments.output)
        if accepted.other_settings:
            say(
                "note: the sample was run with other machine settings than the bundle: "
                f"{', '.join(accepted.other_settings)}"
            )
        for objection in accepted.objections:
            say(f"not a valid sample: {objection}")
        if style == "simple":
            print(sample.error_rates(whole.rows, len(accepted.challenge.cells), terms.least))
            unmeasured = (
                "NOT ACCEPTED: this is not a measurement of the drawn sample"
                if accepted.objections
                else "NOT ACCEPTED: not every drawn cell is shown to reach its committed value"
            )
            print("ACCEPTED: every drawn cell reaches its committed value" if accepted.passed else unmeasured)
    return OK if accepted.passed else INCOMPLETE


def build_again(arguments: argparse.Namespace) -> int:
    problem = "the bundle was altered or cannot be re-evaluated, so its source was not built"
    with _intact(arguments, Asked(), problem) as (_, whole):
        terms = (arguments.mpicc, arguments.cflags, arguments.foreign_source)
        rebuilt = rebuild.rebuild(whole.campaign.path.parent, whole, *terms)
    show(json.dumps(rebuild.as_json(rebuilt), indent=1) if arguments.json else rebuild.as_text(rebuilt))
    return OK if all(one.identical for one in rebuilt) else INCOMPLETE


FUNCTIONS: Mapping[str, Callable[[argparse.Namespace], int]] = {
    "bundle": pack,
    "head": show_head,
    "verify": verify_bundle,
    "sample": draw_sample,
    "accept": accept,
    "rebuild": build_again,
}
