"""An RFP of several benchmarks, which a buyer hands out: its parts with their rule packs, the scores computed and the
conditions judged across them, its clauses and its forms (`rfp.yaml`, docs/rfp.md).
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from campaign.config.format import NAME
from campaign.config.forms import FormMapping
from campaign.config.rules import clauses, facts, kinds, packs
from campaign.config.rules.catalogue import CATALOGUE
from campaign.config.rules.entries import CheckedBy, Clause
from campaign.config.rules.pack import RulePack
from campaign.config.values import CELLS, INPUT, LINE, is_path_of_pack
from campaign.core import formula, keys, resources, schema, untrusted
from campaign.core.errors import InputError
from campaign.core.strict_yaml import Document, has_key

MEANS = ("geometric", "arithmetic", "harmonic")
NO_VALUE, SKIP, ZERO = "no value", "skip", "zero"  # what a score without a term's value is
_RESULT = f"part/{CELLS.allowed}"


@dataclass(frozen=True, slots=True)
class Part:
    """A benchmark of the RFP, by a rule pack."""

    id: str = keys.needed(NAME, "name of the part in campaign files, cells and forms")
    pack: str = keys.needed(
        schema.Text("the id of a rule pack, or its file"), "its rule pack; a path is relative to this file"
    )
    version: int | None = keys.key(schema.Number(1, 10**6), "version of the rule pack", says_default="any")
    title: str = keys.key(LINE, "its name for people", "", says_default="the pack's")
    clause: str = keys.key(kinds.CLAUSE, "clause of the RFP that demands it", "")
    mandatory: bool = keys.key(schema.Boolean(), "false: an offer may leave it out", True, says_default="true")
    node_class: str = keys.key(NAME, "one of `node_classes`", "", says_default="any nodes")
    build: str = keys.key(
        schema.matching(r"[a-z][a-z0-9-]*(\|[a-z][a-z0-9-]*)*", "a category such as baseline, or baseline|ported"),
        "category of builds of the pack that it is measured with; of several, the answer names one, and the first is "
        "the default",
        "",
        says_default="as answered",
    )

    @property
    def builds(self) -> list[str]:
        """The categories of builds that it may be measured with; empty if any."""
        return self.build.split("|") if self.build else []


@dataclass(frozen=True, slots=True)
class Term:
    """A number of a score."""

    formula: str = keys.needed(kinds.FORMULA, "of names of `figures`, and of scores above this one")
    reference: float = keys.key(INPUT, "value that it is divided by", 1.0)
    weight: float = keys.key(INPUT, "weight in the mean", 1.0)


@dataclass(frozen=True, slots=True)
class Score:
    """A number across parts: the weighted mean of its terms, each divided by its reference."""

    id: str = keys.needed(kinds.NAME, "name of the score")
    title: str = keys.needed(LINE, "its name for people")
    terms: tuple[Term, ...] = keys.needed(schema.ListOf(keys.record(Term), least=1), "its terms", name="of")
    mean: str = keys.key(schema.Choice(MEANS), "kind of the mean", "geometric")
    missing: str = keys.key(
        schema.Choice((NO_VALUE, SKIP, ZERO)),
        "its value where a term has none: `skip` leaves out terms whose results the offer does not have, with the "
        "weights of the others; `zero` counts a term without a valid result as 0",
        NO_VALUE,
    )
    clause: str = keys.key(kinds.CLAUSE, "clause of the RFP that defines it", "")


@dataclass(frozen=True, slots=True)
class JointRequirement:
    """A condition on what all parts show together (RES-03)."""

    clause: str = keys.needed(kinds.CLAUSE, "clause of the RFP that requires it")
    holds: str = keys.key(
        kinds.CONDITION,
        "the condition, on names of `figures` and of scores: each of several results has to meet it; of all together: "
        "`min(x)`, `distinct(x)`, `count(x)` …",
        "",
    )
    of: tuple[str, ...] = keys.key(
        schema.ListOf(kinds.CONDITION, least=1), "in place of `holds`: conditions of which `at_least` must hold"
    )
    at_least: int = keys.key(schema.Number(1, 100), "how many conditions of `of` must hold", 1)
    full_size: bool = keys.switch("true if it applies at full size only; in a rehearsal it is then a note")
    explain: bool = keys.switch("true if missing it requires an explanation and is not a violation")

    @property
    def conditions(self) -> tuple[str, ...]:
        return self.of or (self.holds,)

    def __str__(self) -> str:
        return f"at least {self.at_least} of {', '.join(self.of)}" if self.of else self.holds


@dataclass(frozen=True, slots=True, kw_only=True)
class Rfp:
    path: Path
    digest: str  # SHA-256 of its file
    id: str = keys.needed(NAME, "name of the RFP")
    version: int = keys.needed(schema.Number(1, 10**6), "raised with each change")
    title: str = keys.needed(LINE, "its name for people")
    document: str = keys.key(LINE, "where its text is", "")
    node_classes: tuple[tuple[str, str], ...] = keys.key(schema.MapOf(NAME, LINE), "kinds of nodes, by name, in words")
    parts: tuple[Part, ...] = keys.needed(schema.ListOf(keys.record(Part), least=1, apart="id"), "the benchmarks")
    figures: tuple[tuple[str, str], ...] = keys.key(
        schema.MapOf(kinds.NAME, schema.Text(_RESULT, schema.full_match(r"[^/\s]+(/[^/\s]+){4}", _RESULT)), most=1000),
        "results that scores and conditions use: `name: part/target/launch/files/operation`, `*` for a target that the "
        "vendor names; in place of the operation a fact of the run (`campaign rules --facts`)",
    )
    scores: tuple[Score, ...] = keys.key(schema.ListOf(keys.record(Score)), "numbers computed across parts")
    requires: tuple[JointRequirement, ...] = keys.key(
        schema.ListOf(keys.record(JointRequirement)), "conditions on what all parts show together"
    )
    clauses: tuple[Clause, ...] = keys.key(
        schema.ListOf(keys.record(Clause), most=1000, apart="id"),
        "the clauses of the RFP that are about parts, scores, conditions and questions of the whole offer",
    )
    forms: tuple[FormMapping, ...] = keys.key(
        schema.ListOf(keys.record(FormMapping)),
        "the forms of the response, with the results that are in their cells (docs/forms.md)",
    )

    def part(self, id: str) -> Part:
        return next(part for part in self.parts if part.id == id)

    def unanswered(self, parts: Collection[str]) -> tuple[Part, ...]:
        """The mandatory parts that are not among these."""
        return tuple(part for part in self.parts if part.mandatory and part.id not in parts)

    @property
    def facts(self) -> dict[str, str]:
        """The patterns of the figures that are facts of runs, by name."""
        return {name: pattern for name, pattern in self.figures if pattern.rpartition("/")[2] in facts.BY_NAME}

    @property
    def fact_names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(pattern.rpartition("/")[2] for pattern in self.facts.values()))

    @property
    def answered_clauses(self) -> tuple[str, ...]:
        """The clauses that the campaign file may say something to: questions, and conditions that are explained."""
        questions = [clause.id for clause in self.clauses if clause.answered]
        return tuple(dict.fromkeys([*questions, *(requirement.clause for requirement in self.requires)]))

    def form(self, path: Path) -> FormMapping | None:
        """The mapping of a form by the file's name, or else of the only form of its kind."""
        forms_of_name = [form for form in self.forms if Path(form.file).name == path.name]
        candidates = forms_of_name or [form for form in self.forms if Path(form.file).suffix == path.suffix]
        return candidates[0] if len(candidates) == 1 else None


def load(path: Path) -> Rfp:
    """Read an RFP. Raises InputError with everything that is wrong in it."""
    read = keys.load(Rfp, path, _check, path=path.absolute(), digest="")
    with_evidence = (replace(clause, evidence=tuple(_evidence(read, clause))) for clause in read.clauses)
    return replace(read, digest=untrusted.digest(path), clauses=tuple(with_evidence))


def _evidence(rfp: Rfp, clause: Clause) -> Iterator[CheckedBy]:
    """What checks a clause: rules of the parts' packs, and entries of the RFP with this clause."""
    yield from (CheckedBy("checks", rule) for rule in clause.by)
    yield from (CheckedBy("parts", part.id) for part in rfp.parts if part.clause == clause.id)
    yield from (CheckedBy("scores", score.id) for score in rfp.scores if score.clause == clause.id)
    yield from (CheckedBy("requires", str(entry)) for entry in rfp.requires if entry.clause == clause.id)


def load_with_packs(path: Path) -> tuple[Rfp, dict[str, RulePack]]:
    """The RFP and the packs of its parts. Raises InputError also for what these do not have."""
    rfp = load(path)
    packs_of_parts = {part.id: packs.load(pack_of(rfp, part)) for part in rfp.parts}
    document = Document.open(path)
    for index, part in enumerate(rfp.parts):
        if part.version not in (None, packs_of_parts[part.id].version):
            problem = f"found version {part.version}; the pack is version {packs_of_parts[part.id].version}"
            document.problem(("parts", index, "version"), problem)
        categories = [category.id for category in packs_of_parts[part.id].builds]
        for build in part.builds:
            if build not in categories:
                remedy = schema.suggestion(build, categories, allowed=", ".join(categories) or "none; remove the key")
                document.problem(("parts", index, "build"), f"found {build}; {remedy}")
    for name, result in rfp.figures:
        part_pattern, _, *words = result.split("/")
        if words[-1] in facts.BY_NAME:
            words[-1] = "*"
        packs_of_figure = [packs_of_parts[part] for part in fnmatch.filter(packs_of_parts, part_pattern)]
        unknown = [[*unknown_words(pack, words)] for pack in packs_of_figure]
        for word, ids in unknown[0] if all(unknown) else ():
            problem = f"{packs_of_figure[0].id} has no {word}; {schema.suggestion(word, ids)}"
            document.problem(("figures", name), problem)
    document.finish()
    return rfp, packs_of_parts


def unknown_words(pack: RulePack, words: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Those of `launch`, `files` and `operation` in a result's name that the pack does not have, with those that it
    has.
    """
    of_pack = (
        [f"{launch.id}-*" if launch.series else launch.id for launch in pack.launch],
        [files.id for files in pack.files],
        [operation.id for operation in pack.operations],
    )
    for word, ids in zip(words, of_pack, strict=True):
        swept = [
            re.sub(r"\{[^}]*\}", "*", id) for id in ids
        ]  # as members of a series: by values that the campaign decides
        if not fnmatch.filter(ids, word) and not any(fnmatch.fnmatchcase(word, swept_id) for swept_id in swept):
            yield word, ids


def mapping_and_packs(
    path: Path | None, form: Path, pack: str, part: str
) -> tuple[FormMapping | None, dict[str, str | Path]]:
    """The mapping of a form, from a file of its own or an RFP, and the rule packs of its parts, or of this one alone.
    `pack`: that of results without a part in their names. Raises InputError.
    """
    if path is None or not has_key(path, "parts"):
        return (keys.load(FormMapping, path) if path else None), {"": pack}
    rfp = load(path)
    mapping, parts = rfp.form(form), [rfp_part for rfp_part in rfp.parts if part in ("", rfp_part.id)]
    if mapping is None or not parts:
        names = ", ".join([*(mapping.file for mapping in rfp.forms), *(part.id for part in rfp.parts)])
        raise InputError(f"{path}: no form {form.name}, or no part {part or 'at all'}; its forms and parts are {names}")
    return mapping, {rfp_part.id: pack_of(rfp, rfp_part) for rfp_part in parts}


def pack_of(rfp: Rfp, part: Part) -> str | Path:
    """The id or the file of a part's pack."""
    return rfp.path.parent / part.pack if is_path_of_pack(part.pack) else part.pack


def text(rfp: Rfp, packs_of_parts: Mapping[str, RulePack]) -> str:
    """The RFP with its parts and scores, for `campaign rules`."""
    return resources.render_template("rfp.txt.j2", rfp=rfp, packs=packs_of_parts).rstrip("\n")


def _check(values: schema.Values) -> None:
    parts, figures = values.entries("parts"), dict(values["figures"] or ())
    classes = dict(values["node_classes"] or ())
    ids = [part["id"] for part in parts if part["id"]]
    for part in parts:
        part.require(part["node_class"], classes, "node_class")
    for name, result in figures.items():
        part = result and result.partition("/")[0]
        if part and not fnmatch.filter(ids, part):
            values.require(part, ids, "figures", name)
    figure_names = dict(figures)
    for score in values.entries("scores"):
        for index, term in enumerate(score.entries("of")):
            names = formula.names(term["formula"]) if term["formula"] else ()
            _check_names(score, names, figure_names, "figures, and scores above this one", "of", index, "formula")
            for number_key in ("reference", "weight"):
                if term[number_key] is not None and term[number_key] <= 0:
                    score.problem(f"found {term[number_key]:g}; allowed: a number above 0", "of", index, number_key)
        if score["id"] in figure_names:
            score.problem(f"found {score['id']}, which is already a name; choose another", "id")
        if score["id"]:
            figure_names[score["id"]] = ""
    for requirement in values.entries("requires"):
        if bool(requirement["holds"]) == bool(requirement["of"]):
            requirement.problem("found both or none of holds and of; allowed: one of them")
        if requirement["at_least"] and requirement["at_least"] > max(1, len(requirement["of"] or ())):
            share = f"{requirement['at_least']} of {len(requirement['of'] or ())}"
            requirement.problem(f"found {share}; allowed: as many as `of` has", "at_least")
        conditions = {("of", index): text for index, text in enumerate(requirement["of"] or ())}
        for place, text in ({("holds",): requirement["holds"]} | conditions).items():
            names = formula.Condition.parse(text).names if text else ()
            _check_names(requirement, names, figure_names, "figures and scores", *place)
    clauses.check(values, CATALOGUE)


def _check_names(
    entry: schema.Values, names: Sequence[str], figures: Collection[str], meaning: str, *place: str | int
) -> None:
    """Check that names in a formula or condition, also as `max(name)`, are those of figures and scores."""
    for name in (formula.aggregated_name(name) or name for name in names):
        entry.require(name, figures, *place, allowed=f"{', '.join(figures)}: {meaning}")
