"""Which code ranks had in their memory besides the benchmark, and where it is from (SRC-04, SRC-05). Pure.

A file's name proves nothing. Known is what a package of the nodes contains, by its SHA-256. The C library is the
package of the program's loader; MPI is what the program is linked with, as the job's nodes found it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from campaign.core.findings import Finding
from campaign.core.grouping import grouped
from campaign.core.records import RankGroup
from campaign.core.units import listing, plural
from campaign.judge.attestation import added_variables, attestations
from campaign.judge.findings import MOST_LISTED, hashed_listing, left_to_buyer, lifted_by_buyer, unchecked, violation
from campaign.judge.submission import Submission
from campaign.results.case import Case

PRELOADS = ("LD_PRELOAD", "LD_AUDIT")
LOADER = "executable.loader"  # a fact of each node: "PATH SHA-256"
_KERNEL = "[vdso]"


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """`replaced`: functions that measure, which it provides in the place of the C library or MPI; `is_certain` if ranks
    called them there.
    """

    path: str
    sha256: str  # "" if it could not be read
    replaced: tuple[str, ...]
    is_certain: bool
    is_packaged: bool

    def __str__(self) -> str:
        return f"{self.path} (SHA-256 {self.sha256 or 'unknown'})"

    def merged_with(self, copies: Sequence[LoadedFile]) -> LoadedFile:
        """The same file as several ranks, or ranks and nodes, saw it."""
        functions = {function for file in copies for function in file.replaced}
        return replace(self, replaced=tuple(sorted(functions)), is_certain=any(file.is_certain for file in copies))

    def is_named_by(self, value: str) -> bool:
        """Whether it may be one of the libraries in the value of LD_PRELOAD, which are often links to others."""
        return any(map(self.may_be, value.replace(":", " ").split()))

    def may_be(self, library: str) -> bool:
        name = re.escape(PurePosixPath(library).name)
        return re.fullmatch(rf"{name}(\.\d+)*", PurePosixPath(self.path).name) is not None


def preloaded_libraries(case: Case) -> Iterator[tuple[str, str]]:
    """Variables, and the file of a node, by which libraries were loaded before a program's own, with their values."""
    environment, seen = case.evidence.environment, case.evidence.witness.preloads
    for name in PRELOADS:
        values = (environment.variables.get(name, ""), *environment.values(f"env.{name}"), *seen.get(name, ()))
        yield from ((name, value) for value in values)
    for group in (group for _, attestation in attestations(case) for group in attestation.groups):
        yield from ((name, group.variables[name]) for name in PRELOADS if name in group.variables)
    yield from (("/etc/ld.so.preload", value) for value in environment.values("ld.so.preload"))


def unknown_files(case: Case, has_preloads: bool) -> Iterator[LoadedFile]:
    """The files with code that ranks of an attempt loaded, as they or the nodes saw it, but for its programs and what
    packages contain; of these what replaces functions, and all where some were preloaded.
    """
    witness = case.evidence.witness
    packages = case.evidence.packages
    owners = {packages.get(digest) for digest in _hashes(case, LOADER)} - {None}
    of_c_library = {digest for digest, package in packages.items() if package in owners}
    linked = {digest for name in case.evidence.environment.fact_names("library.") for digest in _hashes(case, name)}
    programs = {program.sha256 for program in case.programs} - {""} | witness.programs.keys()

    def is_known(digest: str, replaced: Collection[str]) -> bool:
        return digest in packages and not (replaced or has_preloads)

    for phase, attestation in attestations(case):
        program_hashes = programs | {phase.observation.binary_sha256}
        for group in attestation.groups:
            functions = grouped((path, function) for function, path in group.functions.items() if path != _KERNEL)
            # Looked up with other variables than the ranks had, its libraries may be others.
            of_program = set() if added_variables(phase, group) else linked
            for path, digest in {**dict.fromkeys(functions, ""), **attestation.loaded_later, **group.objects}.items():
                replaced = _outside(functions.get(path, ()), digest, of_c_library or of_program, of_program)
                if digest not in program_hashes and not is_known(digest, replaced):
                    name = path or "memory without a file"
                    yield LoadedFile(name, digest, tuple(replaced), True, digest in packages)
    for text in (text for texts in witness.libraries.values() for text in texts):
        path, _, word = text.rpartition(" ")
        digest = word if re.fullmatch("[0-9a-f]{64}", word) else ""
        functions_text = witness.defined.get(digest, "")
        replaced = _outside(functions_text.split(", "), digest, of_c_library or linked, packages.keys() | linked)
        if digest not in programs and not is_known(digest, replaced):
            yield LoadedFile(path if digest else text, digest, tuple(replaced), False, digest in packages)


def _outside(functions: Iterable[str], digest: str, of_c_library: Iterable[str], of_mpi: Iterable[str]) -> list[str]:
    """The functions that are in a file with this hash and neither in the C library nor in MPI, as far as these are
    known.
    """
    return [
        function
        for function in sorted(filter(None, functions))
        for hashes in [of_mpi if function.startswith("MPI_") else of_c_library]
        if hashes and digest not in hashes
    ]


def _hashes(case: Case, fact: str) -> list[str]:
    return [text.rpartition(" ")[2] for text in case.evidence.environment.values(fact)]


def check_loaded_code(case: Case) -> Iterator[Finding]:
    """SRC-04: all ranks have loaded the same code, as the job's nodes found it for the program."""
    for phase, attestation in attestations(case):
        for group in attestation.groups[1:]:
            first = attestation.groups[0].objects
            other_files = [
                path for path, digest in group.objects.items() if digest and first.get(path, digest) != digest
            ]
            if other_files:
                yield violation(
                    "the ranks loaded different code: {files}",
                    _rank_text(attestation.groups[0]),
                    _rank_text(group),
                    files=listing(other_files),
                )
        for group in attestation.groups[:1]:
            yield from _check_libraries(phase, group)


def _rank_text(group: RankGroup) -> str:
    return f"as on rank {group.first_rank} ({group.first_node})"


def _check_libraries(case: Case, group: RankGroup) -> Iterator[Finding]:
    """Each library of the program was loaded, with the content that the job hashed on that node."""
    environment = case.evidence.environment
    loaded_hashes = set(group.objects.values())
    if "" in loaded_hashes or not group.objects or case.run.launcher.image:
        return  # a file that could not be read; an image has libraries of its own, which the nodes do not see
    other_libraries = []
    for name in environment.fact_names("library."):
        path, _, digest = environment.by_node(name).get(group.first_node, "").rpartition(" ")
        if re.fullmatch(r"[0-9a-f]{64}", digest) and digest not in loaded_hashes:
            other_libraries.append(path)
    if other_libraries and (names := added_variables(case, group)):
        # Their paths were looked up with the variables of the job.
        yield unchecked(
            "the ranks loaded libraries that the job looked up with another {names}",
            listing(other_libraries),
            "not loaded, or with other content",
            names=listing(names),
        )
    elif other_libraries:
        yield lifted_by_buyer(
            "the ranks loaded libraries that differ from those which the job recorded for the program",
            listing(other_libraries),
            "not loaded, or with other content",
        )


def check_loaded_files(submission: Submission, finished: Sequence[Case]) -> Iterator[Finding]:
    """SRC-05: libraries that were preloaded, that replace functions that measure, or that are of no package."""
    preloads = _first_preloads(submission, finished)
    first_subjects: dict[LoadedFile, str] = {}
    for case in finished:
        for file in unknown_files(case, bool(preloads)):
            first_subjects.setdefault(file, case.subject)
    subjects = {
        copies[0].merged_with(copies): first_subjects[copies[0]]
        for copies in grouped(((file.path, file.sha256), file) for file in first_subjects).values()
    }
    for (name, value), subject in preloads.items():
        yield _preload_finding(submission, name, value, [file for file in subjects if file.is_named_by(value)], subject)
    further = [file for file in subjects if not any(file.is_named_by(value) for _, value in preloads)]
    for file in (file for file in further if file.replaced):
        yield _replacing_finding(submission, file, subjects[file])
    unknown = [file for file in further if not (file.replaced or file.is_packaged)]
    if unknown:
        yield _unknown_finding({str(file): file.path.rpartition("/")[0] for file in unknown})


def _unknown_finding(directories: Mapping[str, str]) -> Finding:
    """`directories`: that of each file, by the file with its hash."""
    places = Counter(directories.values())
    return left_to_buyer(
        "{count} with code that ranks loaded in no package of the nodes: {directories}",
        "files of the system's packages, or files that the buyer accepts",
        hashed_listing(sorted(directories, key=lambda file: (places[directories[file]], file))),
        count=plural(len(directories), "file"),
        directories=listing((f"{place} ({number})" for place, number in places.most_common()), MOST_LISTED),
    )


def _first_preloads(submission: Submission, finished: Iterable[Case]) -> dict[tuple[str, str], str]:
    """Variables by which libraries are preloaded, with their values, each with the first attempt that has it."""
    subjects = grouped((loaded, case.subject) for case in finished for loaded in preloaded_libraries(case))
    disclosed = [pair for pair in submission.campaign.slurm.environment if pair[0] in PRELOADS]
    first = {loaded: subject for loaded, (subject, *_) in subjects.items()} | dict.fromkeys(disclosed, "every attempt")
    return {loaded: subject for loaded, subject in first.items() if loaded[1].strip()}


def _preload_finding(
    submission: Submission, name: str, value: str, files: Sequence[LoadedFile], subject: str
) -> Finding:
    """What the campaign file says of a preloaded library is the vendor's explanation."""
    functions = dict.fromkeys(function for file in files for function in file.replaced)
    words = value.replace(":", " ").split()
    unseen = [word for word in words if not any(file.may_be(word) for file in files)]
    finding = lifted_by_buyer(
        "{name} loads {library} into the benchmark"
        + (", which replaces {functions}" if functions else "")
        + " (first in {attempt})",
        "no library, or one that the buyer accepts",
        listing(map(str, files), len(files)) or value,
        name=name,
        library=" ".join([*(file.path for file in files), *unseen]),
        functions=listing(functions),
        attempt=subject,
        sha256=" ".join(file.sha256 for file in files),
    )
    return replace(finding, explained=_disclosure(submission, value, name))


def _replacing_finding(submission: Submission, file: LoadedFile, subject: str) -> Finding:
    form, wording = lifted_by_buyer, "{library} is loaded before the C library or MPI and replaces {functions}"
    if not file.is_certain:
        form, wording = left_to_buyer, "{library} is loaded into the ranks, and has {functions} as the C library does"
    finding = form(
        wording + " (first in {attempt})",
        "the functions of the C library and MPI themselves, or of a library that the buyer accepts",
        file,
        library=file.path,
        functions=listing(file.replaced),
        attempt=subject,
        sha256=file.sha256,
    )
    return replace(finding, explained=_disclosure(submission, file.path)) if file.is_certain else finding


def _disclosure(submission: Submission, library: str, variable: str = "") -> str:
    """Where the campaign file names a library; "" if it does not."""
    environment = submission.campaign.slurm.environment
    in_environment = any(library in text for name, text in environment if variable in ("", name))
    system_keys = [name for name, text in submission.campaign.system if library in text]
    places = [*["slurm.environment"] * in_environment, *(f"system, {name}" for name in system_keys)]
    return f"named in the campaign file ({listing(places)})" if places else ""
