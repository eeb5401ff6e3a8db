"""The verbs on a campaign file that answers an RFP of several parts: each part by itself, then the whole."""

from __future__ import annotations

import argparse
import csv
import io
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, redirect_stdout
from copy import copy
from dataclasses import replace
from pathlib import Path
from threading import Event

from campaign.cli import bundles, results, running
from campaign.cli.output import STANDARD_OUTPUT, check_outputs, columns, say, show, table_format, write
from campaign.config.opened import Opened, open_campaign
from campaign.config.response import Response, read
from campaign.config.rfp import Rfp
from campaign.config.rfp import load as load_rfp
from campaign.core.errors import INCOMPLETE, INTERRUPTED, OK, InputError, typed
from campaign.core.model import Paths
from campaign.core.units import listed
from campaign.evidence import verify
from campaign.evidence import whole as evidence
from campaign.judge.submission import Submission
from campaign.report import decision, printing, scores, whole
from campaign.report.compare import forms, sources, verdicts
from campaign.report.compare.offers import Offer

Verb = Callable[[argparse.Namespace], int]
# Verbs whose scores are of what they judge: how they judge a part, and what they tell of it.
JUDGED_ONCE = {
    "table": (results.judged, results.table_of),
    "report": (results.judged_with_sources, results.report_of),
}
ONE_FILE = ("csv", "json")  # formats of tables in which all parts are one file


def do(name: str, verb: Verb, arguments: argparse.Namespace, response: Response) -> int:
    """Do a verb for all parts; gives the worst of their exit statuses."""
    if name == "bundle":
        return _complete(response, bundles.pack_whole(arguments, response))
    if name in ("run", "rerun"):
        return _run(name, arguments, response)
    style = results.table_style(arguments) if name == "table" else ""
    if style in ONE_FILE:
        arguments.format = style
    as_data = style in ONE_FILE or getattr(arguments, "json", False)
    is_one_file = style in ONE_FILE or "directory" in arguments.outputs.values()
    for part in response.parts:
        check_outputs(_of_part(arguments, part.id, "" if is_one_file else part.id))
    judging = JUDGED_ONCE.get(name)
    judged: dict[str, Submission] = {}

    def done(given: argparse.Namespace) -> int:
        if judging is None:
            return verb(given)
        judge, tell = judging
        judged[given.part] = judge(given)
        return tell(given, judged[given.part])

    texts, status = {}, OK
    for number, part in enumerate(response.parts):
        given = _of_part(arguments, part.id, part.id)
        if as_data:
            given.output, given.decimal = None, "."
            with redirect_stdout(io.StringIO()) as printed:
                status = max(status, done(given))
            texts[part.id] = printed.getvalue()
        else:
            show(f"{'' if number == 0 else chr(10)}{whole.heading(part)}")
            status = max(status, done(given))
    scoring = judged and not getattr(arguments, "clauses", False)
    scored = scores.scores(response.rfp, scores.of_parts(judged)) if scoring else []
    if as_data:
        text = _table(texts) if style == "csv" else whole.as_json(response, texts, scored)
        if style and arguments.decimal == ",":
            text = printing.with_decimal_commas(text)
        write(text, arguments.output if style else None, arguments)
    elif scored:
        show(f"\n{whole.scores_text(scored, columns())}")
    if name == "check" and not as_data:
        show(f"\n{_decision(arguments, response)}")
    if name == "report":
        directory = arguments.output or next(iter(judged.values())).campaign.results.parent / "report"
        pages = {
            id: (arguments.output / id if arguments.output else Paths(each.campaign.results).report)
            for id, each in judged.items()
        }
        show(f"wrote {whole.write_page(directory, response, judged, pages, scored)}")
    return _complete(response, status)


def _complete(response: Response, status: int) -> int:
    """The exit status, with the mandatory parts that the file leaves out."""
    if left := response.unanswered:
        say(f"mandatory parts of RFP {response.rfp.id} that are not answered: {listed([part.id for part in left])}")
        return max(status, INCOMPLETE)
    return status


def _decision(arguments: argparse.Namespace, response: Response) -> str:
    """That on all parts, for the vendor."""
    parts = {part.id: results.judged(_of_part(arguments, part.id, "")) for part in response.parts}
    block = whole.decision_of(response, parts, arguments.file)
    return decision.printed(block, columns())


def _of_part(arguments: argparse.Namespace, part: str, below: str) -> argparse.Namespace:
    """The arguments for a part, whose files and directories are beside each other."""
    given = copy(arguments)
    given.part, given.brief = part, True
    for name in ("output", "scripts", "junit", "query"):
        path: Path | None = getattr(given, name, None)
        if path not in (None, STANDARD_OUTPUT) and below:
            setattr(given, name, path.with_stem(f"{path.stem}-{below}") if path.suffix else path / below)
    return given


def opened(arguments: argparse.Namespace, response: Response) -> dict[str, Opened]:
    return {part.id: open_campaign(arguments.file, part.id) for part in response.parts}


def _table(texts: Mapping[str, str]) -> str:
    """The tables of all parts as one CSV, with a column for the part."""
    rows = [{"part": part, **row} for part, text in texts.items() for row in csv.DictReader(io.StringIO(text))]
    columns = dict.fromkeys(name for row in rows for name in row) or {"part": None}
    return printing.as_csv([*columns], (dict.fromkeys(columns) | row for row in rows))


# --- running the parts


def _run(name: str, arguments: argparse.Namespace, response: Response) -> int:
    """Parts that share storage or a partition run one after another, others side by side."""
    if arguments.max_node_hours is not None:
        raise InputError("--max-node-hours: is for one part; name it with --part")
    with running.sandboxed(arguments):
        chosen = dict(_chosen(name, arguments, response))
        status = _side_by_side(chosen, list(groups(opened(arguments, response), list(chosen))))
    if not arguments.detach and status != INTERRUPTED:
        show(f"\n{_decision(arguments, response)}")
    told = f"campaign for RFP {response.rfp.id}: ended with status {status}"
    running.notify(arguments.notify, response.rfp.id, status, told)
    return _complete(response, status)


def _chosen(verb: str, arguments: argparse.Namespace, response: Response) -> Iterator[tuple[str, list[str]]]:
    """The command of each part that is to run: cells are named `part/target/launch/files/operation`."""
    given = arguments.cells if verb == "rerun" else arguments.only
    cells = [cell for cell in given if "/" in cell]
    ids = [part.id for part in response.parts]
    for cell in cells:
        if cell.partition("/")[0] not in ids:
            raise InputError(f"{cell}: allowed: part/target/launch/files/operation; parts: {', '.join(ids)}")
    flags = ("failed", "detach", "keep_going", "verbose", "quiet")
    options = [f"--{flag.replace('_', '-')}" for flag in flags if getattr(arguments, flag, False)]
    for part in ids:
        own = [cell.partition("/")[2] for cell in cells if cell.partition("/")[0] == part]
        own += [cell for cell in given if cell not in cells]
        if own or not cells:
            named = own if verb == "rerun" else [f"--only={cell}" for cell in own]
            program = [sys.executable, "-m", "campaign", verb, str(arguments.file), *named]
            yield part, [*program, "--part", part, "--max-jobs", arguments.max_jobs, *options]


def groups(parts: Mapping[str, Opened], chosen: Sequence[str]) -> Iterator[list[str]]:
    """Parts that disturb each other, in their order: those with a common partition, storage or directory."""
    left = list(chosen)
    while left:
        group = [left.pop(0)]
        shared = _used(parts[group[0]])
        while joined := [part for part in left if shared & _used(parts[part])]:
            group += joined
            shared |= {each for part in joined for each in _used(parts[part])}
            left = [part for part in left if part not in joined]
        yield [part for part in chosen if part in group]


def _used(part: Opened) -> set[tuple[str, str]]:
    campaign = part.campaign
    targets = {("storage", target.storage or target.directory) for target in campaign.targets}
    return {("partition", campaign.slurm.partition), *targets}


def _side_by_side(chosen: Mapping[str, list[str]], queues: Sequence[list[str]]) -> int:
    """Run the parts of each queue one after another; their lines begin with the part's name."""
    running: dict[str, subprocess.Popen[str]] = {}
    interrupted = Event()

    def follow(queue: list[str]) -> int:
        worst = OK
        for part in queue:
            if interrupted.is_set():
                return INTERRUPTED
            # In a group of its own: Ctrl-C reaches this program, which passes it on.
            with subprocess.Popen(
                chosen[part], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, process_group=0
            ) as running[part]:
                for line in running[part].stdout or ():
                    show(f"{part}: {line.rstrip()}")
                    sys.stdout.flush()
            status = running.pop(part).returncode
            worst = max(worst, status if status >= 0 else INTERRUPTED)
        return worst

    with ThreadPoolExecutor(max(1, len(queues))) as threads:
        following = [threads.submit(follow, queue) for queue in queues]
        while not all(each.done() for each in following):
            try:
                wait(following)
            except KeyboardInterrupt:  # the parts say what they leave
                interrupted.set()
                for child in list(running.values()):
                    child.send_signal(signal.SIGINT)
        return max((each.result() for each in following), default=OK)


# --- comparing the answers of several vendors


def compare(arguments: argparse.Namespace) -> int:
    """Compare offers part by part, then by their scores."""
    terms = verdicts.parse_terms(arguments.tolerance, arguments.at_least, arguments.reported)
    targets, day = verdicts.parse_targets(arguments.map), verdicts.parse_day(arguments.day)
    style = table_format(arguments.format, arguments.output)
    with ExitStack() as stack:
        offers = [_offer(stack, path) for path in arguments.campaigns]
        rfp, first = offers[0]
        compared = {
            part: verdicts.compare([parts[part] for _, parts in offers], terms, targets, arguments.force, day)
            for part in first
            if all(part in parts for _, parts in offers)
        }
    complete = True
    for path, (other, parts) in zip(arguments.campaigns, offers, strict=True):
        complete = complete and parts.keys() >= first.keys()
        if other.digest != rfp.digest:
            say(f"note: {path} answers another RFP or version: {other.id} version {other.version}")
        if left := [part.id for part in rfp.parts if part.id not in parts]:
            say(f"note: {path} does not answer {listed(left)}")
    scored = [scores.scores(rfp, scores.of_offers(parts)) for _, parts in offers]
    names, width = list(map(typed, arguments.campaigns)), columns(arguments.output)
    texts = {part: forms.printed(each, forms.decision_of(each, names), style, width) for part, each in compared.items()}
    if style == "csv":
        text = _table(texts)
    elif style == "json":
        text = whole.comparison_json(texts, arguments.campaigns, scored)
    else:
        headed = [f"{whole.heading(rfp.part(part))}\n{text}" for part, text in texts.items()]
        text = "\n".join([*headed, whole.compared_scores(arguments.campaigns, scored, style)])
    write(text, arguments.output, arguments)
    return OK if compared and complete and all(each.passed for each in compared.values()) else INCOMPLETE


def _offer(stack: ExitStack, path: Path) -> tuple[Rfp, Mapping[str, Offer]]:
    """The RFP that an offer answers, and its parts."""
    if path.suffix in (".yaml", ".yml"):
        answer = read(path)
        return answer.rfp, {part.id: sources.load(path, part=part.id) for part in answer.parts}
    bag = stack.enter_context(verify.opened(path))
    parts = {part: sources.load(bag.root / verify.PARTS / part) for part in verify.parts_of(bag)}
    if not parts:
        raise InputError(f"{path}: does not answer an RFP of several parts, as another of the offers does")
    return load_rfp(bag.root / evidence.RFP), {part: replace(each, source=str(path)) for part, each in parts.items()}
