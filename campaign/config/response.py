"""A campaign file that answers an RFP of several parts: what all parts share, what those on one class of nodes share,
and each part's own keys. Each part is a campaign of its own.

    rules: rfp/rfp.yaml
    slurm: {partition: batch}
    answers: {"7.1": Two engineers, on weekdays.}
    node_classes: {gpu: {slurm: {partition: gpu}}}
    parts: {metadata: {launch: …}, stream: {targets: [scratch]}}
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from campaign.config import resolution, rfp
from campaign.config.format import NAME, SCHEMA
from campaign.config.rfp import Part, Rfp
from campaign.config.values import absolute_path, is_path_of_pack
from campaign.core import schema
from campaign.core.errors import InputError
from campaign.core.strict_yaml import Document, Mapping, Place, Scalar, Sequence, YamlNode
from campaign.core.yaml_trees import join, nested_pairs, pairs_by_key, with_pairs

OF_THE_FILE = ("name", "rules", "results")  # keys that a part does not have
# Keys that only parts have: they name results, or words of a rule pack.
OF_A_PART = (
    *("items_total", "variables", "launch", "search", "projections", "inputs", "declined", "server_counters"),
    *("explanations", "waivers"),
)
OF_THE_OFFER = ("node_classes", "parts", "answers")  # keys that a part's own file does not get


Answers = dict[str, str]  # by clause of the RFP


class _Keys:
    """A mapping with keys of a campaign file, which are read where the part is."""

    allowed = "a mapping with keys of a campaign file"

    def read(self, node: YamlNode, at: Place, document: Document) -> Any:
        if isinstance(node, Scalar) and not node.text:
            return Mapping(node.line, node.column, ())
        if not isinstance(node, Mapping):
            return document.problem(at, f"allowed: {self.allowed}", node)
        for key, _ in node.pairs:
            if isinstance(key, Scalar) and key.text in OF_THE_FILE:
                document.problem((*at, key.text), "is a key of the whole file; move it to the left margin", key)
        return node


@dataclass(frozen=True)
class _Shared:
    """A key of all parts, which is read with each; or one that only a part can have."""

    is_shared: bool
    allowed: str = "as in a campaign file of one rule pack"

    def read(self, node: YamlNode, at: Place, document: Document) -> YamlNode:
        if not self.is_shared:
            document.problem(at, "is a key of a part; move it below parts, to the part's name", node)
        return node


_FILE_SCHEMA = schema.KeyedMap(
    **{name: schema.Field(_Shared(name not in OF_A_PART), "") for name in SCHEMA.fields if name not in OF_THE_OFFER},
    answers=schema.Field(
        SCHEMA.fields["answers"].kind,
        "answers to questions of the RFP, and explanations of its conditions that are not met, by clause",
    ),
    node_classes=schema.Field(
        schema.MapOf(NAME, _Keys()), "keys of the parts that run on a class of nodes of the RFP, by its name"
    ),
    parts=schema.Field(schema.MapOf(NAME, _Keys()), "keys of each part of the RFP, by its name", required=True),
)


@dataclass(frozen=True, slots=True)
class Response:
    """A campaign file of several parts, as written; `parts`: those that it answers, in the RFP's order; `answers`: to
    clauses of the RFP.
    """

    document: Document
    rfp: Rfp
    parts: tuple[Part, ...]
    answers: Answers = field(default_factory=dict)

    @property
    def unanswered(self) -> tuple[Part, ...]:
        """The mandatory parts that the file does not have."""
        return self.rfp.unanswered([part.id for part in self.parts])


def read(path: Path, document: Document | None = None) -> Response:
    """Read what parts the file has. Raises InputError if these, or the RFP, are wrong."""
    document = document or Document.open(path)
    if isinstance(pairs_by_key(document.root)["parts"][1], Sequence):
        raise InputError(
            f"{path}: is an RFP; give the campaign file that answers it ('campaign rules {path}' lists it)"
        )
    values = schema.read(_FILE_SCHEMA, document)
    rfp_of_file: Rfp | None = None
    if values is not None:
        rules = values["rules"]
        if isinstance(rules, Scalar) and rules.text:
            rfp_of_file = rfp.load(resolution.content(absolute_path(path, rules.text)))
            for section, names in (
                ("parts", [part.id for part in rfp_of_file.parts]),
                ("node_classes", [name for name, _ in rfp_of_file.node_classes]),
                ("answers", rfp_of_file.answered_clauses),
            ):
                for name, _ in values[section] or ():
                    values.require(name, names, section, name)
        else:
            values.problem("required key missing; allowed: the path of an RFP (rfp.yaml)", "rules")
        if values["parts"] == ():
            values.problem("found none; allowed: at least one part of the RFP", "parts")
    document.finish()
    assert rfp_of_file is not None, "without an RFP there is a problem"
    part_values = dict(values["parts"])
    parts = tuple(part for part in rfp_of_file.parts if part.id in part_values)
    return Response(document, rfp_of_file, parts, dict(values["answers"]))


def answers_in(path: Path) -> Answers:
    """What a campaign file, which may be any text, says to clauses of its RFP."""
    root = pairs_by_key(Document.open(path).root)
    pairs = nested_pairs(root, "answers").items()
    return {clause: answer.text for clause, (_, answer) in pairs if isinstance(answer, Scalar)}


def document_of(response: Response, part: Part) -> Document:
    """The campaign file of a part: the shared keys, those of its class of nodes, and its own, each at its line."""
    root = pairs_by_key(response.document.root)
    merged = {name: pair for name, pair in root.items() if name not in OF_THE_OFFER}
    for section, name in (("node_classes", part.node_class), ("parts", part.id)):
        merged = join(merged, nested_pairs(nested_pairs(root, section), name))
    key, rules = root["rules"]
    assert isinstance(rules, Scalar), "the response was read"
    pack = part.pack
    if is_path_of_pack(pack):
        pack = os.path.join(os.path.dirname(rules.text), pack)  # noqa: PTH118, PTH120  # as written, for the record
    merged["rules"] = key, Scalar(rules.line, rules.column, pack, plain=False)
    if part.builds and "build" not in merged:
        build = Scalar(rules.line, rules.column, part.builds[0], plain=False)
        merged["build"] = Scalar(key.line, key.column, "build", plain=True), build
    if "targets" in merged:
        key, targets = merged["targets"]
        merged["targets"] = key, _with_shared_targets(targets, root["targets"][1] if "targets" in root else targets)
    document = response.document.with_root(with_pairs(response.document.root, merged))
    category = merged["build"][1] if part.builds else None
    if isinstance(category, Scalar) and category.text not in part.builds:
        allowed = " or ".join(part.builds)
        document.problem(("build",), f"found {category.text}; the RFP measures part {part.id} with {allowed}")
    return document


def _with_shared_targets(targets: YamlNode, shared_targets: YamlNode) -> YamlNode:
    """The targets of a part, in which a name stands for the shared target of that name."""
    if not isinstance(targets, Sequence) or not isinstance(shared_targets, Sequence):
        return targets
    names = {}
    for target in shared_targets.items:
        _, name = pairs_by_key(target).get("name", (None, None))
        if isinstance(name, Scalar):
            names[name.text] = target
    items = (names.get(target.text, target) if isinstance(target, Scalar) else target for target in targets.items)
    return Sequence(targets.line, targets.column, tuple(items))
