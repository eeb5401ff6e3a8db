"""Cases of the rules about the benchmark's source, its build, and the binary that ran."""

from __future__ import annotations

import functools
import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

from campaign.config.format import Benchmark, SourceTree, SourceTrees
from campaign.config.rules.builds import BuildCategory, BuildFlags
from campaign.config.rules.entries import Pin
from campaign.core.findings import ChangeClass, Severity
from campaign.core.records import OutputRemark
from campaign.core.runs import Command, Geometry, Launcher
from campaign.judge.submission import Submission
from campaign.results.case import Case
from campaign.results.environment.facts import Environment, Evidence, Node, Value, Witness
from campaign.results.source import classify
from campaign.results.source.facts import Build, Described, OwnSource, Sources, TreeComparison
from campaign.results.source.trees import PLAIN, Tree, TreeEntry
from tests.judge.cases import Example, broken, compliant, disclosed, of_buyer, unchecked
from tests.judge.cases.submissions import good_submission

BINARY, OTHER, BASH = "ab" * 32, "cd" * 32, "ef" * 32
PROGRAM = "mdtest-1.8.4 was launched"
CODE = b'#define VERSION "1.8.4"\nint main(void) {\n    int a;\n    t[0] = MPI_Wtime();\n    return 0;\n}\n'


def tree(name: str = "mdtest-1.8.4.tar.gz", **files: bytes) -> Tree:
    content = {"mdtest.c": CODE, "Makefile": b"all:\n", **{key.replace("_", "."): data for key, data in files.items()}}
    entries = {path: TreeEntry(path, PLAIN, data) for path, data in content.items()}
    return Tree(name, entries, archive_sha256="12" * 32 if name.endswith("gz") else "")


PRISTINE = tree()
BUILD = Build(BINARY, compiler="gcc 12.2.0", flags="-O2", libraries=("Open MPI 4.1.4",))


def compared(built: Tree, supplied: tuple[str, bytes] | None = None) -> TreeComparison:
    return _compared(built.name, tuple(built.entries.values()), supplied)


@functools.cache  # each starts git several times, and many cases have the same trees
def _compared(name: str, entries: tuple[TreeEntry, ...], supplied: tuple[str, bytes] | None) -> TreeComparison:
    built = Tree(name, {entry.path: entry for entry in entries})
    return classify.compare(PRISTINE, built, "1.8.4", supplied)[0]


def sourced(
    built: Tree | None = None,
    builds: tuple[Build, ...] = (BUILD,),
    supplied: tuple[str, bytes] | None = None,
    **source: Any,
) -> Submission:
    """A campaign with an external mdtest whose source was compared, and which ran as one binary."""
    comparison = compared(built or tree("built"), supplied)
    trees = {"pristine": "mdtest-1.8.4.tar.gz", "version": "1.8.4", "sha256": "12" * 32, "modified": "built"}
    submission = with_outputs(good_submission(), program=PROGRAM, binary_sha256=BINARY, binary_agreed=True)
    campaign = replace(
        submission.campaign,
        benchmark=Benchmark(executable=Path("/opt/mdtest")),
        source=replace(SourceTrees(**trees), **source),
    )
    pack = replace(submission.pack, source=Pin("mdtest", "1.8.4"))
    sources = Sources(comparison, builds=builds, patch_sha256=comparison.patch_sha256)
    return replace(submission, campaign=campaign, pack=pack, sources=sources)


LIBRARY = Described("lib-2.0.tar.gz", "5" * 64, 3, "34" * 32, "", ())


def of_two_sources(library: Described | None = LIBRARY, **stated: str) -> Submission:
    """A benchmark of a program and a library, which the rules name both; `stated`: of the library."""
    submission = sourced()
    assert submission.sources.comparison is not None
    trees = {"app": submission.sources.comparison.pristine} | ({"lib": library} if library else {})
    comparison = replace(submission.sources.comparison, parts=trees)
    of_app = SourceTree("mdtest-1.8.4.tar.gz", "1.8.4", "12" * 32, "built")
    of_library = replace(SourceTree("lib-2.0.tar.gz", "2.0", "34" * 32, "built-lib"), **stated)
    source = replace(SourceTrees(), trees=(("app", of_app), ("lib", of_library)))
    pins = (("app", submission.pack.source), ("lib", Pin("Library", "2.0", sha256=("34" * 32,))))
    return replace(
        submission,
        campaign=replace(submission.campaign, source=source),
        pack=replace(submission.pack, source=Pin(), sources=pins),
        sources=replace(submission.sources, comparison=comparison),
    )


def without_changes() -> Submission:
    """Somebody emptied the list of changes."""
    submission = sourced(MADE)
    assert submission.sources.comparison is not None
    emptied = replace(submission.sources.comparison, changes=())
    return replace(submission, sources=replace(submission.sources, comparison=emptied))


ANOTHER_BANNER = "the executed program calls itself another version than the compared source that it was built from"


def printing(program: str, *prints: str, built_from: str = "") -> Submission:
    """A campaign with the published mdtest 1.8.4, unchanged, that calls itself `program`."""
    build = replace(BUILD, source_tree=built_from)
    submission = with_outputs(sourced(tree(), builds=(build,)), program=program)
    return replace(submission, pack=replace(submission.pack, source=Pin("mdtest", "1.8.4", prints=prints)))


def with_outputs(submission: Submission, first: bool = False, **seen: Any) -> Submission:
    """With other outputs: of all attempts, or of the first alone."""

    def with_output(case: Case) -> Case:
        return replace(case, outputs={"": replace(case.observation, **seen)})

    results = [
        with_output(case) if number == 0 or not first else case for number, case in enumerate(submission.results)
    ]
    return replace(submission, results=tuple(results))


def uncompared(problem: str = "the campaign file names no source.pristine") -> Submission:
    return replace(sourced(), sources=Sources(None, problem, (BUILD,)))


def builtin() -> Submission:
    """The built-in benchmark, without a source to compare it with."""
    submission = with_outputs(uncompared(), program="campaign bench 0.1.0")
    return replace(submission, campaign=replace(submission.campaign, benchmark=Benchmark(), source=SourceTrees()))


def pinned_by_pack(*sha256: str, **source: Any) -> Submission:
    submission = sourced(**source)
    return replace(submission, pack=replace(submission.pack, source=Pin("mdtest", "1.8.4", sha256)))


def preloaded() -> Submission:
    submission = sourced()
    slurm = replace(submission.campaign.slurm, environment=(("LD_PRELOAD", "/opt/fast.so"),))
    return replace(submission, campaign=replace(submission.campaign, slurm=slurm))


def unlike_its_patch() -> Submission:
    submission = sourced()
    assert submission.sources.comparison
    return replace(
        submission,
        sources=replace(submission.sources, comparison=replace(submission.sources.comparison, applied="0" * 64)),
    )


def described(text: str) -> Submission:
    submission = sourced()
    return replace(submission, campaign=replace(submission.campaign, system=(("software", text),)))


def on_nodes(submission: Submission, facts: dict[str, tuple[str, str]], **seen: Any) -> Submission:
    """With what two nodes of each job told, and with other outputs."""
    nodes = (Node("n1", "n1"), Node("n2", "n2"))
    found_values = {
        name: tuple(Value(str(node), text) for node, text in enumerate(values)) for name, values in facts.items()
    }
    evidence = Evidence(Environment(recorded=True, nodes=nodes, facts=found_values))
    changed_submission = with_outputs(submission, **seen)
    return replace(
        changed_submission, results=tuple(replace(case, evidence=evidence) for case in changed_submission.results)
    )


def watched(*executed: str, facts: dict[str, str] | None = None, prefix: tuple[str, ...] = ()) -> Submission:
    """Of an external benchmark, with the hashes of what each rank was seen to execute ("" for one that was not)."""
    named_texts = {BINARY: "/opt/mdtest", OTHER: "/opt/other", BASH: "/usr/bin/bash"}
    ranks = {
        str(rank): f"n1 {','.join(word[:16] for word in text.split())}" for rank, text in enumerate(executed) if text
    }
    texts = {"executable.sha256": BINARY, **(facts or {})}
    submission = on_nodes(
        sourced(), {name: (text, text) for name, text in texts.items()}, binary_sha256=None, binary_agreed=None
    )
    first = submission.results[0]
    run = replace(first.run, geometry=Geometry(1, len(executed)), launcher=Launcher(prefix=prefix))
    evidence = replace(first.evidence, witness=Witness(True, named_texts, ranks=ranks))
    return replace(submission, results=(replace(first, run=run, evidence=evidence), *submission.results[1:]))


def in_image(*executed: str, inside: str, node: str = BINARY, image_sha256: str = "12" * 32) -> Submission:
    """Of an external benchmark in a container image that has this file as the declared program; the node has another
    one under the same path, or the same.
    """
    image = {"prefix.2.i.sif": f"/site/i.sif {image_sha256}"} if image_sha256 else {}
    submission = watched(*executed, facts={"executable.sha256": node, **image})
    launcher = Launcher(prefix=("run-image", "/site/i.sif"), image="/site/i.sif")

    def enter(case: Case) -> Case:
        witness = replace(case.evidence.witness, inside={inside: (case.run.executable,)} if inside else {})
        run, evidence = replace(case.run, launcher=launcher), replace(case.evidence, witness=witness)
        return replace(case, run=run, evidence=evidence)

    return replace(submission, results=tuple(map(enter, submission.results)))


def starting(path: str) -> Submission:
    """Of a program that the pack lets start `other`, with another file that the rank was seen to execute."""
    submission = watched(f"{BINARY} {OTHER}")
    first, *other_cases = submission.results
    program = replace(first.pack.programs[0], id="mdtest", starts=("other",))
    witness = replace(first.evidence.witness, programs={BINARY: "/opt/mdtest", OTHER: path})
    evidence = replace(first.evidence, witness=witness)
    return replace(
        submission,
        results=(replace(first, pack=replace(first.pack, programs=(program,)), evidence=evidence), *other_cases),
    )


def with_further_file(
    fact: str, path: str, *programs: str, first: str = OTHER, second_node: str = BINARY
) -> Submission:
    """With a further file that the job hashed, another one in the first attempt, or on the second node of all. A phase
    for each of `programs`, where there are any.
    """
    facts_by_node = {"executable.sha256": (BINARY, BINARY), fact: (f"{path} {BINARY}", f"{path} {second_node}")}
    submission = on_nodes(sourced(), facts_by_node, binary_sha256=None, binary_agreed=None)
    commands = tuple(Command(name, (), name.rpartition("/")[2], name.rpartition("/")[2]) for name in programs)
    results = submission.results
    if commands:
        (phase,), named_names = submission.pack.phases, [command.phase for command in commands]
        pack = replace(submission.pack, phases=tuple(replace(phase, id=name) for name in named_names))
        results = tuple(replace(case, pack=pack, run=replace(case.run, commands=commands)) for case in results)
    facts = {**results[0].evidence.environment.facts, fact: (Value("0-1", f"{path} {first}"),)}
    evidence = Evidence(replace(results[0].evidence.environment, facts=facts))
    return replace(submission, results=(replace(results[0], evidence=evidence), *results[1:]))


def with_another_patch() -> Submission:
    submission = sourced()
    return replace(submission, sources=replace(submission.sources, patch_sha256="0" * 64))


CATEGORY = BuildCategory(
    "base", "base build", "4", ("build",), BuildFlags(("-Ofast",), ("-O2",), ("-D*",), ("-march=*",))
)
NAMED = "base build (base, clause 4)"


def in_category(submission: Submission, words: str = "-O2 -DX=1 -march=native", **changes: Any) -> Submission:
    """A campaign whose pack has a category of builds, and whose build has these flags."""
    builds = tuple(replace(build, flags=words) for build in submission.sources.builds)
    pack = replace(submission.pack, build=replace(CATEGORY, **changes))
    return replace(submission, pack=pack, sources=replace(submission.sources, builds=builds))


def source_change(kinds: str, submission: Submission) -> Example:
    """A change of the source that the rules allow waits for the buyer."""
    assert submission.sources.comparison is not None
    patch = f"patch {submission.sources.comparison.patch_sha256}"
    return of_buyer(disclosed("SRC-03", f"the published source was changed in {kinds}", submission, "", patch))


def loads(name: str, submission: Submission, first: str = "scratch.single.shared.r1/1") -> Example:
    message = f"{name} loads /opt/fast.so into the benchmark (first in {first})"
    return broken("SRC-05", message, submission, "no library, or one that the buyer accepts", "/opt/fast.so")


FOUND = f"tree {PRISTINE.hash}, archive {PRISTINE.archive_sha256}"
FIRST, NEWEST = "scratch.single.shared.r1/1", "scratch.single.unique.r1/1"
TIMED = CODE.replace(b"MPI_Wtime()", b"MPI_Wtime() + 1")
ELF = b"\x7fELF..."
WARNING = OutputRemark("ranks run different executables: rank 1 on n2 has 12, rank 0 has 34", "bench.jsonl", 2)
PATCH = b"--- a/Makefile\n+++ b/Makefile\n@@ -1 +1,2 @@\n all:\n+\tmpicc mdtest.c\n"
MADE = tree("built", Makefile=b"all:\n\tmpicc mdtest.c\n")

OWN = OwnSource("0.2.0", "1" * 64)


def built(
    source: OwnSource | None = OWN, version: str = "0.2.0", tree: str = "1" * 64, ran_as: str = "0.2.0"
) -> Submission:
    """A campaign of the built-in benchmark, by the record of its build and the source that is here."""
    build = replace(BUILD, version=version, source_tree=tree)
    submission = with_outputs(
        good_submission(), program=f"campaign bench {ran_as}", binary_sha256=BINARY, binary_agreed=True
    )
    campaign = replace(submission.campaign, benchmark=Benchmark())
    return replace(
        submission, campaign=campaign, sources=Sources(builds=(build,) if version else ()), own_source=source
    )


EXAMPLES: list[Example] = [
    compliant("SRC-06", "the published source", built()),
    compliant("SRC-06", "an external benchmark", sourced()),
    broken(
        "SRC-06",
        "the built-in benchmark was built from a changed source, not from that of version 0.2.0",
        built(tree="2" * 64),
        f"tree {'1' * 64}",
        f"tree {'2' * 64}",
    ),
    broken(
        "SRC-06", "benchmark version differs between the output and the build record", built(ran_as="9"), "0.2.0", "9"
    ),
    broken(
        "SRC-06",
        "benchmark version differs between the output and the build record",
        with_outputs(
            sourced(builds=(replace(BUILD, source_tree=PRISTINE.hash, version="1.8.4"),)), program="campaign bench 9"
        ),
        "1.8.4",
        "9",
    ),
    unchecked("SRC-06", "a build of another version", built(version="0.1.0", ran_as="0.1.0")),
    unchecked("SRC-06", "no record of the build", built(version="")),
    unchecked(
        "SRC-06",
        "an external program that calls itself the built-in benchmark of the recorded version",
        with_outputs(
            sourced(builds=(replace(BUILD, source_tree=PRISTINE.hash, version="9"),)), program="campaign bench 9"
        ),
    ),
    broken(
        "SRC-01",
        "the published source does not match source.sha256",
        sourced(sha256="99" * 32),
        "99" * 32,
        FOUND,
    ),
    compliant("SRC-01", "a program and its library", of_two_sources()),
    broken(
        "SRC-01",
        "the published source is not the version that the RFP requires",
        of_two_sources(version="1.0"),
        "2.0",
        "lib: 1.0",
    ),
    broken(
        "SRC-01",
        "the published source is not the one that the RFP provides",
        of_two_sources(replace(LIBRARY, archive_sha256=""), sha256=""),
        "34" * 32,
        f"lib: tree {'5' * 64}",
    ),
    unchecked("SRC-01", "the library was not compared", of_two_sources(None)),
    broken(
        "SRC-01",
        "the published source is not the one that the RFP provides",
        pinned_by_pack("77" * 32, "88" * 32),
        f"{'77' * 32} or {'88' * 32}",
        FOUND,
    ),
    broken(
        "SRC-01",
        "the published source is not the version that the RFP requires",
        sourced(version="1.9.3"),
        "1.8.4",
        "1.9.3",
    ),
    broken(
        "SRC-01",
        "the executed program is not the version that the RFP requires",
        with_outputs(sourced(), first=True, program="mdtest-1.9.3 was launched"),
        "1.8.4",
        "mdtest-1.9.3 was launched",
    ),
    of_buyer(
        disclosed(
            "SRC-01",
            "campaign's own implementation in place of the RFP's program",
            builtin(),
            "mdtest 1.8.4",
            "campaign bench 0.1.0",
        )
    ),
    broken(
        "SRC-01",
        "the output is not from the built-in benchmark",
        with_outputs(builtin(), first=True, program="mdtest-1.9.3"),
        "campaign bench",
        "mdtest-1.9.3",
        "scratch.single.shared.r1/1",
    ),
    compliant("SRC-01", "the program prints what the pack says of this version", printing("mdtest-1.8.3", "1.8.3")),
    broken(
        "SRC-01",
        "the executed program is not the version that the RFP requires",
        printing("mdtest-1.9.3", "1.8.3"),
        "1.8.4 or 1.8.3",
        "mdtest-1.9.3",
    ),
    of_buyer(
        disclosed("SRC-01", ANOTHER_BANNER, printing("mdtest-1.8.3", built_from=PRISTINE.hash), "1.8.4", "mdtest-1.8.3")
    ),
    broken(
        "SRC-01",
        "the executed program is not the version that the RFP requires",
        printing("mdtest-1.8.3", built_from="77" * 32),
        "1.8.4",
        "mdtest-1.8.3",
    ),
    broken(
        "SRC-01",
        "the executed program is not the version that the RFP requires",
        printing("campaign bench 9", built_from=PRISTINE.hash),
        "1.8.4",
        "campaign bench 9",
    ),
    compliant("SRC-01", "the archive's hash and version", sourced()),
    compliant("SRC-01", "the tree's hash", sourced(sha256=PRISTINE.hash)),
    compliant("SRC-01", "the pack's hash and no other", pinned_by_pack("77" * 32, "12" * 32, sha256="")),
    unchecked("SRC-01", "nothing to compare", uncompared()),
    unchecked("SRC-01", "no hash", sourced(sha256="")),
    unchecked("SRC-01", "no version", sourced(version="")),
    broken(
        "SRC-02",
        "the submitted patch ours.patch does not give the built source; differing files: mdtest.c",
        sourced(tree("built", Makefile=b"all:\n\tmpicc mdtest.c\n", mdtest_c=TIMED), supplied=("ours.patch", PATCH)),
        f"the built tree {tree(Makefile=MADE.entries['Makefile'].data, mdtest_c=TIMED).hash}",
        "another",
    ),
    broken(
        "SRC-02",
        "the submitted patch ours.patch does not apply to the published source: "
        "patch failed: Makefile:1; Makefile: patch does not apply",
        sourced(MADE, supplied=("ours.patch", PATCH.replace(b" all:", b" alles:"))),
        f"the built tree {MADE.hash}",
        "another",
    ),
    broken(
        "SRC-02",
        "published source plus patch differs from the built source",
        unlike_its_patch(),
        PRISTINE.hash,
        "0" * 64,
    ),
    broken(
        "SRC-02",
        "the recorded changes contradict the hashes of the trees",
        without_changes(),
        "changes exactly if the hashes differ",
        "0 changed files",
    ),
    broken(
        "SRC-02",
        "modifications.patch differs from the patch that was compared",
        with_another_patch(),
        hashlib.sha256(b"").hexdigest(),
        "0" * 64,
    ),
    broken(
        "SRC-02",
        "the executed binary was built from another source",
        sourced(builds=(replace(BUILD, source_tree="77" * 32),)),
        "77" * 32,
        PRISTINE.hash,
    ),
    disclosed(
        "SRC-02",
        "compiled files that are missing from the published source were not compared",
        sourced(tree("built", mdtest_o=ELF)),
        "",
        "mdtest.o",
    ),
    compliant("SRC-02", "no modifications", sourced()),
    compliant(
        "SRC-02",
        "the recorded binary in the tree that it was built in",
        sourced(tree("built", mdtest=ELF), builds=(replace(BUILD, binary_sha256=hashlib.sha256(ELF).hexdigest()),)),
    ),
    compliant("SRC-02", "the patch is the difference", sourced(MADE, supplied=("ours.patch", PATCH))),
    compliant("SRC-02", "built from this tree", sourced(builds=(replace(BUILD, source_tree=PRISTINE.hash),))),
    unchecked("SRC-02", "nothing to compare", uncompared()),
    broken(
        "SRC-03",
        "mdtest.c:4: the change touches timing",
        sourced(tree("built", mdtest_c=TIMED)),
        "changes to building and running only",
        "a change to what is measured",
    ),
    broken(
        "SRC-03",
        "changes to files other than build, portability, documentation and data",
        sourced(tree("built", extra_c=b"int x;\n")),
        "changes to building and running only",
        "extra.c (code)",
    ),
    compliant("SRC-03", "no modifications", sourced()),
    source_change("build (1 file)", sourced(MADE)),
    source_change("portability (1 file)", sourced(tree("built", mdtest_c=b"#include <limits.h>\n" + CODE))),
    unchecked("SRC-03", "nothing to compare", uncompared()),
    *(
        compliant(rule, "the built-in benchmark, built from its published source", built())
        for rule in ("SRC-02", "SRC-03")
    ),
    unchecked("SRC-02", "the built-in benchmark, built from another source", built(tree="2" * 64)),
    unchecked("SRC-03", "the built-in benchmark of another version", built(source=None)),
    broken(
        "SRC-03",
        "mdtest.c:4: the change touches timing",
        in_category(sourced(tree("built", mdtest_c=TIMED)), changes=()),
        f"changes that the {NAMED} allows: none",
        "a change to what is measured",
    ),
    broken(
        "SRC-03",
        "changes to files other than build",
        in_category(sourced(tree("built", mdtest_c=b"#include <limits.h>\n" + CODE))),
        f"changes that the {NAMED} allows: build",
        "mdtest.c (preprocessor directives)",
    ),
    source_change(
        "measurement path (1 file), other (1 file)",
        in_category(sourced(tree("built", mdtest_c=TIMED, extra_c=b"int x;\n")), changes=tuple(ChangeClass)),
    ),
    broken(
        "SRC-07",
        f"build {BINARY[:12]} lacks a flag that is mandatory in the {NAMED}",
        in_category(sourced(), "-DX=1"),
        "-O2",
        "-DX=1",
    ),
    broken(
        "SRC-07",
        f"build {BINARY[:12]} has a flag that is forbidden in the {NAMED}",
        in_category(sourced(), "-O2 -Ofast"),
        "none of -Ofast",
        "-Ofast",
    ),
    broken(
        "SRC-07",
        f"build {BINARY[:12]} has a flag that the {NAMED} does not know",
        in_category(sourced(), "-O2 -funroll-loops"),
        "mandatory, portability or optimisation flags of the rules",
        "-funroll-loops",
        severity=Severity.WARNING,
    ),
    compliant("SRC-07", "flags of all classes", in_category(sourced())),
    compliant("SRC-07", "no categories", sourced()),
    compliant("SRC-07", "a category that leaves the flags open", in_category(sourced(), "-x", flags=BuildFlags())),
    compliant(
        "SRC-07",
        "forbidden flags of a build that did not run",
        replace(
            in_category(sourced()),
            sources=Sources(builds=(BUILD, replace(BUILD, binary_sha256=OTHER, flags="-Ofast"))),
        ),
    ),
    broken(
        "SRC-07",
        f"build {BINARY[:12]} has a flag that is forbidden in the {NAMED}",
        replace(in_category(sourced(), "-O2 -Ofast"), results=()),
        "none of -Ofast",
        "-Ofast",
    ),
    compliant(
        "SRC-07",
        "before a run, forbidden flags of a build that would not run",
        replace(
            in_category(sourced()),
            results=(),
            programs=(BINARY,),
            sources=Sources(builds=(BUILD, replace(BUILD, binary_sha256=OTHER, flags="-Ofast"))),
        ),
    ),
    unchecked("SRC-07", "flags that are not recorded", in_category(sourced(), "")),
    broken(
        "SRC-04",
        f"/opt/bench/mdtest differs from the latest attempt's ({NEWEST})",
        with_outputs(sourced(), first=True, binary_sha256=OTHER),
        BINARY,
        OTHER,
        FIRST,
    ),
    broken(
        "SRC-04",
        "the ranks ran different executables",
        with_outputs(sourced(), first=True, binary_agreed=False, warnings=(WARNING,)),
        "one",
        str(WARNING),
        FIRST,
    ),
    broken(
        "SRC-04",
        "/opt/bench/mdtest differs on n2",
        on_nodes(sourced(), {"executable.sha256": (BINARY, OTHER)}, binary_sha256=None, binary_agreed=None),
        BINARY,
        OTHER,
        FIRST,
    ),
    broken(
        "SRC-04",
        "/opt/bench/mdtest differs on n1, n2",
        on_nodes(sourced(), {"executable.sha256": (OTHER, OTHER)}),
        BINARY,
        OTHER,
        FIRST,
    ),
    broken(
        "SRC-04",
        "the executed binary is not from a recorded build",
        sourced(builds=(replace(BUILD, binary_sha256=OTHER),)),
        OTHER,
        BINARY,
    ),
    broken(
        "SRC-04",
        f"/opt/bench/ior differs from the latest attempt's ({NEWEST})",
        with_further_file("prefix.1.ior", "/opt/bench/ior", "/opt/bench/mdtest", "/opt/bench/ior"),
        BINARY,
        OTHER,
        FIRST,
    ),
    broken(
        "SRC-04",
        f"/opt/wrap.sh differs from the latest attempt's ({NEWEST})",
        with_further_file("prefix.1.wrap.sh", "/opt/wrap.sh"),
        BINARY,
        OTHER,
        FIRST,
    ),
    broken(
        "SRC-04",
        "/opt/wrap.sh differs on n2",
        with_further_file("prefix.1.wrap.sh", "/opt/wrap.sh", first=BINARY, second_node=OTHER),
        BINARY,
        OTHER,
        "scratch.single.unique.r1/1",
    ),
    unchecked(
        "SRC-04",
        "a second program that no node hashed",
        with_further_file("prefix.1.x", "/x", "/opt/bench/mdtest", "/opt/ior"),
    ),
    compliant(
        "SRC-04",
        "two programs, each the same in all attempts",
        with_further_file("prefix.1.ior", "/i", "/opt/mdtest", "/i", first=BINARY),
    ),
    compliant("SRC-04", "one binary, of the recorded build", sourced()),
    compliant(
        "SRC-04",
        "an external benchmark, as the nodes saw it",
        on_nodes(sourced(), {"executable.sha256": (BINARY, BINARY)}, binary_sha256=None, binary_agreed=None),
    ),
    compliant("SRC-04", "ranks that executed the declared program", watched(BINARY, BINARY)),
    of_buyer(
        disclosed(
            "SRC-04",
            "the benchmark was started through /w.sh",
            watched(
                f"{BASH} {BINARY}",
                BINARY,
                facts={"prefix.1.w.sh": f"/w.sh {'12' * 32}", "prefix.1.w.sh.interpreter": f"/bin/bash {BASH}"},
                prefix=("/w.sh",),
            ),
            "",
            f"/bin/bash {BASH}, /w.sh {'12' * 32}",
        )
    ),
    compliant(
        "SRC-04",
        "a benchmark that is a script, with its interpreter before it",
        watched(BASH, facts={"prefix.1.bash": f"/bin/bash {BASH}", "executable.interpreter": f"/bin/bash {BASH}"}),
    ),
    broken(
        "SRC-04",
        "ranks ran a program other than the declared one",
        watched(OTHER, OTHER, BINARY),
        f"/opt/bench/mdtest ({BINARY[:16]})",
        f"/opt/other ({OTHER[:16]}) in 2 ranks",
        FIRST,
    ),
    broken(
        "SRC-04",
        "ranks also ran programs that are not declared under launcher.prefix",
        watched(f"{BINARY} {OTHER}"),
        f"/opt/bench/mdtest ({BINARY[:16]})",
        f"/opt/other ({OTHER[:16]}) in 1 rank",
        FIRST,
    ),
    broken(
        "SRC-04",
        "benchmark.executable /opt/bench/mdtest is a script, which can start any other program",
        watched(BASH, facts={"executable.interpreter": f"/bin/bash {BASH}"}),
        "benchmark.executable names the program itself; a script around it, or a script's "
        "interpreter, is named under launcher.prefix",
        f"/bin/bash {BASH}",
        FIRST,
    ),
    compliant("SRC-04", "a program of the system that the pack lets the program start", starting("/usr/bin/other")),
    broken(
        "SRC-04",
        "ranks also ran programs that are not declared under launcher.prefix",
        starting("/tmp/usr/bin/other"),
        f"/opt/bench/mdtest ({BINARY[:16]})",
        f"/tmp/usr/bin/other ({OTHER[:16]}) in 1 rank",
        FIRST,
    ),
    broken(
        "SRC-04",
        "ranks ran a program other than the declared one",
        in_image(BINARY, OTHER, inside=BINARY, node=OTHER),
        f"/opt/bench/mdtest ({BINARY[:16]})",
        f"/opt/other ({OTHER[:16]}) in 1 rank",
        FIRST,
    ),
    of_buyer(
        disclosed(
            "SRC-04",
            "the programs are those of the container image /site/i.sif",
            in_image(BINARY, inside=BINARY, node=OTHER),
            "",
            "12" * 32,
        )
    ),
    unchecked("SRC-04", "an image that no node could hash", in_image(BINARY, inside=BINARY, image_sha256="")),
    unchecked("SRC-04", "ranks that were not seen in their image", in_image(BINARY, inside="", node="")),
    unchecked("SRC-04", "ranks that ended before they were seen", watched(BINARY, "")),
    unchecked("SRC-04", "an output that does not say", with_outputs(sourced(), first=True, binary_sha256=None)),
    unchecked("SRC-04", "no record of a build", sourced(builds=())),
    unchecked("SRC-04", "nothing has run", replace(sourced(), results=())),
    broken(
        "SRC-05",
        "build record lacks compiler, libraries",
        sourced(builds=(Build(BINARY, flags="-O2"),)),
        "compiler, flags and libraries",
        "only flags",
    ),
    broken("SRC-05", "build record missing", sourced(builds=()), f"the build of {BINARY}", "none"),
    broken(
        "SRC-05",
        "build record missing",
        with_further_file("prefix.0.sha256", "/opt/ior", "/opt/bench/mdtest", "/opt/ior", first=OTHER),
        f"the build of {OTHER}",
        "none",
    ),
    of_buyer(loads("LD_PRELOAD", on_nodes(sourced(), {"env.LD_PRELOAD": ("", "/opt/fast.so")}))),
    of_buyer(loads("/etc/ld.so.preload", on_nodes(sourced(), {"ld.so.preload": ("/opt/fast.so", "/opt/fast.so")}))),
    of_buyer(
        loads("LD_PRELOAD", preloaded(), first="every attempt"),
        explanation="named in the campaign file (slurm.environment)",
    ),
    of_buyer(
        loads(
            "LD_PRELOAD",
            on_nodes(described("profiler /opt/fast.so in each job"), {"env.LD_PRELOAD": ("", "/opt/fast.so")}),
        ),
        explanation="named in the campaign file (system, software)",
    ),
    compliant("SRC-05", "all of it", sourced()),
    compliant(
        "SRC-05",
        "the libraries as the nodes loaded them",
        on_nodes(
            sourced(builds=(replace(BUILD, libraries=()),)), {"library.libmpi.so.40": ("/lib/libmpi.so.40 12",) * 2}
        ),
    ),
    unchecked("SRC-05", "nothing has run", replace(sourced(), results=())),
]
