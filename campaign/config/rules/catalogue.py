"""The catalogue of run rules: severity, level, requirement, why it matters, what to do, and parameters. Pure data.

A rule pack lists the ids that apply to its RFP, each with its clause and, if the RFP sets other values, its parameters.
What each rule checks is described in docs/rules.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from campaign.core.model import Severity


class Level(StrEnum):
    """What a rule is judged on."""

    ATTEMPT = "attempt"  # one ended attempt, from its own outputs
    CAMPAIGN = "campaign"  # all attempts and cells together, the sources and the systems
    BUNDLE = "bundle"  # a submitted bundle


class Quantity(StrEnum):
    """The kind of a parameter; the value says how it is written in a rule pack."""

    DURATION = "a time such as 10s, 2.5ms or 20us"
    SHARE = "a share such as 5%"
    COUNT = "a whole number"
    FACTOR = "a number such as 2 or 1.5"


@dataclass(frozen=True, slots=True)
class Parameter:
    kind: Quantity
    default: float  # seconds, a share of 1, or a plain number
    says: str


@dataclass(frozen=True, slots=True)
class RuleEntry:
    statement: str  # the requirement; a pack may give the RFP's words
    severity: Severity  # of a violation; some findings have a lower one
    level: Level
    why: str  # why it matters to the buyer
    remedy: str  # what the vendor should do about a violation
    parameters: Mapping[str, Parameter]


_PATTERNS = {
    Quantity.DURATION: r"([0-9]{1,6}(?:\.[0-9]{1,6})?)(us|ms|s)",
    Quantity.SHARE: r"([0-9]{1,3}(?:\.[0-9]{1,3})?)(%)",
    Quantity.COUNT: r"([0-9]{1,9})()",
    Quantity.FACTOR: r"([0-9]{1,9}(?:\.[0-9]{1,6})?)()",
}
_SCALES = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "%": 0.01, "": 1.0}


def parse(kind: Quantity, text: str) -> float:
    """A parameter's value from its text in a rule pack. Raises ValueError with what is allowed."""
    match = re.fullmatch(_PATTERNS[kind], text)
    if not match:
        raise ValueError(f'found "{text}"; allowed: {kind}')
    return float(match[1]) * _SCALES[match[2]]


def show(kind: Quantity, value: float) -> str:
    """A parameter's value as written in a rule pack."""
    if kind is Quantity.SHARE:
        return f"{100 * value:.12g}%"
    if kind is Quantity.DURATION:
        unit = "us" if 0 < value < 1e-3 else "ms" if 0 < value < 1 else "s"
        return f"{value / _SCALES[unit]:.12g}{unit}"
    return f"{value:.15g}"


_W, _I = Severity.WARNING, Severity.INFO


def _rule(
    level: Level, statement: str, why: str, remedy: str, severity: Severity = Severity.ERROR, **parameters: Parameter
) -> RuleEntry:
    return RuleEntry(statement, severity, level, why, remedy, parameters)


CATALOGUE: Mapping[str, RuleEntry] = {
    "CMP-01": _rule(
        Level.CAMPAIGN,
        "the table has every result that the rules ask for, for each tier and protocol, and no other",
        "a table with missing or extra results cannot be compared with other offers",
        "add the missing results to the table and remove those that the rules do not ask for",
    ),
    "CMP-02": _rule(
        Level.CAMPAIGN,
        "every declared tier and protocol has a full set of results",
        "a tier or protocol without results is offered without any proof of its performance",
        "measure or project results for the target, or explain why the offer does not need them",
    ),
    "CMP-03": _rule(
        Level.CAMPAIGN,
        "every result is measured, projected, or declined with a reason",
        "a result without a value leaves a gap in the comparison of offers",
        "run 'campaign run FILE' again, or give a projection or a reason for declining in the campaign file",
    ),
    "CMP-04": _rule(
        Level.CAMPAIGN,
        "every value is traceable to a run and to the log line that contains it",
        "a value that no log contains may have been mistyped or invented",
        "submit the raw output of each value, with the run and the log line that the value comes from",
    ),
    "CMP-05": _rule(
        Level.BUNDLE,
        "the bundle contains every referenced log and nothing else; other attempts are listed in an index",
        "extra or missing logs make it unclear which measurements the tables use",
        "write the bundle again with 'campaign bundle' from the unchanged results directory",
        severity=_W,
    ),
    "FLG-01": _rule(
        Level.ATTEMPT,
        "all mandatory flags were used",
        "without a mandatory flag the benchmark measures something else, so offers cannot be compared",
        "run the result again with the rule pack's command line",
    ),
    "FLG-02": _rule(
        Level.ATTEMPT,
        "the flags of the file configuration are those of the rules",
        "these flags decide which directory layout or access pattern the value belongs to",
        "run the result again with the flags of its file configuration",
    ),
    "FLG-03": _rule(
        Level.ATTEMPT,
        "no flag outside the allowed list was used",
        "a changed command line can make a result faster without the system being faster",
        "run the result again with the planned command line, and ask the buyer before adding any flag",
    ),
    "FLG-04": _rule(
        Level.ATTEMPT,
        "the benchmark ran at the size that the rules ask for",
        "a smaller problem may fit into caches, and its result then says little about the storage",
        "run the campaign again at the size of the rules (profile: full)",
    ),
    "FLG-05": _rule(
        Level.ATTEMPT,
        "the benchmark wrote to the declared target, by an absolute path",
        "files in another directory, for example on a local disk, do not measure the offered file system",
        "run the result again in a directory of the target that the campaign file declares",
    ),
    "FLG-06": _rule(
        Level.ATTEMPT,
        "the rank offset (`-N`) is the one that the rules ask for",
        "with another offset a process reads back its own files, possibly from its node's cache",
        "run the result again with the rank offset of one node, and check benchmark.dialect",
    ),
    "FLG-07": _rule(
        Level.ATTEMPT,
        "the rank offset moved each phase to another node",
        "a node that works on the files it created itself may answer from its cache, without the file servers",
        "run the result again with ranks in equal blocks per node and the offset of one node",
    ),
    "FLG-08": _rule(
        Level.CAMPAIGN,
        "where `-N` means something else in the benchmark than in the rules, the interpretation is recorded",
        "buyer and vendor must agree on the meaning of -N before offers are compared",
        "ask the buyer how -N is to be read, and record the answer under explanations in the campaign file",
        severity=_W,
    ),
    "GEO-01": _rule(
        Level.ATTEMPT,
        "ranks are placed in the planned consecutive blocks, equal or with one rank more on the first nodes",
        "with another placement a rank offset does not move the work to another node, and nodes have other work",
        "run the result again with block distribution and the planned number of ranks on each node",
    ),
    "GEO-02": _rule(
        Level.ATTEMPT,
        "process and node counts meet the launch condition",
        "results with other process or node counts belong to another line of the table",
        "run the result again with the process and node counts of its launch condition",
    ),
    "GEO-03": _rule(
        Level.CAMPAIGN,
        "the maximum concurrency uses the whole partition, or is projected to it; required shares of the system are "
        "reached",
        "the buyer asks how the whole system performs, not a part of it",
        "run on all usable nodes and cores of the partition, or submit a projection to that size",
    ),
    "GEO-04": _rule(
        Level.ATTEMPT,
        "nothing in the environment fakes nodes, and each node is a separate machine",
        "faked or shared nodes make one machine look like a cluster",
        "run the result again on separate nodes without the named variables or libraries, or explain the nodes",
    ),
    "GEO-05": _rule(
        Level.ATTEMPT,
        "sizes and counts of the run meet the conditions of the rules",
        "a result with other sizes or counts does not answer the buyer's question",
        "run the result again with the sizes and counts that the rules require",
    ),
    "RES-01": _rule(
        Level.ATTEMPT,
        "the results of each run meet the conditions of the rules",
        "a run with a wrong answer, another problem or a missed limit is not what the buyer asked for",
        "correct what the condition names and run the result again",
    ),
    "RES-02": _rule(
        Level.CAMPAIGN,
        "the results of several executions together meet the conditions of the rules",
        "results that differ much from run to run or from node to node do not show what a user of the system gets",
        "find out which run or node differs and why, correct it, and run those results again",
    ),
    "SRC-01": _rule(
        Level.CAMPAIGN,
        "the source is the version that the rules name",
        "another version or program may count, time or cache differently",
        "build the source that the rules name, and give its version and SHA-256 under source in the campaign file",
    ),
    "SRC-02": _rule(
        Level.CAMPAIGN,
        "the submitted patch accounts for all source changes",
        "a change that the patch does not show could alter what is measured",
        "submit a patch that turns the published source into the built one (see 'campaign modifications')",
    ),
    "SRC-03": _rule(
        Level.CAMPAIGN,
        "source changes affect building and launching only, or are those that the category of the build allows",
        "a change to timing or I/O can change the result without the system being faster",
        "undo the change and measure again, or have the buyer sign a waiver for it",
    ),
    "SRC-04": _rule(
        Level.CAMPAIGN,
        "one binary, from the recorded build, ran on all ranks and in all runs",
        "with several binaries it is unknown which source a result belongs to",
        "build once with 'campaign build', and repeat the runs of other binaries",
    ),
    "SRC-05": _rule(
        Level.CAMPAIGN,
        "compiler, flags and libraries are recorded, and preloaded libraries are disclosed",
        "without the build record the buyer cannot repeat the build, and a preloaded library may alter results",
        (
            "give compiler, flags and libraries under source.build, name preloaded libraries in the campaign file, and "
            "run 'campaign run FILE' again, which keeps the record"
        ),
    ),
    "SRC-06": _rule(
        Level.CAMPAIGN,
        "the built-in benchmark was built from its published source",
        "a changed benchmark can report any number",
        "build the unchanged source with 'campaign build', and run the campaign again",
    ),
    "SRC-07": _rule(
        Level.CAMPAIGN,
        "the flags of the build are those that its category allows",
        "results of programs that were compiled by other rules cannot be compared",
        "build with the flags of the category and measure again, or choose the category of this build (build)",
    ),
    "INP-01": _rule(
        Level.ATTEMPT,
        "the benchmark read the input files that the rules fix or the vendor declares",
        "another input is another problem, which may be much easier to compute",
        "restore the input file and run the result again with 'campaign rerun FILE CELL'",
    ),
    "RUN-01": _rule(
        Level.ATTEMPT,
        "the run finished with exit status 0 and was not requeued",
        "a run that failed or was started twice has no trustworthy value",
        "find the cause in the run's stdout and stderr, then repeat it with 'campaign rerun FILE CELL'",
    ),
    "RUN-02": _rule(
        Level.ATTEMPT,
        "the times in the output lie within those of the run and of the job",
        "times that do not match the job suggest that the output is from another run",
        "check the clocks of the nodes, and repeat the run with 'campaign rerun FILE CELL'",
    ),
    "RUN-03": _rule(
        Level.ATTEMPT,
        "job id, nodes and task count agree between output, job records and Slurm's accounting",
        "records that contradict each other suggest that the output is from another job",
        "compare the records with Slurm's accounting, and repeat the run with 'campaign rerun FILE CELL'",
    ),
    "RUN-04": _rule(
        Level.ATTEMPT,
        "nodes were exclusive; other load on the cluster is disclosed",
        "other users' jobs on the same nodes change the result, usually for the worse",
        "measure again in a partition whose nodes no other job can use, or explain the sharing",
        severity=_W,
    ),
    "RUN-05": _rule(
        Level.ATTEMPT,
        "the directory was empty before and after the run; capacity and inode counts are recorded",
        "files left from earlier runs, or a full file system, change metadata rates",
        "remove what was left in the target's directory, and repeat the run with 'campaign rerun FILE CELL'",
    ),
    "RUN-06": _rule(
        Level.ATTEMPT,
        "the output is complete and free of errors, and every rate is above zero",
        "a run with errors or an incomplete output may not have done the work that it reports",
        "find the cause in the run's stdout and stderr, then repeat it with 'campaign rerun FILE CELL'",
    ),
    "RUN-07": _rule(
        Level.ATTEMPT,
        "phases are long enough to be measured, where the rules leave their length open",
        "in a short phase start-up and clock resolution weigh as much as the work itself",
        "make the phase longer by the named variable or flag, and measure again",
        minimum=Parameter(Quantity.DURATION, 10.0, "phases shorter than this require an explanation"),
        unusable=Parameter(Quantity.DURATION, 1.0, "phases shorter than this are a violation"),
        severity=_W,
    ),
    "RUN-08": _rule(
        Level.CAMPAIGN,
        "all attempts are kept on record, including failed and unused ones",
        "attempts that disappear could hide slow or failed results",
        "restore the missing attempts to the results directory, or explain their loss",
        severity=_W,
    ),
    "RUN-09": _rule(
        Level.ATTEMPT,
        "all phases of a result ran in one job, each once and in order, with no other work between them",
        (
            "phases that ran at different times, or with other work in between, do not measure the same state of the "
            "storage"
        ),
        "run all phases again with 'campaign rerun FILE CELL'",
        together=Parameter(
            Quantity.SHARE,
            0.9,
            "shortest share of the time of a phase with results during which the phases that start together with it "
            "(`beside`) ran too",
        ),
    ),
    "RUN-10": _rule(
        Level.CAMPAIGN,
        "energy and peak power of each run are recorded, with the method and level that the rules require",
        "energy that was not measured on all nodes for the whole run, or by a lower level, cannot be compared",
        "name the source in the campaign file (energy), and repeat the runs with 'campaign rerun FILE CELL'",
    ),
    "CCH-01": _rule(
        Level.ATTEMPT,
        "client caches were bypassed or dropped, and the output shows it",
        "a rate from the client's cache says nothing about the file servers",
        "measure on two nodes or more with a rank offset of one node, or explain how caches were dropped",
        severity=_W,
    ),
    "CCH-02": _rule(
        Level.CAMPAIGN,
        "the servers performed the operations that remote phases report, where server counters are supplied",
        "if the servers performed fewer operations than the clients report, caches answered the rest",
        "switch off client caching of attributes, measure again, and supply the servers' counters",
        operations=Parameter(Quantity.FACTOR, 1.0, "minimum number of server operations per stat"),
    ),
    "CCH-03": _rule(
        Level.ATTEMPT,
        "the time per operation is plausible for a remote file system",
        "an operation faster than any network round trip did not reach a remote server",
        "check that the target is the offered file system and that its clients do not cache, or explain the latency",
        floor=Parameter(Quantity.DURATION, 10e-6, "shortest plausible time per operation on a remote file system"),
        severity=_W,
    ),
    "CCH-04": _rule(
        Level.ATTEMPT,
        "single-node results are labelled as within reach of the client cache",
        "on a single node the client's cache may answer instead of the servers",
        "nothing; the label stays with the result",
        severity=_I,
    ),
    "CCH-05": _rule(
        Level.ATTEMPT,
        "bandwidths are of the storage, not of memory",
        "the bandwidth of memory says nothing about the storage",
        "measure more data than the nodes' memory holds, with fsync and with another node reading the data",
        share=Parameter(Quantity.SHARE, 0.05, "largest share of the bytes that may come from memory"),
        memory=Parameter(
            Quantity.FACTOR, 0.0, "minimum number of bytes moved, as a multiple of the memory of the run's nodes"
        ),
    ),
    "STA-01": _rule(
        Level.CAMPAIGN,
        "all operations of a table line come from one run",
        "the best values of several runs, combined, are higher than any single run achieved",
        "report all operations of the line from the run that the rules select",
    ),
    "STA-02": _rule(
        Level.CAMPAIGN,
        "the reported run is the one that the rules select",
        "the rules define which run is reported, so that all vendors choose in the same way",
        "report the run that the rules select",
    ),
    "STA-03": _rule(
        Level.CAMPAIGN,
        "there are enough repetitions for a confidence interval, or the rules' minimum with disclosure",
        "without repetitions the effect of chance on the value is unknown",
        "raise repetitions in the campaign file, and run 'campaign run FILE' again",
        wanted=Parameter(Quantity.COUNT, 6, "repetitions needed for a confidence interval of the median"),
        minimum=Parameter(Quantity.COUNT, 1, "minimum number of repetitions that the RFP allows"),
        severity=_W,
    ),
    "STA-04": _rule(
        Level.CAMPAIGN,
        "variation between repetitions is within limits, and there is no trend over time",
        "a value that varies this much may not be reached at acceptance",
        "look for other load and slow nodes, and measure again, or explain the variation",
        variation=Parameter(Quantity.SHARE, 0.05, "largest coefficient of variation without a finding"),
        explain=Parameter(Quantity.SHARE, 0.1, "coefficient of variation above which the finding names this limit"),
        drift=Parameter(
            Quantity.FACTOR, 0.05, "p-value, adjusted for all cells, below which a trend over time is reported"
        ),
        severity=_W,
    ),
    "STA-05": _rule(
        Level.ATTEMPT,
        "values have the unit that the rules ask for and are not rounded without explanation",
        "values in other units, or rounded ones, cannot be compared or traced to a log",
        "report the value and unit exactly as the benchmark printed them",
    ),
    "SEL-01": _rule(
        Level.CAMPAIGN,
        "the best process count has measured neighbours on both sides",
        "at the edge of the measured range a better process count may lie just beyond it",
        "widen the range under search in the campaign file, and run 'campaign run FILE' again",
    ),
    "SEL-02": _rule(
        Level.CAMPAIGN,
        "the reported process count was tuned and confirmed by confirmation runs",
        "a process count that was best once may have been best by chance",
        "set the launch condition to search, or allow the tuning a larger budget, and run 'campaign run FILE' again",
    ),
    "SEL-03": _rule(
        Level.CAMPAIGN,
        "reported runs are separate from tuning runs",
        "the best of many tuning runs is, by chance, higher than a typical run",
        "report a confirmation run in place of the tuning run",
    ),
    "PHY-01": _rule(
        Level.CAMPAIGN,
        "single-process rates agree between file configurations, or are explained",
        "a single process has no contention, so large differences suggest a cache or a mistake",
        "explain why the file configurations differ, or measure the slowest and the fastest of them again",
        factor=Parameter(Quantity.FACTOR, 2.0, "largest ratio between the fastest and the slowest file configuration"),
        severity=_W,
    ),
    "PHY-02": _rule(
        Level.CAMPAIGN,
        "results of many processes are at most a margin below the single-process result, or are explained",
        "if many processes are slower than one, a faulty run, a bottleneck or a cached single-process result is likely",
        "explain the slowdown, or find its cause and measure again",
        below=Parameter(Quantity.SHARE, 0.05, "how far a rate may be below the single-process rate"),
        severity=_W,
    ),
    "PHY-03": _rule(
        Level.ATTEMPT,
        "where the benchmark's formula overcounts, actual rates and counts are reported too",
        "a formula that counts work which was not done makes the rate look higher than it is",
        "report the actual rate and count beside the printed ones",
    ),
    "PHY-04": _rule(
        Level.ATTEMPT,
        "no operation is faster than a system call, and no bandwidth exceeds that of memory and network adapters",
        "a rate that no machine can reach was not measured",
        (
            "find out what the benchmark actually did; if the limit is wrong for this machine, the buyer can set "
            "another one"
        ),
        call=Parameter(
            Quantity.DURATION, 0.1e-6, "shortest plausible time per operation of one process; no system call is faster"
        ),
        memory=Parameter(Quantity.FACTOR, 4000, "highest plausible memory bandwidth of a node, in GB/s"),
    ),
    "PHY-05": _rule(
        Level.CAMPAIGN,
        "stat rates are at most a margin below the creation rates of the same row, or are explained",
        (
            "a stat changes nothing, so it should not be slower than a creation: swapped columns, values of different "
            "runs, or"
            " creations that had not finished are possible causes"
        ),
        "explain the difference, for example by locks or by work that the file system defers, or measure again",
        below=Parameter(Quantity.SHARE, 0.05, "how far a stat rate may be below the creation rate of its row"),
        severity=_W,
    ),
    "PHY-06": _rule(
        Level.CAMPAIGN,
        "rates grow at most by a factor beyond the processes times the single-process result, or are explained",
        "a process beside others is hardly faster than alone: a cache, or a benchmark that counts wrongly, is likely",
        "explain the growth, for example by caches of more nodes, or find its cause and measure again",
        factor=Parameter(Quantity.FACTOR, 2.0, "how far a rate may be above processes x the single-process rate"),
        severity=_W,
    ),
    "PRJ-01": _rule(
        Level.CAMPAIGN,
        "projections are labelled and follow from a model; no measured line repeats another",
        "a value that is copied or extrapolated is not a measurement and must not look like one",
        "label the value as a projection with its model, or measure it",
    ),
    "PRJ-02": _rule(
        Level.CAMPAIGN,
        "a projection names base system, generation, formula, inputs and uncertainty; recomputing it gives its value",
        "a projection that cannot be recomputed is a claim without proof",
        "complete the projection in the campaign file: base system, generation, formula, inputs, uncertainty",
    ),
    "PRJ-03": _rule(
        Level.CAMPAIGN,
        "the logs of the base system are included, and contain each input where it was read",
        "without the logs of the base system the inputs of the projection cannot be checked",
        "add the base system's raw outputs under logs of the projection",
    ),
    "ENV-01": _rule(
        Level.CAMPAIGN,
        "the system description is complete, without placeholders",
        "a result has no meaning if it is unknown which system was measured",
        "replace every placeholder under system, contact and targets in the campaign file",
    ),
    "ENV-02": _rule(
        Level.CAMPAIGN,
        "tuning by users and by administrators is listed separately",
        "users cannot apply tuning that only an administrator can set",
        "list both kinds of tuning separately under system in the campaign file, or write none",
        severity=_W,
    ),
    "ENV-03": _rule(
        Level.CAMPAIGN,
        "the environment did not change during the campaign and is the same on all nodes",
        "results from before and after a change of the system cannot be compared",
        "explain the difference, or repeat the results that were measured with the other configuration",
        severity=_W,
    ),
    "ENV-04": _rule(
        Level.CAMPAIGN,
        "the file system that the nodes mounted is the one that the campaign file describes",
        "results of another file system say nothing about the offered one",
        "measure on the offered file system, or correct its description",
    ),
    "ENV-05": _rule(
        Level.CAMPAIGN,
        "the measured system is configured as the proposed one, or each difference is explained",
        "results of a system with another configuration do not show how the proposed one will perform",
        "explain each difference, measure on the proposed configuration, or correct the entries under proposed",
        severity=_W,
    ),
    "ENV-06": _rule(
        Level.ATTEMPT,
        "the processes had the environment variables that the rules require, and none that they forbid",
        "such variables change how the benchmark computes, communicates or stores its data",
        "run the result again with these variables: remove what overwrites them, or pass them on to all processes",
    ),
    "EVD-01": _rule(
        Level.BUNDLE,
        "the bundle is complete and unchanged, and no path points outside it",
        "a file that was changed, added or removed may carry altered results",
        "write the bundle again with 'campaign bundle' and send it unchanged",
    ),
    "EVD-02": _rule(
        Level.CAMPAIGN,
        "the journal is unedited and starts with the buyer's nonce, if one was given",
        "a journal that was edited could hide attempts",
        (
            "restore the original journal, explain what a recovered one lost, or repeat the campaign with the buyer's "
            "nonce in the campaign file"
        ),
    ),
    "EVD-03": _rule(
        Level.BUNDLE,
        "the bundle is signed with a key that the buyer trusts",
        "without a trusted signature anybody could have altered the bundle and its checksums",
        "sign the bundle with 'campaign bundle --sign KEY', and give the buyer the public key separately",
    ),
    "EVD-04": _rule(
        Level.BUNDLE,
        "offline re-evaluation of the raw logs gives identical tables, findings and verdict",
        "tables that cannot be derived from the raw logs were altered, or made by another program",
        "write the bundle again with 'campaign bundle', without editing tables or logs",
    ),
    "EVD-05": _rule(
        Level.CAMPAIGN,
        "the rule pack is the published one",
        "with altered rules, the same findings have another meaning",
        "use the published rule pack, or have the buyer confirm the SHA-256 of this one",
    ),
    "EVD-06": _rule(
        Level.ATTEMPT,
        "the records of a run by driver, job, Slurm and benchmark do not contradict each other",
        "records that contradict each other were edited, or belong to different runs",
        "submit the original records, or repeat the run with 'campaign rerun FILE CELL'",
    ),
    "EVD-07": _rule(
        Level.CAMPAIGN,
        "runs on one storage do not overlap, and each job ran the benchmark once for each of its attempts",
        "overlapping runs slow each other down, and unrecorded runs could hide other results",
        "submit all runs of each job, and repeat those that overlapped",
    ),
    "WVR-01": _rule(
        Level.CAMPAIGN,
        "waivers are signed, limited in scope and time, and shown with the result",
        "only the buyer can allow a deviation from the rules",
        "have the buyer sign the waiver ('campaign check FILE --waiver N' prints its text), or remove it",
    ),
}

PRACTICE = "practice"  # in place of a clause: good measurement practice, in no RFP

# Always judged, even if a pack does not list them: these rules ask whether the evidence is true and belongs to the
# offered system, not whether it meets the RFP. A pack may list them with its clause and other parameters.
ALWAYS = ("INP-01", "SRC-06", "PHY-04", "PHY-05", "PHY-06", "ENV-04", "ENV-05", "EVD-06", "EVD-07")


def judged(checks: Mapping[str, str]) -> dict[str, str]:
    """The rules that a pack lists, each with its clause, and those that are always judged."""
    return {**checks, **{rule: PRACTICE for rule in ALWAYS if rule not in checks}}
