"""The evidence of a campaign as a bundle: a BagIt bag with an RO-Crate, for somebody who does not trust the vendor.

    bagit.txt  bag-info.txt  manifest-sha256.txt  tagmanifest-sha256.txt  [tagmanifest-sha256.txt.sig]
    data/campaign.yaml  data/names.json  data/rules/<id>.yaml
    data/results/...                        plan, journal, sources, and the folders of the attempts that count
    data/files/...                          what the campaign file names: logs of projections, signatures, template,
                                            small input files
    data/index.json                         every attempt, with what is in the bundle and what is not
    data/provenance/...  data/source/...    in-toto statements of builds and tables; the benchmark's source
    data/tables/...  data/findings.*  data/verdict.json      as they follow from the evidence
    data/ro-crate-metadata.json

That of an RFP has the RFP, `data/response.json`, which follows from the parts, and such a bundle of each part in
`data/parts/<part>/`.

It contains all attempts that the tables and the searches use; of the others only that they exist, and the hashes of
their files.
"""

from __future__ import annotations

import errno
import glob
import os
import shutil
import stat
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from campaign import __version__
from campaign.config import resolution
from campaign.config import rfp as rfps
from campaign.config.definition import Definition, digest_of_input, open_campaign
from campaign.config.format import Campaign
from campaign.core import bagit, events, outputs, signatures, untrusted
from campaign.core.atomic import locked
from campaign.core.errors import InputError, convert_full_disk, typed_path, write_error
from campaign.core.paths import RESPONSE, RFP, Paths, bundle_of_part
from campaign.core.runs import Attempt, Run, State
from campaign.core.units import plural
from campaign.core.workers import results_in_order
from campaign.evidence import provenance, replay
from campaign.judge.submission import Submission
from campaign.pipeline import campaign_state, planning
from campaign.report import scores
from campaign.results.store import is_begun

LARGEST_INPUT = 1 << 20  # bytes of an input file that is copied; of a larger one there are its hashes
NAMESPACE = "campaign-bundle"  # of ssh-keygen -Y
ALWAYS_INCLUDED = (
    "attempt.json",
    "facts.jsonl",
)  # of an attempt that does not count too: that it was, and how it ended
NOT_MEASURED = (State.SUPERSEDED, State.REFUSED)
# The parts of the results that are evidence.
RESULTS = ("journal.jsonl", "plan.json", "source", "timestamps", "jobs", "runs")
OTHER_ARCHIVES = (".7z", ".bz2", ".gz", ".lzma", ".rar", ".tar", ".tbz", ".tgz", ".txz", ".xz", ".zst")


@dataclass(frozen=True, slots=True)
class PartRecord:
    """What is on record of a part, with the values of its variables and paths on this machine."""

    definition: Definition
    names: resolution.Names
    plan: planning.Plan
    attempts: Sequence[Attempt]


@dataclass(frozen=True, slots=True)
class WrittenPart:
    """How many attempts of a part are in the bundle and not; the campaign as judged from it."""

    attempts: int
    left_out: int
    evaluation: replay.Evaluation


def open_part_record(file: Path, say: campaign_state.Say, part: str = "") -> PartRecord:
    """What is on record of a part, as it is now planned. Raises InputError if attempts have not ended."""
    with resolution.use_names(resolution.Names()) as names:
        definition = open_campaign(file, part)
        planning.benchmark_directory(definition, planning.read_earlier_plan(definition))
    plan, attempts = campaign_state.recorded_plan(definition, say)
    _check_ended(definition, attempts)
    planning.write_plan(definition, plan)
    return PartRecord(definition, names, plan, attempts)


def write(
    parts: Mapping[str, PartRecord], out: Path, key: Path | None, force: bool = False, rfp: rfps.Rfp | None = None
) -> tuple[int, dict[str, WrittenPart]]:
    """Write the bundle of what is on record to a new directory, .zip or .tar.gz, signed if an SSH key is given. The
    copy in the bundle is judged. `rfp`: that it answers. Gives the number of its files, and its parts. Raises
    InputError if `out` already exists (with `force`: as a directory); NoRoom if the disk is full.
    """
    check_place(out, force)
    with staging_directory(out) as directory:
        root = directory / "bag"
        written_parts = {part: _write_part(record, bundle_of_part(root, part), key) for part, record in parts.items()}
        if rfp:
            _write_response(rfp, root, written_parts, key)
        files = sum(len(names) for _, _, names in os.walk(root))
        _move(root, out, force)
    return files, written_parts


def _write_part(record: PartRecord, root: Path, key: Path | None) -> WrittenPart:
    """Write a part's evidence, with what follows from it, as a bag."""
    definition, plan, attempts = record.definition, record.plan, record.attempts
    counted_keys = counted_attempts(plan.all_runs, attempts)
    data = root / "data"
    data.mkdir(parents=True)
    files_to_copy = (*_named_files(definition.campaign), *_copied_inputs(plan))
    _copy_evidence(definition, record.names, files_to_copy, attempts, counted_keys, data)
    index = _make_index(definition.paths, attempts, counted_keys)
    _write(data / "index.json", replay.as_json(index))
    evaluation = replay.reevaluate(data)
    for name, text in evaluation.files.items():
        _write(data / name, text)
    if source := provenance.source_archive(evaluation):
        (data / provenance.SOURCE).parent.mkdir()
        (data / provenance.SOURCE).write_bytes(source)
    for name, text in provenance.statements(data, evaluation, f"campaign {__version__}").items():
        _write(data / name, text)
    date = _today()
    _write(data / provenance.CRATE, provenance.crate(evaluation, data, date))
    _close(root, _bag_info(evaluation, date), key)
    included = sum(attempt["included"] for attempt in index["attempts"])
    return WrittenPart(included, len(index["attempts"]) - included, evaluation)


def _write_response(rfp: rfps.Rfp, root: Path, parts: Mapping[str, WrittenPart], key: Path | None) -> None:
    """Add the RFP to the bundles of its parts, and what follows from them, and make one bag of all."""
    (root / RFP).write_bytes(rfp.path.read_bytes())
    submissions = {part: part_bundle.evaluation.submission for part, part_bundle in parts.items()}
    heads = {part: part_bundle.evaluation.head for part, part_bundle in parts.items()}
    _write(root / RESPONSE, replay.as_json(response_document(rfp, submissions, heads)))
    info = {
        "External-Description": f"Answer to {rfp.title} in {len(parts)} parts",
        "Bagging-Date": _today(),
        "Bag-Software-Agent": f"campaign {__version__}",
    }
    _close(root, info, key)


def response_document(rfp: rfps.Rfp, submissions: Mapping[str, Submission], heads: Mapping[str, str]) -> dict[str, Any]:
    """The content of response.json: what follows from the parts. `heads`: of their journals."""
    return {
        "format": 1,
        "rfp": {"id": rfp.id, "version": rfp.version, "sha256": rfp.digest},
        "parts": {
            part: {"rules": submission.pack.id, "version": submission.pack.version, "head": heads[part]}
            for part, submission in submissions.items()
        },
        "scores": list(map(asdict, scores.compute_scores(rfp, scores.part_figures(rfp, submissions)))),
    }


def _today() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d}"


def _close(root: Path, info: Mapping[str, str], key: Path | None) -> None:
    """Make a bag of a directory, described by `info`, signed if a key is given."""
    bagit.finish(root, info)
    if key:
        signatures.sign(root / bagit.TAG_MANIFEST, key, NAMESPACE)


def _move(root: Path, out: Path, force: bool) -> None:
    """Move a bag to its place."""
    check_place(out, force)
    if bagit.is_archive(out):
        packed = root.parent / out.name
        bagit.pack(root, packed)
        target = out.resolve()  # the file behind a link is replaced, not the link
        if target.exists():
            packed.chmod(target.stat().st_mode & 0o777)
        packed.rename(target)
    else:
        for directory, _, names in os.walk(root):
            Path(directory).chmod(0o755)
            for name in names:
                Path(directory, name).chmod(0o644)
        root.rename(out)


def check_place(out: Path, force: bool) -> None:
    """Raises InputError if no bundle can be written there. Only an archive replaces a file."""
    if bagit.is_archive(out):
        outputs.check(out, force)
        if out.exists() and not out.is_file():  # a link to a device, which would be replaced
            raise InputError(f"{out}: is not a file; name a new .zip or .tar.gz")
    elif out.exists() or out.is_symlink():
        raise InputError(f"{out}: already exists; name a new directory, .zip or .tar.gz")
    if out.suffix.lower() in OTHER_ARCHIVES and not bagit.is_archive(out):
        raise InputError(f"{out}: unknown kind of archive; allowed: a directory, .zip or .tar.gz")


@contextmanager
def staging_directory(out: Path) -> Iterator[Path]:
    """A temporary directory in which the bundle is made before it is moved to its place."""
    parent, prefix = out.resolve().parent, f".{out.name}.campaign-"
    try:
        parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(parent, prefix)
        place = tempfile.TemporaryDirectory(prefix=prefix, dir=parent)
    except OSError as error:
        raise write_error(error, f"{out}: cannot be written: {error.strerror}") from error
    with convert_full_disk(f"{out}: cannot be written: {os.strerror(errno.ENOSPC)}"), place, locked(place.name):
        yield Path(place.name)


def _remove_abandoned(parent: Path, prefix: str) -> None:
    """What processes of this user that were killed left there; others may have created the same names."""
    for path in parent.glob(f"{glob.escape(prefix)}*"):
        status = path.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            continue
        with locked(path) as lock_problem:
            if lock_problem is None:
                shutil.rmtree(path)


def _check_ended(definition: Definition, attempts: Sequence[Attempt]) -> None:
    if not is_begun(definition.paths):
        raise InputError(
            f"nothing to bundle: campaign {definition.campaign.name} has not been run; start with 'campaign run "
            f"{typed_path(definition.campaign.path, definition.campaign.part)}'"
        )
    if active := [attempt for attempt in attempts if attempt.state.active]:
        raise InputError(
            f"{plural(len(active), 'attempt')} not ended (first: {active[0].run}); wait with 'campaign run "
            f"{typed_path(definition.campaign.path, definition.campaign.part)}' or stop with "
            f"'campaign cancel {typed_path(definition.campaign.path, definition.campaign.part)}'"
        )


def counted_attempts(runs: Iterable[Run], attempts: Iterable[Attempt]) -> set[tuple[str, int]]:
    """The attempts that the tables and the searches use: those of the runs as they are defined now."""
    fingerprints = {run.id: run.fingerprint for run in runs}
    return {
        (attempt.run, attempt.number)
        for attempt in attempts
        if fingerprints.get(attempt.run) == attempt.fingerprint and attempt.state not in NOT_MEASURED
    }


def _copy_evidence(
    definition: Definition,
    names: resolution.Names,
    files_to_copy: Sequence[Path],
    attempts: Sequence[Attempt],
    counted_keys: set[tuple[str, int]],
    data: Path,
) -> None:
    campaign, pack, paths = definition.campaign, definition.pack, definition.paths
    assert pack.path is not None, "a pack that was read has its path"
    _copy(campaign.path, data / "campaign.yaml")
    for file in (pack.path, *pack.bases):
        _copy(file, data / "rules" / file.name)
    copies = {str(path): f"files/{number}-{path.name}" for number, path in enumerate(files_to_copy, 1)}
    for path, name in copies.items():
        _copy(Path(path), data / name)
    _write(data / "names.json", replay.names_as_json(names, campaign, pack.path, copies))
    jobs = {attempt.job for attempt in attempts if (attempt.run, attempt.number) in counted_keys}
    included_names = [name for name, _ in bagit.files(paths.root) if _is_included(name, counted_keys, jobs)]

    def copy(name: str) -> None:
        _copy(paths.root / name, data / "results" / name)

    list(results_in_order(copy, included_names, str, "copying files"))


def _is_included(name: str, counted_keys: set[tuple[str, int]], jobs: set[str]) -> bool:
    """Whether a file of the results is part of the bundle."""
    top, *parts = name.split("/")
    if top == "runs" and len(parts) > 2:
        run, number, *file = parts
        is_counted = (run, int(number) if number.isdigit() else 0) in counted_keys
        return is_counted or "/".join(file) in ALWAYS_INCLUDED
    return is_evidence(top) and (top != "jobs" or parts[0] in jobs)


def is_evidence(top: str) -> bool:
    """Whether a file with this name in the results is part of a bundle."""
    return top in RESULTS or bool(events.DAMAGED.fullmatch(top))


def _named_files(campaign: Campaign) -> Iterator[Path]:
    """Files outside of the results that the tables refer to."""
    paths = [log for projection in campaign.projections for log in projection.logs]
    paths += [counter.log for counter in campaign.server_counters if counter.log]
    paths += [waiver.signature for waiver in campaign.waivers if waiver.signature]
    paths += [path for path in (campaign.allowed_signers, campaign.slurm.template, campaign.rfp) if path]
    yield from dict.fromkeys(path for path in paths if path.is_file())


def _copied_inputs(plan: planning.Plan) -> Iterator[Path]:
    """The input files to copy. Raises InputError if one is no longer what was planned."""
    for file in plan.inputs:
        path = Path(file.path)
        if digest_of_input(file.path) not in ("", file.sha256):
            raise InputError(
                f"{path}: differs from the file of {file.by}, whose SHA-256 is {file.sha256}; restore it, or move it "
                "away, so that the bundle has only its hashes"
            )
        if path.is_file() and path.stat().st_size <= LARGEST_INPUT:
            yield path


def _copy(source: Path, target: Path) -> None:
    if (size := source.stat().st_size) > bagit.LARGEST_FILE:
        raise InputError(f"{source}: {size} bytes; allowed in a bundle: files up to {bagit.LARGEST_FILE} bytes")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


# --- its index and metadata


def _make_index(paths: Paths, attempts: Sequence[Attempt], counted_keys: set[tuple[str, int]]) -> dict[str, Any]:
    """Every recorded attempt; for those that are not in the bundle, the files that there were."""
    entries = []
    for attempt in attempts:
        entry = index_entry(attempt, counted_keys)
        if not entry["included"]:
            is_measured = attempt.state not in NOT_MEASURED
            entry["why"] = (
                "measured with other settings than the tables show" if is_measured else "nothing was measured"
            )
            folder = paths.attempt(attempt.run, attempt.number)
            files = bagit.files(folder) if folder.is_dir() else ()
            entry["files"] = {
                name: {"size": file.stat().st_size, "sha256": untrusted.digest(Path(file.path))} for name, file in files
            }
        entries.append(entry)
    return {"format": 1, "counts": state_counts(attempts), "attempts": entries}


def state_counts(attempts: Sequence[Attempt]) -> dict[str, int]:
    """The number of attempts by their state at the end."""
    return dict(Counter(attempt.state for attempt in attempts))


def index_entry(attempt: Attempt, counted_keys: set[tuple[str, int]]) -> dict[str, Any]:
    """An attempt's entry in the index; if it is not in the bundle, with the reason and the files that it had."""
    return {
        "run": attempt.run,
        "attempt": attempt.number,
        "state": attempt.state,
        "reason": attempt.reason,
        "job_id": attempt.job_id,
        "included": (attempt.run, attempt.number) in counted_keys,
    }


def _bag_info(evaluation: replay.Evaluation, date: str) -> dict[str, str]:
    campaign, pack = evaluation.submission.campaign, evaluation.submission.pack
    contact = dict(campaign.contact)
    keys = {"Source-Organization": "organisation", "Contact-Name": "name", "Contact-Email": "email"}
    return {
        **{key: text for key, name in keys.items() if (text := contact.get(name, ""))},
        "External-Description": f"Evidence of the campaign {campaign.name}: {pack.title}",
        "Bagging-Date": date,
        "Bag-Software-Agent": f"campaign {__version__}",
        "Journal-Head": evaluation.head or "none",
    }
