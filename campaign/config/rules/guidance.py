"""For each rule: why it matters to the buyer, and what the vendor should do if it is violated. Pure data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Guidance:
    why: str
    remedy: str


GUIDANCE: Mapping[str, Guidance] = {
    "CMP-01": Guidance(
        "a table with missing or extra results cannot be compared with other offers",
        "add the missing results to the table and remove those that the rules do not ask for",
    ),
    "CMP-02": Guidance(
        "a tier or protocol without results is offered without any proof of its performance",
        "measure or project results for the target, or explain why the offer does not need them",
    ),
    "CMP-03": Guidance(
        "a result without a value leaves a gap in the comparison of offers",
        "run 'campaign run FILE' again, or give a projection or a reason for declining in the campaign file",
    ),
    "CMP-04": Guidance(
        "a value that no log contains may have been mistyped or invented",
        "submit the raw output of each value, with the run and the log line that the value comes from",
    ),
    "CMP-05": Guidance(
        "extra or missing logs make it unclear which measurements the tables use",
        "write the bundle again with 'campaign bundle' from the unchanged results directory",
    ),
    "FLG-01": Guidance(
        "without a mandatory flag the benchmark measures something else, so offers cannot be compared",
        "run the result again with the rule pack's command line",
    ),
    "FLG-02": Guidance(
        "these flags decide which directory layout or access pattern the value belongs to",
        "run the result again with the flags of its file configuration",
    ),
    "FLG-03": Guidance(
        "a changed command line can make a result faster without the system being faster",
        "run the result again with the planned command line, and ask the buyer before adding any flag",
    ),
    "FLG-04": Guidance(
        "a smaller problem may fit into caches, and its result then says little about the storage",
        "run the campaign again at the size of the rules (profile: full)",
    ),
    "FLG-05": Guidance(
        "files in another directory, for example on a local disk, do not measure the offered file system",
        "run the result again in a directory of the target that the campaign file declares",
    ),
    "FLG-06": Guidance(
        "with another offset a process reads back its own files, possibly from its node's cache",
        "run the result again with the rank offset of one node, and check benchmark.dialect",
    ),
    "FLG-07": Guidance(
        "a node that works on the files it created itself may answer from its cache, without the file servers",
        "run the result again with ranks in equal blocks per node and the offset of one node",
    ),
    "FLG-08": Guidance(
        "buyer and vendor must agree on the meaning of -N before offers are compared",
        "ask the buyer how -N is to be read, and record the answer under explanations in the campaign file",
    ),
    "GEO-01": Guidance(
        "with uneven placement the rank offset no longer moves the work to another node",
        "run the result again with block distribution and the same number of ranks on each node",
    ),
    "GEO-02": Guidance(
        "results with other process or node counts belong to another line of the table",
        "run the result again with the process and node counts of its launch condition",
    ),
    "GEO-03": Guidance(
        "the buyer asks how the whole system performs, not a part of it",
        "run on all usable nodes and cores of the partition, or submit a projection to that size",
    ),
    "GEO-04": Guidance(
        "faked or shared nodes make one machine look like a cluster",
        "run the result again on separate nodes without the named variables or libraries, or explain the nodes",
    ),
    "GEO-05": Guidance(
        "a result with other sizes or counts does not answer the buyer's question",
        "run the result again with the sizes and counts that the rules require",
    ),
    "SRC-01": Guidance(
        "another version or program may count, time or cache differently",
        "build the source that the rules name, and give its version and SHA-256 under source in the campaign file",
    ),
    "SRC-02": Guidance(
        "a change that the patch does not show could alter what is measured",
        "submit a patch that turns the published source into the built one (see 'campaign modifications')",
    ),
    "SRC-03": Guidance(
        "a change to timing or I/O can change the result without the system being faster",
        "undo the change and measure again, or have the buyer sign a waiver for it",
    ),
    "SRC-04": Guidance(
        "with several binaries it is unknown which source a result belongs to",
        "build once with 'campaign build', and repeat the runs of other binaries",
    ),
    "SRC-05": Guidance(
        "without the build record the buyer cannot repeat the build, and a preloaded library may alter results",
        "give compiler, flags and libraries under source.build, name preloaded libraries in the campaign file, and run "
        "'campaign run FILE' again, which keeps the record",
    ),
    "SRC-06": Guidance(
        "a changed benchmark can report any number",
        "build the unchanged source with 'campaign build', and run the campaign again",
    ),
    "RUN-01": Guidance(
        "a run that failed or was started twice has no trustworthy value",
        "find the cause in the run's stdout and stderr, then repeat it with 'campaign rerun FILE CELL'",
    ),
    "RUN-02": Guidance(
        "times that do not match the job suggest that the output is from another run",
        "check the clocks of the nodes, and repeat the run with 'campaign rerun FILE CELL'",
    ),
    "RUN-03": Guidance(
        "records that contradict each other suggest that the output is from another job",
        "compare the records with Slurm's accounting, and repeat the run with 'campaign rerun FILE CELL'",
    ),
    "RUN-04": Guidance(
        "other users' jobs on the same nodes change the result, usually for the worse",
        "measure again in a partition whose nodes no other job can use, or explain the sharing",
    ),
    "RUN-05": Guidance(
        "files left from earlier runs, or a full file system, change metadata rates",
        "remove what was left in the target's directory, and repeat the run with 'campaign rerun FILE CELL'",
    ),
    "RUN-06": Guidance(
        "a run with errors or an incomplete output may not have done the work that it reports",
        "find the cause in the run's stdout and stderr, then repeat it with 'campaign rerun FILE CELL'",
    ),
    "RUN-07": Guidance(
        "in a short phase start-up and clock resolution weigh as much as the work itself",
        "make the phase longer by the named variable or flag, and measure again",
    ),
    "RUN-08": Guidance(
        "attempts that disappear could hide slow or failed results",
        "restore the missing attempts to the results directory, or explain their loss",
    ),
    "RUN-09": Guidance(
        "phases that ran at different times, or with other work in between, do not measure the same state of the "
        "storage",
        "run all phases again with 'campaign rerun FILE CELL'",
    ),
    "CCH-01": Guidance(
        "a rate from the client's cache says nothing about the file servers",
        "measure on two nodes or more with a rank offset of one node, or explain how caches were dropped",
    ),
    "CCH-02": Guidance(
        "if the servers performed fewer operations than the clients report, caches answered the rest",
        "switch off client caching of attributes, measure again, and supply the servers' counters",
    ),
    "CCH-03": Guidance(
        "an operation faster than any network round trip did not reach a remote server",
        "check that the target is the offered file system and that its clients do not cache, or explain the latency",
    ),
    "CCH-04": Guidance(
        "on a single node the client's cache may answer instead of the servers",
        "nothing; the label stays with the result",
    ),
    "CCH-05": Guidance(
        "the bandwidth of memory says nothing about the storage",
        "measure more data than the nodes' memory holds, with fsync and with another node reading the data",
    ),
    "STA-01": Guidance(
        "the best values of several runs, combined, are higher than any single run achieved",
        "report all operations of the line from the run that the rules select",
    ),
    "STA-02": Guidance(
        "the rules define which run is reported, so that all vendors choose in the same way",
        "report the run that the rules select",
    ),
    "STA-03": Guidance(
        "without repetitions the effect of chance on the value is unknown",
        "raise repetitions in the campaign file, and run 'campaign run FILE' again",
    ),
    "STA-04": Guidance(
        "a value that varies this much may not be reached at acceptance",
        "look for other load and slow nodes, and measure again, or explain the variation",
    ),
    "STA-05": Guidance(
        "values in other units, or rounded ones, cannot be compared or traced to a log",
        "report the value and unit exactly as the benchmark printed them",
    ),
    "SEL-01": Guidance(
        "at the edge of the measured range a better process count may lie just beyond it",
        "widen the range under search in the campaign file, and run 'campaign run FILE' again",
    ),
    "SEL-02": Guidance(
        "a process count that was best once may have been best by chance",
        "set the launch condition to search, or allow the tuning a larger budget, and run 'campaign run FILE' again",
    ),
    "SEL-03": Guidance(
        "the best of many tuning runs is, by chance, higher than a typical run",
        "report a confirmation run in place of the tuning run",
    ),
    "PHY-01": Guidance(
        "a single process has no contention, so large differences suggest a cache or a mistake",
        "explain why the file configurations differ, or measure the slowest and the fastest of them again",
    ),
    "PHY-02": Guidance(
        "if many processes are slower than one, a faulty run, a bottleneck or a cached single-process result is likely",
        "explain the slowdown, or find its cause and measure again",
    ),
    "PHY-03": Guidance(
        "a formula that counts work which was not done makes the rate look higher than it is",
        "report the actual rate and count beside the printed ones",
    ),
    "PHY-04": Guidance(
        "a rate that no machine can reach was not measured",
        "find out what the benchmark actually did; if the limit is wrong for this machine, the buyer can set another "
        "one",
    ),
    "PHY-05": Guidance(
        "a stat changes nothing, so it should not be slower than a creation: swapped columns, values of different "
        "runs, or"
        " creations that had not finished are possible causes",
        "explain the difference, for example by locks or by work that the file system defers, or measure again",
    ),
    "PRJ-01": Guidance(
        "a value that is copied or extrapolated is not a measurement and must not look like one",
        "label the value as a projection with its model, or measure it",
    ),
    "PRJ-02": Guidance(
        "a projection that cannot be recomputed is a claim without proof",
        "complete the projection in the campaign file: base system, generation, formula, inputs, uncertainty",
    ),
    "PRJ-03": Guidance(
        "without the logs of the base system the inputs of the projection cannot be checked",
        "add the base system's raw outputs under logs of the projection",
    ),
    "ENV-01": Guidance(
        "a result has no meaning if it is unknown which system was measured",
        "replace every placeholder under system, contact and targets in the campaign file",
    ),
    "ENV-02": Guidance(
        "users cannot apply tuning that only an administrator can set",
        "list both kinds of tuning separately under system in the campaign file, or write none",
    ),
    "ENV-03": Guidance(
        "results from before and after a change of the system cannot be compared",
        "explain the difference, or repeat the results that were measured with the other configuration",
    ),
    "ENV-04": Guidance(
        "results of another file system say nothing about the offered one",
        "measure on the offered file system, or correct its description",
    ),
    "ENV-05": Guidance(
        "results of a system with another configuration do not show how the proposed one will perform",
        "explain each difference, measure on the proposed configuration, or correct the entries under proposed",
    ),
    "EVD-01": Guidance(
        "a file that was changed, added or removed may carry altered results",
        "write the bundle again with 'campaign bundle' and send it unchanged",
    ),
    "EVD-02": Guidance(
        "a journal that was edited could hide attempts",
        "restore the original journal, explain what a recovered one lost, or repeat the campaign with the buyer's "
        "nonce in the campaign file",
    ),
    "EVD-03": Guidance(
        "without a trusted signature anybody could have altered the bundle and its checksums",
        "sign the bundle with 'campaign bundle --sign KEY', and give the buyer the public key separately",
    ),
    "EVD-04": Guidance(
        "tables that cannot be derived from the raw logs were altered, or made by another program",
        "write the bundle again with 'campaign bundle', without editing tables or logs",
    ),
    "EVD-05": Guidance(
        "with altered rules, the same findings have another meaning",
        "use the published rule pack, or have the buyer confirm the SHA-256 of this one",
    ),
    "EVD-06": Guidance(
        "records that contradict each other were edited, or belong to different runs",
        "submit the original records, or repeat the run with 'campaign rerun FILE CELL'",
    ),
    "EVD-07": Guidance(
        "overlapping runs slow each other down, and unrecorded runs could hide other results",
        "submit all runs of each job, and repeat those that overlapped",
    ),
    "WVR-01": Guidance(
        "only the buyer can allow a deviation from the rules",
        "have the buyer sign the waiver ('campaign check FILE --waiver N' prints its text), or remove it",
    ),
}
