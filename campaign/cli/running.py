"""The verbs about running a campaign, from its plan to the collected outputs."""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

from campaign.cli import progress, queues
from campaign.cli.output import columns, rows_exit_status, say, show, write_document
from campaign.cli.selection import PartSelection
from campaign.cli.terminal import can_redraw
from campaign.config.definition import Definition, open_campaign
from campaign.core import waiting
from campaign.core.atomic import locked
from campaign.core.errors import ENVIRONMENT, INCOMPLETE, INTERRUPTED, OK, CampaignError, InputError, typed_path
from campaign.core.grouping import grouped
from campaign.core.runs import Attempt, Cell, State, Status
from campaign.core.units import listing, plural
from campaign.judge.submission import Submission
from campaign.pipeline import (
    campaign_state,
    outdated,
    passed_probe,
    planning,
    preflight,
    probe,
    recovery,
    run,
    unsubmitted,
)
from campaign.pipeline.request import Request
from campaign.plan import matrix
from campaign.plan.estimate import TimeEstimate
from campaign.report import causes, decision, findings_view, table, views
from campaign.results.cells import Row, patterns
from campaign.slurm import commands

NOTIFY_S = 60.0  # seconds for the user's command


def plan(arguments: argparse.Namespace) -> int:
    selection = PartSelection(arguments, "json" if arguments.json else "")
    submissions: dict[str, Submission] = {}
    for part, definition in selection:
        checked = preflight.check(definition, planning.plan(definition), Request())
        submissions[part] = checked.submission
        attempts, directory = (
            campaign_state.recorded_attempts(definition),
            selection.part_directory(part, arguments.scripts),
        )
        script_count = unsubmitted.write_scripts(definition, checked.missing, directory) if directory else None
        if arguments.json:
            text = _plan_json(definition, checked)
        else:
            terminal, brief = sys.stdout.isatty(), selection.response is not None
            text = views.plan_text(definition, checked.plan, attempts, columns(), terminal, brief)
            text += f"\n\n{views.forecast_text(checked.submission, columns())}\n"
        selection.add_text(part, text)
        _say_notes(definition, checked, attempts)
        if script_count is not None:
            say(f"wrote {plural(script_count, 'job script')} to {directory}")
        selection.statuses.append(_plan_status(arguments, definition, checked))
    judgement = selection.judge(submissions) if selection.response else None
    violated = [finding for finding in judgement.findings if finding.violated] if judgement else []
    selection.statuses += [INCOMPLETE] * len(violated)
    for line in () if arguments.json else findings_view.finding_lines(violated):
        show(line)
    judgement = judgement and replace(judgement, scored=(), findings=tuple(violated), clauses=())
    print(selection.joined_text(judgement), end="")
    return selection.finish()


def _plan_json(definition: Definition, checked: preflight.Checked) -> str:
    findings = (
        finding for finding in checked.submission.all_findings if finding.violated or finding.asks or finding.at_full
    )
    findings_json = [findings_view.finding_json(definition.pack, finding) for finding in findings]
    return json.dumps({**planning.plan_json(definition, checked.plan), "findings": findings_json}, indent=1) + "\n"


def _say_notes(definition: Definition, checked: preflight.Checked, attempts: Sequence[Attempt]) -> None:
    answers = dict(definition.campaign.answers)
    unanswered = [clause.id for clause in definition.pack.clauses if clause.answered and clause.id not in answers]
    if unanswered and definition.pack.profile == "full":  # a rehearsal is not handed in
        say(f"note: clauses to answer under `answers` in the campaign file: {listing(unanswered)}")
    for note in (*checked.notes, *outdated.describe_outdated(definition, checked.plan, attempts)):
        say(f"note: {note}")


def _plan_status(arguments: argparse.Namespace, definition: Definition, checked: preflight.Checked) -> int:
    """Probe the nodes if that is asked for, and say what was not checked; gives the exit status."""
    if arguments.probe and not checked.slurm_problem:
        return _probe(definition, checked, say if arguments.json else show)
    if checked.slurm_problem or (checked.missing and not arguments.json):
        (say if checked.slurm_problem else show)(checked.unchecked)
    if arguments.probe:
        return ENVIRONMENT
    if not checked.refused:
        return OK
    say("note: 'campaign run' refuses this plan without --despite-violations: runs would have to be measured again")
    return INCOMPLETE


def _probe(definition: Definition, checked: preflight.Checked, print_passed: Callable[[str], None]) -> int:
    """Print what is wrong on the nodes; gives the exit status."""
    outcome = probe.probe(definition, checked, say)
    for problem in outcome.problems:
        say(problem)
    if outcome.problems:
        return ENVIRONMENT
    passed_probe.remember(definition, checked.plan.all_runs, outcome.job)
    print_passed(outcome.passed)
    return OK


def run_campaign(arguments: argparse.Namespace) -> int:
    words = [*arguments.only, *["failed"] * arguments.failed]
    with _optional_sandbox(arguments) as stops:
        return _run(arguments, words, Request.from_words(words), stops)


@contextmanager
def _optional_sandbox(arguments: argparse.Namespace) -> Iterator[bool]:
    """With --sandbox, a Slurm to run on: the one that answers, otherwise a new sandbox, which is stopped at the end.
    Gives whether it is.
    """
    storage = getattr(arguments, "storage", "")
    if not getattr(arguments, "sandbox", False):
        if storage:
            raise InputError(
                f"--storage {storage}: allowed only with --sandbox, which starts a cluster with this storage"
            )
        yield False
        return
    from campaign.sandbox.cluster import Sandbox
    from campaign.sandbox.layout import Shape
    from campaign.sandbox.storage import Storage

    shape = Shape(storage=Storage.parse(storage))
    if commands.reachable() is None:
        if storage:
            say(f"note: --storage {storage} is ignored: Slurm answers on this machine, so no sandbox is started")
        yield False
        return
    was_running = Sandbox.at().running()
    owner = None if was_running else os.getpid()  # if the driver is killed, its cluster ends too
    sandbox = Sandbox.start(shape=shape, owner=owner)
    say(f"no Slurm found: started a sandbox of virtual nodes in {sandbox.layout.top}")
    os.environ.update(sandbox.environment())
    try:
        with sandbox.watched():
            yield not was_running
    finally:
        if not was_running:
            sandbox.stop()


def rerun(arguments: argparse.Namespace) -> int:
    return _run(arguments, arguments.cells, Request(tuple(arguments.cells), again=True))


def _run(arguments: argparse.Namespace, words: Sequence[str], request: Request, sandbox_stops: bool = False) -> int:
    """Run a part in this process, or each part of a response in its own."""
    request = replace(
        request,
        detach=arguments.detach,
        keep_going=arguments.keep_going,
        despite_violations=arguments.despite_violations,
        most_node_h=_parse_node_hours(arguments.max_node_hours),
        most_jobs=_parse_job_count(arguments.max_jobs),
    )
    selection = PartSelection(arguments)
    if selection.response is None:
        return _run_part(arguments, request, sandbox_stops)
    rfp, definitions = selection.response.rfp.id, selection.definitions()
    limits = queues.RunLimits(request.most_jobs, request.most_node_h)
    with _notify_of_stop(arguments, rfp, f"campaign for RFP {rfp}"):
        status = queues.run(definitions, queues.commands(arguments, words, selection.parts), limits, request.detach)
        submissions = {
            part: campaign_state.current_submission(definition, say, with_results=selection.needs_cases)
            for part, definition in (definitions.items() if status != INTERRUPTED else ())
        }
        block = None
        if submissions and not request.detach:
            from campaign.report import rfp_response

            judgement = selection.judge(submissions)
            block = rfp_response.response_decision(selection.response, submissions, arguments.file, judgement)
            show(f"\n{decision.decision_text(block, columns())}")
    selection.statuses.append(status)
    status = selection.finish()
    notify(arguments.notify, rfp, status, f"campaign for RFP {rfp}: ended with status {status}")
    parts = {
        part: _run_document(definitions[part], submission, rows_exit_status(submission.rows))
        for part, submission in submissions.items()
    }
    write_document({"rfp": rfp, "parts": parts, "exit_status": status, "decision": block and asdict(block)}, arguments)
    return status


@contextmanager
def _notify_of_stop(arguments: argparse.Namespace, name: str, subject: str) -> Iterator[None]:
    """Notifies the user of an error."""
    try:
        yield
    except BaseException as error:
        exit_status = error.exit_status if isinstance(error, CampaignError) else INTERRUPTED
        reason = str(error) or type(error).__name__
        notify(arguments.notify, name, exit_status, f"{subject}: stopped with status {exit_status}: {reason}")
        raise


def _run_part(arguments: argparse.Namespace, request: Request, sandbox_stops: bool) -> int:
    try:
        definition = open_campaign(arguments.file, arguments.part)
    except KeyboardInterrupt:
        _say_interrupted("interrupted; this command has submitted nothing")
        return INTERRUPTED
    name = definition.campaign.name
    with _notify_of_stop(arguments, name, f"campaign {name}"):
        try:
            status = _drive(arguments, definition, request)
        except KeyboardInterrupt:
            _say_interrupted(_interruption_text(definition, arguments, sandbox_stops), definition)
            status = INTERRUPTED
    if not request.detach:
        outcome = f"campaign {name}: ended with status {status}; results: {definition.paths.root}"
        notify(arguments.notify, name, status, outcome)
    return status


def notify(command: str | None, name: str, status: int, text: str) -> None:
    """Run the user's command with the campaign's outcome; its failure is reported and has no effect."""
    if command is None:
        return
    variables = {"CAMPAIGN_NAME": name, "CAMPAIGN_STATUS": str(status)}
    shell, environment = ["/bin/sh", "-c", command], os.environ | variables
    try:
        with subprocess.Popen(shell, stdin=subprocess.PIPE, text=True, env=environment, process_group=0) as process:
            try:
                process.communicate(f"{text}\n", NOTIFY_S)
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)  # with all processes that it started
                raise
    except subprocess.TimeoutExpired:
        say(f"--notify: {command}: killed after {round(NOTIFY_S)} s, with all that it had started")
        return
    except OSError as error:
        say(f"--notify: {command}: {error}")
        return
    if process.returncode != 0:
        say(f"--notify: {command}: ended with status {process.returncode}")


def _drive(arguments: argparse.Namespace, definition: Definition, request: Request) -> int:
    """Follow the campaign to its end; gives the exit status."""
    display = progress.display(definition.paths.root, arguments.verbose, arguments.quiet)
    with waiting.replace_listener(display.say):
        with closing(display):
            submission = run.run(definition, request, display)
        file, block = typed_path(arguments.file, arguments.part), None
        if request.detach:
            _print_submitted(definition, arguments)
        else:
            if request.chooses:
                texts = _cell_lines(submission.rows, matrix.cells(definition.campaign, definition.pack))
            else:
                block = decision.run_decision(decision.campaign_decision(submission, file), arguments.file, file)
                texts = [
                    *(table.table_text(submission.rows, submission.campaign, submission.pack, "simple", columns()), ""),
                    decision.decision_text(block, columns()),
                ]
            for text in [*texts, f"results: {definition.paths.root}; details: 'campaign check {file}'"]:
                display.result(text)
    status = OK if request.detach else rows_exit_status(submission.rows)
    write_document(_run_document(definition, submission, status) | {"decision": block and asdict(block)}, arguments)
    return status


def _run_document(definition: Definition, submission: Submission, exit_status: int) -> dict[str, Any]:
    """What `--json` prints of a run of a part."""
    return {
        "campaign": definition.campaign.name,
        "results": str(definition.paths.root),
        "jobs": campaign_state.active_jobs(definition),
        "rows": [row.as_json() for row in submission.rows],
        "exit_status": exit_status,
    }


def _parse_node_hours(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < math.inf:
        raise InputError(f'--max-node-hours: found "{text}"; allowed: a number above 0, such as 12.5')
    return number


def _parse_job_count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise InputError(f'--max-jobs: found "{text}"; allowed: a whole number above 0, such as 50')
    return int(text)


def _say_interrupted(text: str, definition: Definition | None = None) -> None:
    """Also written to the log, if there is one: the terminal may have been closed."""
    if definition is not None:
        progress.Log(definition.paths.root).write(f"campaign: {text}")
    with suppress(OSError):
        say(f"campaign: {text}")


def _interruption_text(definition: Definition, arguments: argparse.Namespace, sandbox_stops: bool) -> str:
    """What an interrupted driver leaves behind."""
    file = typed_path(arguments.file, arguments.part)
    try:
        ids = campaign_state.active_jobs(definition)
    except KeyboardInterrupt:
        return (
            f"interrupted twice; 'campaign status {file}' shows this campaign's jobs, 'campaign run {file}' continues"
        )
    if not ids:
        return f"interrupted; no job of this campaign is in Slurm; 'campaign run {file}' submits what is missing"
    jobs, job_ids = plural(len(ids), "job"), ", ".join(ids)
    if sandbox_stops:
        return f"interrupted; the sandbox is stopped with {jobs} of this campaign: {job_ids}"
    return (
        f"interrupted; {jobs} of this campaign in Slurm: {job_ids}. 'campaign run {file}' continues, 'campaign cancel "
        f"{file}' cancels them"
    )


def _print_submitted(definition: Definition, arguments: argparse.Namespace) -> None:
    ids = campaign_state.active_jobs(definition)
    if ids:
        file = typed_path(arguments.file, arguments.part)
        show(
            f"{plural(len(ids), 'job')} of this campaign in Slurm: {listing(ids)}\n'campaign status {file}' shows "
            f"them, 'campaign run {file}' follows them"
        )
    else:
        show(
            "no job of this campaign is in Slurm: nothing is left to run, or Slurm refused all jobs\n'campaign status "
            f"{typed_path(arguments.file, arguments.part)}' shows all runs"
        )


def _cell_lines(rows: Sequence[Row], all_cells: Sequence[Cell]) -> list[str]:
    """The outcome of cells: a line for each with a number, and for each cause of those without one. `all_cells`: those
    of the campaign.
    """
    rows_by_outcome = grouped(
        (str(row.cell) if row.value is not None else causes.generalize_cause(row.note), row) for row in rows
    )
    return [
        _cell_line(equal_rows[0], ", ".join(patterns([row.cell for row in equal_rows], all_cells)))
        for equal_rows in rows_by_outcome.values()
    ]


def _cell_line(row: Row, cells: str) -> str:
    """The outcome of cells with the same text, in one line."""
    if row.value is not None:
        text = f"{cells}: {row.status} {row.value:.3f} {row.unit}"
    elif row.attempt and row.attempt.state is State.FAILED:
        text = f"{cells}: {row.note}"  # the attempt's text begins with its state
    else:
        text = f"{cells}: {row.status}: {row.note}"
    if row.attempt:
        text += f" (attempt {row.attempt.number} of {row.last_attempt})"
    if row.summary.n > 1:
        text += f" (median of {row.summary.n} valid attempts: {row.summary.median:.3f})"
    against = [f"{finding.rule} {finding.message}" for finding in row.findings if finding.blocks]
    return f"{text}: {'; '.join(against)}" if row.status is Status.INVALID else text


@dataclass(frozen=True, slots=True)
class _States:
    """The states of a campaign's runs. `watched`: as text while it goes on; `next_step`: the command that shows or does
    more.
    """

    text: str
    watched: str
    next_step: str
    goes_on: bool
    exit_status: int


def status(arguments: argparse.Namespace) -> int:
    selection, printed_texts = PartSelection(arguments, "json" if arguments.json else ""), None
    parts, estimates = selection.definitions(), dict[str, TimeEstimate]()
    is_redrawn = arguments.watch and not arguments.json and can_redraw(sys.stdout)
    with progress.redrawn_text(sys.stdout) if is_redrawn else nullcontext() as draw:
        while True:
            states = [_states(arguments, part, definition, estimates) for part, definition in parts.items()]
            goes_on = arguments.watch and any(of_part.goes_on for of_part in states)
            selection.texts = {part: of_part.text for part, of_part in zip(parts, states, strict=True)}
            selection.statuses = [of_part.exit_status for of_part in states]
            if draw:
                draw("\n\n".join(of_part.watched for of_part in states))
            elif selection.texts != printed_texts:
                _print_states(selection, arguments.json)
            if not goes_on:
                break
            printed_texts = selection.texts
            time.sleep(2)
    if draw:
        _print_states(selection, arguments.json)
    for of_part in states if not arguments.json else ():
        show(f"Next: {of_part.next_step}")
    return selection.finish()


def _print_states(selection: PartSelection, as_json: bool) -> None:
    if as_json:
        print(selection.joined_text(), end="")
    else:
        for part in selection.print_headings():
            show(selection.texts[part])
    sys.stdout.flush()


def _states(
    arguments: argparse.Namespace, part: str, definition: Definition, estimates: dict[str, TimeEstimate]
) -> _States:
    """The states of a part's runs; `estimates` has those of the parts' times."""
    is_driven = _is_driven(definition)  # asked before: what it does last is shown
    submission = campaign_state.current_submission(definition, say)
    states, rows = views.run_states(submission), submission.rows
    is_active, watched = any(state["active"] for state in states), ""
    if arguments.watch:
        estimate = estimates.setdefault(part, TimeEstimate(submission.campaign, submission.all_runs))
        estimate.update(submission.attempts, time.time())
        left = progress.time_left_text(estimate.left(time.time()))
        watched = f"{f'part {part}: ' if part else ''}{views.watched_text(states, left, columns())}"
    text = f"{views.states_text(states, columns())}\n\n{views.totals_text(states, rows, columns())}"
    next_step = _next_step(typed_path(arguments.file, part), is_driven, is_active, rows)
    return _States(
        json.dumps(states, indent=1) + "\n" if arguments.json else text,
        *(watched, next_step, is_driven or is_active, rows_exit_status(rows)),
    )


def _next_step(file: str, is_driven: bool, is_active: bool, rows: Sequence[Row]) -> str:
    """A command. `file`: as it is typed."""
    if is_driven:
        return f"campaign status {file} --watch"
    is_open = any(row.status in (Status.FAILED, Status.MISSING) for row in rows)
    return f"campaign run {file}" if is_active or is_open else f"campaign check {file}"


def _is_driven(definition: Definition) -> bool:
    """Whether a command is at work that may submit further jobs."""
    if not definition.paths.root.is_dir():
        return False
    with locked(definition.paths.root) as refused:
        return isinstance(refused, BlockingIOError)


def cancel(arguments: argparse.Namespace) -> int:
    selection = PartSelection(arguments)
    for _, definition in selection:
        number = run.cancel(definition, say)
        show(f"cancelled {plural(number, 'job')}" if number else "no jobs to cancel")
    return selection.finish()


def collect(arguments: argparse.Namespace) -> int:
    selection = PartSelection(arguments)
    for _, definition in selection:
        if arguments.recover and not recovery.recover(definition, show):
            show(f"nothing to recover: {definition.paths.journal} is not damaged")
            continue
        number = campaign_state.collect_and_update(definition, say)
        show(f"read {plural(number, 'attempt')} from {definition.paths.root}")
    return selection.finish()


FUNCTIONS: Mapping[str, Callable[[argparse.Namespace], int]] = {
    "plan": plan,
    "run": run_campaign,
    "status": status,
    "rerun": rerun,
    "cancel": cancel,
    "collect": collect,
}
