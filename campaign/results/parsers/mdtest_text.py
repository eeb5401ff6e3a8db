"""mdtest's text output -> records and an observation. Pure.

Layouts: mdtest 1.8.x and 1.9.x, the mdtest of IOR 3.x and 4.x, and this project's applet, which prints that of 4.x.
Only a row of a summary is a result: in a block that begins with `SUMMARY`, below its line of headings, with as many
numbers as headings, each with three decimals. The same words elsewhere are an unknown line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from campaign.core.frozen import replace
from campaign.core.records import Record, Source
from campaign.results.parsers import mdtest_command
from campaign.results.parsers.consistency import Spread, half_digit, spread_impossible
from campaign.results.parsers.lines import LineRules, TextReader, tells_of_failure

_DOING = {"creation": "create", "stat": "stat", "read": "read", "rename": "rename", "removal": "remove"}
_OPERATIONS: Mapping[str, str] = {
    f"{thing} {doing}": prefix + operation
    for thing, prefix in (("File", ""), ("Directory", "dir_"), ("Tree", "tree_"))
    for doing, operation in _DOING.items()
}
# Printed by every version if requested; a directory has no read, and only 4.x renames.
_ALWAYS_PRINTED = frozenset(
    {"create", "stat", "read", "remove", "dir_create", "dir_stat", "dir_remove", "tree_create", "tree_remove"}
)

_WORDS = r"(?:File|Directory|Tree) (?:creation|stat|read|rename|removal)"
# The applet of this project marks the rows of phases in which operations failed.
_ROW = re.compile(rf"   (?P<label>{_WORDS})(?: *:)? +(?P<numbers>\S.*?)(?P<invalid> +INVALID)?")
# A row of a table that is not mdtest's.
_OWN_ROW = re.compile(r"   (?:create|stat|read|rename|remove) +(?:file|directory|tree) +\S.*")
# Three decimals, and at most twelve digits before: what a double represents exactly.
_NUMBER = re.compile(r"[0-9]{1,12}\.[0-9]{3}")
# The statistics of a phase that took no time by the program's clock.
_UNRESOLVED = re.compile(rf"(?:\S+ +){{0,3}}inf +(?:inf|{_NUMBER.pattern}) +inf +-?nan")
_HEADINGS = re.compile(r"   Operation +(?P<ranks>per Rank: Max +Min +Mean +per Iteration: +)?Max +Min +Mean +Std Dev")
_RULE = re.compile(r"   -{9}(?: +-+)+")
_OTHER_HEADINGS = re.compile(r"   Operation +\S.*")
# Before version 4 the rate is that of the fastest rank, which may have nothing to do; since then that of the slowest.
_OF_FASTEST = re.compile(r"mdtest-[1-3]\.")
_BY_RANK = re.compile(r"mdtest-(?:3\.[34]|1\.9\.3$)")
# Lines of the heading that are ignored; a creation that -W did not cut short, which leaves no file with its progress.
_HARMLESS = re.compile(r"WARNING: (?:Backend returned error during statfs|could not read stonewall status file)\.?")
# The verbose trace (-v), and verbose lines of 1.x, which have no mark.
_TRACE = re.compile(r"V-[0-9]+: .*")
_KNOWN = (
    r"Path *: .*|FS *: .*Inodes: .*"
    rf"| +{_WORDS} *: +[0-9.]+ sec, +[0-9.]+ ops/sec"
    r"|   Operation +Duration +Rate|   -{9} +-{8} +-{4}| \* iteration [0-9]+ \*"
    r"|(?:making|remove): \S+/|(?:create|stat|read|remove) +(?:file|dir) ?: .*"
    r"|dirpath\(s\):|\t/.*|(?=.{24}: )[a-z_]+ *: (?:True|False|POSIX|\(null\)|[0-9]+)"
    r"|random seed: [0-9]+|delaying [0-9]+ seconds \. \. \."
    r"|Detected that file system, \".*\" is a (?:regular|PLFS) file system\."
    r"|Continue stonewall hit min: .*|   File create \(stonewall\) +: +NA +NA +\S+ +NA"
    r"|Shared files \(-S\): [0-9]+ files are made; .*|Note: .* to another node\.|Stonewall (?:after|of) [0-9]+ s.*"
    r"|Note: as with mdtest 4\.1, these are seconds of a whole phase, .*"
    rf"|iteration [0-9]+: {_WORDS} +[0-9.]+ sec +[0-9.]+ ops/sec|   ranks: fastest .*"
    r"|time to (?:create|remove) tree: .*|tree (?:creation|removal) rate: .*"
    r"|Per process result \((?:rate|time)\):|iteration: [0-9]+|Test [A-Z][a-z]+ [a-z]+ [-+.,e0-9afin]+"
)


@dataclass(slots=True)
class _SummaryTable:
    """One summary, at `line`; `tasks` and `files` are from the line before."""

    line: int
    rates: bool
    iterations: int
    tasks: int | None
    files: int | None
    columns: int = 0  # of numbers, once the headings are seen
    ruled: bool = False  # the line under them seen
    rows: dict[str, Record] = field(default_factory=dict)
    longest_s: dict[str, str] = field(default_factory=dict)  # of a table of times: operation -> column Max, as printed
    seen: dict[str, int] = field(default_factory=dict)  # operation -> line, also for rows that could not be read


class _MdtestReader(TextReader):
    """Records are rates in ops/s: `value` is the column Max over the iterations. A phase that was not requested has
    none.
    """

    rules = LineRules(_KNOWN)

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self._programs: list[tuple[str, bool, int, int]] = []  # name, this project's own, processes, nodes
        self._argv: tuple[str, ...] | None = None
        self._nodemap: tuple[int, str] | None = None
        self._shift: int | None = None
        self._tasks: tuple[int, int] | None = None  # tasks, files: not yet used by a summary
        self._summaries: list[_SummaryTable] = []
        self._open: _SummaryTable | None = None

    def line(self, number: int, text: str) -> None:
        if not text:
            self._open = None
        elif not (self._open and self._in_summary(self._open, number, text)):
            super().line(number, text)

    # --- a summary

    # 1.x prints its only table, of rates, with this single word, and some with the unit. Tables of times, latencies and
    # counts contain no rates.
    @rules(
        r"(?:SUMMARY(?: rate)?(?: \(in ops/sec\))?:|(?P<other>SUMMARY (?:time|latency)(?: \(in [a-z/ ]+\))?:"
        r"|Shared files \(-S\): what was really performed)) \(of (?P<iterations>[0-9]{1,9}) iterations\)"
        r"|SUMMARY \(in ops/sec\):"
    )
    def _summary(self, number: int, match: re.Match[str]) -> None:
        rates = match["other"] is None
        tasks, files = self._tasks if rates and self._tasks else (None, None)
        if rates:
            self._tasks = None
        iterations = int(match["iterations"] or mdtest_command.iterations(self._argv or ()))
        self._open = _SummaryTable(number, rates, iterations, tasks, files)
        self._summaries.append(self._open)

    def _in_summary(self, summary: _SummaryTable, number: int, text: str) -> bool:
        """Handle a line of an open summary. A message of another program in between does not close it."""
        if not summary.ruled:
            if headings := (_HEADINGS if summary.rates else _OTHER_HEADINGS).fullmatch(text):
                summary.columns = 7 if summary.rates and headings["ranks"] else 4
                return True
            summary.ruled = summary.columns > 0 and _RULE.fullmatch(text) is not None
            return summary.ruled
        row = _ROW.fullmatch(text)
        if row is None and not summary.rates and _OWN_ROW.fullmatch(text):
            return True
        if row is None:
            if any(label in text for label in _OPERATIONS) and not _TRACE.fullmatch(text):
                self.notes.unreadable(number, text, f"truncated summary row: {text.strip()}")
                return True
            return False
        if summary.rates:
            self._row(summary, number, text, row)
        else:
            summary.longest_s[_OPERATIONS[row["label"]]] = row["numbers"].split()[0]
        return True

    def _row(self, summary: _SummaryTable, number: int, text: str, row: re.Match[str]) -> None:
        operation, words = _OPERATIONS[row["label"]], row["numbers"].split()
        first = summary.seen.setdefault(operation, number)
        # The clock can be too coarse for one rank's operations.
        are_numbers = all(_NUMBER.fullmatch(word) for word in words if word != "inf" or word in words[-4:])
        if first != number:
            summary.rows.pop(operation, None)
            wrong = (
                f"{row['label']} appears twice in one summary, first in line {first}; neither is used: {text.strip()}"
            )
        elif _UNRESOLVED.fullmatch(row["numbers"]):
            self.notes.warning(number, f"shorter than the benchmark's clock can resolve, no result: {text.strip()}")
            return
        elif len(words) != summary.columns or not are_numbers:
            wrong = f"expected {summary.columns} numbers with three decimals: {text.strip()}"
        elif not self._possible(summary, operation, words):
            wrong = spread_impossible(name=row["label"], count=summary.iterations, line=text.strip())
        else:
            # With statistics of single ranks (seven columns) those of the iterations come last.
            maximum, minimum, mean, stddev = (float(word) for word in words[-4:])
            source, iterations = Source(self.file, number), summary.iterations
            summary.rows[operation] = Record(operation, maximum, "ops/s", source, minimum, mean, stddev, iterations)
            if row["invalid"]:
                self.notes.error(number, f"row marked invalid by the benchmark: {text.strip()}")
            return
        self.notes.unreadable(number, text, wrong)

    def _possible(self, summary: _SummaryTable, operation: str, words: Sequence[str]) -> bool:
        """Whether some numbers have these statistics."""
        *of_ranks, maximum, minimum, mean, stddev = (float(word) for word in words)
        ordered = not of_ranks or of_ranks[1] <= of_ranks[2] <= of_ranks[0]
        half = half_digit(words[-1])
        spreads = (Spread(n, maximum, minimum, mean, stddev, half) for n in self._counts(summary, operation))
        return ordered and any(spread.possible() for spread in spreads)

    def _counts(self, summary: _SummaryTable, operation: str) -> tuple[int, ...]:
        """How many numbers a row summarises: IOR 3.3's mdtest, also called 1.9.3, and earlier ones without barriers
        (-B), summarise all ranks and iterations, except for trees.
        """
        program, _, processes, _ = self._programs[-1] if self._programs else ("", False, 1, 1)
        alone = _OF_FASTEST.match(program) and self._has_option("B")
        by_rank = (alone or _BY_RANK.match(program)) and not operation.startswith("tree_")
        ranks = (summary.tasks or 1, processes) if by_rank else ()
        return summary.iterations, *(summary.iterations * count for count in ranks)

    # --- other lines

    @rules(r"(?P<tasks>[0-9]{1,9}) tasks, (?P<files>[0-9]{1,18}) (?:files/directories|files?|director(?:y|ies))")
    def _task_count(self, number: int, match: re.Match[str]) -> None:
        self._open = None
        self._tasks = int(match["tasks"]), int(match["files"])

    @rules(
        r"(?P<program>mdtest-[\w.+-]+|mdtest \((?P<own>campaign bench [\w.+-]+)\)) was launched with "
        r"(?P<processes>[0-9]{1,9}) total task\(s\) on (?P<nodes>[0-9]{1,9}) node(?:s|\(s\))"
    )
    def _launched(self, number: int, match: re.Match[str]) -> None:
        self._open = None
        built_in = match["own"]
        self._programs.append(
            (built_in or match["program"], built_in is not None, int(match["processes"]), int(match["nodes"]))
        )
        self.observation = replace(self.observation, complete=False)

    @rules(r"Command line used: ?(?P<text>.*)")
    def _command(self, number: int, match: re.Match[str]) -> None:
        argv = mdtest_command.split(match["text"], escaped=bool(self._programs) and self._programs[-1][1])
        if argv is None:
            self.notes.warning(number, mdtest_command.COMMAND_TRUNCATED)
        elif self._argv is not None and argv != self._argv:
            self.notes.error(number, f"second command line differs from the first: {match['text']}")
        else:
            self._argv = argv

    @rules(r"Nodemap: (?P<map>[01]+)")
    def _node_map(self, number: int, match: re.Match[str]) -> None:
        self._nodemap = number, match["map"]

    @rules(r"(?:V-[0-9]+: (?:Rank +[0-9]+ Line +[0-9]+ )?)?Shifting ranks by (?P<ranks>[0-9]{1,9}) for each phase\.")
    def _shifted(self, number: int, match: re.Match[str]) -> None:
        ranks = int(match["ranks"])
        if self._shift is not None and ranks != self._shift:
            self.notes.error(number, f"ranks shifted by {ranks}, but by {self._shift} in an earlier line")
        else:
            self._shift = ranks

    rules(r"-- started at (?P<time>.+) --")(TextReader.began)

    @rules(r"-- finished at (?P<time>.+) --")
    def _end(self, number: int, match: re.Match[str]) -> None:
        self._open = None
        self.take_end(match["time"], complete=bool(self._programs))

    @rules(r"Fake (?:number of node|tasks per node): using .*")
    def _faked(self, number: int, match: re.Match[str]) -> None:
        self.notes.error(number, f"topology faked by the environment (IOR_FAKE_*): {match[0]}")

    @rules(
        r"WARNING: unable to (?:create|remove|open|stat|read|write|rename|mknode|verify write \(read/back\)) "
        r"(?:file|directory)\b.*"
    )
    def _failed_operation(self, number: int, match: re.Match[str]) -> None:
        self.observation = replace(self.observation, failed_operations=(self.observation.failed_operations or 0) + 1)
        self.notes.error(number, match[0])

    def unknown(self, number: int, text: str) -> None:
        # A message may have interrupted another rank's trace line: only then the rest is a message.
        if _TRACE.fullmatch(text) and "WARNING: " not in text and "ERROR: " not in text:
            return
        # mdtest 4.x prints some failures as warnings, and continues.
        if text.startswith("WARNING: ") and not _HARMLESS.fullmatch(text) and tells_of_failure(text):
            self.notes.error(number, text)
        else:
            self.notes.unknown(number, text)

    # --- the whole

    def finish(self, text: str) -> None:
        program, is_own, processes, nodes = self._programs[-1] if self._programs else ("", False, None, None)
        self._check_programs()
        argv = self._argv or ()
        summary = self._select_summary(processes)
        if summary is not None:
            self.records = self._requested_records(summary, argv)
            if (processes or 0) > 1 and _OF_FASTEST.match(program):
                self.records = {name: self._of_fastest(summary, record) for name, record in self.records.items()}
            files = None if is_own else mdtest_command.shared_files(argv)
            if files and processes:
                self.records |= _performed(self.records, files, processes)
        placement, per_node = self._placement(processes, nodes)
        requested = mdtest_command.rank_offset(argv) if argv else None
        shift = self._shift if self._shift is not None or requested != 0 else 0
        self.observation = replace(
            self.observation,
            program=program,
            argv=argv,
            processes=processes,
            nodes=nodes,
            processes_per_node=per_node,
            placement=placement,
            shift_requested=requested,
            shift_effective=shift,
            whole_nodes=_moves_every_rank(shift, processes, nodes, per_node) if placement == "block" else None,
            files_reported=summary.files if summary else self._tasks[1] if self._tasks else None,
        )

    def _check_programs(self) -> None:
        count = len(self._programs)
        if count == 0:
            self.notes.error(None, "not mdtest output: line 'mdtest-… was launched with … total task(s)' missing")
        elif count > 1 and all(processes == 1 for _, _, processes, _ in self._programs):
            self.notes.error(
                None,
                f"{count} separate copies ran with 1 task each instead of one MPI job: set slurm.mpi to a plugin that "
                "fits the MPI library (srun --mpi=list)",
            )
        elif count > 1:
            self.notes.error(None, f"{count} runs in one output; the last one is used")

    def _select_summary(self, processes: int | None) -> _SummaryTable | None:
        """The summary with the results: that of all processes, if -f, -l and -s produced several."""
        rates = [summary for summary in self._summaries if summary.rates]
        if not rates:
            if self._summaries:
                self.notes.error(self._summaries[0].line, "only times (-Z), no rates")
            elif self.observation.complete:
                self.notes.error(None, "no SUMMARY: no results")
            return None
        complete_summaries = [summary for summary in rates if summary.tasks == processes]
        selected = complete_summaries[-1] if complete_summaries else rates[-1]
        counts = [summary.tasks for summary in rates]
        if len(rates) > 1:
            listed = ", ".join(f"line {summary.line}: {_tasks(summary)} tasks" for summary in rates)
            say = self.notes.warning if len(set(counts)) == len(counts) and None not in counts else self.notes.error
            say(selected.line, f"{len(rates)} summaries ({listed}); the one in line {selected.line} is used")
        if not complete_summaries:
            self.notes.error(selected.line, f"summary of {_tasks(selected)} tasks; expected {processes}")
        return selected

    def _requested_records(self, summary: _SummaryTable, argv: tuple[str, ...]) -> dict[str, Record]:
        """The rows of the requested operations, and of others that were measured."""
        if self._argv is None and self.observation.complete:
            self.notes.warning(
                summary.line, "no command line in the output: requested phases unknown; rows of 0 are not used"
            )
        requested = mdtest_command.requested_operations(argv) if argv else frozenset[str]()
        # Warnings: whether the rules use these rows is not known here. RUN-06 demands a result above 0 of those used.
        if argv and (lacking := sorted(requested & _ALWAYS_PRINTED - summary.seen.keys())):
            self.notes.warning(summary.line, f"the summary lacks {', '.join(lacking)}, requested on the command line")
        if zero := sorted(
            name for name in requested & _ALWAYS_PRINTED & summary.rows.keys() if summary.rows[name].value == 0
        ):
            self.notes.warning(summary.line, f"the command line requests phases whose rows are 0: {', '.join(zero)}")
        return {name: record for name, record in summary.rows.items() if record.value > 0 or name in requested}

    def _of_fastest(self, summary: _SummaryTable, record: Record) -> Record:
        """The record of a version that prints the rate of the fastest rank. The actual one of a single iteration is
        that of the slowest rank, where a row summarises the ranks, or follows from the longest time.
        """
        if record.operation.startswith("tree_"):  # the first rank alone creates and removes them
            return record
        is_single = record.iterations == 1
        actual = record.minimum if is_single and record.minimum else record.value
        after = self._summaries[self._summaries.index(summary) + 1 :][:1]
        longest = next((times.longest_s.get(record.operation, "") for times in after if not times.rates), "")
        if is_single and summary.files and _NUMBER.fullmatch(longest) and not self._has_option("W"):
            least_s = float(longest) - half_digit(longest)
            if summary.files < actual * least_s:
                actual = summary.files / float(longest)
        return replace(record, of_fastest=True, true_value=actual if actual < record.value else None)

    def _has_option(self, letter: str) -> bool:
        """Whether the command line has this option."""
        return letter in dict(mdtest_command.options(self._argv or ()))

    def _placement(self, processes: int | None, nodes: int | None) -> tuple[str | None, int | None]:
        """(placement, processes per node), as far as the map of ranks on the first node shows it."""
        if processes == 1:
            return "block", 1
        if self._nodemap is None or processes is None or not nodes:
            return None, None
        number, ranks = self._nodemap
        ranks_on_first_node = ranks.count("1")
        if len(ranks) != processes or (ranks_on_first_node == processes) != (nodes == 1):
            against = f"node map {ranks[:64]} contradicts {processes} processes on {nodes} nodes; ignored"
            self.notes.warning(number, against)
            return None, None
        is_even = ranks_on_first_node * nodes == processes
        if ranks == "1" * ranks_on_first_node + "0" * (processes - ranks_on_first_node):
            return "block", ranks_on_first_node if is_even else 0
        cyclic = is_even and ranks == ("1" + "0" * (nodes - 1)) * ranks_on_first_node
        return "cyclic" if cyclic else "irregular", ranks_on_first_node if is_even else 0


parse = _MdtestReader.parse


def _performed(records: Mapping[str, Record], files: int, processes: int) -> dict[str, Record]:
    """Records of shared files with what was really performed, which follows from -S and is not printed: all ranks
    create, examine and read the same files, and the first one alone removes them.
    """
    performed = {}
    for name in records.keys() & {"create", "stat", "read", "remove"}:
        record, ranks = records[name], 1 if name == "remove" else processes
        performed[name] = replace(record, operations_done=ranks * files)
        if processes > 1:
            rate = record.true_value if record.of_fastest else record.value
            rate = rate and rate * ranks / processes
            performed[name] = replace(performed[name], files_true=files, true_value=rate)
    return performed


def _tasks(summary: _SummaryTable) -> str:
    return "unknown" if summary.tasks is None else str(summary.tasks)


def _moves_every_rank(shift: int | None, processes: int | None, nodes: int | None, per_node: int | None) -> bool | None:
    """Whether a shift by `shift` ranks moves every rank to another node, with block placement."""
    if shift is None or processes is None or nodes is None or not per_node:
        return None
    return nodes > 1 and per_node <= shift % processes <= processes - per_node
