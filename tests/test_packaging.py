"""What people expect of a package: one version, a licence, and a wheel that works by itself."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import campaign
from campaign.core.errors import ENVIRONMENT, INCOMPLETE, MachineLacks
from campaign.sandbox.cluster import Sandbox
from tests.support.cases import new_target

ROOT = Path(__file__).resolve().parents[1]
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
WITHOUT_NETWORK = ("unshare", "--map-root-user", "--net")


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("bench-src/Makefile", r"^VERSION := (\S+)$"),
        ("CITATION.cff", r"^version: (\S+)$"),
        ("CHANGELOG.md", r"^## \[(\d\S*)\]"),  # the first is the newest release
        ("docs/packaging/spack/packages/campaign/package.py", r'^    version\("(\S+)",'),
        ("docs/packaging/easybuild/campaign-0.3.0-gompi-2024a.eb", r'^version = "(\S+)"$'),
    ],
)
def test_every_file_that_repeats_the_version_has_the_same(file: str, pattern: str) -> None:
    match = re.search(pattern, (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
    assert match and match[1] == campaign.__version__


def test_the_licence_is_named_and_there() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert project["license"] == citation["license"] == "Apache-2.0"
    assert "Apache License\n                           Version 2.0" in (ROOT / "LICENSE").read_text(encoding="utf-8")


class Installed:
    """The program as a user of another machine has it: from the source distribution by way of the wheel and the
    wheelhouse, installed without a network, with a home of its own, and nothing of this checkout in reach.
    """

    def __init__(self, top: Path) -> None:
        self.home, self.prefix = top / "home", top / "environment"
        self.home.mkdir()
        path = top / "dist"
        pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        _do(sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory", path, cwd=ROOT)
        _do(*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", path, next(path.glob("*.tar.gz")))
        (self.wheel,) = path.glob("*.whl")
        _do(sys.executable, ROOT / ".ci" / "wheelhouse.py", "--python", PYTHON, "--", self.wheel, path)
        (tar,) = path.glob("*.tar")
        _do("tar", "--extract", "--file", tar, "--directory", top)
        _do(*WITHOUT_NETWORK, top / tar.stem / "install.sh", self.prefix)

    def call(self, *words: str | Path, status: int = 0, **variables: str) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join(part for part in os.environ["PATH"].split(os.pathsep) if ".venv" not in part)
        own_variables = {"HOME": str(self.home), "PATH": f"{self.prefix}/bin{os.pathsep}{path}", **variables}
        inherited = {
            name: value
            for name, value in os.environ.items()
            if name not in ("PYTHONPATH", "XDG_DATA_HOME", "CAMPAIGN_BENCHMARK")
        }
        process = subprocess.run(
            ["campaign", *words],
            cwd=self.home,
            env=inherited | own_variables,
            capture_output=True,
            text=True,
            timeout=800,
        )
        assert process.returncode == status, f"{words}: {process.returncode}\n{process.stdout}\n{process.stderr}"
        return process


def _do(*command: str | Path, cwd: Path | None = None) -> None:
    process = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=600)
    assert process.returncode == 0, f"{command}: {process.returncode}\n{process.stdout}\n{process.stderr}"


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return Installed(tmp_path_factory.mktemp("installed"))


@pytest.mark.slurm
@pytest.mark.mpi
@pytest.mark.timeout(900)
def test_an_installed_wheel_lists_packs_builds_its_benchmark_and_runs_a_campaign(
    installation: Installed, sandbox: Sandbox
) -> None:
    packs = sorted(path.stem for path in (ROOT / "rules").glob("*.yaml"))
    assert [line.split()[0] for line in installation.call("rules").stdout.splitlines()] == packs

    for pages, section in (("man", "man1"), ("man5", "man5")):
        names = {page.name for page in (installation.prefix / "share" / "man" / section).iterdir()}
        assert names >= {page.name for page in (ROOT / "docs" / pages).iterdir()}

    file = installation.home / "offer.yaml"
    installation.call("init", file)
    schema = re.search(r"\$schema=file://(\S+)", file.read_text())
    assert schema and schema[1].startswith(str(installation.prefix)) and Path(schema[1]).is_file()
    text = file.read_text()
    text = text.replace("/path/to/scratch\n", f"{new_target(sandbox, 'installed')}\n")
    text = text.replace("node: 16", "node: 4").replace("processes_per_node: 16}   #", "processes_per_node: 4}   #")
    file.write_text(text)

    refused = installation.call("run", file, status=ENVIRONMENT, **sandbox.environment())
    assert "the benchmark is not built" in refused.stderr
    binaries = installation.home / ".local/share/campaign" / campaign.__version__ / "bench"
    assert installation.call("build", CFLAGS="-O0 -std=c11").stdout == f"built {binaries}\n"
    assert "filled in" in installation.call("plan", file, **sandbox.environment()).stderr

    process = installation.call("run", file, "--only", "scratch/node/*/*", **sandbox.environment())
    assert process.stdout.count(": measured ") == 9
    scripts = list(installation.home.glob("results/offer/**/job.sbatch"))
    assert scripts and all(str(binaries / "mdtest") in script.read_text() for script in scripts)

    bundle = installation.home / "offer.zip"
    installation.call("bundle", file, "-o", bundle, status=INCOMPLETE)
    _verifies_as_one_file_without_numpy(installation, bundle)


def _verifies_as_one_file_without_numpy(installation: Installed, bundle: Path) -> None:
    """The application does what the installed program does, moved elsewhere, with a Python without packages."""
    _do(sys.executable, ROOT / ".ci" / "zipapp.py", "--python", PYTHON, "--", installation.wheel, installation.home)
    application = (installation.home / "campaign-verify.pyz").rename(installation.home / "another name")
    alone = [*WITHOUT_NETWORK, sys.executable, "-I", "-S"]
    for module in ("numpy", "scipy", "yaml"):
        assert subprocess.run([*alone, "-c", f"import {module}"], capture_output=True).returncode == 1
    process = subprocess.run([*alone, application, bundle, "--details"], capture_output=True, text=True, timeout=800)
    expected = installation.call("verify", bundle, "--details", status=process.returncode)
    assert (process.stdout, process.stderr) == (expected.stdout, expected.stderr)
    assert "re-evaluated from raw logs: identical" in process.stdout


def test_the_application_blames_no_bundle_for_what_this_machine_lacks() -> None:
    specification = importlib.util.spec_from_file_location("verify_app", ROOT / ".ci" / "verify_app" / "__main__.py")
    assert specification and specification.loader
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    with pytest.raises(MachineLacks, match="numpy was not found, and a bundle with tuned process counts"):
        module.Absent().find_spec("numpy")
    assert module.Absent().find_spec("numpy.linalg") is None


def test_every_part_that_is_installed_is_pinned_by_its_hash() -> None:
    parts = re.split(r"^(?=[\w.-]+==)", (ROOT / "requirements.lock").read_text(), flags=re.MULTILINE)[1:]
    assert len(parts) > 20
    assert [part.split()[0] for part in parts if "--hash=sha256:" not in part] == []


def test_spack_builds_with_what_the_package_requires() -> None:
    required = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    recipe = (ROOT / "docs/packaging/spack/packages/campaign/package.py").read_text(encoding="utf-8")
    of_recipe = re.findall(r'depends_on\("py-(\S+)@(\S+):", type=\("build", "run"\)\)', recipe)
    assert [f"{name}>={version}" for name, version in of_recipe] == required


WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_the_steps_of_the_workflows_are_targets_of_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    jobs = [job for file in WORKFLOWS for job in yaml.safe_load(file.read_text(encoding="utf-8"))["jobs"].values()]
    steps = [step["run"] for job in jobs for step in job["steps"] if "run" in step]
    assert len(steps) > 5
    for step in steps:
        command, *words = step.split()
        assert command == "make" and {word for word in words if "=" not in word} <= targets, step


def test_the_workflows_test_every_python_that_the_wheelhouse_is_made_for() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8"))["jobs"]
    pythons = re.search(r"^PYTHONS = \((.*)\)$", (ROOT / ".ci" / "parts.py").read_text(), re.MULTILINE)
    assert pythons and jobs["test"]["strategy"]["matrix"] == {
        "debian": ["bookworm", "trixie"],
        "python": re.findall(r"[\d.]+", pythons[1]),
    }
