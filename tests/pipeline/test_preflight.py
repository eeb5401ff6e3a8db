"""Whether a campaign can be submitted: what `plan` and `run` both ask, on a fake Slurm."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from campaign.cli.main import main
from campaign.config import init
from campaign.config.definition import Definition, open_campaign
from campaign.config.rules.entries import Operation
from campaign.config.waivers import Answers, Granted
from campaign.core import resources
from campaign.core.errors import ENVIRONMENT, INTERRUPTED, OK, CampaignError, EnvironmentLacks, InputError
from campaign.core.runs import State
from campaign.pipeline import passed_probe, places, planning, preflight, probe
from campaign.pipeline.places import Mistake, refusal
from campaign.pipeline.preflight import Checked
from campaign.pipeline.request import Request
from campaign.results.environment.facts import NOTHING
from campaign.results.stored_rows import rows_of_attempt
from campaign.slurm import capacity, commands, partitions, sbatch
from campaign.slurm.capacity import Qos
from tests.support import builders, fake_slurm
from tests.support.fake_slurm import Fake

FILE = """\
name: site
rules: crossroads-mdtest
profile: rehearsal
targets:
  - name: scratch
    directory: HERE/target
launch:
  node: 4
  peak: {nodes: 2, processes: 8}
  max: {nodes: 4, processes: 32}
"""


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "target").mkdir()
    with fake_slurm.running_cluster(tmp_path, monkeypatch) as fake:
        yield fake


def read_definition(further_text: str = "", **replaced: str) -> Definition:
    text = FILE
    for old, new in replaced.items():
        text = text.replace(old, new)
    Path("c.yaml").write_text(text.replace("HERE", str(Path.cwd())) + further_text)
    return open_campaign(Path("c.yaml"))


def check(campaign: Definition, request: Request = Request()) -> Checked:  # noqa: B008  # frozen
    return preflight.check(campaign, planning.plan(campaign), request)


def refusal_text(campaign: Definition, request: Request = Request()) -> str:  # noqa: B008  # frozen
    """What plan and run say, which is the same."""
    errors = []
    for ask in (preflight.check, preflight.preflight):
        with pytest.raises(CampaignError) as caught:
            ask(campaign, planning.plan(campaign), request)
        errors.append((type(caught.value), str(caught.value)))
    assert errors[0] == errors[1]
    return errors[0][1]


def read_tested_options(cluster: Fake) -> list[dict[str, str]]:
    """The options of the scripts that sbatch was asked about."""
    return [json.loads(line) for line in (cluster.root / "tested").read_text().splitlines()]


# --- what Slurm is asked


def test_slurm_is_asked_for_its_partition_once(cluster: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    requests = []

    def call(arguments: Sequence[str], *options: Any) -> commands.Reply:
        requests.append(" ".join(arguments[:3]))
        return commands_call(arguments, *options)

    commands_call = commands.call
    monkeypatch.setattr(commands, "call", call)
    checked = check(read_definition(**{"max: {nodes: 4, processes: 32}": "max: all"}))
    assert requests[:4] == [
        "scontrol --oneliner show", "scontrol show config", "sinfo --noheader --exact", "scontrol --oneliner show",
    ]  # fmt: skip
    assert not any(words.startswith(("scontrol", "sinfo")) for words in requests[4:])
    assert checked.plan.partition is not None
    assert f"partition {checked.plan.partition.name}: 4 nodes" in checked.plan.partition.account


# --- sbatch --test-only


def test_sbatch_is_asked_once_about_each_form_of_job_and_nothing_is_submitted(cluster: Fake) -> None:
    checked = check(read_definition("slurm: {time: 10m, account: site}\nrepetitions: 5\n"))
    assert len(checked.missing) == 60
    job_forms = [
        (options["nodes"], options["ntasks-per-node"], options["account"]) for options in read_tested_options(cluster)
    ]
    assert job_forms == [("4", "8", "site"), ("2", "4", "site"), ("1", "4", "site"), ("1", "1", "site")]
    assert cluster.jobs() == []
    assert not Path("results").exists()


@pytest.mark.parametrize(
    ("setting", "option", "says"),
    [
        ("account: nobody", "account", "c.yaml:11:18: slurm.account: found nobody; "),
        ("qos: urgent", "qos", "c.yaml:11:14: slurm.qos: found urgent; "),
        ("account: nobody, qos: urgent", "qos", "c.yaml:11:31: slurm.qos: found urgent; "),
        ("directives: [--mem=0, --licenses=x]", "licenses", "c.yaml:11:31: slurm.directives[1]: found --licenses=x; "),
    ],
)
def test_the_setting_that_sbatch_refuses_is_the_one_without_which_it_says_something_else(
    setting: str, option: str, says: str, cluster: Fake
) -> None:
    cluster.fault("test-refuses", f"{option} allocation failure: Invalid combination specified")
    assert (
        refusal_text(read_definition(f"slurm: {{{setting}}}\n"))
        == f"{says}sbatch --test-only: Invalid combination specified; correct it or remove it"
    )


@pytest.mark.parametrize(
    ("option", "word", "remedy"),
    [
        ("ntasks-per-node", "--ntasks-per-node=8", "use fewer processes per node"),
        ("mem", "--mem=0", "set the memory of each node that jobs may have: slurm.directives: [--mem=SIZE]"),
        (
            "exclusive", "--exclusive",
            "results need whole nodes: name a partition whose jobs get all CPUs of a node (MaxCPUsPerNode)",
        ),
        ("no-requeue", "--no-requeue", "ask the administrators to allow it"),
    ],
)  # fmt: skip
def test_an_option_of_campaigns_own_that_sbatch_refuses_is_named_with_the_way_out(
    option: str, word: str, remedy: str, cluster: Fake
) -> None:
    cluster.fault("test-refuses", f"{option} sbatch: error: Site policy: not here")
    assert refusal_text(read_definition("slurm: {account: site}\n")) == (
        "c.yaml:11:8: slurm: sbatch --test-only refuses a job of 4 nodes with 8 processes each: Site policy: not here; "
        f"not without {word}, which campaign adds: {remedy}"
    )


def test_an_account_that_slurm_knows_is_not_taken_for_a_typing_error(
    cluster: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partitions, "known_names", lambda key, partition: ["bench", "other"])
    cluster.fault("test-refuses", "account allocation failure: Job violates accounting/QOS policy")
    assert refusal_text(read_definition("slurm: {account: bench}\n")) == (
        "c.yaml:11:18: slurm.account: found bench; sbatch --test-only: Job violates accounting/QOS policy; Slurm knows "
        "it, and refuses such a job only with it: name another, or ask the administrators"
    )


def test_a_script_longer_than_slurm_takes_is_named(cluster: Fake) -> None:
    cluster.fault("scheduler-parameters", "batch_sched_delay=0,max_script_size=5000")
    assert re.fullmatch(
        r"c\.yaml:11:8: slurm\.allocation: the script of a job of 3 runs has \d+ bytes; Slurm takes 5000 "
        r"\(max_script_size\); set slurm\.allocation: run, which gives each run its own job",
        refusal_text(read_definition("slurm: {time: 1m}\n")),
    )


# --- remarks


def test_a_plugin_for_mpi_that_was_not_tried_yet_is_to_be_probed(cluster: Fake) -> None:
    (remark,) = [text for text in check(read_definition("slurm: {mpi: pmi2}\n")).notes if "slurm.mpi" in text]
    assert remark.startswith("slurm.mpi: pmi2 was not tried yet with this benchmark, whose MPI may not have it: ")
    assert not any("slurm.mpi" in text for text in check(read_definition()).notes)


def test_a_probe_that_passed_is_remembered_until_what_it_depends_on_changes(cluster: Fake) -> None:
    definition = read_definition("slurm: {mpi: pmi2}\n")
    assert "'campaign plan --probe' checks this" in check(definition).unchecked
    passed_probe.remember(definition, planning.plan(definition).all_runs, "17")
    checked = check(read_definition("slurm: {mpi: pmi2, account: phys}\n"))
    assert checked.unchecked == "checked by the probe (job 17), since which nothing that it depends on has changed"
    assert not any("slurm.mpi" in text for text in checked.notes)
    changes = ("slurm: {partition: batch, mpi: pmi2}", "slurm: {mpi: pmi2}\nlauncher: {options: [--cpu-bind=cores]}")
    for text in changes:
        assert "'campaign plan --probe' checks this" in check(read_definition(f"{text}\n")).unchecked
    (definition.paths.root / "probe.json").write_text("[]")
    assert "'campaign plan --probe' checks this" in check(definition).unchecked


def test_options_of_sbatch_in_the_shell_are_said_to_be_ignored(cluster: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not any("ignored" in text for text in check(read_definition()).notes)
    monkeypatch.setenv("SBATCH_ACCOUNT", "phys")
    monkeypatch.setenv("SBATCH_TIMELIMIT", "5")
    assert (
        "SBATCH_ACCOUNT, SBATCH_TIMELIMIT: set in this shell, and ignored: jobs have only the options of the campaign "
        "file (slurm)"
    ) in check(read_definition()).notes


def test_several_nodes_of_a_target_in_a_job_are_named(cluster: Fake) -> None:
    checked = check(read_definition(**{"HERE/target": "job:/local/$SLURM_JOB_ID"}))
    assert (
        "targets[0].directory: job:/local/$SLURM_JOB_ID exists only in a job; where each node has its own, jobs of "
        "several nodes measure nothing: peak, max"
    ) in checked.notes


def test_a_target_that_this_machine_does_not_see_is_to_be_probed(cluster: Fake) -> None:
    checked = check(read_definition(**{"HERE/target": "/only/there"}))
    assert (
        "targets[0].directory: /only/there does not exist on this machine; unless the nodes have it, all runs fail: "
        "'campaign plan --probe' looks for it there"
    ) in checked.notes
    assert not any("targets" in text for text in check(read_definition()).notes)


def test_results_whose_database_has_too_long_a_path_are_refused(cluster: Fake) -> None:
    long_path = f"{Path.cwd()}/{'/'.join(['results' * 20] * 4)}"
    assert re.search(
        r"c\.yaml:11:10: results: the path of campaign\.db there has \d+ bytes; allowed: 504 \(SQLite\); name a "
        "directory with a shorter path",
        refusal_text(read_definition(f"results: {long_path}\n")),
    )


# --- a driver inside of a job

BATCH = {"JobName": "driver", "BatchFlag": "1", "NodeList": "n[1-2]"}
WAITS = (
    "this runs in batch job 7, which holds n1, n2: a job of 4 nodes would wait until it ends, and it waits for that "
    "job; start 'campaign run' on a login node, or with --detach"
)


@pytest.mark.parametrize(
    ("fields", "request_", "problem"),
    [
        (BATCH, Request(), WAITS),
        (BATCH, Request(detach=True), ""),
        (BATCH | {"BatchFlag": "0"}, Request(), ""),  # a shell of salloc
        (BATCH | {"NodeList": "x1"}, Request(), ""),  # of another partition
        ({}, Request(), ""),  # a job that has ended, whose variables are left over
    ],
)
def test_a_driver_in_a_batch_job_does_not_wait_for_the_nodes_of_that_job(
    fields: dict[str, str], request_: Request, problem: str, cluster: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setattr(commands, "fields_of_job", lambda job_id, name: fields)
    definition = read_definition()
    if problem:
        assert refusal_text(definition, request_) == problem
    else:
        assert check(definition, request_).missing


# --- what sbatch refuses, without a setting that explains it


def test_a_refusal_that_no_setting_explains_names_the_job(cluster: Fake) -> None:
    cluster.fault("test-refuses", "any sbatch: error: Batch job submission failed: Job violates accounting policy")
    assert refusal_text(read_definition("slurm: {account: site}\n")) == (
        "c.yaml:11:8: slurm: sbatch --test-only refuses a job of 4 nodes with 8 processes each: "
        "Job violates accounting policy"
    )


def test_a_job_that_has_to_wait_for_nodes_is_not_refused(cluster: Fake) -> None:
    cluster.fault("test-refuses", "any allocation failure: Requested nodes are busy")
    assert len(check(read_definition()).missing) == 12


def test_a_silent_controller_is_no_refusal(cluster: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sbatch, "PAUSE_S", (0.05, 0.2))
    cluster.fault("test-refuses", "any allocation failure: Unable to contact slurm controller")
    assert "sbatch --test-only failed with status 1: Unable to contact slurm controller" in refusal_text(
        read_definition()
    )


# --- partition, MPI, modules


def test_a_limit_is_compared_with_the_time_of_a_whole_job(cluster: Fake) -> None:
    assert refusal_text(read_definition("slurm: {time: 2d}\n")) == (
        "c.yaml:11:15: slurm.time: a job of 3 runs of 2d needs 6d1m; partition batch allows 1d; "
        "set a shorter slurm.time, or slurm.allocation: run, which gives each run its own job"
    )
    assert refusal_text(read_definition("slurm: {time: 2d, allocation: run}\n")) == (
        "c.yaml:11:15: slurm.time: a job of 1 run of 2d needs 2d1m; partition batch allows 1d; set a shorter slurm.time"
    )


@pytest.mark.parametrize(
    ("terms", "settings", "says"),
    [
        (
            "State=DRAIN", "partition: batch",
            "c.yaml:11:20: slurm.partition: found batch, which takes no jobs (its state is DRAIN); name another "
            "partition, or ask the administrators",
        ),
        (
            "State=UP AllowAccounts=chemistry", "account: physics",
            "c.yaml:11:18: slurm.account: found physics, with which jobs wait for ever in partition batch; allowed "
            "there: chemistry",
        ),
        (
            "State=UP DenyQos=long", "qos: long",
            "c.yaml:11:14: slurm.qos: found long, with which jobs wait for ever in partition batch; allowed there: "
            "any but long",
        ),
        (
            "State=UP MaxNodes=2", "time: 1m",
            "c.yaml:10:8: launch.max: found 4 nodes; partition batch allows 2 in one job; use 2 or fewer",
        ),
    ],
)  # fmt: skip
def test_what_sbatch_takes_and_slurm_lets_wait_for_ever_is_refused(
    terms: str, settings: str, says: str, cluster: Fake
) -> None:
    cluster.fault("partition-terms", terms)
    assert refusal_text(read_definition(f"slurm: {{{settings}}}\n")) == says


def test_a_partition_that_is_down_is_noted_and_one_of_an_admitted_account_is_not(cluster: Fake) -> None:
    cluster.fault("partition-terms", "State=DOWN AllowAccounts=chemistry")
    checked = check(read_definition("slurm: {account: Chemistry}\n"))
    assert "partition batch is DOWN: its jobs wait until an administrator sets it UP" in checked.notes


def test_a_job_longer_than_its_qos_allows_is_refused(cluster: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity, "ask_qos", lambda of_partition, of_job: [Qos(of_job, (), 120, {})])
    assert refusal_text(read_definition("slurm: {qos: short, time: 5m, allocation: run}\n")) == (
        "c.yaml:11:27: slurm.time: a job of 1 run of 5m needs 6m; QOS short allows 2m; set a shorter slurm.time"
    )


def test_numbers_below_the_share_of_the_system_that_the_rules_fix_are_refused(cluster: Fake, tmp_path: Path) -> None:
    pack = (resources.PACKS / "crossroads-mdtest.yaml").read_text()
    fixed = pack.replace("minimum_nodes: 2", "nodes: half\n    processes_per_node: all")
    (tmp_path / "crossroads-mdtest.yaml").write_text(fixed)
    own_texts = {"crossroads-mdtest": "./crossroads-mdtest.yaml"}
    assert check(read_definition(**own_texts, **{"  peak: {nodes: 2, processes: 8}\n": ""})).plan.runs
    says = (
        "launch.peak: found 8 processes on 2 nodes; allowed: all processes per node on half of the nodes (clause 8.5)"
    )
    assert says in refusal_text(read_definition(**own_texts))


def test_at_full_size_a_series_goes_up_to_what_the_partition_has(cluster: Fake, tmp_path: Path) -> None:
    pack = (resources.PACKS / "crossroads-mdtest.yaml").read_text()
    series = pack.replace("minimum_nodes: 2", "nodes: powers of two\n    processes_per_node: 8")
    lines = series.splitlines()
    at = next(index for index, line in enumerate(lines) if "nodes: powers of two" in line)
    title = max(index for index, line in enumerate(lines[:at]) if line.lstrip().startswith("title:"))
    lines[title] += " {nodes}"
    (tmp_path / "crossroads-mdtest.yaml").write_text("\n".join(lines) + "\n")
    own_texts = {"crossroads-mdtest": "./crossroads-mdtest.yaml"}
    peak_line = "  peak: {nodes: 2, processes: 8}\n"
    assert check(read_definition(**own_texts, **{peak_line: "  peak: 2\n"})).plan.runs  # a rehearsal
    full = read_definition(**own_texts, **{peak_line: "  peak: 2\n", "profile: rehearsal": "profile: full"})
    assert (
        "launch.peak-2: the series ends at 16 processes on 2 nodes; at full size it goes up to 32 processes on 4 nodes"
        in refusal_text(full)
    )
    assert check(
        read_definition(**own_texts, **{peak_line: "  peak: 4\n", "profile: rehearsal": "profile: full"})
    ).plan.runs


def test_only_what_is_asked_for_is_checked(cluster: Fake) -> None:
    campaign = read_definition(**{"nodes: 4, processes: 32": "nodes: 40, processes: 320"})
    assert "launch.max.nodes: found 40 nodes; partition batch has 4" in refusal_text(campaign)
    assert check(campaign, Request(only=("scratch/single/*/*",)))


def test_the_mpi_plugins_are_those_that_srun_lists(cluster: Fake) -> None:
    assert commands.mpi_plugins() == ("none", "pmi2", "pmix", "pmix_v4")
    assert refusal_text(read_definition("slurm: {mpi: pmix_v9}\n")) == (
        "c.yaml:11:14: slurm.mpi: found pmix_v9; srun --mpi=list has: none, pmi2, pmix, pmix_v4"
    )
    assert check(
        read_definition("slurm: {mpi: pmix_v9}\nlauncher: {program: mpirun}\n")
    ).plan.runs  # which uses no plugin


def test_where_slurm_has_no_pmix_plugin_the_default_is_refused_with_what_works(
    cluster: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "mpi_plugins", lambda: ("none", "pmi2"))
    assert refusal_text(read_definition()).endswith(
        "slurm.mpi: found pmix; srun --mpi=list has: none, pmi2. This Slurm has no PMIx plugin: with Open MPI set "
        "'launcher: {program: mpirun}', with MPICH or Intel MPI 'slurm.mpi: pmi2'"
    )
    for works in ("slurm: {mpi: pmi2}\n", "launcher: {program: mpirun}\n"):
        assert check(read_definition(works)).plan.runs


def test_a_module_that_does_not_load_is_named_with_its_message(cluster: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    body = '() { [[ $2 != openmpi/9 ]] || { echo "ERROR: Unable to locate openmpi/9" >&2; return 1; }\n}'
    monkeypatch.setenv("BASH_FUNC_module%%", body)
    assert refusal_text(read_definition("slurm: {modules: [gcc, openmpi/9]}\n")) == (
        "c.yaml:11:24: slurm.modules[1]: openmpi/9 cannot be loaded: module load: ERROR: Unable to locate openmpi/9"
    )
    assert check(read_definition("slurm: {modules: [gcc]}\n"))


# --- the benchmark's program


@pytest.mark.parametrize(
    ("content", "mode", "says"),
    [
        (None, 0, "not found; build it or correct the path"),
        (b"#!/bin/sh\n", 0o644, "is not executable by this user; make it so (chmod +x)"),
        (b"#!/bin/sh\n", 0o755, ""),
        (b"\x7fELF\x02\x01\x01" + bytes(11) + b"\x3e\0", 0o755, ""),
        (b"int main", 0o755, "is neither an ELF program nor a script with #!; name the benchmark's program"),
    ],
)
def test_what_cannot_be_executed_is_named_as_what_it_is(
    content: bytes | None, mode: int, says: str, tmp_path: Path
) -> None:
    path = tmp_path / "mdtest"
    if content is not None:
        path.write_bytes(content)
        path.chmod(mode)
    assert places.execution_problem(path) == (f"{path} {says}" if says else "")
    assert places.execution_problem(tmp_path) == f"{tmp_path} is a directory; name the program in it"


def test_a_program_that_init_left_open_is_a_placeholder(tmp_path: Path) -> None:
    assert places.execution_problem(tmp_path / "<path of fio>") == "still a placeholder: <path of fio>; fill it in"


@pytest.mark.parametrize(
    ("first", "interpreter"),
    [("#!/bin/sh -e", "/bin/sh"), ("#!/usr/bin/env bash", shutil.which("bash")), ("#! /no/such", "/no/such")],
)
def test_a_script_is_refused_with_its_interpreter_unless_that_is_before_it(
    first: str, interpreter: str, tmp_path: Path
) -> None:
    path = tmp_path / "mdtest"
    path.write_text(f"{first}\n")
    path.chmod(0o755)
    for prefix in ((), ("numactl", "--localalloc")):
        assert f"is a script of {interpreter}, which" in places.benchmark_problem(path, prefix)
    assert places.benchmark_problem(path, (interpreter,)) == ""


def test_the_interpreter_before_a_script_is_known_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "mdtest").write_text("#!/bin/sh\n")
    (tmp_path / "mdtest").chmod(0o755)
    assert places.benchmark_problem(tmp_path / "mdtest", ("sh",)) == ""


def test_a_program_is_used_without_an_interpreter(tmp_path: Path) -> None:
    (tmp_path / "mdtest").write_bytes(b"\x7fELF\2\1\1".ljust(64, b"\0"))
    (tmp_path / "mdtest").chmod(0o755)
    assert places.benchmark_problem(tmp_path / "mdtest", ()) == ""


def test_a_program_is_built_for_the_machine_that_its_head_names(tmp_path: Path) -> None:
    path = tmp_path / "mdtest"
    path.write_bytes(b"\x7fELF\x02\x02\x01" + bytes(11) + b"\0\x16")
    assert places.foreign_machine(path) == "s390x"
    path.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(11) + b"\x34\x12")
    assert places.foreign_machine(path) == "machine 4660"
    path.write_text("#!/bin/sh\n")
    assert places.foreign_machine(path) == ""


# --- the campaign file


def test_placeholders_are_noted_in_a_rehearsal_and_refused_at_full_size(cluster: Fake) -> None:
    further_text = 'system: {node: "<sockets, cores>", network: tbd}\ncontact: {name: "<who>"}\n'
    assert check(read_definition(further_text)).notes == (
        "2 placeholders still to be filled in before a run with profile full: system.node, contact.name",
    )
    assert refusal_text(read_definition(further_text, rehearsal="full")).splitlines() == [
        "c.yaml:11:16: system.node: still a placeholder: <sockets, cores>; fill it in",
        "c.yaml:12:17: contact.name: still a placeholder: <who>; fill it in",
    ]


def test_a_waiver_that_makes_results_invalid_is_named_before_they_are_measured(cluster: Fake) -> None:
    dates = 'reason: agreed, by: buyer, date: "2020-01-01", expires: "2099-01-01"'
    definition = read_definition(f'waivers: [{{rule: SRC-05, cells: "scratch/*/*/*", {dates}}}]\n')
    unsigned = "(expected signed by a key in allowed_signers; found the waiver is not signed)"
    assert f"WVR-01: the waiver of SRC-05 is not valid {unsigned}" in check(definition).violated[1]
    waiver = replace(definition.answers.waivers[0].waiver, expires=date(2020, 1, 31))
    signed = replace(definition, answers=Answers((Granted(waiver, "buyer"),)))
    today = datetime.now(UTC).date()
    expired = f"WVR-01: the waiver of SRC-05 has expired (expected measured until 2020-01-31; found {today})"
    assert expired in check(signed).violated[1]


def test_a_mistake_has_the_line_of_its_key_or_of_the_nearest_one_above(cluster: Fake) -> None:
    campaign = read_definition("slurm: {time: 1h}\n").campaign
    error = refusal(campaign, [Mistake(("slurm", "mpi"), "b"), Mistake(("name",), "a"), Mistake(("name",), "a")])
    assert error.problems == ("c.yaml:1:7: name: a", "c.yaml:11:8: slurm.mpi: b")
    of_no_file = refusal(replace(campaign, document=None), [Mistake(("targets", 0, "name"), "a")])
    assert of_no_file.problems == ("targets[0].name: a",)


def test_a_file_elsewhere_is_named_with_its_whole_path(tmp_path: Path) -> None:
    file = tmp_path / "sub" / "c.yaml"
    file.parent.mkdir()
    file.write_text(FILE.replace("HERE", str(tmp_path)))
    error = refusal(open_campaign(file).campaign, [Mistake(("name",), "a")])
    assert error.problems == (f"{file}:1:7: name: a",)


# --- results that are there


def test_nothing_is_asked_of_the_cluster_where_nothing_is_left_to_run(cluster: Fake) -> None:
    further_text = 'declined: [{cells: "*/*/*/*", reason: none}]\nslurm: {mpi: nonsense}\n'
    assert check(read_definition(further_text)).missing == ()
    assert not (cluster.root / "tested").exists()


def test_a_campaign_file_that_was_renamed_keeps_its_results_and_a_copy_does_not_take_them(cluster: Fake) -> None:
    campaign = read_definition()
    campaign.paths.root.mkdir(parents=True)
    planning.write_plan(campaign, planning.plan(campaign))
    copy = Path("d.yaml")
    copy.write_text(Path("c.yaml").read_text())
    with pytest.raises(InputError, match=r"^d\.yaml:1:7: name: found site, but .*/results/site holds the results of "):
        planning.plan(open_campaign(copy))
    Path("c.yaml").write_text(Path("c.yaml").read_text().replace("name: site", "name: other"))
    assert planning.plan(open_campaign(copy)).runs
    Path("c.yaml").unlink()
    assert planning.plan(open_campaign(copy)).runs


# --- no Slurm


def test_without_slurm_the_plan_is_shown_with_what_was_not_checked_and_run_refuses(
    cluster: Fake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    read_definition("slurm: {partition: nonsense}\n", **{"HERE/target": "/lustre/target"})
    assert main(["plan", "c.yaml", "--json"]) == OK
    out, err = capsys.readouterr()
    assert len(json.loads(out)["runs"]) == 12
    assert err == (
        "not checked: partition, limits, account, QOS, MPI plugin, modules, benchmark, directories (Slurm does not "
        "answer: scontrol is not on PATH; run this on a login node, or install Slurm's client commands)\n"
    )
    assert main(["plan", "c.yaml", "--probe"]) == ENVIRONMENT
    with pytest.raises(EnvironmentLacks, match=r"^Slurm does not answer: .*'campaign run --sandbox' starts a cluster"):
        preflight.preflight(*preflight_arguments())


def preflight_arguments() -> tuple[Definition, planning.Plan, Request]:
    campaign = open_campaign(Path("c.yaml"))
    return campaign, planning.plan(campaign), Request()


def test_the_directory_of_init_is_a_placeholder_that_is_named(cluster: Fake) -> None:
    assert refusal_text(read_definition(**{"HERE/target": init.DIRECTORY})) == (
        "c.yaml:6:16: targets[0].directory: still the placeholder /path/to/scratch; name a directory that all nodes see"
    )


def test_a_directory_whose_file_system_only_the_nodes_may_mount_is_not_refused(cluster: Fake) -> None:
    assert check(read_definition(**{"HERE/target": "/lustre/scratch"}))
    assert "does not exist" in refusal_text(read_definition(**{"HERE/target": f"{Path.cwd()}/nowhere"}))


@pytest.mark.parametrize(
    ("second", "allowed"), [("mounted", False), ("mounted/inside", False), ("other", True), ("absent", True)]
)
def test_a_target_that_a_mount_makes_part_of_another_is_refused(cluster: Fake, second: str, allowed: bool) -> None:
    for name in ("mounted", "other", "target/inside"):
        Path(name).mkdir()
    read_definition(**{"launch:": f"  - name: again\n    directory: HERE/{second}\nlaunch:"})
    look = "import sys; from pathlib import Path; from campaign.config.definition import open_campaign as o; "
    look += "from campaign.pipeline import places; "
    look += "print(*(m.text for m in places.mistakes(o(Path('c.yaml'))) if 'shares files' in m.text))"
    mount = ["sh", "-c", 'mount --bind target mounted && exec "$@"', "sh", sys.executable, "-c", look]
    words = ["unshare", "--map-root-user", "--mount", *mount]
    process = subprocess.run(words, capture_output=True, text=True)
    assert (process.returncode, process.stderr) == (0, "")
    cwd = Path.cwd()
    problem = f"{cwd}/{second} resolves to {cwd}/{second}, which shares files with {cwd}/target of target scratch"
    assert process.stdout.strip() == ("" if allowed else f"{problem}; name separate directories")


# --- the probe


def test_a_probe_that_slurm_refuses_says_why(cluster: Fake, capsys: pytest.CaptureFixture[str]) -> None:
    read_definition()
    cluster.fault("sbatch-refuses", "sbatch: error: Batch job submission failed: Invalid qos specification\n")
    assert main(["plan", "c.yaml", "--probe"]) == ENVIRONMENT
    assert capsys.readouterr().err == (
        "campaign: probe: sbatch: error: Batch job submission failed: Invalid qos specification\n"
    )
    assert list(Path.cwd().glob("campaign-probe-*")) == []


def test_a_probe_that_not_all_nodes_answer_passes_nothing(cluster: Fake, capsys: pytest.CaptureFixture[str]) -> None:
    read_definition()
    assert main(["plan", "c.yaml", "--probe"]) == ENVIRONMENT
    assert capsys.readouterr().err.splitlines() == [
        "probe: submitted job 101 on 4 nodes; waiting for it to end (Ctrl-C cancels it)",
        "probe (job 101): 1 of 4 nodes answered; srun gave no reason",
    ]
    assert list((Path.cwd() / "target").iterdir()) == []


def test_an_interrupted_probe_is_cancelled(cluster: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    read_definition()
    cluster.fault("hold", "Priority")

    def interrupted(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(probe, "time", SimpleNamespace(sleep=interrupted, monotonic=time.monotonic))  # its own alone
    assert main(["plan", "c.yaml", "--probe"]) == INTERRUPTED
    fake_slurm.wait_until(lambda: not cluster.active_jobs(), "the probe is cancelled")
    assert [job["state"] for job in cluster.jobs()] == ["CANCELLED"]


# --- what has a result


@pytest.mark.parametrize(
    ("values", "formula", "state", "is_missing"),
    [
        ((1.0, 2.0, 3.0), "", State.DONE, False),
        ((1.0, 2.0), "", State.DONE, True),
        ((1.0, 2.0, 3.0), "", State.FAILED, True),
        ((1.0, 2.0, 3.0), "", State.RUNNING, False),
        ((1.0, 2.0, 3.0), "create / stat", State.DONE, False),
        ((1.0, 0.0, 3.0), "create / stat", State.DONE, True),
    ],
    ids=["all", "half a table", "failed", "under way", "a formula", "a formula without a value"],
)
def test_a_run_is_submitted_unless_an_attempt_has_all_its_results(
    tmp_path: Path, values: Sequence[float], formula: str, state: State, is_missing: bool
) -> None:
    pack, run = builders.pack(), builders.run()
    operations = (*pack.operations, *([Operation("ratio", "Ratio", "x", formula=formula)] if formula else []))
    definition = Definition(builders.campaign(tmp_path), replace(pack, operations=operations))
    store = builders.filled_store(tmp_path, [run])
    attempt = store.attempts()[0]
    if state.active:
        store.observe_state(attempt, state, "")
    else:
        store.record_end(attempt, state, "")
    records = builders.records((*values, 0.0)[:3])[: len(values)]
    store.save_results(rows_of_attempt(run.id, 1, records, {"": builders.observation()}, NOTHING))
    attempts, names = store.attempts(), store.record_names()
    assert preflight.is_missing(definition, store, run, attempts, names, Request()) is is_missing
    assert preflight.is_missing(definition, store, run, attempts, names, Request(again=True)) is not state.active
