"""Trees and builds of a campaign file, compared and kept with the results."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from campaign import __version__
from campaign.cli.main import main
from campaign.config import definition as config_load
from campaign.config import format as config
from campaign.config.format import Campaign
from campaign.config.rules.builds import BuildCategory
from campaign.core import resources
from campaign.core.errors import InputError
from campaign.core.paths import Paths
from campaign.results.source import facts, modifications, trees
from campaign.results.source.facts import Build, Sources
from campaign.sandbox.cluster import Sandbox
from tests.support import source_trees
from tests.support.bench_binary import build
from tests.support.cases import Case, new_target
from tests.support.source_trees import entry, tree

PRISTINE = tree(mdtest_c=b'#define VERSION "1.8.4"\nint main;\n', Makefile=b"all:\n")
MODIFIED = tree(mdtest_c=PRISTINE.entries["mdtest.c"].data, Makefile=b"all:\n\tmpicc -O2\n", mdtest=b"\x7fELF")

FILE = """\
name: offer
rules: crossroads-mdtest
profile: rehearsal
results: results
targets: [{name: scratch, directory: /scratch}]
launch: {single: 1, node: 2, peak: {nodes: 2, processes: 4}, max: {nodes: 2, processes: 4}}
"""
EXTERNAL = """\
benchmark: {executable: modified/mdtest, dialect: rank-offset}
source:
  pristine: pristine
  version: 1.8.4
  modified: modified
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A campaign file beside its source trees."""
    source_trees.write(tmp_path / "pristine", PRISTINE)
    source_trees.write(tmp_path / "modified", MODIFIED)
    (tmp_path / "campaign.yaml").write_text(FILE + EXTERNAL)
    return tmp_path / "campaign.yaml"


def load_campaign(file: Path, **source: Any) -> Campaign:
    campaign = config_load.load(file)[0]
    return replace(campaign, source=replace(campaign.source, **source))


def paths(file: Path) -> Paths:
    return Paths(file.parent / "results" / "offer")


# --- comparing


def test_the_trees_of_the_campaign_file_are_compared(file: Path) -> None:
    sources, patch = modifications.compare(load_campaign(file))
    assert sources.comparison
    assert [change.path for change in sources.comparison.changes] == ["Makefile"]
    assert sources.comparison.names_version
    assert b"+\tmpicc -O2\n" in patch


PACK = """\
id: two
version: 1
extends: crossroads-mdtest
without: [source]
sources: {app: {program: mdtest, version: 1.8.4}, lib: {program: Library, version: "2.0"}}
"""
TREES = """\
source:
  trees:
    app: {pristine: pristine, version: 1.8.4, modified: modified}
    lib: {pristine: lib, version: "2.0", modified: own-lib}
"""


@pytest.fixture
def two_sources(file: Path) -> Path:
    """A campaign file of a pack whose benchmark is built of two sources, of which the library was changed."""
    (file.parent / "two.yaml").write_text(PACK)
    source_trees.write(file.parent / "lib", tree(lib_c=b"/* 2.0 */ int f(void);\n"))
    source_trees.write(file.parent / "own-lib", tree(lib_c=b"/* 2.0 */ int f(int);\n"))
    external = EXTERNAL.partition("source:")[0]
    file.write_text(FILE.replace("crossroads-mdtest", "./two.yaml") + external + TREES)
    return file


def test_several_sources_are_compared_as_directories_of_one_tree(two_sources: Path) -> None:
    sources, patch = modifications.compare(load_campaign(two_sources))
    comparison = sources.comparison
    assert comparison
    assert comparison.reproduced
    assert [change.path for change in comparison.changes] == ["app/Makefile", "lib/lib.c"]
    assert b"--- a/lib/lib.c\n+++ b/lib/lib.c\n" in patch
    assert comparison.names_version
    assert {name: published.hash for name, published in comparison.published.items()} == {
        "app": PRISTINE.hash,
        "lib": tree(lib_c=b"/* 2.0 */ int f(void);\n").hash,
    }
    text = modifications.text(sources)
    assert "Published app: pristine, 2 files" in text
    assert "Published lib: lib, 1 files" in text


def test_several_sources_are_kept_with_the_results(two_sources: Path) -> None:
    campaign = load_campaign(two_sources)
    modifications.store_sources(paths(two_sources), *modifications.compare(campaign))
    shutil.rmtree(two_sources.parent / "own-lib")
    assert "source.trees.lib.modified: " in modifications.compare_and_store(campaign, paths(two_sources))
    kept = modifications.recorded_sources(paths(two_sources)).comparison
    assert kept
    assert [*kept.published] == ["app", "lib"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("    lib:", "    bli:"), r"source\.trees\.bli: found bli; allowed: app, lib"),
        (
            ("source:\n", "source:\n  pristine: x\n"),
            r"source\.pristine: rule pack two has several sources \(app, lib\)",
        ),
    ],
)
def test_several_sources_are_those_of_the_pack(two_sources: Path, change: tuple[str, str], problem: str) -> None:
    two_sources.write_text(two_sources.read_text().replace(*change))
    with pytest.raises(InputError, match=problem):
        load_campaign(two_sources)


def test_a_pack_has_either_one_source_or_several(two_sources: Path) -> None:
    (two_sources.parent / "two.yaml").write_text(PACK.replace("without: [source]\n", ""))
    with pytest.raises(InputError, match="found both `source` and `sources`; keep one of them"):
        load_campaign(two_sources)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (
            {"pristine": ""},
            "the campaign file does not name the published source (source.pristine), with which the benchmark's is "
            "compared",
        ),
        ({"modified": ""}, "source.modified is not set; add the source that the benchmark was built from"),
    ],
)
def test_what_is_not_named_is_not_compared(source: dict[str, str], problem: str, file: Path) -> None:
    assert modifications.compare(load_campaign(file, **source)) == (Sources(problem=problem), b"")


def test_the_built_in_benchmark_alone_is_compared_with_nothing(file: Path) -> None:
    campaign = replace(load_campaign(file, pristine="", modified=""), benchmark=config.Benchmark())
    assert "the built-in benchmark's is compared" in modifications.compare(campaign)[0].problem


def test_a_supplied_patch_is_judged(file: Path) -> None:
    _, patch = modifications.compare(load_campaign(file))
    (file.parent / "ours.patch").write_bytes(patch)
    comparison = modifications.compare(load_campaign(file, patch="ours.patch"))[0].comparison
    assert comparison and comparison.supplied
    assert (comparison.supplied.sha256, comparison.supplied.problem) == (hashlib.sha256(patch).hexdigest(), "")


@pytest.mark.parametrize("source", [{"pristine": "nowhere"}, {"modified": "nowhere"}, {"patch": "nowhere"}])
def test_what_is_not_there_is_reported(source: dict[str, str], file: Path) -> None:
    with pytest.raises(InputError, match="nowhere"):
        modifications.compare(load_campaign(file, **source))


def test_a_pipe_in_place_of_a_patch_is_refused_and_not_waited_for(file: Path) -> None:
    os.mkfifo(file.parent / "ours.patch")
    with pytest.raises(InputError, match=r"ours\.patch: not a regular file"):
        modifications.compare(load_campaign(file, patch="ours.patch"))


def test_the_built_in_benchmark_is_compared_with_a_release_of_the_project(file: Path) -> None:
    own_tree = trees.read(str(resources.BENCHMARK), Path("/"), modifications.BUILDS)
    released = [
        entry(f"bench-src/{path}", own_entry.data, own_entry.mode) for path, own_entry in own_tree.entries.items()
    ]
    source_trees.write(file.parent / "release", tree(*released, entry("README.md", b"x")))
    campaign = replace(load_campaign(file, pristine="release", modified=""), benchmark=config.Benchmark())
    comparison = modifications.compare(campaign)[0].comparison
    assert comparison
    assert (comparison.changes, comparison.pristine.hash, comparison.modified.hash) == (
        (),
        own_tree.hash,
        own_tree.hash,
    )


def test_what_was_built_in_a_checkout_of_the_project_is_compared_on_neither_side(file: Path) -> None:
    own_tree = trees.read(str(resources.BENCHMARK), Path("/"), modifications.BUILDS)
    checkout = [
        entry(f"bench-src/{path}", own_entry.data, own_entry.mode) for path, own_entry in own_tree.entries.items()
    ]
    entries = [entry("bench-src/build/build.json", b"{}"), entry("bench-src/build-san/rate.c", b"double rate;\n")]
    source_trees.write(file.parent / "checkout", tree(*checkout, *entries, entry("README.md", b"x")))
    campaign = replace(load_campaign(file, pristine="checkout", modified=""), benchmark=config.Benchmark())
    comparison = modifications.compare(campaign)[0].comparison
    assert comparison
    assert (comparison.changes, comparison.pristine.hash) == ((), own_tree.hash)
    assert [item.path for item in comparison.pristine.ignored] == ["build", "build-san"]


# --- builds


def test_the_build_of_an_external_benchmark_is_as_the_campaign_file_tells(file: Path) -> None:
    (file.parent / "build.log").write_text("mpicc")
    notes = config.BuildNotes(compiler="gcc 12", flags="-O2", libraries=("Open MPI",), log="build.log")
    binary = hashlib.sha256(b"\x7fELF").hexdigest()
    without_products = trees.without_products(MODIFIED, PRISTINE)
    assert modifications.builds(load_campaign(file, build=notes)) == (
        Build(
            binary,
            compiler="gcc 12",
            flags="-O2",
            libraries=("Open MPI",),
            source_tree=without_products.hash,
            version="1.8.4",
            log="build.log",
            log_sha256=hashlib.sha256(b"mpicc").hexdigest(),
        ),
    )
    modifications.store_builds(load_campaign(file, build=notes), paths(file))
    folder = paths(file).source / "builds"
    assert {path.name for path in folder.iterdir()} == {f"{binary}.json", f"{binary}.log"}
    assert (folder / f"{binary}.log").read_text() == "mpicc"
    assert [build.compiler for build in modifications.recorded_sources(paths(file)).builds] == ["gcc 12"]


def test_a_log_that_is_not_there_is_reported(file: Path) -> None:
    with pytest.raises(InputError, match=r"source\.build\.log: .*build\.log: No such file"):
        modifications.builds(load_campaign(file, build=config.BuildNotes(log="build.log")))


def test_each_program_of_a_pack_has_a_build_of_its_own(file: Path) -> None:
    programs = {name: file.parent / name for name in ("ior", "mdtest")}
    for name, path in programs.items():
        path.write_text(name)
    notes, other = config.BuildNotes(compiler="gcc 12"), config.BuildNotes(compiler="icx 2024")
    campaign = replace(
        load_campaign(file, build=notes, builds=(("mdtest", other),)),
        benchmark=config.Benchmark(programs=tuple(programs.items())),
    )
    compilers = {build.binary_sha256: build.compiler for build in modifications.builds(campaign)}
    assert compilers[hashlib.sha256(b"ior").hexdigest()] == "gcc 12"
    assert compilers[hashlib.sha256(b"mdtest").hexdigest()] == "icx 2024"
    modifications.store_builds(campaign, paths(file))
    assert {build.compiler for build in modifications.recorded_sources(paths(file)).builds} >= {"gcc 12", "icx 2024"}


@pytest.mark.mpi
def test_the_built_in_benchmark_keeps_its_own_record(file: Path) -> None:
    binary = build() / "bench"
    (recorded_build,) = modifications.builds(replace(load_campaign(file), benchmark=config.Benchmark()))
    assert recorded_build.binary_sha256 == hashlib.sha256(binary.read_bytes()).hexdigest()
    assert recorded_build.source_tree == trees.read(str(resources.BENCHMARK), Path("/"), modifications.BUILDS).hash
    assert recorded_build.compiler and "-O2" in recorded_build.flags.split()
    assert any(library.startswith("libmpi") for library in recorded_build.libraries)


# --- kept with the results


def test_what_was_kept_is_read_again(file: Path) -> None:
    compared, patch = modifications.compare(load_campaign(file))
    modifications.store_sources(paths(file), compared, patch)
    sources = modifications.recorded_sources(paths(file))
    assert sources.comparison == compared.comparison
    assert modifications.stored_patch(paths(file)) == patch
    assert modifications.recorded_sources(Paths(file.parent / "nowhere")).comparison is None


def test_a_tree_that_cannot_be_read_any_more_leaves_what_was_found_of_it(file: Path) -> None:
    assert modifications.compare_and_store(load_campaign(file), paths(file)) == ""
    (file.parent / "pristine").rename(file.parent / "away")
    assert "pristine: not found" in modifications.compare_and_store(load_campaign(file), paths(file))
    assert modifications.recorded_sources(paths(file)).comparison


def test_the_report_of_trees_that_are_gone_follows_the_category_and_the_builds(file: Path) -> None:
    modifications.compare_and_store(load_campaign(file), paths(file))
    (file.parent / "pristine").rename(file.parent / "away")
    builds = paths(file).source / "builds"
    builds.mkdir()
    (builds / f"{'7' * 64}.json").write_text(facts.as_text(Build("7" * 64, compiler="gcc 12")))
    modifications.compare_and_store(load_campaign(file), paths(file), BuildCategory("ported", "ported code", "9"))
    text = (paths(file).source / "modifications.txt").read_text()
    assert "ported code" in text and "gcc 12" in text and "changed, " in text


def test_of_other_trees_nothing_is_left(file: Path) -> None:
    modifications.compare_and_store(load_campaign(file), paths(file))
    trouble = modifications.compare_and_store(load_campaign(file, pristine="another"), paths(file))
    sources = modifications.recorded_sources(paths(file))
    assert (sources.comparison, sources.problem) == (None, trouble)
    assert "another: not found" in trouble


def test_a_patch_that_was_changed_afterwards_is_noticed(file: Path) -> None:
    modifications.store_sources(paths(file), *modifications.compare(load_campaign(file)))
    sources = modifications.recorded_sources(paths(file))
    assert sources.comparison and sources.patch_sha256 == sources.comparison.patch_sha256
    with (paths(file).source / "modifications.patch").open("ab") as stream:
        stream.write(b"\n")
    assert modifications.recorded_sources(paths(file)).patch_sha256 != sources.patch_sha256


def test_a_damaged_record_is_reported_with_what_to_do(file: Path) -> None:
    modifications.store_sources(paths(file), *modifications.compare(load_campaign(file)))
    path = paths(file).source / "modifications.json"
    path.write_text("{}")
    with pytest.raises(InputError, match=f"{path}: damaged .*; delete it and run 'campaign modifications FILE'"):
        modifications.recorded_sources(paths(file))


# --- the command line


def test_diff_prints_the_report_and_writes_it(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pin = json.dumps(PRISTINE.hash)
    file.write_text(file.read_text() + f"  sha256: {pin}\n")
    assert main(["diff", str(file), "-o", str(file.parent / "out")]) == 0
    out = capsys.readouterr().out
    assert "1 file changed, 1 line added, 0 removed: 1 build." in out
    written_text = (file.parent / "out" / "modifications.txt").read_text()
    assert out.startswith(written_text)
    assert not paths(file).source.exists()  # nothing was run yet


def test_diff_ends_with_1_where_a_rule_is_broken(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(file.read_text().replace("1.8.4", "1.9.3"))
    assert main(["diff", str(file)]) == 1
    assert "SRC-01" in capsys.readouterr().out


def test_diff_ends_with_2_where_a_tree_is_not_there(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(file.read_text().replace("pristine: pristine", "pristine: nowhere"))
    assert main(["diff", str(file)]) == 2
    assert "nowhere: not found; expected a directory, an archive" in capsys.readouterr().err


def test_diff_judges_the_sources_whatever_the_pack_asks_for(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = file.read_text().replace("crossroads-mdtest", "ior-cache-ladder").replace("modified/mdtest", "modified/ior")
    launch = text[text.index("launch:") : text.index("benchmark:")]
    (file.parent / "ours.patch").write_text("")
    text = text.replace(launch, "launch: {node: 2, nodes: {nodes: 2, processes: 4}}\n")
    text = text.replace(", dialect: rank-offset", "") + "  patch: ours.patch\n"
    file.write_text(text)
    assert main(["diff", str(file)]) == 1
    assert "the submitted patch ours.patch does not give" in capsys.readouterr().out


# --- on a real Slurm


@pytest.mark.slurm
@pytest.mark.mpi
@pytest.mark.timeout(900)
def test_a_benchmark_that_was_built_again_between_two_attempts_is_noticed(file: Path, sandbox: Sandbox) -> None:
    program = file.parent / "modified" / "mdtest"
    shutil.copy(build() / "bench", program)
    build_notes = "  build: {compiler: gcc, flags: -O2}\n"
    target = new_target(sandbox, "sources")
    text = file.read_text().replace("directory: /scratch", f"directory: {target}") + f"  sha256: {PRISTINE.hash}\n"
    file.write_text(text.replace("name: offer", "name: offer\nitems_total: 256") + build_notes)
    case = Case(file, target, sandbox)

    case.call("run", "--only", "scratch/node/shared/*", status=None)
    first = hashlib.sha256(program.read_bytes()).hexdigest()
    # What ran calls itself the built-in benchmark, which is neither the RFP's program nor of the source that is named.
    violations = [
        ("SRC-01", "campaign", "1.8.4 or 1.8.3", f"campaign bench {__version__}"),
        ("SRC-06", "campaign", "1.8.4", __version__),
    ]
    assert source_violations(case) == violations
    assert (paths(file).source / "builds" / f"{first}.json").exists()

    with program.open("ab") as stream:
        stream.write(b"\0")
    case.call("rerun", "scratch/node/shared/create", status=None)
    second = hashlib.sha256(program.read_bytes()).hexdigest()
    assert sorted(source_violations(case)) == sorted(
        [*violations, ("SRC-04", "scratch.node.shared.r1/1", second, first)]
    )


def source_violations(case: Case) -> list[tuple[str, str, str, str]]:
    """The rules about sources that a campaign breaks."""
    document = json.loads(case.call("check", "--json", status=None))
    return [
        (finding["rule"], finding["subject"], finding["expected"], finding["actual"])
        for finding in document
        if finding["rule"].startswith("SRC-") and finding["severity"] == "E"
    ]
