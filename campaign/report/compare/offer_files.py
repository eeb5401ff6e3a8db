"""Reads offers from a campaign file, its results, a bundle, or a table as JSON, CSV or XLSX.

Everything except one's own campaign may come from an untrusted source: sizes are limited, links are not followed,
nothing is unpacked to disk. From a bundle only the table is read and compared with the manifest, so that a thousand
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

from campaign.config.definition import open_campaign
from campaign.config.forms import FormMapping
from campaign.config.rules.pack import RulePack
from campaign.core import archives, untrusted
from campaign.core.bagit import MANIFEST
from campaign.core.errors import InputError
from campaign.core.strict_yaml import has_key
from campaign.report.compare.offers import Offer, parse_offer
from campaign.report.foreign import form_file, table_file

MAX_BYTES = 64 * 1024 * 1024  # of a table or a manifest
MAX_MEMBERS = 1_000_000  # of an archive
MAX_UNPACKED_BYTES = 16 * 1024**3  # read from a compressed archive until its table is found

_COUNTS = ("processes", "nodes", "files_total")
_OPTIONAL = ("status", "unit", "best", "true_value", *_COUNTS)  # columns

TABLE = "data/tables/table.json"
RFP = "data/rfp.yaml"  # of a bundle that answers one of several parts
ALLOWED = (
    "a campaign file (.yaml), its results directory, a bundle (directory, .zip, .tar.gz), or a table (.json, .csv, "
    ".xlsx) as 'campaign table' writes it"
)


_TABLE = "a table; its values are not verified"


def has_parts(path: Path) -> bool:
    """Whether an offer answers an RFP of several parts: a campaign file, or a bundle."""
    if path.is_dir():
        return (path / RFP).is_file()
    if path.name.endswith((".zip", ".tar.gz", ".tgz")) and path.is_file():
        return RFP in _from_archive(path)
    return path.suffix in (".yaml", ".yml") and has_key(path, "parts")


def load_offer(path: Path, form: tuple[FormMapping, Mapping[str, RulePack]] | None = None, part: str = "") -> Offer:
    """Read one offer, or a part of a campaign file. Raises InputError with the file and the place in it."""
    try:
        if path.is_dir():
            return _offer_of_directory(path)
        if not stat.S_ISREG(path.stat().st_mode):
            raise InputError(f"{path}: not a regular file; give {ALLOWED}")
        if path.suffix in (".yaml", ".yml"):
            return _offer_of_campaign(path, part)
        if path.name.endswith((".zip", ".tar.gz", ".tgz")):
            return _offer_of_bundle(str(path), _from_archive(path))
        if path.suffix.lower() in table_file.SUFFIXES or (form and path.suffix != ".json"):
            return _offer_of_table(path, form)
        return replace(parse_offer(str(path), _parse_json(path)), remark=_TABLE)
    except FileNotFoundError as error:
        raise InputError(f"{error.filename or path}: not found; give {ALLOWED}") from error
    except OSError as error:
        raise InputError(f"{error.filename or path}: {error.strerror or error}; give {ALLOWED}") from error


def _offer_of_campaign(path: Path, part: str = "") -> Offer:
    from campaign.pipeline import campaign_state

    rows = campaign_state.recorded_submission(open_campaign(path, part)).rows
    return parse_offer(str(path), [row.as_json() for row in rows])


def _offer_of_table(path: Path, form: tuple[FormMapping, Mapping[str, RulePack]] | None) -> Offer:
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


def _offer_of_directory(path: Path) -> Offer:
    if (path / "bagit.txt").exists():
        table = path / TABLE
        for place in (path / MANIFEST, table, table.parent, table.parent.parent):
            if place.is_symlink():
                raise InputError(
                    f"{place}: symbolic links are not allowed in a bundle; 'campaign verify' shows what else is wrong"
                )
        names = [name for name in (TABLE, MANIFEST) if (path / name).exists()]
        return _offer_of_bundle(str(path), {name: untrusted.content(path / name, MAX_BYTES) for name in names})
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
    return replace(_offer_of_campaign(Path(file)), source=str(path))


# --- bundles


def _offer_of_bundle(source: str, files: Mapping[str, bytes]) -> Offer:
    """The offer of a bundle's table, which must be the one that its manifest lists."""
    for name in (TABLE, MANIFEST):
        if name not in files:
            raise InputError(f"{source}: {name} missing; not a bundle as 'campaign bundle' writes it")
    line = re.search(rb"^([0-9a-f]{64})  " + re.escape(TABLE.encode()) + rb"$", files[MANIFEST], re.M)
    if line is None:
        raise InputError(f"{source}: {MANIFEST} does not list {TABLE}; 'campaign verify' shows what else is wrong")
    if hashlib.sha256(files[TABLE]).hexdigest() != line[1].decode():
        raise InputError(f"{source}: {TABLE} was changed after bundling (its checksum differs from that in {MANIFEST})")
    place = f"{source}/{TABLE}"
    return replace(
        parse_offer(place, untrusted.parse(place, files[TABLE], ALLOWED)),
        remark="a bundle's table, not verified; 'campaign verify' re-evaluates its logs",
    )


def _bundle_file(name: str) -> str | None:
    """Which of the wanted files a member of an archive is: at its top, or in its only top folder."""
    name = name.removeprefix("./")
    if archives.is_outside(name):
        return None
    _, _, path_in_folder = name.partition("/")
    return next((file for file in (TABLE, MANIFEST, RFP) if file in (name, path_in_folder)), None)


def _from_archive(path: Path) -> dict[str, bytes]:
    too_much = f"{path}: larger than {MAX_UNPACKED_BYTES} bytes unpacked"
    limits = archives.Limits(str(path), MAX_MEMBERS, MAX_UNPACKED_BYTES, too_much)
    files: dict[str, bytes] = {}
    try:
        with archives.open_archive(path, limits) as members:
            for member in members:
                if file := _bundle_file(member.name):
                    if problem := member.problem or _member_problem(member, file in files):
                        raise InputError(f"{path}: {member.name!r:.200}: {problem}")
                    files[file] = member.read()
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
