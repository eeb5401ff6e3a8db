"""The definition of a campaign, the input of all later stages: its file and rule pack, read together and checked."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from campaign.config import check, launcher, resolution, response
from campaign.config.format import REPETITIONS, SCHEMA, Campaign
from campaign.config.launch import Wanted, read_launch, read_series
from campaign.config.rfp import Part
from campaign.config.rules import packs
from campaign.config.rules.check import variable_in_texts
from campaign.config.rules.output_format import BUILT_IN
from campaign.config.rules.pack import RulePack, of_build, settle, unfold
from campaign.config.search import NotRun, check_projections, check_search
from campaign.config.values import BUILTIN, PACK, absolute_path
from campaign.config.waivers import NAMESPACE, NO_ANSWERS, Answers, Granted, Waiver, statement
from campaign.core import keys, schema, untrusted
from campaign.core.errors import InputError, pass_on_limit, typed_path
from campaign.core.paths import Paths
from campaign.core.resources import BENCHMARK
from campaign.core.runs import Input, Launcher, matches
from campaign.core.strict_yaml import Document, Place, Scalar, nodes, quoted

# Files of this program, and spreadsheets, that users give instead of the campaign file.
OTHERS = {
    **dict.fromkeys((".zip", ".gz", ".tgz", ".tar"), "'campaign verify' reads bundles"),
    **dict.fromkeys((".csv", ".xlsx"), "'campaign check' and 'campaign compare' read tables (.csv, .xlsx, .json)"),
    **dict.fromkeys(
        (".ods", ".xls", ".xlsm", ".numbers", ".tsv"),
        "save a table as .xlsx or .csv; then 'campaign check' and 'campaign compare' read it",
    ),
}


@dataclass(frozen=True, slots=True)
class Definition:
    """What a campaign file says, its rule pack, settled for it, and its answers to findings."""

    campaign: Campaign
    pack: RulePack
    answers: Answers = NO_ANSWERS

    @property
    def paths(self) -> Paths:
        return Paths(self.campaign.results)


def open_campaign(file: Path, part: str = "") -> Definition:
    """`part`: of a file that answers an RFP of several parts."""
    campaign, pack = load(file, part)
    for program in pack.programs:
        if program.applet not in BUILT_IN and campaign.benchmark.path(program.id) is None:
            key = "benchmark.executable" if len(pack.programs) == 1 else "benchmark.programs"
            raise InputError(
                f"{file}: {key}: found builtin; the built-in benchmark has no {program.applet}; give the program's path"
            )
    signers = resolution.content(campaign.allowed_signers) if campaign.allowed_signers else None
    answers = Answers(
        tuple(_checked_waiver(campaign, pack, waiver, signers) for waiver in campaign.waivers), campaign.explanations
    )
    return Definition(campaign, pack, answers)


def signed_answers(definition: Definition, signers: Path | None) -> Answers:
    """The campaign's answers if waivers count only when signed by the key of the person whom they name. Without keys,
    no waiver counts.
    """
    granted = []
    for waiver in definition.campaign.waivers if signers else ():
        checked_waiver = _checked_waiver(definition.campaign, definition.pack, waiver, signers)
        if checked_waiver.signer and not is_named(checked_waiver.signer, waiver.by):
            checked_waiver = Granted(
                waiver,
                problem=(
                    f"signed by {checked_waiver.signer}, but granted by {waiver.by}; the signer must be the person "
                    "who grants it"
                ),
            )
        granted.append(checked_waiver)
    return Answers(tuple(granted), definition.answers.explanations)


def is_named(signer: str, by: str) -> bool:
    """Whether a key's principal is the person whom a waiver names, allowing for different spellings."""
    principal, local, name = (
        "".join(filter(str.isalnum, text.casefold())) for text in (signer, signer.partition("@")[0], by)
    )
    return bool(name) and (name in principal or (bool(local) and local in name))


def _checked_waiver(campaign: Campaign, pack: RulePack, waiver: Waiver, signers: Path | None) -> Granted:
    if waiver.signature is None or signers is None:
        return Granted(waiver, problem="the waiver is not signed")
    from campaign.core import signatures

    text = statement(campaign.name, pack.id, waiver).encode()
    signer = signatures.verify(text, resolution.content(waiver.signature), signers, NAMESPACE)
    return Granted(waiver, signer.by, signer.problem)


def load(path: Path | str, part: str = "") -> tuple[Campaign, RulePack]:
    """Read a campaign file, or a part of it, check it against its rule pack, and settle the pack for it. Raises
    InputError with everything that is wrong in the file.

    What is outside of the file (whether the benchmark or a target exists) is checked by pipeline/preflight.py, since a
    plan may be made on another machine.
    """
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path}: is a directory; give the campaign file")
    if not os.path.lexists(path) and path.parent.is_dir():
        near = schema.nearest_name(path.name, [other.name for other in path.parent.glob("*.yaml")], cutoff=0.8)
        if near:
            raise InputError(f"{path}: not found; did you mean {path.with_name(near)}?")
        raise InputError(f"{path}: not found; 'campaign init {typed_path(path)}' writes a new one")
    if path.suffix.lower() in OTHERS:
        raise InputError(f"{path}: not a campaign file: {OTHERS[path.suffix.lower()]}")
    document = Document.open(path)
    response_and_part = _find_part(path, document, resolution.current_names().part or part)
    if response_and_part is not None:
        document = response.document_of(*response_and_part)
    values = schema.read(SCHEMA, document)
    _refuse_secrets(document)
    if values is None:
        document.finish()
    launch: dict[str, Wanted] = {}
    benchmark, settled = values["benchmark"], None
    pack = _pack(values, path, response_and_part[1].version if response_and_part else None)
    check.targets(values)
    if pack is not None:
        pack = of_build(unfold(pack, read_series(values, pack)), values["build"] or "")
        launch = read_launch(values, pack)
        check.items(values, pack)
        _check_inputs(values, pack, is_run=not all(isinstance(wanted, NotRun) for wanted in launch.values()))
        if values["slurm"]:
            check.environment(values["slurm"], pack)
            check.resources(values["slurm"])
        if benchmark:
            check.benchmark(benchmark, pack)
        if values["source"]:
            check.builds(values["source"], pack)
            check.sources(values["source"], pack)
        if pack.builds or not values["build"]:
            values.require(values["build"], [category.id for category in pack.builds], "build")
        else:
            values.problem(f"rule pack {pack.id} has no categories of builds; remove the key", "build")
        if (settled := _settle_pack(values, pack, launch)) is not None:
            for section in ("declined", "projections", "explanations", "waivers"):
                check.cells(section, values, settled)
            check.answers(values, settled)
            check.counters(values, settled, path)
            check_search(values, pack, launch)
            check_projections(values, settled, launch, path)
    if isinstance(values["repetitions"], schema.Values):
        check.bounds(values["repetitions"])
    programs = [path for _, path in (benchmark["programs"] or () if benchmark else ())]
    if benchmark and {benchmark["executable"], *programs} == {BUILTIN} and benchmark["dialect"] not in ("auto", None):
        benchmark.problem(
            f"found {benchmark['dialect']}, which applies to an external benchmark only; set benchmark.executable or "
            "remove the key",
            "dialect",
        )
    if values["energy"]:
        check.energy(values["energy"])
    launched = launcher.read(values["launcher"], path, pack) if values["launcher"] else Launcher()
    if pack is not None:
        launched = launcher.read_launch_options(values["launch"] or (), launched, pack)
    if values["slurm"]:
        check.path(values["slurm"], values["slurm"]["template"], path, "template", optional=True)
    check.path(values, values["allowed_signers"], path, "allowed_signers", optional=True)
    document.finish()
    assert settled is not None, "what has no problem is settled"
    of_part: dict[str, Any] = {"document": document}
    if response_and_part is not None:
        response_file, rfp_part = response_and_part
        name = f"{values['name']}-{rfp_part.id}"
        results = absolute_path(path, values["results"]) / values["name"] / rfp_part.id
        of_part |= {"name": name, "results": results, "rfp": response_file.rfp.path, "part": rfp_part.id}
    campaign = _campaign(values, launch, path, launcher=launched, **of_part)
    return replace(campaign, inputs=tuple(_merged_inputs(campaign.inputs, settled))), settled


def _find_part(path: Path, document: Document, part: str) -> tuple[response.Response, Part] | None:
    """The file and its part; None if it answers one rule pack."""
    if not document.has("parts"):
        if part:
            raise InputError(f"{path}: has no parts; leave out --part {part}")
        return None
    response_file = response.read(path, document)
    ids = [rfp_part.id for rfp_part in response_file.parts]
    if part not in ids:
        remedy = (
            f"--part {part}: {schema.suggestion(part, ids)}" if part else f"name one of its parts: {', '.join(ids)}"
        )
        raise InputError(f"{path}: {remedy}")
    return response_file, response_file.rfp.part(part)


def _pack(values: schema.Values, path: Path, version: int | None) -> RulePack | None:
    """The rule pack, of this version if one is demanded."""
    if not values["rules"]:
        return None
    try:
        pack = packs.load(keys.make(PACK, values["rules"], path))
    except InputError as error:
        for problem in error.problems:
            values.problem(problem, "rules")
        return None
    if version not in (None, pack.version):
        values.problem(f"the RFP asks for version {version} of {pack.id}; found version {pack.version}", "rules")
    return pack


def _settle_pack(values: schema.Values, pack: RulePack, launch: dict[str, Wanted]) -> RulePack | None:
    """The pack with the campaign's values; None if they do not fit."""
    variables = {variable.id: variable for variable in pack.variables}
    accepted_values = {}
    for name, value in values["variables"] or ():
        key, (name, _, pattern) = name, name.partition("@")
        problem = ""
        if pattern and not check.is_run_pattern(pattern, values, pack):
            problem = f"{pattern} matches no run; allowed after the @: target/launch/files, where * matches any"
        elif not variables:
            problem = f"rule pack {pack.id} has no variables; remove the key"
        elif name not in variables:
            problem = f"unknown variable; {schema.suggestion(name, variables)}"
        elif values["profile"] == "full" and not variables[name].free:
            problem = (
                f"found {value}, but profile full fixes {variables[name].full} (clause {variables[name].clause}); "
                "remove it or set profile: rehearsal"
            )
        elif pattern and not pack.is_of_arguments(name):
            problem = variable_in_texts(name)
        elif value is not None and value not in (variables[name].choices or [value]):
            problem = f"found {value}; {schema.suggestion(value, variables[name].choices)}"
        if problem:
            values.problem(problem, "variables", key)
        elif value is not None:
            accepted_values[key] = value
    try:
        return settle(pack, values["profile"] or "rehearsal", launch, accepted_values, values["build"] or "")
    except ValueError as error:
        values.problem(f"{error}; correct the variables or the launch conditions", "variables")
        return None


def _campaign(values: schema.Values, launch: dict[str, Wanted], path: Path, **read: Any) -> Campaign:
    """The dataclasses for values that had no problem. `read`: values with a reader of their own."""
    repetitions = values["repetitions"]
    if isinstance(repetitions, schema.Values):
        read["sequential"] = keys.make(REPETITIONS, repetitions, path)
        repetitions = repetitions["least"]
    read = {"results": absolute_path(path, values["results"]) / values["name"], **read}
    campaign: Campaign = keys.make(
        SCHEMA,
        values,
        path,
        path=path.absolute(),
        variables=dict(values["variables"]),
        repetitions=repetitions,
        launch=launch,
        **read,
    )
    return campaign


# --- secrets are refused: the campaign file is in the bundle, and its words are in job scripts and results

_LOGIN = re.compile(r"://[^/?#@\s]+@")  # a URL with a user's name or password
_WORD = re.compile(r"^(PART|WORD)\((\w+)\)", re.MULTILINE)
# In a command: a name with a value, or an option.
_NAMED = re.compile(r"(?:^|[\s\"'=,;(])(-*[A-Za-z_][\w-]*)=|(?:^|[\s\"'])(--?[A-Za-z][\w-]*)")
# Texts that contain words of a command; "*" is any one key or number.
_COMMANDS = (
    "launcher/options/*",
    "launcher/prefix/*",
    "slurm/directives/*",
    "benchmark/extra_arguments/*",
    "benchmark/program_arguments/*/*",
    "targets/*/server_counters",
    "energy/command",
    "source/build/command",
    "source/build/flags",
    "source/builds/*/command",
    "source/builds/*/flags",
)


@functools.cache
def _secret_pattern() -> re.Pattern[str]:
    """Parts of names that belong to secrets; the benchmark leaves such variables out of its records."""
    listed = _WORD.findall((BENCHMARK / "common" / "secret.def").read_text(encoding="utf-8"))
    parts, words = ("|".join(word for kind, word in listed if kind == entry_kind) for entry_kind in ("PART", "WORD"))
    # For variables only: `--pass` and `--cert` are also options with a number and a file.
    return re.compile(rf"(?i:{parts.replace('_', '[_-]')})|(?:\b|_)(?:{words})(?!_(?:FILE|DIR|PATH))(?:\b|_)")


def _refuse_secrets(document: Document) -> None:
    """Report everything that looks like a secret in a campaign file from this machine."""
    if resolution.is_replayed():
        return
    for at, node in nodes(document.root):
        if isinstance(node, Scalar) and (secret := _secret_in(at, node.text)):
            document.problem(
                at,
                f"found {secret}, which looks like a secret: the buyer receives the campaign file and command lines; "
                "put it in a file that only you can read",
                node,
            )


def _secret_in(at: Place, text: str) -> str:
    """A password in a value of the campaign file, or the name of a variable for a secret; "" if there is none."""
    if _LOGIN.search(text):
        return quoted(_LOGIN.sub("://...@", text))
    place, names = "/".join(map(str, at)), list[str]()
    if matches(place, "slurm/environment/*"):
        names = [str(at[-1])]
    elif any(matches(place, pattern) for pattern in _COMMANDS):
        names = [match[1] or match[2] for match in _NAMED.finditer(text)]
    return next((name for name in names if _secret_pattern().search(name)), "")


# --- the input files: those of the rule pack and those of the campaign file

BY_PACK, BY_CAMPAIGN, BY_PLAN = "the rule pack", "the campaign file", "the first plan"  # whose word a hash is


def digest_of_input(path: str) -> str:
    """The SHA-256 of a file on this machine; "" if it cannot be read, or the campaign is another machine's."""
    try:
        return untrusted.digest(resolution.content(Path(path)))
    except OSError as error:
        pass_on_limit(error)
        return ""


def _check_inputs(values: schema.Values, pack: RulePack, is_run: bool) -> None:
    """`is_run`: whether anything runs, and reads them."""
    fixed = {pack_input.id: pack_input for pack_input in pack.inputs}
    entries = {entry["id"]: entry for entry in values.entries("inputs")}
    for name, entry in entries.items():
        pack_input = fixed.get(name or "")
        if pack_input and pack_input.sha256 and entry["sha256"] not in ("", None, pack_input.sha256):
            entry.problem(
                f"found {entry['sha256']}, but clause {pack_input.clause} fixes {pack_input.sha256}; remove the key",
                "sha256",
            )
    for pack_input in pack.inputs:
        if is_run and not pack_input.path and pack_input.id not in entries:
            values.problem(
                f"input {pack_input.id} of rule pack {pack.id} is missing (clause {pack_input.clause}); add "
                f"{{id: {pack_input.id}, path: PATH}}",
                "inputs",
            )


def _merged_inputs(file_inputs: Sequence[Input], pack: RulePack) -> Iterator[Input]:
    """The pack's inputs, where the campaign file may say where they are, and further ones of the campaign file."""
    assert pack.path is not None, "a pack that was read has its path"
    inputs = {entry.id: replace(entry, by=BY_CAMPAIGN if entry.sha256 else "") for entry in file_inputs}
    for entry in pack.inputs:
        if not entry.path and entry.id not in inputs:
            continue  # nothing runs that reads it
        source = next((path for path in (pack.path, *pack.bases) if (path.parent / entry.path).exists()), pack.path)
        placed = inputs.pop(entry.id, None) or Input(
            entry.id, str(absolute_path(source, entry.path, f"{pack.id}.yaml/"))
        )
        by_pack = {"sha256": entry.sha256, "by": BY_PACK} if entry.sha256 else {}
        yield replace(placed, clause=entry.clause, **by_pack)
    yield from inputs.values()
