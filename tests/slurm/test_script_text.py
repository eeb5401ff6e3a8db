"""What is rendered into a job script is read back as it was, and as bash reads it."""

from __future__ import annotations

import subprocess
import time
from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from campaign.core.runs import Command, Planned
from campaign.slurm import script_text, scripts
from tests.slurm.test_scripts import JOB, ROOT, job
from tests.support import builders
from tests.support.examples import examples

# Texts that packs write, and whatever may be in one but a NUL, which no argv holds.
SPECIAL = (
    "\n", "'", '"', "\\", "\\\n", "{", "}", "\t", "$", "$'", "${x}", "`", "#", "!", " ", "\r", "\u2028", "a", "é", "-",
    "campaign_run ", "\ncampaign_run r 1 00000001 /f /d 0 srun x", "\ncampaign_end\n", "\n#SBATCH --nodes=9",
    "\nsrun=2", "phase=io",
)  # fmt: skip
TEXTS = st.lists(
    st.one_of(st.sampled_from(SPECIAL), st.characters(codec="utf-8", exclude_characters="\0")), max_size=12
)
WORDS = st.lists(TEXTS.map("".join), min_size=1, max_size=4)


def plan_runs(words: list[str]) -> list[Planned]:
    """A run that writes these words between two programs, and a run behind it."""
    text = Command("campaign_write", tuple(words), phase="config", untimed=True)
    program = Command("/opt/bench/mdtest", ("-d", "{directory}", *words), phase="phase=io")
    runs = [builders.run(id=f"scratch.node.shared.r{number}", commands=(text, program)) for number in (1, 2)]
    return [Planned(run, 1, f"{number:08x}", ROOT / "runs" / run.id / "1") for number, run in enumerate(runs, 1)]


@settings(max_examples=examples(300), deadline=None)
@given(WORDS)
def test_every_text_that_is_rendered_is_read_back_as_it_was(words: list[str]) -> None:
    steps = plan_runs(words)
    text = scripts.render(replace(job(steps), title="texts"))
    found_steps = script_text.steps(text)
    assert list(found_steps) == [step.token for step in steps]
    for step in steps:
        assert script_text.executes(found_steps[step.token], step.run, step.token)
        other = replace(
            step.run, commands=(replace(step.run.commands[0], arguments=(*words, "x")), *step.run.commands[1:])
        )
        assert not script_text.executes(found_steps[step.token], other, step.token)


PARTS = st.sampled_from([
    "a", "b", " ", "\t", "\\\n", " \\\n   ", "'x y'", "'it\\'", "''", '""', "'two\nlines'", "'end\\\nof'",
    '"two\nlines"', '"a\\\nb"',
    '"\\"q\\" \\\\ \\$ \\` \\n"', "\\ ", "\\'", '\\"', "\\\\", "\\$", "{x}", "%", "-n", "=", "é",
])  # fmt: skip


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.lists(PARTS, max_size=10).map("".join), min_size=1, max_size=20))
def test_a_command_has_the_words_that_bash_gives_it(lines: list[str]) -> None:
    text = "".join(f"campaign_run {line}\n" for line in lines)
    shell = "campaign_run() { printf '%s\\0' \"$@\" END; }\n" + text
    process = subprocess.run(["/bin/bash"], input=shell.encode(), capture_output=True, timeout=800, check=True)
    by_bash = [word.split("\0")[:-1] for word in process.stdout.decode().split("END\0")[:-1]]
    words = [list(command.words[1:]) for command in script_text.commands(text)]
    assert words == by_bash


def test_a_command_is_named_with_the_line_where_it_begins() -> None:
    text = "#!/bin/bash\nexport A='x\ncampaign_run no'\n\ncampaign_run a \\\n  'b\ncampaign_end\n'\n"
    text += "  campaign_run c\ncampaign_end\n"
    assert [(command.line, command.words) for command in script_text.commands(text)] == [
        (2, ("export", "A=x\ncampaign_run no")),
        (5, ("campaign_run", "a", "b\ncampaign_end\n")),
        (9, ("campaign_run", "c")),
        (10, ("campaign_end",)),
    ]


def test_a_command_whose_quotation_never_ends_has_no_words_of_a_run() -> None:
    for ending in ("'x", '"x', "x\\", "$'x'"):
        (command,) = script_text.commands(f"campaign_run r 1 00000001 {ending}")
        assert command.words == (command.raw,) == (f"campaign_run r 1 00000001 {ending}",)


def test_a_step_that_a_script_has_twice_executes_nothing() -> None:
    text = scripts.render_template(job(plan_runs(["x"])))
    assert not script_text.steps(f"{text}\ncampaign_run r 1 00000001 x\n")["00000001"]


def test_the_value_of_a_directive_is_what_was_rendered() -> None:
    for name in ("plain", 'dou"ble', "with space", "per%cent", "$(x)"):
        text = scripts.render(job(root=Path("/work") / name))
        assert script_text.directive(text, "chdir") == f"/work/{name}/jobs/{JOB}"


def test_a_script_of_ten_thousand_runs_is_read_in_seconds() -> None:
    text = "".join(
        f"campaign_run scratch.r{number} 1 {number:08x} \\\n    'a b' \\\n    {'-x ' * 40}y\n"
        for number in range(10_000)
    )
    began = time.process_time()
    assert len(script_text.steps(text)) == 10_000
    assert time.process_time() - began < 5
    began = time.process_time()
    assert len(list(script_text.commands("campaign_run " + "'a\n" * 500_001 + '"' + "\\x" * 500_000))) == 1
    assert time.process_time() - began < 5
