from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import jinja2
import pytest

from campaign.config import slurm_keys
from campaign.config.slurm_keys import Slurm
from campaign.core import resources
from campaign.core.errors import InputError
from campaign.core.runs import Geometry, Input, Launcher, Planned, Run
from campaign.slurm import script_text, scripts
from tests.support import builders, fake_slurm
from tests.support.fake_slurm import Fake

ROOT = Path("/work/results/test")
JOB = "campaign-test-1"

INCLUDED = scripts.functions()  # in every script, as they are


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    with fake_slurm.running_cluster(tmp_path, monkeypatch) as fake:
        yield fake


def steps(runs: Sequence[Run] | None = None, root: Path = ROOT) -> list[Planned]:
    """First attempts of a job that fills one node, then two."""
    runs = runs or [run for run in builders.expand() if run.id in ("scratch.node.shared.r1", "scratch.peak.unique.r1")]
    return [
        Planned(run, 1, f"{number:08x}", root / "runs" / run.id / "1", {f"{run.directory}/campaign-old": "17"})
        for number, run in enumerate(runs, 1)
    ]


def job(planned: Sequence[Planned] = (), root: Path = ROOT, probe: bool = False, **slurm: object) -> scripts.JobScript:
    return scripts.JobScript(
        "campaign test, rules test-rules version 7, profile rehearsal",
        JOB,
        root / "jobs" / JOB,
        tuple(planned or steps(root=root)),
        replace(Slurm(partition="batch", time_s=90), **slurm),  # type: ignore[arg-type]
        probe,
        "8.4",
        boot="0a1b2c3d" if root == ROOT else "",  # of no machine on which a test runs
        seen="2049:131",
        witness="/opt/bench/witness" if root == ROOT else str(resources.witness()),
    )


def render(planned: Sequence[Planned] = (), root: Path = ROOT, probe: bool = False, **slurm: object) -> str:
    return scripts.render(job(planned, root, probe, **slurm))


# --- what is rendered


def test_a_thousand_jobs_have_their_template_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, compile_one = [], jinja2.Environment.compile
    monkeypatch.setattr(
        jinja2.Environment,
        "compile",
        lambda *arguments, **options: compiled.append(arguments[2]) or compile_one(*arguments, **options),
    )
    scripts._templates.cache_clear()
    for _ in range(3):
        render()
    assert compiled == ["job.sbatch.j2", scripts.INCLUDED]


def test_a_whole_job_script_is_as_it_was_read_last() -> None:
    text = render(
        account="pro ject",
        modules=("mpi/openmpi", "lustre"),
        environment=(("OMPI_MCA_btl", "tcp,self"), ("SAID", "it's $HOME")),
        directives=("--gres=nvme:1",),
        time_s=3600,
    )
    assert text.count(INCLUDED) == 1
    builders.golden("job.sbatch", text.replace(INCLUDED, "(job-functions.bash as it is)\n"))


@pytest.mark.parametrize("runs", [1, 12, 30])
def test_the_first_sixty_lines_of_a_script_are_all_that_it_runs(runs: int) -> None:
    planned = steps([builders.run(id=f"scratch.peak.unique.r{number}") for number in range(1, runs + 1)])
    first = "\n".join(render(planned).split("\n")[:60])
    assert list(script_text.steps(first)) == [step.token for step in planned]
    assert "\n    campaign_end\n}\n" in first


@pytest.mark.parametrize("module", [scripts, slurm_keys])
def test_the_code_that_decides_the_text_is_in_the_hash_of_the_templates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: ModuleType
) -> None:
    assert module.__file__
    changed_path = tmp_path / "module.py"
    changed_path.write_text(f"{Path(module.__file__).read_text()}# another state\n")
    version, digest = scripts.rendered_by.__wrapped__()
    monkeypatch.setattr(module, "__file__", str(changed_path))
    assert scripts.rendered_by.__wrapped__() != (version, digest)


def test_a_script_hashes_the_input_files_and_one_that_does_not_is_refused() -> None:
    inputs = (Input("box", "/work/the box"), Input("table", "/work/table"))
    planned = [replace(planned, run=replace(planned.run, inputs=inputs)) for planned in steps()]
    text, line = render(planned), "    campaign_with_inputs '/work/the box' /work/table\n"
    assert text.count(line) == 1
    for other in ("", line.replace(" /work/table", "")):
        assert scripts.verify(text.replace(line, other), job(planned), "t") == [
            "t: no line campaign_with_inputs '/work/the box' /work/table, so input files would not be hashed; copy the "
            "line from job.sbatch.j2"
        ]


def test_a_script_of_a_hundred_runs_has_each_on_a_line_before_any_function() -> None:
    planned = steps([builders.run(id=f"scratch.peak.unique.r{number}") for number in range(1, 101)])
    before, _, _ = render(planned).partition("\n}\n")
    lines = [line for line in before.split("\n") if line.startswith("    campaign_run ")]
    assert [shlex.split(line)[3] for line in lines] == [step.token for step in planned]
    assert before.count("() {") == 1


def test_the_rendered_script_has_nothing_that_shellcheck_finds(tmp_path: Path) -> None:
    path = tmp_path / "job.sbatch"
    path.write_text(render(modules=("mpi",), environment=(("A", "b c"),), probe=True))
    shellcheck = Path(sys.executable).with_name("shellcheck")
    process = subprocess.run(
        [shellcheck, "--shell=bash", path], capture_output=True, text=True, timeout=800, check=False
    )
    assert (process.returncode, process.stdout) == (0, "")


def test_the_directives_are_these_and_no_others() -> None:
    directives = {line.removeprefix("#SBATCH ") for line in render().splitlines() if line.startswith("#SBATCH ")}
    assert directives == {
        "--chdir=/work/results/test/jobs/campaign-test-1",
        "--error=/work/results/test/jobs/campaign-test-1/stderr",
        "--exclusive",
        "--export=ALL",
        "--job-name=campaign-test-1",
        "--mem=0",
        "--no-requeue",
        "--open-mode=append",
        "--nodes=2",
        "--ntasks-per-node=4",
        "--output=/work/results/test/jobs/campaign-test-1/stdout",
        "--partition=batch",
        "--time=4",
    }


def test_a_comment_is_exactly_what_the_site_demands() -> None:
    assert [word for word in scripts.directives(job()) if "comment" in word] == []
    words = scripts.directives(job(directives=("--comment=project42",)))
    assert [word for word in words if "comment" in word] == ["--comment=project42"]


def test_srun_gets_the_options_of_sbatch_that_hold_for_its_ranks() -> None:
    slurm = Slurm(directives=("--mem-bind=local", "--hint=nomultithread", "--gpus=4", "--signal=B:USR1@60"))
    assert scripts.launcher(builders.run(), slurm)[-2:] == ("--mem-bind=local", "--hint=nomultithread")
    bound = builders.run(launcher=Launcher(options=("--cpu-bind=cores", "--mem-bind=none")))
    assert scripts.launcher(bound, slurm)[-3:] == ("--kill-on-bad-exit=1", "--cpu-bind=cores", "--mem-bind=none")


def test_a_job_asks_for_the_largest_geometry_and_the_sum_of_the_limits() -> None:
    run, other = builders.run(geometry=Geometry(4, 4)), builders.run(geometry=Geometry(2, 16))
    words = scripts.directives(job(steps([run, other, run]), partition="", time_s=600))
    assert {"--nodes=4", "--ntasks-per-node=8", "--time=31"} <= set(words)
    assert not [word for word in words if word.startswith(("--partition", "--account", "--qos"))]


def test_every_run_is_launched_in_its_own_geometry_with_its_own_limit() -> None:
    launcher = scripts.launcher(builders.run(geometry=Geometry(3, 24)), Slurm(time_s=3725, mpi="pmi2"))
    assert launcher == (
        "srun",
        "--nodes=3",
        "--ntasks=24",
        "--ntasks-per-node=8",
        "--export=ALL",
        "--chdir=.",
        "--distribution=block",
        "--mpi=pmi2",
        "--time=62:05",
        "--kill-on-bad-exit=1",
    )


def test_srun_takes_the_options_that_a_campaign_file_chooses_and_the_benchmark_its_prefix() -> None:
    prefix = ("numactl", "--localalloc")
    chosen_launcher = Launcher(options=("--cpu-bind=cores", "--distribution=block:cyclic"), prefix=prefix)
    run = builders.run(launcher=chosen_launcher, prefix=prefix)
    words = scripts.launcher(run, Slurm())
    assert words[-2:] == ("--cpu-bind=cores", "--distribution=block:cyclic")
    assert "--distribution=block" not in words
    assert run.commands[0].words("/a")[:3] == ("numactl", "--localalloc", "/opt/bench/mdtest")
    assert f"{run.directory} /opt/bench/mdtest numactl --localalloc\n" in render(steps([run]))


def test_mpirun_is_reported_the_geometry_in_its_own_words_and_the_job_how_many_they_are() -> None:
    chosen_launcher = Launcher(
        "mpirun", ("--bind-to", "core"), ("-n", "{processes}", "--map-by", "ppr:{processes_per_node}:node")
    )
    run = builders.run(geometry=Geometry(2, 8), launcher=chosen_launcher)
    words = ("mpirun", "-n", "8", "--map-by", "ppr:4:node", "--bind-to", "core")
    assert scripts.launcher(run, Slurm()) == words
    planned = steps([run])
    text = render(planned, probe=True)
    assert f"{planned[0].directory} 1:2:4:7 {' '.join(words)} /" in text
    assert script_text.executes(script_text.steps(text)[planned[0].token], run, planned[0].token)


def test_the_benchmark_works_in_a_directory_of_its_own_under_the_target() -> None:
    (command,) = scripts.each_command(builders.run(directory="/scratch/user/"), Slurm(), "abcd")
    assert "/opt/bench/mdtest" in command
    assert command[command.index("-d") + 1] == "/scratch/user/campaign-abcd"


def test_two_spellings_of_a_target_have_one_mark_and_two_targets_have_two() -> None:
    assert scripts.target_mark("/scratch/user/") == scripts.target_mark("/scratch/user")
    assert scripts.target_mark("/scratch/user") != scripts.target_mark("/scratch/users")


def test_a_title_stays_in_its_comment() -> None:
    text = scripts.render(replace(job(), title="one\ntouch pwned"))
    assert "\n# one touch pwned\n" in text


# --- names that are no good company for a shell

HOSTILE = (
    "with space", "quo'te", 'dou"ble', "$(touch pwned)", "$(touch$IFS'pwned')", "`touch pwned`", "semi;touch pwned",
    "and&&touch pwned", "pipe|touch pwned", "per%cent%j", "back\\slash", "back\\", "ü 日本", "new\nline touch pwned",
    "end\\\nof line", "star*?[a]", "#hash", "~", "tab\tx", "{{ x }}", "{% raw %}", "$HOME", "!history", "\u2028sep",
    "-d",
)  # fmt: skip


def execute(text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Have bash run a job script, as slurmd would."""
    path = folder / "job.sbatch"
    path.write_text(text, encoding="utf-8")
    environment = os.environ | {"SLURM_JOB_ID": "1", "SLURM_JOB_NAME": JOB, "SLURM_JOB_NODELIST": "n1"}
    return subprocess.run(
        ["/bin/bash", path], cwd=folder, env=environment, capture_output=True, text=True, timeout=800, check=False
    )


def test_hostile_targets_reach_the_benchmark_intact_and_execute_nothing(tmp_path: Path, cluster: Fake) -> None:
    runs = [
        builders.run(
            id=f"scratch.peak.unique.r{number}",
            directory=str(tmp_path / "targets" / name),
            executable=str(fake_slurm.MDTEST),
            geometry=Geometry(1, 1),
        )
        for number, name in enumerate(HOSTILE, 1)
    ]
    planned = steps(runs, tmp_path)
    for step in planned:
        Path(step.run.directory).mkdir(parents=True)
        step.folder.mkdir(parents=True)
    (tmp_path / "jobs" / JOB).mkdir(parents=True)
    before = {path for path in tmp_path.rglob("*") if path.parent == tmp_path / "targets"}
    process = execute(render(planned, tmp_path), tmp_path)
    assert (process.returncode, process.stderr) == (0, "")
    expected = [scripts.each_command(s.run, Slurm(time_s=90), s.token)[0][1:] for s in planned]
    assert [tuple(words) for words, _ in cluster.launches()] == expected
    assert len(cluster.measurements()) == len(HOSTILE)
    assert {path for path in tmp_path.rglob("*") if path.parent == tmp_path / "targets"} == before
    assert not list(tmp_path.rglob("*pwned")) or all(str(path.name) in HOSTILE for path in tmp_path.rglob("*pwned"))
    assert not (Path.cwd() / "pwned").exists()


@pytest.mark.parametrize("name", [name for name in HOSTILE if not {"\n", "\\"} & set(name)])
def test_a_hostile_place_for_results_is_quoted_in_the_directives_too(tmp_path: Path, cluster: Fake, name: str) -> None:
    root = tmp_path / name
    run = builders.run(directory=str(tmp_path), executable=str(fake_slurm.MDTEST), geometry=Geometry(1, 1))
    planned = steps([run], root)
    planned[0].folder.mkdir(parents=True)
    job = root / "jobs" / JOB
    job.mkdir(parents=True)
    (job / "job.sbatch").write_text(render(planned, root), encoding="utf-8")
    subprocess.run(["sbatch", "--parsable", job / "job.sbatch"], capture_output=True, timeout=800, check=True)
    fake_slurm.wait_until(lambda: not cluster.active_jobs(), "the job has ended")
    assert (planned[0].folder / "facts.jsonl").exists(), (job / "stderr").read_text()
    assert "end of the job, 0 of its runs failed" in (job / "stdout").read_text()
    assert [path.name for path in tmp_path.rglob("pwned")] == []


@pytest.mark.parametrize("name", ["new\ntouch pwned", "back\\slash"])
def test_a_place_for_results_that_slurm_cannot_be_told_is_refused(name: str) -> None:
    with pytest.raises(InputError) as caught:
        render(root=Path("/work") / name)
    assert str(caught.value) == (
        f"results: {f'/work/{name}/jobs/{JOB}'!r} contains a backslash or a line break, which Slurm does not accept in "
        "a job's output path; set results in the campaign file to another directory"
    )


def test_variables_in_another_order_make_the_same_script() -> None:
    variables = (("UCX_TLS", "tcp"), ("A", "1"))
    assert render(environment=variables) == render(environment=variables[::-1])


def test_values_of_the_environment_are_exported_as_they_are(tmp_path: Path, cluster: Fake) -> None:
    values = tuple((f"NAME_{number}", name) for number, name in enumerate(HOSTILE))
    (tmp_path / "jobs" / JOB).mkdir(parents=True)
    run = builders.run(directory=str(tmp_path), executable="/usr/bin/env", arguments=("-0",), geometry=Geometry(1, 1))
    planned = steps([run], tmp_path)
    planned[0].folder.mkdir(parents=True)
    process = execute(render(planned, tmp_path, environment=values), tmp_path)
    assert (process.returncode, process.stderr) == (0, "")
    seen = dict(word.split("=", 1) for word in (planned[0].folder / "stdout").read_text().split("\0") if word)
    assert {name: seen[name] for name, _ in values} == dict(values)


# --- templates that bend the plan


def verify_changed(change: Callable[[str], str]) -> list[str]:
    """What verify says of the rendered script after `change`, which does not see the job's functions."""
    text = render().replace(INCLUDED, "FUNCTIONS\n")
    changed_text = change(text)
    assert changed_text != text
    return verify(changed_text.replace("FUNCTIONS\n", INCLUDED))


def verify(text: str) -> list[str]:
    return scripts.verify(text, job(), "own.j2")


def swap(old: str, new: str, count: int = 1) -> Callable[[str], str]:
    return lambda text: text.replace(old, new, count)


def drop(word: str) -> Callable[[str], str]:
    return swap(word, "")


# The second run's lines, which stand once in the script.
PROGRAM = "/opt/bench/mdtest -F -C -T -r -n 125 -d /scratch/user/campaign-00000002 -N 4 -u"
LAUNCHER = (
    "srun --nodes=2 --ntasks=8 --ntasks-per-node=4 --export=ALL --chdir=. --distribution=block --mpi=pmix --time=1:30 "
    "--kill-on-bad-exit=1"
)
BEGIN = "campaign_begin /opt/bench/witness 0 /work/results/test/jobs/campaign-test-1 /scratch/user /opt/bench/mdtest\n"

BENDS = {
    "-N of another value": (
        swap(PROGRAM, PROGRAM.replace("-N 4", "-N 1")),
        "-N is 1 for scratch.peak.unique.r1, which runs 4 processes per node: the rank offset must be 4 (clause 8.4)",
    ),
    "no -N": (
        swap(PROGRAM, PROGRAM.replace(" -N 4", "")),
        "-N is absent for scratch.peak.unique.r1, which runs 4 processes per node: "
        "the rank offset must be 4 (clause 8.4)",
    ),
    "a second -N in front": (swap(PROGRAM, PROGRAM.replace("mdtest ", "mdtest -N 1 ")), "-N is 1 for"),
    "a second -N behind": (swap(PROGRAM, PROGRAM + " -N 1"), "adds 1 -N; planned: campaign_run"),
    "a flag that must stay": (swap(PROGRAM, PROGRAM.replace(" -T", "")), "lacks -T; planned: campaign_run"),
    "another flag": (swap(PROGRAM, PROGRAM + " -B"), "adds -B; planned: campaign_run"),
    "the flags in another order": (swap("-C -T", "-T -C"), "has another order"),
    "another directory": (
        swap("-d /scratch/user/campaign-00000002", "-d /dev/shm/campaign-00000002"),
        "lacks /scratch/user/campaign-00000002",
    ),
    "another program": (swap(PROGRAM, "/opt/other" + PROGRAM), "lacks /opt/bench/mdtest"),
    "a wrapper before the program": (swap(PROGRAM, "numactl " + PROGRAM), "adds numactl"),
    "a second program behind": (swap(PROGRAM, PROGRAM + "; /opt/bench/mdtest -N 1"), "adds"),
    "output sent elsewhere": (swap(PROGRAM, PROGRAM + " >/dev/null"), "adds '>/dev/null'"),
    "in the background": (swap(PROGRAM, PROGRAM + " &"), "adds '&'"),
    "no even spread": (swap(LAUNCHER, LAUNCHER.replace(" --ntasks-per-node=4", "")), "lacks --ntasks-per-node=4"),
    "no block placement": (swap(LAUNCHER, LAUNCHER.replace("=block", "=cyclic")), "lacks --distribution=block"),
    "fewer nodes": (swap(LAUNCHER, LAUNCHER.replace("--nodes=2", "--nodes=1")), "lacks --nodes=2"),
    "another launcher": (swap(LAUNCHER, "mpirun" + LAUNCHER[4:]), "lacks srun and adds mpirun; planned"),
    "the probe switched off or on": (swap("campaign-00000002 0", "campaign-00000002 1"), "adds 1"),
    "another attempt's number": (swap("unique.r1 1 ", "unique.r1 7 "), "lacks 1"),
    "another folder": (swap("/runs/scratch.peak.unique.r1/1", "/runs/scratch.peak.unique.r1/2"), "lacks /work/results"),
    "another run's name": (swap("campaign_run scratch.peak.unique.r1", "campaign_run scratch.peak.best"), "lacks"),
    "no run at all": (
        lambda text: text[: text.index("campaign_run scratch.peak")] + text[text.index("    campaign_end") :],
        "no campaign_run line for scratch.peak.unique.r1, so the script would not execute it; copy the loop "
        "from job.sbatch.j2",
    ),
    "a run behind a #": (
        swap("\n    campaign_run scratch.peak", "\n    # campaign_run scratch.peak"),
        "no campaign_run line",
    ),
    "a run behind a test": (
        swap("\n    campaign_run scratch.peak", "\n    false && campaign_run scratch.peak"),
        "no campaign_run",
    ),
    "a run twice, the first of them bent": (
        swap(BEGIN, BEGIN + "campaign_run r 1 00000002 /f /d 0 srun /opt/bench/mdtest -N 1\n"),
        "-N is 1",
    ),
    "a run that was not planned": (
        swap("campaign_end", "campaign_run r 1 0000000f /f /d 0 srun /opt/bench/mdtest -N 1\n\ncampaign_end"),
        "campaign_run r 1 0000000f",
    ),
    "a run with no words": (
        swap("    campaign_end", "    campaign_run\n    campaign_end"),
        "not planned, or duplicated",
    ),
    "an open quotation": (swap(PROGRAM, PROGRAM + " 'x"), "not planned"),
    "words without quotes": (
        swap("/scratch/user/campaign-00000002 0", '"/scratch/user/campaign-00000002" 0'),
        "not quoted",
    ),
    "no beginning": (drop(BEGIN), "no campaign_begin line"),
    "no end, before which the last run's record is complete": (drop("    campaign_end\n"), "no campaign_end line"),
    "the beginning behind the runs": (
        lambda text: text.replace(BEGIN, "").replace("    campaign_end\n", f"{BEGIN}campaign_end\n"),
        "campaign_run before campaign_begin",
    ),
    "the lock on another target": (swap(BEGIN, BEGIN.replace("/scratch/user", "/tmp")), "expected campaign_begin"),
    "another program described": (swap(BEGIN, BEGIN.replace("/opt", "/usr")), "expected campaign_begin"),
    "two beginnings": (swap(BEGIN, BEGIN + BEGIN), "expected campaign_begin"),
    "a directive less": (drop("#SBATCH --no-requeue\n"), "the script lacks '#SBATCH --no-requeue'"),
    "a directive more": (
        swap("#SBATCH --nodes=2", "#SBATCH --nodes=2\n#SBATCH --nodes=1"),
        "the script adds '#SBATCH --nodes=1', which is not planned; put it in slurm.directives",
    ),
    "directives behind a command, where sbatch does not see them": (
        swap("#SBATCH --chdir", "set -e\n#SBATCH --chdir"),
        "the script lacks '#SBATCH --chdir=/work/results/test/jobs/campaign-test-1'",
    ),
    "a directive in a comment": (swap("#SBATCH --exclusive", "## SBATCH --exclusive"), "lacks '#SBATCH --exclusive'"),
    "another shell": (swap("#!/bin/bash", "#!/bin/sh"), "does not begin with #!/bin/bash"),
    "the job's functions changed": (
        lambda text: text.replace("FUNCTIONS", INCLUDED.replace("--one-file-system", "")),
        "the script does not include job-functions.bash unchanged; include it as job.sbatch.j2 does",
    ),
    "the job's functions defined anew": (
        swap("    campaign_end\n", "    campaign_run() { :; }\n    campaign_end\n"),
        "sets campaign_run",
    ),
    "srun defined anew": (swap(BEGIN, "srun() { command srun -N 1; }\n" + BEGIN), "sets srun, which is reserved"),
    "srun as an alias": (swap(BEGIN, "alias srun='srun -c 1'\n" + BEGIN), "sets srun, which is reserved"),
    "a refusal taken back": (
        swap("    campaign_run", "    campaign_refusal=''\n    campaign_run"),
        "sets campaign_refusal, which is reserved",
    ),
}


@pytest.mark.parametrize("name", BENDS)
def test_a_template_cannot_bend_the_plan_by(name: str) -> None:
    change, message = BENDS[name]
    problems = verify_changed(change)
    assert any(message in problem for problem in problems), problems
    assert all(problem.startswith("own.j2: ") for problem in problems)


def test_an_unbent_script_has_no_problems_whatever_stands_around_it() -> None:
    text = render()
    assert verify(text) == []
    assert verify(text.replace(BEGIN, f"ulimit -n 4096\nexport A=b\n{BEGIN}")) == []
    own_text = text.replace(INCLUDED, "FUNCTIONS").replace(" \\\n        ", " ")
    assert verify(own_text.replace("FUNCTIONS", INCLUDED)) == []


def test_a_substitution_that_reads_like_the_planned_word_is_not_quoted(tmp_path: Path) -> None:
    """Split into words, the planned `$(id)` and one that the shell would execute look the same."""
    run = builders.run(directory="/scratch/$(id)")
    planned = steps([run])
    text = render(planned)
    changed_text = text.replace(shlex.quote(planned[0].directory), planned[0].directory)
    problems = scripts.verify(changed_text, job(planned), "own.j2")
    assert any("are not quoted" in problem for problem in problems), problems


# --- templates that do not work


def own_template(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "own.j2"
    path.write_text(text)
    return path


def test_a_template_of_ones_own_may_add_commands_around_the_runs(tmp_path: Path) -> None:
    text = scripts.TEMPLATE.read_text().replace("campaign_begin", "ulimit -n 4096\ncampaign_begin", 1)
    rendered = render(template=own_template(tmp_path, text))
    assert "    ulimit -n 4096\ncampaign_begin " in rendered


BROKEN = {
    "{{ stpes }}": ": 'stpes' is undefined; compare with job.sbatch.j2",
    "#!/bin/bash\n{% for step in steps %}": ":2: Unexpected end of template.",
    "{% include 'missing.bash' %}": ": 'missing.bash' not found in search path",
    "{{ steps[0].phases.nodes }}": "has no attribute 'nodes'",
}


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_template_is_named_with_what_is_wrong(tmp_path: Path, text: str) -> None:
    path = own_template(tmp_path, text)
    with pytest.raises(InputError) as caught:
        render(template=path)
    assert str(caught.value).startswith(str(path))
    assert BROKEN[text] in str(caught.value)


def test_a_template_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.j2"):
        render(template=tmp_path / "gone.j2")


def test_all_problems_of_a_template_come_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        render(template=own_template(tmp_path, "#!/bin/bash\nsrun mdtest -N 1\n"))
    directives = scripts.directives(job())
    path = tmp_path / "own.j2"
    assert caught.value.problems == (
        *(f"{path}: the script lacks '#SBATCH {word}'; copy this line from job.sbatch.j2" for word in directives),
        f"{path}: the script does not include job-functions.bash unchanged; include it as job.sbatch.j2 does",
    )


def test_what_an_attempt_records_is_equal_once_it_is_read() -> None:
    """A verification compares it with what the plan gives."""
    run = builders.run(
        launcher=Launcher(options=("--label", "--hint=nomultithread")), inputs=(Input("deck", "/d", "e" * 64),)
    )
    record = scripts.attempt_record(run, 1, "TOKEN", "job")
    assert record["launcher_options"] == ["--label", "--hint=nomultithread"]
    assert json.loads(json.dumps(record)) == record
