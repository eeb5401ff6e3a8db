"""The rules about the command line (FLG): its flags, sizes, paths and the rank offset. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise

from campaign.config.rules.pack import RulePack
from campaign.core.findings import Finding, Severity
from campaign.core.grouping import grouped
from campaign.core.runs import Run, phase_of_copy
from campaign.core.units import distinct_digits
from campaign.judge.findings import missing_output_form, note, to_explain, violation
from campaign.judge.rule import attempt_rule, campaign_rule
from campaign.judge.submission import Submission
from campaign.results.case import Case

# Where a path may begin and end in a word.
_BEGIN, _END = r"(?:^|(?<=[=:,;@])|(?<=^-[A-Za-z]))", r"(?=$|[=:,;@])"
_OUTSIDE = re.compile(rf"{_BEGIN}/(?!/)(?!dev/(?:null|zero|stdin|stdout|stderr){_END})|(?:^|[/=:,;@])\.\.(?:/|$)")
_NO_COMMAND_LINE = "no command line in the output: flags cannot be checked"


@attempt_rule(
    "FLG-01",
    "all mandatory flags were used",
    why="without a mandatory flag the benchmark measures something else, so offers cannot be compared",
    remedy="run the result again with the rule pack's command line",
)
def check_mandatory_flags(case: Case) -> Iterator[Finding]:
    """The pack's fixed flags in the command line that the output shows."""
    executed_flags = {
        *case.observation.argv,
        *(word.partition("=")[0] for word in case.observation.argv if word.startswith("--")),
    }
    lacking = grouped((flag.clause, flag.flag) for flag in case.pack.fixed if flag.flag not in executed_flags)
    if not case.observation.argv:
        yield missing_output_form(case)(_NO_COMMAND_LINE)
        return
    for clause, flags in lacking.items():
        yield violation(
            "mandatory flags missing: {flags}",
            " ".join(case.planned_arguments),
            shlex.join(case.observation.argv),
            clause=clause,
            flags=" ".join(flags),
        )


@attempt_rule(
    "FLG-02",
    "the flags of the file configuration are those of the rules",
    why="these flags decide which directory layout or access pattern the value belongs to",
    remedy="run the result again with the flags of its file configuration",
)
def check_configuration_flags(case: Case) -> Iterator[Finding]:
    """The flags of this file configuration, and none of another, there."""
    if "{flags}" not in case.pack.arguments:
        return  # a phase to which no file configuration adds flags
    executed_words, required_flags = set(case.observation.argv), set(case.files.flags)
    other_flags = {flag for files in case.pack.files for flag in files.flags} - required_flags
    if not executed_words:
        yield missing_output_form(case)(_NO_COMMAND_LINE)
    elif required_flags - executed_words or other_flags & executed_words:
        yield violation(
            "wrong flags for file configuration {files}",
            " ".join(sorted(required_flags)) or f"none of {' '.join(sorted(other_flags))}",
            shlex.join(case.observation.argv),
            files=case.files.id,
        )


@attempt_rule(
    "FLG-03",
    "no flag outside the allowed list was used",
    why="a changed command line can make a result faster without the system being faster",
    remedy="run the result again with the planned command line, and ask the buyer before adding any flag",
)
def check_allowed_flags(case: Case) -> Iterator[Finding]:
    """The executed command line, word by word with the planned one, and the program's path; planned flags come only
    from pack, geometry and allowed list.
    """
    if not case.observation.argv:
        yield missing_output_form(case)(_NO_COMMAND_LINE)
    elif tuple(case.observation.argv[1:]) != case.planned_arguments:
        yield violation(
            "the executed command differs from the planned one",
            shlex.join(case.planned_arguments),
            shlex.join(case.observation.argv[1:]),
        )
    elif case.observation.argv[0] != case.run.executable:
        yield violation(
            "a program other than the planned one was executed", case.run.executable, case.observation.argv[0]
        )


_REHEARSAL_SIZE = "rehearsal: smaller than the rules require, never a compliant result"


@attempt_rule(
    "FLG-04",
    "the benchmark ran at the size that the rules ask for",
    why="a smaller problem may fit into caches, and its result then says little about the storage",
    remedy="run the campaign again at the size of the rules (profile: full)",
    is_judged_before=True,
)
def check_size(case: Case) -> Iterator[Finding]:
    """The planned total and the printed count; the smaller total of a rehearsal is noted."""
    values = case.values
    full = {
        variable.id: variable.value_for("full", case.run.launch, case.run.files) for variable in case.pack.variables
    }
    other = [name for name, value in full.items() if values.get(name, value) != value]
    if other:
        yield note(
            "values differ from the rule pack's" if case.full else _REHEARSAL_SIZE,
            ", ".join(f"{name} {full[name]}" for name in other),
            ", ".join(f"{name} {values[name]}" for name in other),
        )
    total = case.run.items_total
    if total is None:
        return
    required_total, clause, unit = case.pack.items_total.get("full", 0), case.pack.items_clause, case.pack.items_unit
    if total < required_total and case.full:
        wording = "fewer {unit} than the rules require"
        yield violation(wording, f"{required_total} or more", total, clause=clause, unit=unit)
    elif total < required_total:
        yield note(_REHEARSAL_SIZE, f"{required_total} or more", f"{total} {unit}", clause=clause)
    reported_total = case.observation.files_reported
    if reported_total is None:
        yield missing_output_form(case)("item count not in the output", clause=clause)
    # mdtest 4.x prints "1 file" for its shared files, whatever n is.
    elif reported_total != total and not (case.files.inflated and reported_total == 1):
        wording = "the benchmark counted a different number of {unit} than planned"
        yield violation(wording, total, reported_total, clause=clause, unit=unit)


@attempt_rule(
    "FLG-05",
    "the benchmark wrote to the declared target, by an absolute path",
    why="files in another directory, for example on a local disk, do not measure the offered file system",
    remedy="run the result again in a directory of the target that the campaign file declares",
    is_judged_before=True,
)
def check_directory(case: Case) -> Iterator[Finding]:
    """Every path on the command line must be in the attempt's own directory; words added by the campaign file must not
    contain a path, except input files. Another absolute path, or one with `..`, of the pack itself requires an
    explanation (W).
    """
    expected = "only the attempt's own directory, and input files"
    pack_words, added = _paths(case.pack, case.run)
    if added:
        yield violation(
            "the campaign file adds a path outside the target's directory to the command line",
            expected,
            " ".join(added),
        )
    if pack_words:
        yield to_explain(
            "the rule pack's command line names a path outside the target's directory that is not among its inputs",
            expected,
            " ".join(pack_words),
        )
    words = case.planned_arguments
    for position, word in enumerate(case.run.arguments):
        if "{directory}" not in word:
            continue
        if not case.observation.argv:
            yield missing_output_form(case)(_NO_COMMAND_LINE)
            return
        planned, before = words[position], words[position - 1] if position else ""
        stem = word.partition("{directory}")[0]
        if case.observation.argv[position + 1 : position + 2] == (planned,):
            continue
        actual = (
            _argument_of(case.observation.argv, before)
            if not stem and before.startswith("-")
            else next(
                (
                    word_of_output
                    for word_of_output in case.observation.argv[1:]
                    if word_of_output.startswith(f"{stem}/")
                ),
                None,
            )
        )
        if actual != planned:
            yield violation("the benchmark used a directory other than the attempt's", planned, actual)


def paths_outside_target(pack: RulePack, run: Run) -> list[str]:
    """The words that the campaign file added to the pack's command lines and that name a path, but for inputs."""
    return _paths(pack, run)[1]


def _paths(pack: RulePack, run: Run) -> tuple[list[str], list[str]]:
    """The words of the command lines that name a path and no input: those of the pack with a path that leads out of the
    attempt's directory, and those that the campaign file added, with any path.
    """
    pack_words, added_words = list[str](), list[str]()
    flags = next(len(files.flags) for files in pack.files if files.id == run.files)
    arguments = {phase.id: phase.arguments for phase in pack.phases}
    inputs = re.compile(rf"{_BEGIN}(?:{'|'.join(re.escape(files.path) for files in run.inputs) or '$'}){_END}")
    for command in run.launched:
        of_pack = sum(flags if word == "{flags}" else 1 for word in arguments[phase_of_copy(command.phase)])
        words = [(word, inputs.sub("", word)) for word in command.arguments]
        pack_words += [word for word, other_text in words[:of_pack] if _OUTSIDE.search(other_text)]
        added_words += [
            word for word, other_text in words[of_pack:] if "/" in other_text and "{directory}" not in other_text
        ]
    return pack_words, added_words


@attempt_rule(
    "FLG-06",
    "the rank offset (`-N`) is the one that the rules ask for",
    why="with another offset a process reads back its own files, possibly from its node's cache",
    remedy="run the result again with the rank offset of one node, and check benchmark.dialect",
)
def check_rank_offset(case: Case) -> Iterator[Finding]:
    """The value of `-N` in the executed command line; translated, and noted, where the benchmark counts nodes."""
    expected = _argument_of(case.planned_arguments, "-N")
    if expected is None:
        return
    actual, clause = _argument_of(case.observation.argv, "-N"), case.pack.offset_clause
    if not case.observation.argv:
        yield missing_output_form(case)(_NO_COMMAND_LINE, clause=clause)
    elif actual != expected:
        actual_text = f"-N {actual}" if actual else None
        yield violation("-N does not shift the ranks by one node", f"-N {expected}", actual_text, clause=clause)
    elif "{rank_offset}" in case.pack.arguments and expected != str(case.run.geometry.processes_per_node):
        yield note(
            "this mdtest version takes -N in nodes; equivalent to the required rank offset",
            f"an offset of {case.run.geometry.processes_per_node} ranks",
            f"-N {actual}",
        )


@attempt_rule(
    "FLG-07",
    "the rank offset moved each phase to another node",
    why="a node that works on the files it created itself may answer from its cache, without the file servers",
    remedy="run the result again with ranks in equal blocks per node and the offset of one node",
)
def check_rank_shift(case: Case) -> Iterator[Finding]:
    """The effective shift in the output, modulo the ranks, must be one node; with the built-in benchmark also the share
    of stat calls on another node. On a single node noted.
    """
    if "-N" not in case.run.arguments:
        return
    geometry, shift = case.run.geometry, case.observation.shift_effective
    shift_text = f"a rank shift of {shift} among {geometry.processes} ranks"
    if geometry.nodes == 1:
        yield note("single node: all phases ran on the node that created the files, as there is no other")
    elif shift is None:
        yield missing_output_form(case)("rank shift not in the output")
    elif shift % geometry.processes != geometry.processes_per_node:
        is_same_rank = shift % geometry.processes == 0
        yield violation(
            "all phases ran on the node that created the files"
            if is_same_rank
            else "phases ran on other nodes than the rules require",
            f"a rank shift of {geometry.processes_per_node} (one node)",
            f"{shift_text}, which leads back to the same rank" if is_same_rank else shift_text,
        )
    elif case.observation.whole_nodes is False:
        yield violation(
            "rank shift too small: some ranks worked on files created on their node", "whole nodes", shift_text
        )
    else:
        shares = [r.remote_share for r in case.records if r.operation == "stat" and r.remote_share is not None]
        if shares and shares[0] < 1 and not case.files.inflated:
            yield violation(
                "some stat calls ran on the node that created the file",
                "100% of the stat calls on another node",
                f"{distinct_digits(100 * shares[0], 100)[0]}% of the stat calls on another node",
            )


def _argument_of(words: Sequence[str], flag: str) -> str | None:
    return words[words.index(flag) + 1] if flag in words[:-1] else None


@campaign_rule(
    "FLG-08",
    "where `-N` means something else in the benchmark than in the rules, the interpretation is recorded",
    why="buyer and vendor must agree on the meaning of -N before offers are compared",
    remedy="ask the buyer how -N is to be read, and record the answer under explanations in the campaign file",
    severity=Severity.WARNING,
)
def check_offset_interpretation(submission: Submission) -> Iterator[Finding]:
    """A translated `-N` on several nodes needs a note of the pack with `rules: [FLG-08]`, otherwise an explanation."""
    if "{rank_offset}" not in submission.pack.arguments:
        return  # the pack itself gives the value: nothing was translated
    other_offsets = [
        (run, offset)
        for run in submission.runs
        for flag, offset in pairwise(run.arguments)
        if run.geometry.nodes > 1 and flag == "-N" and offset != str(run.geometry.processes_per_node)
    ]
    if not other_offsets:
        return
    form, values = to_explain, {}
    message = "-N means something else in this benchmark than in the rules; no interpretation is recorded"
    if read_by := next((entry for entry in submission.pack.notes if "FLG-08" in entry.rules), None):
        form, values = note, {"clause": read_by.clause}
        message = (
            "-N means something else in this benchmark than in the rules; interpreted by the rule pack's note on "
            "{clause}"
        )
    cells = [cell for run, _ in other_offsets for cell in run.cells()]
    run, offset = other_offsets[0]
    expected = f"-N {run.geometry.processes_per_node} (by the rules)"
    yield from submission.per_line(form, cells, message, expected, f"-N {offset}", **values)
