"""Reads offers from a campaign file, its results, a bundle, or a table as JSON, CSV or XLSX.

Everything except one's own campaign may come from an untrusted source: sizes are limited, links are not followed,
nothing is unpacked to disk. From a bundle only the tables are read and compared with the manifest, so that a thousand
take seconds; `bagit` reads a whole bundle, for `verify`.
"""

from __future__ import annotations

import hashlib
import re
import stat
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from campaign.config import response
from campaign.config import rfp as rfps
from campaign.config.definition import open_campaign
from campaign.config.forms import FormMapping
from campaign.config.rules.pack import RulePack
from campaign.core import archives, temporary, untrusted
from campaign.core.bagit import MANIFEST
from campaign.core.errors import InputError
from campaign.core.paths import PARTS, RFP, bundle_of_part, parts_of_bundle
from campaign.core.strict_yaml import has_key
from campaign.report.compare.offers import Offer, parse_offer
from campaign.report.foreign import form_file, table_file

ARCHIVES = (".zip", ".tar.gz", ".tgz")  # of bundles
MAX_BYTES = 64 * 1024 * 1024  # of a table or a manifest
MAX_MEMBERS = 1_000_000  # of an archive
MAX_UNPACKED_BYTES = 16 * 1024**3  # read from a compressed archive until its table is found
MAX_BUNDLE_FILES = 200  # that are read from one archive

_COUNTS = ("processes", "nodes", "files_total")
_OPTIONAL = ("status", "unit", "best", "true_value", *_COUNTS)  # columns

TABLE = "data/tables/table.json"
ALLOWED = (
    "a campaign file (.yaml), its results directory, a bundle (directory, .zip, .tar.gz), or a table (.json, .csv, "
    ".xlsx) as 'campaign table' writes it"
)


_TABLE = "a table; its values are not verified"
# What is read of a bundle, at an archive's top or in its only top folder.
_BUNDLE_FILE = re.compile(rf"(?:[^/]+/)?((?:{PARTS}/[^/]+/)?(?:{re.escape(TABLE)}|{re.escape(MANIFEST)})|{RFP})")

Form = tuple[FormMapping, Mapping[str, RulePack]]
PartsOfOffer = tuple[rfps.Rfp | None, Mapping[str, Offer]]  # the RFP that an offer answers, and its parts


def load_offer(path: Path, form: Form | None = None) -> PartsOfOffer:
    """Read one offer; of a single rule pack, its only part is "". Raises InputError with the file and the place in
    it.
    """
    try:
        if path.is_dir():
            return _offer_of_directory(path)
        if not stat.S_ISREG(path.stat().st_mode):
            raise InputError(f"{path}: not a regular file; give {ALLOWED}")
        if path.suffix in (".yaml", ".yml"):
            return _offer_of_campaign(path)
        if path.name.endswith(ARCHIVES):
            return _offer_of_bundle(path, _from_archive(path))
        if path.suffix.lower() in table_file.SUFFIXES or (form and path.suffix != ".json"):
            return None, {"": _offer_of_table(path, form)}
        return None, {"": replace(parse_offer(str(path), _parse_json(path)), remark=_TABLE)}
    except FileNotFoundError as error:
        raise InputError(f"{error.filename or path}: not found; give {ALLOWED}") from error
    except OSError as error:
        raise InputError(f"{error.filename or path}: {error.strerror or error}; give {ALLOWED}") from error


def _offer_of_campaign(path: Path) -> PartsOfOffer:
    from campaign.pipeline import campaign_state

    response_file = response.read(path) if has_key(path, "parts") else None
    parts = [part.id for part in response_file.parts] if response_file else [""]
    submissions = {part: campaign_state.recorded_submission(open_campaign(path, part)) for part in parts}
    return response_file.rfp if response_file else None, {
        part: parse_offer(str(path), [row.as_json() for row in submission.rows])
        for part, submission in submissions.items()
    }


def _offer_of_table(path: Path, form: Form | None) -> Offer:
    """A table as text, or a filled form, converted to the rows of its JSON form."""
    rows = form_file.form_rows(path, *form) if form else table_file.read_table(path)
    remark = (
        _TABLE
        if all(row.fields.get("best") for row in rows)
        else "a table; its values are not verified; it has no column best, so the highest value is taken as the best"
    )
    offer = parse_offer(str(path), [_json_row(row.fields) for row in rows], [row.where for row in rows])
    return replace(offer, remark=remark)


def _json_row(fields: Mapping[str, Any]) -> dict[str, Any]:
    """A row of CSV or XLSX in the form of JSON; text in place of a number is kept, to be reported."""
    texts = {name: value for name, value in fields.items() if value not in (None, "")}
    row: dict[str, Any] = {name: texts.get(name) for name in (*table_file.NEEDED, *_OPTIONAL)}
    row["value"], row["true_value"] = table_file.parse_number(row["value"]), table_file.parse_number(row["true_value"])
    row |= {name: _parse_count(row[name]) for name in _COUNTS}
    row["status"] = row["status"] or ("missing" if row["value"] is None else "measured")
    row["best"], row["unit"] = row["best"] or "highest", row["unit"] or "not given"
    if values := [table_file.parse_number(word) for word in str(texts.get("values", "")).split()]:
        started = [table_file.parse_number(word) for word in str(texts.get("started", "")).split()]
        row["statistics"] = {
            "n": len(values),
            "values": values,
            "jobs": _parse_count(texts.get("jobs")),
            "started": started,
        }
    return row


def _parse_count(text: Any) -> Any:
    value = table_file.parse_number(text)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _offer_of_directory(path: Path) -> PartsOfOffer:
    if (path / "bagit.txt").exists():
        bundles = [bundle_of_part(path, part) for part in ("", *parts_of_bundle(path))]
        files = [bundle / name for bundle in bundles for name in (MANIFEST, TABLE)] + [path / RFP]
        for place in (place for file in files for place in (file, *file.parents) if path in place.parents):
            if place.is_symlink():
                raise InputError(
                    f"{place}: symbolic links are not allowed in a bundle; 'campaign verify' shows what else is wrong"
                )
        existing_files = {str(file.relative_to(path)): file for file in files if file.exists()}
        contents = {name: untrusted.content(file, MAX_BYTES) for name, file in existing_files.items()}
        return _offer_of_bundle(path, contents)
    plan = path / "plan.json"
    if not plan.is_file():
        raise InputError(
            f"{path}: neither a bundle (bagit.txt missing) nor results (plan.json missing); give {ALLOWED}"
        )
    stored = _parse_json(plan)
    file = stored.get("file") if isinstance(stored, dict) else None
    if not isinstance(file, str) or not Path(file).is_file():
        raise InputError(
            f"{path}: its campaign file {file!r:.200} no longer exists; give the campaign file, a bundle, or a table"
        )
    results = open_campaign(Path(file)).paths.root
    if results.resolve() != path.resolve():
        raise InputError(
            f"{path}: its campaign file {file} now has its results in {results}; give the campaign file of these "
            "results"
        )
    rfp, parts = _offer_of_campaign(Path(file))
    return rfp, {part: replace(offer, source=str(path)) for part, offer in parts.items()}


# --- bundles


def _offer_of_bundle(path: Path, files: Mapping[str, bytes]) -> PartsOfOffer:
    """The offer of a bundle's tables, each of which must be the one that its manifest lists."""
    names = [place.split("/")[2] for place in files if place.startswith(f"{PARTS}/") and place.endswith(f"/{TABLE}")]
    offers = {}
    for part in names or [""]:
        prefix = bundle_of_part(Path(), part)
        place = f"{path}/{prefix / TABLE}"
        rows = untrusted.parse(place, _listed_file(path, files, prefix, TABLE), ALLOWED)
        remark = "a bundle's table, not verified; 'campaign verify' re-evaluates its logs"
        offers[part] = replace(parse_offer(place, rows), remark=remark)
    if not names:
        return None, offers
    with temporary.directory("campaign-compare.") as directory:
        (directory / "rfp.yaml").write_bytes(_listed_file(path, files, Path(), RFP))
        rfp = rfps.load(directory / "rfp.yaml")
    return rfp, {part.id: offers[part.id] for part in rfp.parts if part.id in offers}


def _listed_file(path: Path, files: Mapping[str, bytes], prefix: Path, file: str) -> bytes:
    """The content of a bundle's file, of a part below `prefix`, as it was when the manifest there was written."""
    name, manifest = str(prefix / file), str(prefix / MANIFEST)
    for needed in (name, manifest):
        if needed not in files:
            raise InputError(f"{path}: {needed} missing; not a bundle as 'campaign bundle' writes it")
    line = re.search(rb"^([0-9a-f]{64})  " + re.escape(file.encode()) + rb"$", files[manifest], re.M)
    if line is None:
        raise InputError(f"{path}: {manifest} does not list {file}; 'campaign verify' shows what else is wrong")
    if hashlib.sha256(files[name]).hexdigest() != line[1].decode():
        raise InputError(f"{path}: {name} was changed after bundling (its checksum differs from that in {manifest})")
    return files[name]


def _from_archive(path: Path) -> dict[str, bytes]:
    too_much = f"{path}: larger than {MAX_UNPACKED_BYTES} bytes unpacked"
    limits = archives.Limits(str(path), MAX_MEMBERS, MAX_UNPACKED_BYTES, too_much)
    files: dict[str, bytes] = {}
    try:
        with archives.open_archive(path, limits) as members:
            for member in members:
                name = member.name.removeprefix("./")
                if match := None if archives.is_outside(name) else _BUNDLE_FILE.fullmatch(name):
                    if problem := member.problem or _member_problem(member, match[1] in files):
                        raise InputError(f"{path}: {member.name!r:.200}: {problem}")
                    if len(files) == MAX_BUNDLE_FILES:
                        raise InputError(f"{path}: more than {MAX_BUNDLE_FILES} tables and manifests")
                    files[match[1]] = member.read()
    except (archives.Damaged, archives.LongHeader) as error:
        kind = "zip" if path.suffix == ".zip" else "tar"
        raise InputError(f"{path}: damaged {kind} archive: {error}") from error
    return files


def _member_problem(member: archives.Member, is_duplicate: bool) -> str:
    if member.type is not archives.MemberType.FILE:
        return "not a regular file"
    if is_duplicate:
        return "duplicate entry"
    return f"more than {MAX_BYTES} bytes" if member.size > MAX_BYTES else ""


def _parse_json(path: Path) -> Any:
    return untrusted.parse(str(path), untrusted.content(path, MAX_BYTES), ALLOWED)
