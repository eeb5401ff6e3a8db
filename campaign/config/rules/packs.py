"""Rule packs: an RFP's run rules as data (`rules/<id>.yaml`) -> frozen dataclasses. The format: docs/rule-packs.md."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from campaign.config.rules import catalogue, check, clauses, kinds, programs, readers
from campaign.config.rules.format import SCHEMA
from campaign.config.rules.pack import RulePack
from campaign.config.values import is_path_of_pack
from campaign.core import keys, schema, untrusted
from campaign.core.errors import InputError, MachineLacks
from campaign.core.resources import PACKS
from campaign.core.strict_yaml import Document, Mapping, Scalar, is_file, nodes
from campaign.core.strict_yaml import Sequence as YamlSequence
from campaign.core.yaml_trees import join, pairs_by_key, with_pairs, without_place


@dataclass(frozen=True, slots=True)
class Available:
    """An available pack, or one that cannot be read: then `problem` says why."""

    id: str
    path: Path
    version: int = 0
    title: str = ""
    problem: str = ""


def directories() -> tuple[Path, ...]:
    """The directories with packs: the project's `rules/`, then those in CAMPAIGN_RULES (separated by `:`)."""
    extra = tuple(Path(part) for part in os.environ.get("CAMPAIGN_RULES", "").split(os.pathsep) if part)
    for path in extra:
        try:
            next(path.iterdir(), None)
        except OSError as error:
            raise InputError(
                f"CAMPAIGN_RULES: {path}: {error.strerror}; allowed: directories with rule packs"
            ) from error
    return (PACKS, *extra)


def available() -> tuple[Available, ...]:
    """All packs in `directories()` by id, including those that cannot be read, with their problem."""
    packs = []
    for path in sorted((path for place in directories() for path in place.glob("*.yaml")), key=lambda path: path.stem):
        try:
            pack = load(path)
            packs.append(Available(pack.id, path, pack.version, pack.title))
        except (InputError, MachineLacks) as error:
            packs.append(Available(path.stem, path, problem=str(error)))
    return tuple(packs)


def digest_of_own(id: str) -> str:
    """The digest of the project's own pack with that id; "" if there is none."""
    path = PACKS / f"{id}.yaml"
    return _digest(open_pack(path)[1]) if is_file(path) else ""


def _digest(paths: Sequence[Path]) -> str:
    """The SHA-256 of a pack's file; of several, that of the lines that sha256sum prints of them."""
    lines = [f"{untrusted.digest(path)}  {path.name}\n" for path in paths]
    return hashlib.sha256("".join(lines).encode()).hexdigest() if len(lines) > 1 else lines[0].split()[0]


def packs_in(folder: Path) -> list[Path]:
    """The files of the packs in a folder that no other one there extends."""
    paths = list(folder.glob("*.yaml"))
    base_names = {base.name for path in paths for base in open_pack(path)[1][1:]} if len(paths) > 1 else ()
    return [path for path in paths if path.name not in base_names]


def load(id_or_path: str | Path) -> RulePack:
    """The pack with that id in `directories()`, or in that file (a text with a `/` or ending in .yaml is a path).

    Raises InputError with everything that is wrong in the file, or with the available ids; MachineLacks for a reader
    that is not installed.
    """
    path = Path(id_or_path)
    if isinstance(id_or_path, str) and not is_path_of_pack(id_or_path):
        path = _find_pack(id_or_path)
    document, paths = open_pack(path)
    if document.has("parts"):
        raise InputError(f"{path}: is an RFP of several packs; a campaign file answers it under `parts` (docs/rfp.md)")
    values = schema.read(SCHEMA, document)
    if values is not None:
        if values["id"] is not None and values["id"] != path.stem:
            values.problem(f"found {values['id']}; allowed: {path.stem}, the name of the file", "id")
        document.withhold_consequences()
        check.check(values)
    document.finish()
    pack = _pack(values, paths)
    for program in pack.programs:
        if program.results and program.results.has_reader:
            readers.require(program.results.format, f"{path}: results.format")
    return pack


def open_pack(path: Path, extenders: Sequence[str] = ()) -> tuple[Document, tuple[Path, ...]]:
    """A pack's document, joined with what it does not say itself of the pack that it extends, and the files of both.
    `extenders`: ids of packs that extend it.
    """
    document = Document.open(path)
    pairs, extenders = pairs_by_key(document.root), (*extenders, path.stem)
    if "extends" not in pairs:
        return document, (path,)
    name = kinds.ID.read(pairs["extends"][1], ("extends",), document)
    if name in extenders:
        document.problem(("extends",), f"found {name}, which extends this pack or is it; allowed: another pack")
    document.finish()
    try:
        sibling = path.with_name(f"{name}.yaml")
        base, paths = open_pack(sibling if is_file(sibling) else _find_pack(name), extenders)
        load(paths[0])
    except InputError as error:
        for problem in error.problems:
            document.problem(("extends",), problem)
        document.finish()
    for at, node in nodes(document.root):
        if isinstance(node, Mapping):  # once it is joined, a key that was written twice is there once
            list(schema.unique_pairs(node, at, document))
    tree = with_pairs(base.root, {key: pair for key, pair in pairs_by_key(base.root).items() if key not in _OWN})
    places = pairs["without"][1] if "without" in pairs else None
    for index, place in enumerate(places.items if isinstance(places, YamlSequence) else ()):
        if remainder := without_place(tree, place.text if isinstance(place, Scalar) else "", kinds.NAMING):
            tree = remainder
        else:
            document.problem(("without", index), f"not a place in {name}; allowed: such as launch/ID or checks/RULE")
    root = with_pairs(document.root, join(pairs_by_key(tree), pairs, kinds.NAMING))
    return document.with_root(root), (path, *paths)


_OWN = ("id", "version", "extends", "without")  # keys that a pack does not take from the one that it extends


def _find_pack(name: str) -> Path:
    paths_found = [path for place in directories() if is_file(path := place / f"{name}.yaml")]
    if len(paths_found) > 1:
        paths = ", ".join(map(str, paths_found))
        raise InputError(
            f'rule pack "{name}" exists {len(paths_found)} times: {paths}; give the path of the one to use'
        )
    if not paths_found:
        ids = [pack.id for pack in available()]
        if similar_id := schema.nearest_name(name, ids, cutoff=0.6):
            raise InputError(f'rule pack "{name}" not found; did you mean {similar_id}?')
        raise InputError(
            f'rule pack "{name}" not found; available: {", ".join(ids) or "none"}; or give a path to a pack (.yaml)'
        )
    return paths_found[0]


def _pack(values: schema.Values, paths: tuple[Path, ...]) -> RulePack:
    """The RulePack for values that had no problem. `paths`: its file, and those of the packs that it extends."""
    fields = keys.make(SCHEMA, values, paths[0])
    del fields["extends"], fields["without"]
    items = fields.pop("items")
    checks = {
        rule: {"clause": check_values} if isinstance(check_values, str) else dict(check_values)
        for rule, check_values in fields.pop("checks")
    }
    fields["launch"] = tuple(
        replace(condition, nodes=None, share=condition.nodes) if isinstance(condition.nodes, str) else condition
        for condition in fields["launch"]
    )
    fields["clauses"] = tuple(clauses.with_evidence(fields["clauses"], values))
    fields["programs"], fields["phases"] = programs.programs_and_phases(fields)
    return RulePack(
        **fields,
        items_total={profile: items[profile] for profile in kinds.PROFILES if items[profile] is not None},
        items_at_least=items["at_least"],
        items_clause=items["clause"],
        items_unit=items["unit"],
        checks={rule: check_values["clause"] for rule, check_values in checks.items()},
        parameters={
            (rule, name): catalogue.parse(catalogue.CATALOGUE[rule].parameters[name].kind, text)
            for rule, check_values in checks.items()
            for name, text in check_values.items()
            if name not in ("clause", "text")
        },
        texts={rule: check_values["text"] for rule, check_values in checks.items() if "text" in check_values},
        path=paths[0],
        bases=paths[1:],
        digest=_digest(paths),
    )
