"""Output as a rule pack's `results` describes it -> records and an observation. Pure.

Every line has a meaning: a record, a fact, a heading, the closing line, or a match of the pack's patterns for errors,
warnings and harmless lines. Other lines are unrecognised, as for the parsers.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping

from campaign.config.rules import sweeps
from campaign.config.rules.output_format import DeclaredRecord, OutputFormat
from campaign.core import line_pattern, placed_json
from campaign.core.records import Observation
from campaign.results.parsers.declared_records import Numbers
from campaign.results.parsers.lines import TWO_RUNS, Notes, Parsed, grade, line_too_long
from campaign.results.parsers.notices import is_fatal

LONGEST_LINE = 10_000  # characters of a line that patterns are tried on

_BEGINS_JSON = re.compile(r"[ \t]*(?:\{|\[[ \t\r]*(?:$|[\[{]))", re.MULTILINE)
_TWO_DOCUMENTS = (
    "a second JSON document, which is not used: leave out an option that prints intermediate results (as fio's "
    "--status-interval), and start one copy of the program"
)
_RULER = re.compile(r"[-=_+|\s]*")


def parse(form: OutputFormat, text: str, file: str) -> Parsed:
    """Parse `text`, the output of one execution; `file` is its name in sources and messages. Nothing is raised."""
    reader = _READERS[form.format](form, file)
    reader.read(text)
    records, fields = reader.numbers.records(), reader.numbers.observed()
    required = {*form.required, "program"}
    lacking = [name for name, _ in form.facts if name in required and name not in reader.numbers.facts]
    if form.records and not reader.numbers:
        reader.notes.error(
            None,
            reader.missing or f"no result: not output of {form.applet}, or it ended before its first result",
        )
    elif lacking:
        reader.notes.error(None, f"the output lacks required facts: {', '.join(lacking)}")
    elif form.end and not reader.complete:
        reader.notes.error(None, "the line that ends a complete output is missing: the program ended early")
    complete = reader.complete and bool(reader.numbers or not form.records) and not reader.numbers.ended_early
    seen = Observation(**fields, complete=complete)
    return records, reader.notes.added_to(seen)


def notes(form: OutputFormat, text: str, file: str) -> Notes:
    """Remarks from a program's stderr."""
    reader = _DeclaredReader(form, file)
    for number, line in reader.numbered_lines(text):
        reader.grade(number, line)
    return reader.notes


class _DeclaredReader:
    """The common part of all formats; each defines `read`."""

    complete = False
    missing = ""  # the reason for a missing number, if a more specific one is known

    def __init__(self, form: OutputFormat, file: str) -> None:
        self.form = form
        self.notes = Notes(file)
        self.numbers = Numbers(form, file, self.notes)
        self._errors, self._warnings, self._harmless = (
            [line_pattern.compile(text) for text in texts] for texts in (form.errors, form.warnings, form.harmless)
        )
        self._passages = [
            (line_pattern.compile(passage.after), line_pattern.compile(passage.until)) for passage in form.passages
        ]
        self._explained = [(line_pattern.compile(pattern), says) for pattern, says in form.explain]
        self._passage_end: line_pattern.LinePattern | None = None  # the pattern of the last line of the current passage

    def read(self, text: str) -> None:
        raise NotImplementedError

    def any(self, patterns: list[line_pattern.LinePattern], line: str) -> bool:
        return any(pattern.fullmatch(line) for pattern in patterns)

    def numbered_lines(self, text: str) -> Iterator[tuple[int, str]]:
        """The lines without notices of libraries, except those that the pack calls errors."""
        return self.notes.numbered_lines(text, lambda line: self.any(self._errors, line))

    def grade(self, number: int, line: str, is_known: bool = False) -> None:
        """An error or a warning by the pack's patterns, whether or not the line is known; otherwise unrecognised."""
        known_words = self._is_in_passage(line) and grade(line) is None
        if len(line) > LONGEST_LINE:
            self.notes.error(number, line_too_long(length=len(line), limit=LONGEST_LINE))
        elif self.any(self._errors, line) or (not is_known and is_fatal(line)):
            self.notes.error(number, self._says(line))
        elif self.any(self._warnings, line):
            self.notes.warning(number, self._says(line))
        elif not is_known and not known_words and not self.any(self._harmless, line):
            self.notes.unknown(number, line)

    def _says(self, line: str) -> str:
        """The line, or the pack's text for it."""
        explanations = ((pattern.fullmatch(line), says) for pattern, says in self._explained)
        return next((sweeps.fill(says, _groups(match)) for match, says in explanations if match), line.strip())

    def _is_in_passage(self, line: str) -> bool:
        """Whether a line is in one of the pack's passages, including their first and last lines."""
        if self._passage_end is None:
            self._passage_end = next((last for first, last in self._passages if first.fullmatch(line)), None)
            return self._passage_end is not None
        if self._passage_end.fullmatch(line):
            self._passage_end = None
        return True


class _DeclaredLines(_DeclaredReader):
    """The common part of formats whose results are lines; each defines `results`."""

    def __init__(self, form: OutputFormat, file: str) -> None:
        super().__init__(form, file)
        self._end = line_pattern.compile(form.end) if form.end else None
        self._facts = [(name, line_pattern.compile(form.fact_pattern(text))) for name, text in form.facts]
        self._headings = {record.after: line_pattern.compile(record.after) for record in form.records if record.after}
        self._untils = {record.until: line_pattern.compile(record.until) for record in form.records if record.until}
        self._unless = {record.unless: line_pattern.compile(record.unless) for record in form.records if record.unless}
        self._section: dict[str, Mapping[str, str]] = {"": {}}  # the open headings, with the values of their lines
        self._excluded = set[str]()  # patterns of `unless` that a line has had

    def read(self, text: str) -> None:
        last = text.count("\n") + 1
        for number, line in self.numbered_lines(text):
            if len(line) > LONGEST_LINE:
                self.grade(number, line)
                continue
            cut = number == last and bool(line)  # a complete line ends with a newline
            ends = self._end is not None and self._end.fullmatch(line) is not None
            is_known = ends | self._is_heading(number, line)
            is_known |= self._has_facts(number, line)
            if cut and not is_known:
                self.notes.unreadable(number, line, "last line truncated")
                continue
            matches = list(self.results(line))
            is_known |= self._take(matches, number, line, ends)
            self.grade(number, line, is_known)
            repeats = any(record.take != "only" or record.positioned_by for record, _ in matches)
            if ends and self.complete and not (repeats or self.form.has_several_files):
                self.notes.error(number, "a second line that ends an output: several runs in one output")
            self.complete |= ends
        if self._end is None:
            self.complete = text.endswith("\n") or not (text or self.form.records)

    def _is_heading(self, number: int, line: str) -> bool:
        for text, pattern in self._unless.items():
            if text not in self._excluded and pattern.fullmatch(line):
                self._excluded.add(text)
                if self.numbers.has_any(unless=text):
                    self.notes.error(number, TWO_RUNS)
        ended_sections = [text for text, pattern in self._untils.items() if pattern.fullmatch(line)]
        for record in self.form.records:
            if record.until in ended_sections:
                self._section.pop(record.after, None)
        matches = {text: match for text, pattern in self._headings.items() if (match := pattern.fullmatch(line))}
        if matches:
            self._section = {"": {}, **{text: _groups(match) for text, match in matches.items()}}
            self.numbers.sections.update(matches.keys())
        return bool(ended_sections or matches)

    def _has_facts(self, number: int, line: str) -> bool:
        has_fact = False
        for name, pattern in self._facts:
            if match := pattern.fullmatch(line):
                self.numbers.fact(name, match["value"] if "value" in pattern.groupindex else match[1], number)
                has_fact = True
        return has_fact

    def _take(
        self, matches: list[tuple[DeclaredRecord, Mapping[str, str]]], number: int, line: str, ends: bool
    ) -> bool:
        """Add the results of a line; whether it has any that are no numbers for checks alone."""
        if matches and self.complete and self._end is not None and not ends:
            if not self.form.has_several_files:
                self.notes.error(number, "a result after the line that ends the output")
                return True
            self.complete = False  # the next file began
        for record, values in matches:
            self.numbers.add(record, number, line, values)
        return any(not record.check_only for record, _ in matches)

    def results(self, line: str) -> Iterator[tuple[DeclaredRecord, Mapping[str, str]]]:
        """The records whose number is in the line, with its named values."""
        raise NotImplementedError

    def section(self, record: DeclaredRecord) -> Mapping[str, str] | None:
        """The values of the heading above the record; None if the record is not in its section."""
        return None if record.unless in self._excluded else self._section.get(record.after)


class _DeclaredText(_DeclaredLines):
    def __init__(self, form: OutputFormat, file: str) -> None:
        super().__init__(form, file)
        self._records = [(record, line_pattern.compile(record.line)) for record in form.records]
        self._headings_of_columns = {
            record.columns: line_pattern.compile(record.columns) for record in form.records if record.columns
        }
        self._columns: dict[str, list[dict[str, str]]] = {"": [{}]}  # of such a pattern: the values of each column

    def results(self, line: str) -> Iterator[tuple[DeclaredRecord, Mapping[str, str]]]:
        for record, pattern in self._records:
            heading = self.section(record)
            if heading is None or not (match := pattern.fullmatch(line)):
                continue
            values, columns = {"value": "", **heading, **_groups(match)}, self._columns.get(record.columns, [])
            numbers = values["value"].split() if record.columns else [values["value"]]
            if len(numbers) == len(columns):
                for column, number in zip(columns, numbers, strict=True):
                    yield record, {**values, **column, "value": number}

    def _is_heading(self, number: int, line: str) -> bool:
        is_heading = super()._is_heading(number, line)
        for text, pattern in self._headings_of_columns.items():
            if columns := [_groups(match) for match in pattern.finditer(line)]:
                self._columns[text] = columns
                is_heading = True
        return is_heading


class _DeclaredTable(_DeclaredLines):
    """A heading with all columns that a record names begins a table; its rows have as many cells."""

    _columns: tuple[str, ...] = ()
    _most = 0  # most columns of one record that a line has, if it lacks others

    def cells(self, line: str) -> list[str]:
        return line.split()

    def headings(self, line: str) -> Iterator[list[str]]:
        """The columns of the heading that a line may be: names with single spaces in them, or single words."""
        yield re.split(r" {2,}|\t+", line.strip())
        yield line.split()

    def results(self, line: str) -> Iterator[tuple[DeclaredRecord, Mapping[str, str]]]:
        if _RULER.fullmatch(line):
            self._columns = ()
            return
        row = self.cells(line)
        if len(row) != len(self._columns) or tuple(row) == self._columns:
            return
        cells = dict(zip(self._columns, row, strict=True))
        for record in self.form.records:
            heading, fits = self.section(record), _columns_of(record) <= cells.keys()
            if (
                heading is not None
                and fits
                and all(cells[column] == expected_text for column, expected_text in record.where)
            ):
                values = {name: cells[column] for name, column in record.labels}
                yield record, {**heading, **values, "value": cells[record.value]}

    def _is_heading(self, number: int, line: str) -> bool:
        column_sets = [_columns_of(record) for record in self.form.records]
        for words, columns in enumerate(self.headings(line)):
            # A single word may be part of any sentence.
            if any(names <= set(columns) and len(names) > words for names in column_sets):
                self._columns = tuple(columns)
                super()._is_heading(number, line)
                return True
            self._note_lacking(column_sets, columns)
        return super()._is_heading(number, line)

    def _note_lacking(self, column_sets: list[set[str]], columns: list[str]) -> None:
        """Remember the missing columns of a line that has some columns of a record."""
        for names in column_sets:
            common = names & set(columns)
            if len(common) > self._most:
                self._most = len(common)
                lacking = ", ".join(sorted(names - common))
                self.missing = (
                    f"no table: no line has all columns of a record; the closest line lacks {lacking}; its columns: "
                    f"{' | '.join(columns)}"
                )


class _DeclaredCsv(_DeclaredTable):
    def headings(self, line: str) -> Iterator[list[str]]:
        yield self.cells(line)

    def cells(self, line: str) -> list[str]:
        try:
            return [cell.strip() for cell in next(csv.reader([line], strict=True), [])]
        except csv.Error:
            return []


class _DeclaredJson(_DeclaredReader):
    """One document, with other lines before and after it; `jsonl`: one in each line that begins with a brace."""

    def read(self, text: str) -> None:
        at, line = 0, 1
        while at < len(text):
            end = text.find("\n", at) + 1 or len(text)
            if not _BEGINS_JSON.match(text, at):
                self.grade(line, text[at:end].rstrip("\r\n"))
            elif self.form.format == "json" and self.complete and not self.form.has_several_files:
                self.notes.error(line, _TWO_DOCUMENTS)
                return
            else:
                end = self._document(text, at, end, line)
                if not end:
                    return
            line += text.count("\n", at, end)
            at = end

    def _document(self, text: str, at: int, end: int, line: int) -> int:
        """Read the document at `at`; gives the end of its last line, 0 if it cannot be read."""
        lines = self.form.format == "jsonl"
        try:
            root, length = placed_json.read(text[at:end] if lines else text[at:], line)
        except placed_json.NotJson as error:
            self.complete = False
            self.notes.error(error.line, f"not JSON: {error}")
            return end if lines else 0
        after = text.find("\n", at + length) + 1 or len(text)
        if remainder := text[at + length : after].strip():
            self.notes.unreadable(line + text.count("\n", at, at + length), remainder, f"not JSON: {remainder}")
        self.complete = not lines or text.endswith("\n")
        self._take(root)
        return after

    def _take(self, root: placed_json.PlacedValue) -> None:
        for name, path in self.form.facts:
            for placed in placed_json.JsonPath.parse(path).find(root):
                self.numbers.fact(name, self._scalar(placed, path), placed.line)
        for record in self.form.records:
            for entry in placed_json.JsonPath.parse(record.entries_path).find(root):
                if all(self._value(entry, path) == expected_text for path, expected_text in record.where):
                    self._take_entry(record, entry)

    def _take_entry(self, record: DeclaredRecord, entry: placed_json.PlacedValue) -> None:
        labels = {name: self._value(entry, path) for name, path in record.labels}
        values = {name: text for name, text in labels.items() if text is not None}
        for placed in placed_json.JsonPath.parse(record.value).find(entry):
            text = self._scalar(placed, record.value)
            self.numbers.add(record, placed.line, f"{record.value}: {text}", {**values, "value": text})

    def _value(self, entry: placed_json.PlacedValue, path: str) -> str | None:
        selected = placed_json.JsonPath.parse(path).find(entry)
        return self._scalar(selected[0], path) if len(selected) == 1 else None

    def _scalar(self, placed: placed_json.PlacedValue, path: str) -> str:
        if isinstance(placed.value, str):
            return placed.value
        self.notes.error(placed.line, f"{path} is a list or an object; expected a number or a text")
        return ""


_READERS: Mapping[str, type[_DeclaredReader]] = {
    "text": _DeclaredText,
    "keyvalue": _DeclaredText,
    "table": _DeclaredTable,
    "csv": _DeclaredCsv,
    "json": _DeclaredJson,
    "jsonl": _DeclaredJson,
}


def _groups(match: re.Match[str]) -> dict[str, str]:
    return {name: text for name, text in match.groupdict().items() if text is not None}


def _columns_of(record: DeclaredRecord) -> set[str]:
    return {record.value, *(column for _, column in record.labels), *(column for column, _ in record.where)}
