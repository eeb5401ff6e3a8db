"""Raw output of an execution -> records and an observation.

The reported number and its place are those of the text that people read; further details come from the benchmark's own
JSON lines. If the two disagree, that is a contradiction of two records.
"""

from __future__ import annotations

import codecs
import math
import operator
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from campaign.config.rules import programs, readers
from campaign.config.rules.output_format import BUILT_IN, UNCERTAINTY, WALL, Form, OutputFormat
from campaign.core import decode, untrusted
from campaign.core.errors import InputError, pass_on_limit
from campaign.core.frozen import replace
from campaign.core.grouping import grouped
from campaign.core.records import Observation, OutputRemark, PhaseTimes, Record, Source, record_key
from campaign.core.runs import LABEL
from campaign.results.attempt_record import read_attempt_record
from campaign.results.completion import completion_of
from campaign.results.environment import facts_file
from campaign.results.parsers import bench_jsonl, declared
from campaign.results.parsers.lines import NO_END, Notes, Parsed, printable_line

# Of one file; what is longer is read so far, which is an error. A chunk pool of 100,000 processes prints 400,000 lines,
# each of which is compared with every rule of the parser. A text and its lines are in memory together, one file at a
# time; READ_BYTES also limits the text in memory, where the widest character decides how many bytes each takes.
READ_BYTES, READ_LINES = 64 << 20, 500_000
_CHUNK_BYTES = 1 << 20
_BELOW_C4, _BELOW_F0 = bytes(range(0xC4)), bytes(range(0xF0))  # the first bytes of what is up to U+00FF, U+FFFF

# By how much a record's number may differ between the text and the JSON lines. Both have three decimals; mean and
# deviation are computed with all digits for the text, and with three from the JSON lines.
_TOLERANCE = {"value": 0.00051, "minimum": 0.00051, "mean": 0.00151, "stddev": 0.00151}
_BUILTIN = "campaign bench "
_RANK = re.compile(r"^ *\d+: ", re.MULTILINE)  # before each line that srun prints with --label


@dataclass(frozen=True, slots=True)
class _Raw:
    """A file as far as it could be read. `text` is None if it is missing or not a regular file."""

    name: str
    text: str | None
    trouble: tuple[OutputRemark, ...] = ()


_NO_OUTPUT = "no benchmark output: the file does not exist"


def read_phases(forms: Mapping[str, Form], folder: Path, root: Path) -> tuple[list[Record], dict[str, Observation]]:
    """The records of all phases of an attempt, named as operations name them, and what the output of each phase says.
    `forms`: how that of each phase is read, which is in a folder of its name.
    """
    # A phase of another launch condition has no folder; nor has one that did not begin, whose results are missing.
    forms_of_begun = {
        name: form
        for phase, form in forms.items()
        for name in ([phase] if (folder / phase).is_dir() or not folder.is_dir() else _copies(folder, phase))
    }
    parsed = {phase: read(form, folder, root, phase) for phase, form in forms_of_begun.items()}
    records = [
        replace(record, operation=record_key(phase, record.operation))
        for phase, (phase_records, _) in parsed.items()
        for record in phase_records
    ]
    return records, {phase: observation for phase, (_, observation) in parsed.items()}


def _copies(folder: Path, phase: str) -> list[str]:
    """The names of the copies of a phase that began."""
    names = (path.name for path in folder.glob(f"{phase}.*") if path.suffix[1:].isdecimal())
    return sorted(names, key=lambda name: (len(name), name))


def read(form: Form, folder: Path, root: Path, phase: str = "") -> Parsed:
    """Read `stdout`, `stderr` and `bench.jsonl` of a phase in `folder`, as far as they are there. Sources are relative
    to `root`. `form` is the built-in program whose files they are, or what a rule pack says of them.

    Raises InputError for a program or a reader that is not known, and nothing for what the files hold: that is in the
    observation's errors, those first that the benchmark itself gives.
    """
    form = output_format(form)
    records, observation = _read(form, folder, root, phase)
    if form.wall:
        records = [*records, *wall_times(folder, root, phase)]
    return records, observation


def _read(form: OutputFormat, attempt_folder: Path, root: Path, phase: str) -> Parsed:
    applet, folder = form.applet, attempt_folder / phase
    place = (folder.relative_to(root) if folder.is_relative_to(root) else folder).as_posix()
    out_name, err_name, jsonl = (f"{place}/{name}".removeprefix("./") for name in ("stdout", "stderr", "bench.jsonl"))
    if form.stream == "stderr":
        out_name, err_name = err_name, out_name
    records, observation = _results(_load_printed(attempt_folder, folder, out_name), parser(form))
    if applet not in BUILT_IN:
        err = _load_printed(attempt_folder, folder, err_name)
        return records, _with_stderr(observation, err, partial(declared.notes, form))
    lines = _load(folder, jsonl)
    if lines.text is not None:
        exact_records, exact_observation = bench_jsonl.parse(lines.text, lines.name)
        exact_observation = replace(exact_observation, errors=(*lines.trouble, *exact_observation.errors))
        records, observation = _merge((records, observation), (exact_records, exact_observation), out_name, lines.name)
    elif lines.trouble:
        observation = replace(observation, errors=(*observation.errors, *lines.trouble))
    elif observation.program.startswith(_BUILTIN):
        missing = OutputRemark(
            "file not found: rank placement, failed operations and binary hash are unknown", lines.name
        )
        observation = replace(observation, warnings=(*observation.warnings, missing))
    observation = _with_stderr(observation, _load_printed(attempt_folder, folder, err_name), partial(_notes, applet))
    return records, replace(observation, warnings=without_repetitions(observation.warnings, applet))


def _results(out: _Raw, parse: Callable[[str, str], Parsed]) -> Parsed:
    if out.text is None:
        return [], Observation(errors=out.trouble or (OutputRemark(_NO_OUTPUT, out.name),))
    records, observation = parse(out.text, out.name)
    return records, replace(observation, errors=(*out.trouble, *observation.errors))


def _with_stderr(observation: Observation, err: _Raw, notes: Callable[[str, str], Notes]) -> Observation:
    stderr_observation = notes(err.text or "", err.name).added_to(Observation())
    return replace(
        observation,
        errors=(*observation.errors, *err.trouble, *stderr_observation.errors),
        warnings=(*observation.warnings, *stderr_observation.warnings),
        unparsed=(*observation.unparsed, *stderr_observation.unparsed),
    )


def output_format(form: Form) -> OutputFormat:
    """How an output is read. Raises InputError for an unknown name of a built-in program."""
    if isinstance(form, OutputFormat):
        return form
    if form not in BUILT_IN:
        raise InputError(f"unknown applet {form!r}; allowed: {', '.join(BUILT_IN)}")
    return programs.built_in_format(form)


def parser(form: Form) -> readers.Reader:
    """The reader of a text: code, or one that follows the description. Raises InputError for one that is not known."""
    description = output_format(form)
    if description.has_reader:
        return readers.load(description.format, f"program {description.applet or description.format}")
    return partial(declared.parse, description)


def read_sample(form: Form, path: Path) -> Parsed:
    """What the parser reads from one file alone. Raises InputError if it is not a readable file."""
    raw = _load(path.parent, path.name)
    if raw.text is None:
        reason = "; ".join(problem.text for problem in raw.trouble) or "not found"
        raise InputError(f"{path}: {reason}; expected the output of a benchmark")
    records, observation = parser(form)(raw.text, raw.name)
    return records, replace(observation, errors=(*raw.trouble, *observation.errors))


def _load(folder: Path, name: str) -> _Raw:
    """At most READ_BYTES of a plain file; links are not followed, pipes and devices are not read. `name`: as messages
    have it.
    """
    try:
        content, size = untrusted.read(folder / name.rpartition("/")[2], READ_BYTES)
    except FileNotFoundError:
        return _Raw(name, None)
    except untrusted.NotPlain:
        return _Raw(name, None, (OutputRemark("not a regular file; ignored", name),))
    except OSError as error:
        pass_on_limit(error)
        return _Raw(name, None, (OutputRemark(f"cannot be read: {error.strerror}", name),))
    trouble, end = [], len(content)
    max_characters = READ_BYTES // _bytes_per_character(content, is_complete=size <= READ_BYTES)
    if size > max_characters:
        end = content.rfind(b"\n", 0, max_characters) + 1
        trouble.append(OutputRemark(f"{size} bytes; only the first {max_characters} were read", name))
    if content.count(b"\n", 0, end) > READ_LINES:
        end = 0
        for _ in range(READ_LINES):
            end = content.index(b"\n", end) + 1
        trouble.append(OutputRemark(f"more than {READ_LINES} lines; the rest was not read", name))
    return _Raw(name, str(memoryview(content)[:end], "utf-8", "replace"), tuple(trouble))


def _load_printed(attempt_folder: Path, folder: Path, name: str) -> _Raw:
    """What the ranks of an attempt printed, without the numbers of the ranks that srun may put before its lines."""
    output = _load(folder, name)
    if output.text is None or not _RANK.search(output.text):
        return output
    options = read_attempt_record(attempt_folder).get("launcher_options")
    is_labelled = isinstance(options, list) and LABEL in options
    return replace(output, text=_RANK.sub("", output.text)) if is_labelled else output


def _bytes_per_character(content: bytes, is_complete: bool) -> int:
    """What Python needs for each character of this UTF-8, in which U+FFFD replaces invalid bytes: 1 byte up to U+00FF,
    2 up to U+FFFF, otherwise 4. Of content that is not complete, the last character may be cut.
    """
    if content.isascii():
        return 1
    decoder, width = codecs.getincrementaldecoder("utf-8")(), 1
    for start in range(0, len(content), _CHUNK_BYTES):
        chunk = content[start : start + _CHUNK_BYTES]
        if chunk.translate(None, _BELOW_F0):
            return 4
        if width == 1 and (chunk.translate(None, _BELOW_C4) or not _is_valid(decoder, chunk)):
            width = 2
    return 2 if is_complete and not _is_valid(decoder, b"", final=True) else width


def _is_valid(decoder: codecs.IncrementalDecoder, chunk: bytes, final: bool = False) -> bool:
    try:
        decoder.decode(chunk, final)
    except UnicodeDecodeError:
        return False
    return True


def _notes(applet: str, text: str, file: str) -> Notes:
    """Remarks from stderr; the benchmark's own messages are errors unless they are marked as warnings."""
    notes = Notes(file)
    message = re.compile(rf"{re.escape(applet)}: (?!(?:rank \d+(?: on \S+)?: )?warning: )")
    for number, line in notes.numbered_lines(text):
        note = notes.error if message.match(line) else notes.unknown
        note(number, line)
    return notes


def without_repetitions(warnings: Sequence[OutputRemark], applet: str) -> tuple[OutputRemark, ...]:
    """Each warning once: the benchmark writes its own to the JSON lines, and also to stdout or stderr."""
    texts = (
        (warning.text.removeprefix(f"{applet}: warning: ").removeprefix("WARNING: "), warning) for warning in warnings
    )
    return tuple(first for first, *_ in grouped(texts).values())


# What both the text and the JSON lines may give, by its name in errors.
_COMPARED: Mapping[str, str] = {
    "argv": "command line",
    "processes": "processes",
    "nodes": "nodes",
    "shift_requested": "rank shift requested (-N)",
    "shift_effective": "rank shift",
}


def _merge(text: Parsed, lines: Parsed, text_file: str, lines_file: str) -> Parsed:
    """The text's records and observation, read from `text_file`, supplemented by the JSON lines of `lines_file`."""
    (records, observation), (exact_records, exact_observation) = text, lines
    differences = tuple(_disagreements(text, lines, text_file, lines_file)) if exact_observation.program else ()
    errors = (
        [OutputRemark(message, lines_file) for message in _operations_in_one_file(records, exact_records)]
        if exact_observation.program
        else []
    )
    by_operation = {record.operation: record for record in exact_records}
    merged = [_merge_records(record, by_operation.get(record.operation, record)) for record in records]
    warnings = tuple(warning for warning in observation.warnings if warning.text != NO_END)
    has_ended = observation.complete or len(warnings) < len(observation.warnings)  # as far as the text shows
    is_complete = has_ended and exact_observation.complete
    if not is_complete:  # the last lines of one are missing: it may give an earlier value than the other
        errors += [OutputRemark(difference, lines_file) for difference in differences]
    combined = {
        "program": observation.program or exact_observation.program,
        "complete": is_complete,
        "errors": (*exact_observation.errors, *observation.errors, *errors),
        "contradictions": differences if is_complete else (),
        "warnings": (*exact_observation.warnings, *warnings),
        "unparsed": (*exact_observation.unparsed, *observation.unparsed),
    }
    # What the text gives too is exact in the JSON lines, and partly inferred in the text.
    exact_fields = decode.nondefault_fields(exact_observation)
    exact_fields.pop("binary_agreed", None)  # if they did not agree, that is one of the errors
    return merged, replace(observation, **exact_fields | combined)


def _merge_records(text_record: Record, exact_record: Record) -> Record:
    """The numbers as the text prints them, supplemented by the JSON lines."""
    columns = {name: number for name in _TOLERANCE if (number := getattr(text_record, name)) is not None}
    iterations = exact_record.each
    if len(text_record.each) == len(iterations):
        iterations = tuple(
            replace(text_iteration, details=exact_iteration.details)
            for text_iteration, exact_iteration in zip(text_record.each, iterations, strict=True)
        )
    return replace(exact_record, unit=text_record.unit, source=text_record.source, each=iterations, **columns)


def _operations_in_one_file(records: Sequence[Record], exact_records: Sequence[Record]) -> Iterator[str]:
    text_operations, line_operations = (
        {record.operation for record in records_of_file} for records_of_file in (records, exact_records)
    )
    for operation in sorted(text_operations ^ line_operations):
        present_in, absent_from = (
            ("stdout", "bench.jsonl") if operation in text_operations else ("bench.jsonl", "stdout")
        )
        yield f"{operation}: result in {present_in}, but not in {absent_from}"


def _disagreements(in_text: Parsed, in_lines: Parsed, text_file: str, lines_file: str) -> Iterator[str]:
    """Each thing that the text (`text_file`) and the JSON lines (`lines_file`) give differently."""
    (records, observation), (exact_records, exact_observation) = in_text, in_lines

    def differs(quantity: str, text: object, line: object) -> str:
        return f"{quantity} is {text} in {text_file}, but {line} in {lines_file}"

    if observation.program and observation.program != exact_observation.program:
        yield differs("program", observation.program, exact_observation.program)
    for key, name in _COMPARED.items():
        text, line = getattr(observation, key), getattr(exact_observation, key)
        if key == "shift_effective" and None not in (text, line) and exact_observation.processes:
            # The text has the number as given, the JSON lines its effect with so many ranks.
            text, line = text % exact_observation.processes, line % exact_observation.processes
        if text not in (None, ()) and line not in (None, ()) and not is_same_value(text, line):
            yield differs(name, value_text(text), value_text(line))
    if (
        exact_observation.placement == "block"
        and observation.placement
        and observation.processes_per_node != exact_observation.processes_per_node
    ):
        yield differs("ranks per node", observation.processes_per_node, exact_observation.processes_per_node)
    if exact_observation.placement == "block" and observation.placement not in (None, "block"):
        yield differs("placement", observation.placement, exact_observation.placement)
    by_operation = {record.operation: record for record in exact_records}
    for record in sorted(records, key=operator.attrgetter("operation")):
        if record.operation in by_operation:
            yield from _differing_numbers(record, by_operation[record.operation])


def _differing_numbers(text_record: Record, lines_record: Record) -> Iterator[str]:
    places = [f"{record.source.file}:{record.source.line}" for record in (text_record, lines_record)]
    for column in (*_TOLERANCE, "iterations", "unit"):
        text, line = getattr(text_record, column), getattr(lines_record, column)
        tolerance = _TOLERANCE.get(column)
        is_same = None in (text, line) or abs(text - line) <= tolerance if tolerance else text == line
        if not is_same:
            yield f"{column} of {text_record.operation} is {text} in {places[0]}, but {line} in {places[1]}"


def is_same_value(text: Any, line: Any) -> bool:
    if isinstance(text, tuple):
        # The program is known by its name or by its path. What is not UTF-8 matches one unknown character or
        # several, as each reader has it.
        text_words, line_words = ([re.sub("\ufffd+", "\ufffd", word) for word in words] for words in (text, line))
        return text_words[1:] == line_words[1:] and text_words[0].rpartition("/")[2] == line_words[0].rpartition("/")[2]
    return bool(text == line)


def value_text(value: Any) -> str:
    return printable_line(shlex.join(value) if isinstance(value, tuple) else str(value))


# --- the times that the job measured around a launch

_STEP_S = 0.01  # of the kernel's time since the start of the system, read at the beginning and at the end


def wall_times(folder: Path, root: Path, phase: str = "") -> list[Record]:
    """The time from the launch to its end, and how far it may be wrong. None if the job did not record it, or its
    facts are damaged, which is told where they are read as evidence.
    """
    file = facts_file.read(folder)
    try:
        completion = completion_of(file, folder)
    except ValueError:
        return []
    times = next((of_phase for of_phase in completion.phases if of_phase.phase == phase), None) if completion else None
    line = next((fact.line for fact in file.from_source("job") if (fact.phase, fact.name) == (phase, "ended")), 1)
    return list(_times(times, Source((folder / facts_file.NAME).relative_to(root).as_posix(), line))) if times else []


def _times(times: PhaseTimes, source: Source) -> Iterator[Record]:
    seconds = times.ended - times.started
    if not (math.isfinite(seconds) and seconds >= 0):
        return
    yield Record(WALL, seconds, "s", source)
    if len(clock := times.uptime) == 2:
        # A clock that was set meanwhile differs from the kernel's, which cannot be set.
        set_by = abs((clock[1] - clock[0]) - seconds)
        yield Record(UNCERTAINTY, set_by + _STEP_S, "s", source)
