"""templates/module-functions.bash: what is loaded is what was asked, by each of the module commands that sites have."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from campaign.config.slurm_keys import Slurm
from campaign.slurm import commands
from tests.support.jobs import Job, cluster, job

__all__ = ["cluster", "job"]  # fixtures
pytestmark = pytest.mark.unit

# As Environment Modules 3.2 defines it: the status is that of eval, also of an empty text.
OF_3_2 = '() { eval `"$FOLDER/modulecmd" bash $*`; }'
# Its program, as far as a test needs it: a line of `modules` is a name and what is loaded for it.
MODULECMD = r"""#!/bin/bash
loaded=$(sed -n "s|^$3 ||p" "$FOLDER/modules" | head -n 1)
if [[ $2 != load || -z $loaded ]]; then
    echo "ModuleCmd_Load.c(213):ERROR:105: Unable to locate a modulefile for '$3'" >&2
    exit 1
fi
list=:${LOADEDMODULES:+$LOADEDMODULES:}
for other in $(sed -n "s|^!$3 ||p" "$FOLDER/modules"); do list=${list/:$other:/:}; done
list=${list#:}
[[ $list != : ]] || list=''
[[ :$list == *:"$loaded":* ]] || list=$list$loaded
echo "LOADEDMODULES=${list%:} ;export LOADEDMODULES;"
"""
TCL = '() { local status; eval "$(tclsh {path} bash "$@" || echo false)"; status=$?; return $status; }'
LMOD = '() { eval "$(/usr/share/lmod/lmod/libexec/lmod bash "$@")"; }'
ALL = ("3.2", "environment-modules", "lmod")


def with_modules(folder: Path, kind: str) -> dict[str, str]:
    """The environment of a shell with this module command, and openmpi/4.1, openmpi/5.0, gcc/12 and mpich/4.0, which
    excludes openmpi; mpi/site is an alias of openmpi/5.0.
    """
    variables = {"FOLDER": str(folder), "MODULEPATH": str(folder / "files"), "LOADEDMODULES": ""}
    if kind == "3.2":
        (folder / "modulecmd").write_text(MODULECMD)
        (folder / "modulecmd").chmod(0o755)
        (folder / "modules").write_text(
            "openmpi openmpi/5.0\nopenmpi/4.1 openmpi/4.1\nopenmpi/5.0 openmpi/5.0\nmpi/site openmpi/5.0\n"
            "gcc gcc/12\nmpich mpich/4.0\n!mpich openmpi/5.0\n"
        )
        return variables | {"BASH_FUNC_module%%": OF_3_2}
    is_lmod = kind == "lmod"
    for name in ("openmpi/4.1", "openmpi/5.0", "mpich/4.0", "gcc/12"):
        path = folder / "files" / f"{name}{'.lua' * is_lmod}"
        path.parent.mkdir(parents=True, exist_ok=True)
        family = 'family("mpi")\n' if "mpi" in name else ""
        excludes = "module unload openmpi\n" if name == "mpich/4.0" else ""
        path.write_text(family + 'setenv("LOADED", "x")\n' if is_lmod else f"#%Module\n{excludes}setenv LOADED x\n")
    if is_lmod:
        (folder / "files" / ".modulerc.lua").write_text('module_alias("mpi/site", "openmpi/5.0")\n')
        root = {"LMOD_ROOT": "/usr/share/lmod", "LMOD_PKG": "/usr/share/lmod/lmod", "HOME": str(folder)}
        return variables | root | {"BASH_FUNC_module%%": LMOD}
    (folder / "files" / ".modulerc").write_text("#%Module\nmodule-alias mpi/site openmpi/5.0\n")
    (path,) = Path(sys.prefix, "modules").glob("usr/lib/*/modulecmd.tcl")
    return variables | {"BASH_FUNC_module%%": TCL.replace("{path}", str(path))}


@pytest.fixture(params=ALL)
def kind(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in with_modules(tmp_path, request.param).items():
        monkeypatch.setenv(name, value)
    return str(request.param)


def test_modules_that_are_loaded_are_accepted_by_name_version_or_alias(kind: str) -> None:
    assert commands.unloadable(["gcc", "openmpi/4.1"]) is None
    assert commands.unloadable(["mpi/site", "gcc"]) is None
    assert commands.unloadable(["openmpi", "openmpi"]) is None


def test_one_that_is_missing_is_named_also_where_the_command_says_nothing(kind: str) -> None:
    failing = commands.unloadable(["gcc", "openmpi/9"])
    assert failing is not None
    name, cause = failing
    assert name == "openmpi/9"
    if kind == "3.2":
        assert "loaded are gcc/12" in cause


def test_one_that_another_replaces_is_named(kind: str) -> None:
    for first in ("openmpi", "mpi/site"):
        failing = commands.unloadable([first, "gcc", "mpich"])
        assert failing is not None
        assert failing[0] == "mpich"
        assert f"module {first} was replaced or removed when module mpich was loaded; loaded are" in failing[1]


def test_an_alias_of_one_that_is_loaded_is_accepted_where_the_command_can_tell(kind: str) -> None:
    """That of 3.2 has status 0 for a module that is not there."""
    failing = commands.unloadable(["openmpi/5.0", "mpi/site"])
    assert (failing is None) == (kind != "3.2")


def test_a_command_that_keeps_no_list_is_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOADEDMODULES", raising=False)
    monkeypatch.setenv("BASH_FUNC_module%%", "() { true; }")
    assert commands.unloadable(["openmpi"]) is None


def test_a_job_with_another_module_than_was_asked_measures_nothing(job: Job, tmp_path: Path) -> None:
    job.environment |= with_modules(tmp_path, "3.2")
    job.slurm = Slurm(time_s=90, modules=("openmpi/9", "gcc"))
    assert job.plan().run() == 1
    reason = "module openmpi/9 cannot be loaded: module load ended with status 0; loaded are none"
    assert job.end_of() == ("refused", reason)
    assert not (job.steps[0].folder / "stdout").exists()


def test_the_list_of_modules_is_a_fact_of_the_run(job: Job, tmp_path: Path) -> None:
    job.environment |= with_modules(tmp_path, "3.2")
    job.slurm = Slurm(time_s=90, modules=("openmpi", "gcc"))
    assert job.plan().run() == 0, job.out() + job.complain()
    text = (job.steps[0].folder / "facts.jsonl").read_text()
    assert '"name":"env.LOADEDMODULES"' in text.replace(" ", "")
    assert "openmpi/5.0:gcc/12" in text
