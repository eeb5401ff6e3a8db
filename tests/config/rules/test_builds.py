"""Categories of builds: what a pack allows, which flags are of which class, and what a campaign file chooses."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaign.config import definition
from campaign.config.rules import packs, text
from campaign.config.rules.builds import BUILDING, BuildFlags
from campaign.config.rules.pack import RulePack
from campaign.core.errors import InputError
from tests.config.test_environment_of_rules import FILE
from tests.config.test_environment_of_rules import PACK as OTHER

PACK = OTHER.partition("environment:")[0] + (
    """\
builds:
  - id: baseline
    title: baseline build
    clause: "2.1"
    flags: {forbidden: [-Ofast], mandatory: ["-O*|-fast"], portability: ["-D*", -I *], optimisation: ["-march=*"]}
  - {id: optimised, title: optimised build, clause: "2.2", changes: [measurement path, other, build]}
checks: {SRC-03: "2", SRC-07: "2"}
"""
)
FLAGS = BuildFlags(("-Ofast",), ("-O*|-fast", "-g"), ("-D*", "-I *"), ("-march=*",))


def load(folder: Path, *lines: str, pack: str = PACK) -> RulePack:
    (folder / "threads.yaml").write_text(pack)
    file = "\n".join([FILE.partition("slurm:")[0].replace("DIRECTORY", str(folder / "scratch")), *lines, ""])
    (folder / "c.yaml").write_text(file)
    return definition.load(folder / "c.yaml")[1]


def test_each_flag_has_the_first_class_that_knows_it() -> None:
    assert list(FLAGS.classes("-Ofast -O2 -DX=1 -I include -I -march=native -g more.o @file")) == [
        ("-Ofast", "forbidden"),
        ("-O2", "mandatory"),
        ("-DX=1", "portability"),
        ("-I include", "portability"),
        ("-I -march=native", "portability"),
        ("-g", "mandatory"),
        ("more.o", "unknown"),
        ("@file", "unknown"),
    ]


def test_each_mandatory_pattern_needs_one_flag_of_its_alternatives() -> None:
    assert FLAGS.missing("-fast -g") == []
    assert FLAGS.missing("-DX=1") == ["-O*|-fast", "-g"]


def test_the_first_category_is_chosen_unless_the_campaign_file_names_another(tmp_path: Path) -> None:
    first, other = load(tmp_path), load(tmp_path, "build: optimised")
    assert first.build and other.build
    assert (first.build.id, first.caption, first.build.changes) == ("baseline", "Threads, baseline build", BUILDING)
    assert (other.build.id, other.caption) == ("optimised", "Threads, optimised build")
    assert other.build.changes == ("measurement path", "other", "build") and not other.build.flags.has_patterns


def test_a_pack_shows_its_categories(tmp_path: Path) -> None:
    load(tmp_path)
    lines = [line.split() for line in text.text(packs.load(tmp_path / "threads.yaml")).splitlines()]
    for line in ("baseline baseline build [2.1]", "forbidden: -Ofast", "changes: measurement path, other, build"):
        assert line.split() in lines


def test_a_category_that_the_pack_does_not_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="build: found fast; allowed: baseline, optimised"):
        load(tmp_path, "build: fast")
    with pytest.raises(InputError, match="build: rule pack threads has no categories of builds; remove the key"):
        load(tmp_path, "build: fast", pack=OTHER.partition("environment:")[0])


WRONG = {
    "changes: [measurement path": ("changes: [clock", "found clock; allowed: measurement path, other, portability"),
    "SRC-03: ": ("SRC-02: ", "builds: found `changes`, which needs SRC-03 among `checks`"),
    ', SRC-07: "2"': ("", "builds: give both `flags` in a category and SRC-07 among `checks`, or neither"),
    "id: optimised": ("id: baseline", "builds[1].id: found baseline a second time; allowed: ids that differ"),
    "[-Ofast]": ('["-O[0-3]"]', 'found "-O[0-3]"; allowed: a flag such as -O2, -march=* (* is any text)'),
}


@pytest.mark.parametrize("part", WRONG)
def test_a_category_that_cannot_be_judged_is_refused(tmp_path: Path, part: str) -> None:
    replacement, problem = WRONG[part]
    with pytest.raises(InputError) as error:
        load(tmp_path, pack=PACK.replace(part, replacement))
    assert problem in str(error.value)


OPTIONS = (
    PACK.replace('arguments: "{flags}"', 'arguments: "{flags} -m {mode}"')
    + """\
variables:
  - {id: mode, full: "on", rehearsal: "off", clause: "3", free: true, builds: [optimised], choices: ["on", "off", auto]}
allowed:
  - {flag: --fast, value: false, clause: "3", builds: [optimised]}
  - {flag: --verbose, value: false, clause: "3"}
"""
)


def load_at_full_size(folder: Path, *lines: str, extra: str = "") -> RulePack:
    (folder / "threads.yaml").write_text(OPTIONS)
    file = FILE.partition("benchmark:")[0].replace("DIRECTORY", str(folder / "scratch")).replace("rehearsal", "full")
    (folder / "c.yaml").write_text("\n".join([file, f"benchmark: {{executable: /bin/true{extra}}}", *lines, ""]))
    return definition.load(folder / "c.yaml")[1]


def test_a_variable_and_a_flag_may_be_free_in_one_category_and_fixed_in_another(tmp_path: Path) -> None:
    pack = load_at_full_size(tmp_path, "build: optimised", "variables: {mode: auto}")
    assert pack.values["mode"] == "auto"
    assert [flag.flag for flag in pack.allowed] == ["--fast", "--verbose"]
    assert [flag.flag for flag in load_at_full_size(tmp_path).allowed] == ["--verbose"]
    with pytest.raises(InputError, match=r"variables.mode: found auto, but profile full fixes on \(clause 3\)"):
        load_at_full_size(tmp_path, "variables: {mode: auto}")
    with pytest.raises(InputError, match="--fast"):
        load_at_full_size(tmp_path, extra=", extra_arguments: [--fast]")


def test_a_variable_has_one_of_its_choices_in_rehearsals_too(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"variables.mode: found aut; did you mean auto\?"):
        load(tmp_path, "variables: {mode: aut}", pack=OPTIONS)
    for part, replacement, problem in (
        ('full: "on"', 'full: "yes"', r"variables\[0\].full: found yes; allowed: on, off, auto"),
        ("free: true, ", "", r"variables\[0\].builds: needs `free: true`; add it"),
        (
            "builds: [optimised], choices",
            "builds: [fast], choices",
            r"variables\[0\].builds\[0\]: found fast; allowed: b",
        ),
        (
            '"3", builds: [optimised]}',
            '"3", builds: [fast]}',
            r"allowed\[0\].builds\[0\]: found fast; allowed: baseline",
        ),
    ):
        with pytest.raises(InputError, match=problem):
            load(tmp_path, pack=OPTIONS.replace(part, replacement))


def test_a_pack_shows_what_is_free_in_which_category(tmp_path: Path) -> None:
    load(tmp_path, pack=OPTIONS)
    pack_text = " ".join(text.text(packs.load(tmp_path / "threads.yaml")).split())
    assert "on (a campaign file may change it to on, off, auto in optimised); in a rehearsal off" in pack_text
    assert "--fast in optimised [3]" in pack_text
