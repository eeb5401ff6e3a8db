"""The rules about counts, placement and nodes of a run (GEO-01 to GEO-04). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from campaign.config.rules.entries import LaunchCondition
from campaign.core.findings import Finding
from campaign.core.grouping import grouped
from campaign.core.units import bound_listing, listing, plural
from campaign.judge.attestation import attestations
from campaign.judge.findings import (
    first_problem,
    missing_output_form,
    note,
    processes_on,
    to_explain,
    to_explain_at_full_size,
    unchecked,
    violation,
)
from campaign.judge.rule import Needs, attempt_rule, campaign_rule
from campaign.judge.submission import Submission
from campaign.results.case import Case
from campaign.results.environment.facts import Environment
from campaign.slurm.partitions import OUTSIDE, Partition


@attempt_rule(
    "GEO-01",
    "ranks are placed in the planned consecutive blocks, equal or with one rank more on the first nodes",
    why="with another placement a rank offset does not move the work to another node, and nodes have other work",
    remedy="run the result again with block distribution and the planned number of ranks on each node",
    needs=Needs.COUNTS,
)
def check_placement(case: Case) -> Iterator[Finding]:
    """The placement that the output shows, the job saw, or its probe with the same launcher found. Not checked: none of
    them.
    """
    observation, geometry = case.observation, case.run.geometry
    if observation.placement is None or observation.processes_per_node is None:
        yield missing_output_form(case)("rank placement not in the output")
    elif (
        geometry.larger
        and observation.placement == "block"
        and not (observation.processes_per_node or observation.uneven)
    ):
        yield missing_output_form(case)("number of ranks on each node not in the output")
    elif observation.placement != "block" or (observation.uneven or observation.processes_per_node) != (
        geometry.blocks if geometry.larger else geometry.processes_per_node
    ):
        uneven = listing([str(count) for count in observation.uneven]) or "uneven"
        yield violation(
            "ranks are not placed in the planned blocks" if geometry.larger else "ranks are not placed in equal blocks",
            f"block placement, {geometry.spread}",
            f"{observation.placement} placement, {observation.processes_per_node or uneven} per node",
        )


@attempt_rule(
    "GEO-02",
    "process and node counts meet the launch condition",
    why="results with other process or node counts belong to another line of the table",
    remedy="run the result again with the process and node counts of its launch condition",
    needs=Needs.COUNTS,
    is_judged_before=True,
)
def check_counts(case: Case) -> Iterator[Finding]:
    """Processes and nodes in the output, the planned ones, and the launch condition agree."""
    observation, geometry = case.observation, case.run.geometry
    processes = geometry.processes if observation.processes is None else observation.processes
    nodes = geometry.nodes if observation.nodes is None else observation.nodes
    if (nodes, processes) != (geometry.nodes, geometry.processes):
        yield violation(
            "ran with other process or node counts than planned for {launch}",
            processes_on(geometry.processes, geometry.nodes),
            processes_on(processes, nodes),
            launch=case.run.launch,
        )
    elif observation.processes is None or observation.nodes is None:
        lacking = [
            name
            for name, count in (("processes", observation.processes), ("nodes", observation.nodes))
            if count is None
        ]
        yield missing_output_form(case)("number of {lacking} not in the output", lacking=" and ".join(lacking))
    elif not case.run.commands[0].geometry:  # a phase's own counts are the pack's
        condition = next(condition for condition in case.pack.launch if condition.id == case.run.launch)
        is_met = condition.processes in (None, observation.processes) and condition.nodes in (None, observation.nodes)
        if isinstance(condition.processes_per_node, int):
            is_met = is_met and condition.processes_per_node * observation.nodes == observation.processes
        if not is_met or observation.nodes < condition.minimum_nodes:
            yield violation(
                "process or node count does not meet the launch condition {launch}",
                condition.needs,
                processes_on(observation.processes, observation.nodes),
                launch=case.run.launch,
            )
    if case.run.gres:
        yield from _check_generic_resources(case)
    only_nodes, ran_on = case.run.only_nodes, tuple(dict.fromkeys(observation.node_names or case.placement))
    are_all_seen = bool(observation.node_names) or len(case.placement) >= geometry.processes
    if case.run.node and ({*ran_on} - {*only_nodes} or (are_all_seen and {*ran_on} != {*only_nodes})):
        yield violation("ran on another node than planned", listing(only_nodes), listing(ran_on))
    elif case.run.node and not are_all_seen:
        yield unchecked("the node where it ran is not recorded")
    planned_threads = str(case.run.threads or "")
    threads = case.evidence.witness.threads if observation.threads is None else (str(observation.threads),)
    if planned_threads and not threads:
        yield unchecked("threads per process not recorded")
    elif planned_threads and threads != (planned_threads,):
        yield violation(
            "processes ran with a different number of threads than planned", planned_threads, ", ".join(threads)
        )


def _check_generic_resources(case: Case) -> Iterator[Finding]:
    """What Slurm gave the job of generic resources, which its steps share, as the job recorded it."""
    job_resources = re.sub("gres[:/]", "", case.evidence.environment.job.get("TresPerNode", ""))
    if not case.evidence.environment.job:
        yield unchecked("generic resources of the job not recorded")
    elif not {*case.run.gres.split(",")} <= {*job_resources.split(",")}:
        yield violation("the job had other generic resources than planned", case.run.gres, job_resources or "none")


# Variables that make MPI, the topology library, a benchmark or a preloaded library see other nodes than there are.
_FAKING = re.compile(
    r"IOR_FAKE_\w+|NSS_WRAPPER_\w+|UID_WRAPPER\w*|FAKETIME\w*|LIBFAKE\w*|FAKEROOT\w*|FAKECHROOT\w*|HOSTALIASES|PMIX_HOSTNAME"
    r"|HWLOC_(?:XMLFILE|SYNTHETIC|FSROOT)|OMPI_COMM_WORLD_\w+|PMI_(?:RANK|SIZE|FD)"
    r"|(?:OMPI|PRTE|PMIX)_MCA_\w*(?:hostname|nodename|topo_file|simulator|ras_simulator)\w*"
)
_FAKING_LIBRARY = re.compile(r"fake|host_?name|nss_wrapper|uid_wrapper|socket_wrapper|libtime", re.IGNORECASE)
# File systems with a client on each node.
_NETWORK = re.compile(r"nfs4?|lustre|beegfs|gpfs|ceph|cifs|smb3|9p|orangefs|panfs|fuse\.(?!fuse-overlayfs$).+")


@attempt_rule(
    "GEO-04",
    "nothing in the environment fakes nodes, and each node is a separate machine",
    why="faked or shared nodes make one machine look like a cluster",
    remedy="run the result again on separate nodes without the named variables or libraries, or explain the nodes",
    is_judged_before=True,
)
def check_topology(case: Case) -> Iterator[Finding]:
    """Variables and preloaded libraries that fake nodes; nodes of output or ranks that are not the job's; several nodes
    on one machine, by `boot` (W; in a rehearsal noted); on a network file system, several nodes with one client (by
    the device of the mount).
    """
    environment = case.evidence.environment
    if not environment.recorded:
        yield unchecked("the job's environment was not recorded{why}", why=first_problem(environment))
        return
    groups = [group for _, attestation in attestations(case) for group in attestation.groups]
    inside = {name: text for group in groups for name, text in group.variables.items()}
    yield from (
        _faking_variable(name, inside[name])
        for name in filter(_FAKING.fullmatch, inside)
        if not environment.fact_text(name)
    )
    yield from _check_job_environment(environment)
    # By the output, or by the job's test before it, in the order of their first ranks.
    names = dict.fromkeys(case.observation.node_names or case.placement)
    if not names:
        yield missing_output_form(case)("node names not in the output")
        return
    spoke, job_nodes = environment.answering_nodes, environment.job_nodes
    # Also where its ranks ran, as processes on the nodes saw them.
    seen = dict.fromkeys((*names, *case.evidence.witness.nodes))
    if foreign := [name for name in seen if name not in spoke and name not in job_nodes]:
        yield violation("the output names nodes that were not in the job", listing(job_nodes), listing(foreign))
        return
    machines = grouped((spoke[name].boot if name in spoke else "", name) for name in names)
    if "" in machines:
        yield unchecked(
            "cannot tell whether these nodes are separate machines: {nodes}",
            nodes=listing(machines[""]),
            remedy="explain in the campaign file which machines these nodes are",
        )
    for boot, node_names in machines.items():
        if boot and len(node_names) > 1:
            yield _shared_machine(case, node_names)


def _faking_variable(name: str, text: str) -> Finding:
    return violation("{name} can fake nodes, names or times", "not set", text, name=name)


def _check_job_environment(environment: Environment) -> Iterator[Finding]:
    """The variables, the number of nodes, and what was preloaded, as the job and its nodes report it."""
    of_nodes = (fact.removeprefix("env.") for fact in environment.facts)
    for name in filter(_FAKING.fullmatch, dict.fromkeys((*environment.variables, *of_nodes))):
        yield _faking_variable(name, environment.fact_text(name))
    job_nodes = environment.job_nodes
    for name in ("SLURM_NNODES", "SLURM_JOB_NUM_NODES"):
        text = environment.fact_text(name)
        if text.isdigit() and int(text) != len(job_nodes):
            yield violation("{name} differs from the job's node count", len(job_nodes), text, name=name)
    for name in ("LD_PRELOAD", "LD_AUDIT", "ld.so.preload"):
        text = environment.fact_text(name) or " ".join(environment.values(name))
        if text and _FAKING_LIBRARY.search(text):
            yield violation("{name} preloads a library that fakes names, times or topology", "none", text, name=name)
        elif text:
            yield note("{name} preloads a library into every process", "", text, name=name)


def _shared_machine(case: Case, names: Sequence[str]) -> Finding:
    """A rehearsal may run on a virtual cluster. At full size it may be a partitioned machine, which has to be
    explained. On a network file system, the nodes of one machine must be different clients.
    """
    environment = case.evidence.environment
    kinds, devices = environment.by_node("mount.type"), environment.by_node("mount.device")
    clients = {devices[name] for name in names if name in devices}
    on_network = clients and any(_NETWORK.fullmatch(kinds.get(name, "")) for name in names)
    if on_network and len(clients) < len(names):
        return violation(
            'several "nodes" share one client of the network file system: its cache can serve every phase, whatever '
            "the rank offset",
            "one client per node",
            listing(names),
        )
    clients_text = ", each with its own client of the file system" if on_network else ""
    return to_explain_at_full_size(case.full)(
        f'several "nodes" run on one physical machine{clients_text}',
        "one machine per node",
        bound_listing(names),
        remedy="explain why nodes share a machine, or separate them",
    )


@campaign_rule(
    "GEO-03",
    "the maximum concurrency uses the whole partition, or is projected to it; required shares of the system are "
    "reached",
    why="the buyer asks how the whole system performs, not a part of it",
    remedy="run on all usable nodes and cores of the partition, or submit a projection to that size",
)
def check_concurrency(submission: Submission) -> Iterator[Finding]:
    """Whole-system conditions and shares compared with the partition as Slurm reports it (of a list: the job's),
    processes per node compared with the recorded cores (W if Slurm reports fewer).
    """
    ran_in = {case.subject: case.evidence.environment.partition for case in submission.results}
    for condition in submission.pack.launch:
        if not condition.by_partition:
            continue
        planned = [row for row in submission.planned_rows if row.cell.launch == condition.id]
        if not planned:
            continue
        subject = f"*/{condition.id}/*/*"
        if submission.partition is None:
            yield unchecked(
                "the partition's size was not recorded",
                about=subject,
                remedy="run again, which records it: campaign run FILE",
            )
            continue
        partitions = {row.cell: submission.partition.of_job(ran_in.get(row.origin, "")) for row in planned}
        for row in planned:
            geometry, partition = row.geometry, partitions[row.cell]
            smallest = condition.smallest_geometry(partition.job_nodes, partition.processors(submission.campaign.slurm))
            if geometry is not None and (geometry.processes < smallest.processes or geometry.nodes < smallest.nodes):
                yield violation(
                    "below the maximum concurrency of partition {partition}, without a projection to it"
                    if condition.whole_system
                    else "fewer nodes or processes than the launch condition's share of partition {partition}",
                    processes_on(smallest.processes, smallest.nodes),
                    processes_on(geometry.processes, geometry.nodes),
                    about=row.cell,
                    partition=partition.name,
                )
        yield from (replace(finding, subject=subject) for finding in _check_idle_cores(submission, condition))
        for row in planned if condition.each_node else ():
            lacking = [node for node in row.nodes if node not in row.by_node]
            if lacking and row.value is not None:
                yield to_explain(
                    "each node is measured by itself, and some have no valid result",
                    plural(len(row.nodes), condition.unit),
                    f"{plural(len(row.by_node), condition.unit)}; not {bound_listing(lacking)}",
                    about=row.cell,
                    remedy="measure these nodes, or explain why they have no result",
                )
        for partition in dict.fromkeys(partitions.values()):
            findings = _check_unused_nodes(condition, partition)
            yield from (replace(finding, subject=subject) for finding in findings)


def _check_unused_nodes(condition: LaunchCondition, partition: Partition) -> Iterator[Finding]:
    """Nodes of a partition that no job could use, or that one job does not get."""
    unavailable_nodes = [node for node in partition.unusable if node.why != OUTSIDE]
    if unavailable_nodes:
        yield to_explain(
            "some nodes of the partition were unavailable, so that they were not measured"
            if condition.each_node
            else "some nodes of the partition were unavailable for the maximum-concurrency run",
            f"{partition.nodes} nodes",
            ", ".join(str(node) for node in unavailable_nodes),
        )
    if condition.whole_system and partition.job_nodes < partition.usable:
        yield to_explain(
            "Slurm gives one job fewer nodes than the partition has",
            plural(partition.usable, "node"),
            f"{plural(partition.job_nodes, 'node')} ({partition.limits[0]})",
            remedy="explain the limit in the campaign file, or have it raised and run again",
        )


def _check_idle_cores(submission: Submission, condition: LaunchCondition) -> Iterator[Finding]:
    """If Slurm counts fewer cores than the nodes have, one process per Slurm core leaves cores idle: also those that it
    says it keeps for the system are none of the job's.
    """
    cases = [case for case in submission.results if case.run.launch == condition.id] if condition.whole_system else []
    cores = {text for case in cases for text in case.evidence.environment.values("cpu.cores") if text.isdigit()}
    system_cores = (
        max((kind.system_cores for kind in submission.partition.kinds), default=0) if submission.partition else 0
    )
    core_count = max(map(int, cores), default=0) - system_cores
    used = min((case.run.geometry.processes_per_node for case in cases), default=core_count)
    if used < core_count:
        yield to_explain_at_full_size(submission.full)(
            "fewer processes per node than cores", f"{core_count} on each node", f"{used} on each node"
        )
