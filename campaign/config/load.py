"""The campaign file: YAML -> frozen dataclasses. The fields are documented in docs/campaign-file.md."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from campaign.config import check, confidential, launcher
from campaign.config.format import REPETITIONS, SCHEMA, Campaign
from campaign.config.launch import Wanted, read_launch, read_series
from campaign.config.rules import packs, series
from campaign.config.rules.check import variable_in_texts
from campaign.config.rules.pack import RulePack
from campaign.config.rules.settle import settle
from campaign.config.search import check_projections, check_search
from campaign.config.values import BUILTIN, PACK, beside
from campaign.core import keys, schema
from campaign.core.errors import InputError, typed
from campaign.core.strict_yaml import Document, Place

# Files of this program, and spreadsheets, that users give instead of the campaign file.
OTHERS = {
    **dict.fromkeys((".zip", ".gz", ".tgz", ".tar"), "'campaign verify' reads bundles"),
    **dict.fromkeys((".csv", ".xlsx"), "'campaign check' and 'campaign compare' read tables (.csv, .xlsx, .json)"),
    **dict.fromkeys(
        (".ods", ".xls", ".xlsm", ".numbers", ".tsv"),
        "save a table as .xlsx or .csv; then 'campaign check' and 'campaign compare' read it",
    ),
}


def load(path: Path | str) -> tuple[Campaign, RulePack]:
    """Read a campaign file, check it against its rule pack, and settle the pack for it. Raises InputError with
    everything that is wrong in the file.

    What is outside of the file (whether the benchmark or a target exists) is checked by pipeline/preflight.py, since a
    plan may be made on another machine.
    """
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path}: is a directory; give the campaign file")
    if not os.path.lexists(path) and path.parent.is_dir():
        near = schema.near(path.name, [other.name for other in path.parent.glob("*.yaml")], cutoff=0.8)
        if near:
            raise InputError(f"{path}: not found; did you mean {path.with_name(near)}?")
        raise InputError(f"{path}: not found; 'campaign init {typed(path)}' writes a new one")
    if path.suffix.lower() in OTHERS:
        raise InputError(f"{path}: not a campaign file: {OTHERS[path.suffix.lower()]}")
    document = Document.open(path)
    values = schema.read(SCHEMA, document)
    confidential.check(document)
    if values is None:
        document.finish()
    launch: dict[str, Wanted] = {}
    settled = None
    pack = _pack(values, path, document)
    check.targets(values, document)
    if pack is not None:
        pack = series.unfold(pack, read_series(values, pack, document))
        launch = read_launch(values, pack, document)
        check.items(values, pack, document)
        check.programs(values, pack, document)
        check.arguments(values, pack, document)
        if (settled := _settled(values, pack, launch, document)) is not None:
            for section in ("declined", "projections", "explanations", "waivers"):
                check.cells(section, values, settled, document)
            check.answers(values, settled, document)
            check.counters(values, settled, path, document)
            check_search(values, pack, settled, launch, document)
            check_projections(values, settled, launch, path, document)
    if isinstance(values["repetitions"], dict):
        check.most("repetitions", values["repetitions"], document)
    benchmark = values["benchmark"]
    if benchmark and benchmark["executable"] == BUILTIN and benchmark["dialect"] not in ("auto", None):
        document.problem(
            ("benchmark", "dialect"),
            f"found {benchmark['dialect']}, which applies to an external benchmark only; set benchmark.executable or "
            "remove the key",
        )
    launched = launcher.read(values, path, pack, document)
    if values["slurm"]:
        template = values["slurm"]["template"]
        check.path(("slurm", "template"), template, path, document, optional=True)
    check.path(("allowed_signers",), values["allowed_signers"], path, document, optional=True)
    document.finish()
    assert settled is not None, "what has no problem is settled"
    return _campaign(values, launch, path, launcher=launched), settled


def _pack(values: dict[str, Any], path: Path, document: Document) -> RulePack | None:
    name = values["rules"]
    if name is None:
        return None
    try:
        return packs.load(keys.make(PACK, name, path))
    except InputError as error:
        for problem in error.problems:
            document.problem(("rules",), problem)
        return None


def _settled(values: dict[str, Any], pack: RulePack, launch: dict[str, Wanted], document: Document) -> RulePack | None:
    """The pack with the campaign's values; None if they do not fit."""
    known = {variable.id: variable for variable in pack.variables}
    given = {}
    for name, value in values["variables"] or ():
        at: Place = ("variables", name)
        key, (name, _, pattern) = name, name.partition("@")
        if pattern and not check.is_of_runs(pattern, values, pack):
            document.problem(
                at, f"{pattern} matches no run; allowed after the @: target/launch/files, where * matches any"
            )
        elif name not in known:
            remedy = f"unknown variable; {schema.suggestion(name, known)}" if known else ""
            document.problem(at, remedy or f"rule pack {pack.id} has no variables; remove the key")
        elif values["profile"] == "full" and not known[name].free:
            document.problem(
                at,
                f"found {value}, but profile full fixes {known[name].full} (clause {known[name].clause}); remove it "
                "or set profile: rehearsal",
            )
        elif value is not None:
            given[key] = value
            if pattern and not pack.is_of_arguments(name):
                document.problem(at, variable_in_texts(name))
    try:
        return settle(pack, values["profile"] or "rehearsal", launch, given)
    except ValueError as error:
        document.problem(("variables",), f"{error}; correct the variables or the launch conditions")
        return None


def _campaign(values: dict[str, Any], launch: dict[str, Wanted], path: Path, **read: Any) -> Campaign:
    """The dataclasses for values that had no problem. `read`: values with a reader of their own."""
    repetitions = values["repetitions"]
    if isinstance(repetitions, dict):
        read["sequential"] = keys.make(REPETITIONS, repetitions, path)
        repetitions = repetitions["least"]
    campaign: Campaign = keys.make(
        SCHEMA,
        values,
        path,
        path=path.absolute(),
        results=beside(path, values["results"]) / values["name"],
        variables=dict(values["variables"]),
        repetitions=repetitions,
        launch=launch,
        **read,
    )
    return campaign
