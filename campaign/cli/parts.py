"""The verbs on a campaign file that answers an RFP of several parts: each part by itself, then the whole."""

from __future__ import annotations

import argparse
import csv
import io
import os
import selectors
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from copy import copy
from pathlib import Path

from campaign.cli import running
from campaign.cli.main import guarded
from campaign.cli.output import columns, say, show, table_format, write
from campaign.config.opened import Opened, open_campaign
from campaign.config.response import Response
from campaign.core.errors import INCOMPLETE, INTERRUPTED, OK, InputError
from campaign.core.model import Paths
from campaign.core.units import listed
from campaign.judge.submission import Submission
from campaign.pipeline import standing
from campaign.report import scores, whole

Verb = Callable[[argparse.Namespace], int]
ONE_FILE = ("csv", "json")  # formats of tables in which all parts are one file
BLOCK = 1 << 16


def do(name: str, verb: Verb, arguments: argparse.Namespace, response: Response) -> int:
    """Do a verb for all parts; gives the worst of their exit statuses."""
    if name in ("run", "rerun"):
        return _run(verb, arguments, response)
    style = table_format(arguments.format, arguments.output) if name == "table" and not arguments.clauses else ""
    if style in ONE_FILE:
        arguments.format = style
    as_data = style in ONE_FILE or getattr(arguments, "json", False)
    texts, status = {}, OK
    for number, part in enumerate(response.parts):
        given = _of_part(arguments, part.id, "" if as_data else part.id)
        if as_data:
            given.output = None
            with redirect_stdout(io.StringIO()) as printed:
                status = max(status, verb(given))
            texts[part.id] = printed.getvalue()
        else:
            show(f"{'' if number == 0 else chr(10)}{whole.heading(part)}")
            status = max(status, verb(given))
    judged: dict[str, Submission] = {}
    if name in ("table", "report"):
        judged = {id: standing.recorded(part) for id, part in opened(arguments, response).items()}
    scored = scores.scores(response.rfp, scores.of_parts(judged)) if judged else []
    if as_data:
        text = _table(texts) if style == "csv" else whole.as_json(response, texts, scored)
        write(text, arguments.output if style else None)
    elif scored:
        show(f"\n{whole.scores_text(scored, columns())}")
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


def _of_part(arguments: argparse.Namespace, part: str, below: str) -> argparse.Namespace:
    """The arguments for a part, whose files and directories are beside each other."""
    given = copy(arguments)
    given.part, given.brief = part, True
    for name in ("output", "scripts", "junit", "query"):
        path: Path | None = getattr(given, name, None)
        if path is not None and below:
            setattr(given, name, path.with_stem(f"{path.stem}-{below}") if path.suffix else path / below)
    return given


def opened(arguments: argparse.Namespace, response: Response) -> dict[str, Opened]:
    return {part.id: open_campaign(arguments.file, part.id) for part in response.parts}


def _table(texts: Mapping[str, str]) -> str:
    """The tables of all parts as one CSV, with a column for the part."""
    out = io.StringIO()
    rows = [(part, row) for part, text in texts.items() for row in csv.DictReader(io.StringIO(text))]
    names = dict.fromkeys(name for _, row in rows for name in row)
    written = csv.DictWriter(out, ["part", *names], lineterminator="\n")
    written.writeheader()
    written.writerows({"part": part, **row} for part, row in rows)
    return out.getvalue()


# --- running the parts


def _run(verb: Verb, arguments: argparse.Namespace, response: Response) -> int:
    """Parts that share storage or a partition run one after another, others side by side."""
    if arguments.max_node_hours is not None:
        raise InputError("--max-node-hours: is for one part; name it with --part")
    with running.sandboxed(arguments):
        chosen = dict(_chosen(arguments, response))
        status = _side_by_side(verb, chosen, list(groups(opened(arguments, response), list(chosen))))
    name = response.rfp.id
    running.notify(arguments.notify, name, status, f"campaign for RFP {name}: ended with status {status}")
    return _complete(response, status)


def _chosen(arguments: argparse.Namespace, response: Response) -> Iterator[tuple[str, argparse.Namespace]]:
    """The arguments of each part that is to run: cells are named `part/target/launch/files/operation`."""
    name = "cells" if "cells" in arguments else "only"
    cells = [cell for cell in getattr(arguments, name) if "/" in cell]
    ids = [part.id for part in response.parts]
    for cell in cells:
        if cell.partition("/")[0] not in ids:
            raise InputError(f"{cell}: allowed: part/target/launch/files/operation; parts: {', '.join(ids)}")
    for part in ids:
        given = _of_part(arguments, part, part)
        own = [cell.partition("/")[2] for cell in cells if cell.partition("/")[0] == part]
        others = [cell for cell in getattr(arguments, name) if cell not in cells]
        given.sandbox, given.notify, given.storage = False, None, ""
        setattr(given, name, [*own, *others])
        if own or others or not cells:
            yield part, given


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


def _side_by_side(verb: Verb, chosen: Mapping[str, argparse.Namespace], queues: Sequence[list[str]]) -> int:
    """Run the parts of each queue one after another, each in a process; their lines begin with the part's name."""
    worst, children = OK, selectors.DefaultSelector()

    def begin(queue: list[str]) -> None:
        if queue:
            part = queue.pop(0)
            child, pipe = _forked(verb, chosen[part])
            children.register(pipe, selectors.EVENT_READ, (part, child, queue, b""))

    for queue in queues:
        begin(queue)
    while children.get_map():
        try:
            ready = children.select()
        except KeyboardInterrupt:  # the parts were interrupted too: they say what they leave
            worst = INTERRUPTED
            for key in children.get_map().values():
                key.data[2].clear()
                with suppress(ProcessLookupError):
                    os.kill(key.data[1], signal.SIGINT)
            continue
        for key, _ in ready:
            part, child, queue, begun = key.data
            block = os.read(key.fd, BLOCK)
            *lines, rest = (begun + block).split(b"\n")
            for line in [*lines, *[rest] * (not block and bool(rest))]:
                show(f"{part}: {line.decode(errors='replace')}")
            if block:
                children.modify(key.fileobj, selectors.EVENT_READ, (part, child, queue, rest))
                continue
            children.unregister(key.fileobj)
            os.close(key.fd)
            _, ended = os.waitpid(child, 0)
            worst = max(worst, os.waitstatus_to_exitcode(ended) if os.WIFEXITED(ended) else INTERRUPTED)
            begin(queue)
    return worst


def _forked(verb: Verb, arguments: argparse.Namespace) -> tuple[int, int]:
    """A process that does the verb; gives it, and what it prints."""
    read, written = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child:
        os.close(written)
        return child, read
    status = INTERRUPTED
    try:
        os.setpgid(0, 0)  # Ctrl-C reaches this program, which passes it on
        os.close(read)
        os.dup2(written, 1)
        os.dup2(written, 2)
        status = guarded("run", lambda: verb(arguments))
    finally:
        os._exit(status)
