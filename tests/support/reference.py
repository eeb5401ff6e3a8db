"""Writes what is generated of the documentation: `make docs`. Tests hold that it is up to date. With a directory:
the pages that only the site has (`make site`).

In docs/: the command line's help, its man pages, the JSON Schemas, the tables of keys, the list of rules; in
campaign/config/rules the catalogue of the rules. docs/report.md shows the table
of a campaign at full size, README.md what the verification of its bundle says first: both are made from the bundle
itself, so that they have the form of today and the numbers of that campaign.
"""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from unittest import mock

from campaign.cli.arguments import parser
from campaign.config import format as config_format
from campaign.config import forms, launcher, rfp, slurm_keys
from campaign.config.rules import catalogue, output_format, packs
from campaign.config.rules import format as rules_format
from campaign.core import formula
from campaign.core.keys import record
from campaign.core.schema import KeyedMap
from campaign.evidence import copies, derived_files, inventory, terms, verify
from campaign.judge import engine
from campaign.judge.rule import Rule, rules_of
from campaign.report import decision, printing, rfp_judgement
from campaign.results.cells import IN_CSV
from campaign.results.source import modifications
from campaign.results.source.facts import OwnSource
from tests.support import man_pages, outputs, schemas
from tests.support.man_pages import verbs

PROJECT = Path(__file__).resolve().parents[2]
DOCS = PROJECT / "docs"
README = PROJECT / "README.md"
REPORT = DOCS / "report.md"
CATALOGUE = PROJECT / "campaign" / "config" / "rules" / "catalogue.json"
BUNDLE = Path(__file__).parents[1] / "data" / "readme" / "my-rfp.zip"
SIGNERS = BUNDLE.with_name("KEYS")
FENCE = "```\n"
FILES = (  # the page of a file, its man page, what it is, its schema
    ("campaign-file.md", "campaign-file", "the campaign file", config_format.SCHEMA),
    ("evidence.md", "campaign-buyer-terms", "a buyer's terms", record(terms.OfferTerms)),
    ("forms.md", "campaign-form", "the mapping of a form", record(forms.FormMapping)),
    ("rfp.md", "campaign-rfp", "an RFP of several rule packs", record(rfp.Rfp)),
    ("rule-pack-keys.md", "campaign-pack", "a rule pack", rules_format.SCHEMA),
)
OPTIONS = {  # that a file may give to other programs
    "campaign-file": (
        ("options of sbatch in slurm.directives", slurm_keys.DIRECTIVES_BY_EFFECT),
        ("options of srun in launcher.options", launcher.OPTIONS_BY_EFFECT),
    )
}
RULE_LINES = re.compile(r"(?:^- \*\*[A-Z]{3}-[0-9]{2}\*\* .*\n)+", re.MULTILINE)
PARAMETER_LINES = re.compile(r"(?:^- [A-Z]{3}-[0-9]{2} `.*\n)+", re.MULTILINE)
CSV_LINE = re.compile(r"^`target launch files operation value .*`\n", re.MULTILINE)
NAMES = re.compile(r"^Keys by section:\n\n(?:- `.*\n)+", re.MULTILINE)
SHORT = {  # what a table has in place of words that it would repeat; each is explained once above it
    'a clause in quotes, such as "8.4"': "clause",
    "lower-case letters, digits and -, a letter first": "id",
    "lower-case letters, digits and _, a letter first": "variable",
    "letters, digits, - and _, a letter or digit first": "name",
    "letters, digits and _.,@:+/-": "word",
    "letters, digits and _.,:%+-": "setting",
    "a SHA-256 in 64 digits 0-9 and a-f": "SHA-256",
    "a path without $, backquote or ~": "path",
    "a size with unit, such as 512G or 768m (powers of 1024)": "size",
    "a whole number, or a placeholder such as {largest}": "number",
    "a pattern of a whole line": "pattern",
    "a key, a path or a column": "place",
    "target/launch/files/operation, with * for any": "cells",
    "a flag such as -O2, -march=* (* is any text), -I * (two words) or -O*|-fast (one of them)": "flag",
    formula.ALLOWED: "formula",
}
SIMPLER = (  # how a value is built, in fewer words
    (r"a list of up to 100, each a mapping", "list"),
    (r"a list of (.*), each a mapping", r"list of \1"),
    (r"a list of up to 100, each (.*)", r"list of \1"),
    (r"a list of (.*), each (.*)", r"list of \1: \2"),
    (r"up to 100 lines of `name: value` \(name: (.*); value: (.*)\)", r"\1: \2"),
    (r"(up to \d+) lines of `name: value` \(name: (.*); value: (.*)\)", r"\1 of \2: \3"),
    (r"(?:a whole number|a percentage) from (.*)", r"\1"),
    (r"a mapping|a text on one line", ""),
    (r"true or false", "true/false"),
)


@functools.cache
@mock.patch.dict(os.environ, COLUMNS="100")  # argparse wraps at the terminal's width
def generated() -> dict[Path, str]:
    """Every generated file with its text."""
    of_files = {
        "campaign-file": schemas.document(config_format.SCHEMA, "Campaign file"),
        "form": schemas.document(record(forms.FormMapping), "Mapping of a form"),
        "terms": schemas.document(record(terms.OfferTerms), "Buyer's terms"),
        "rfp": schemas.document(record(rfp.Rfp), "RFP of several rule packs"),
        "rule-pack": schemas.document_of_extending(rules_format.SCHEMA, "Rule pack", ["id", "version"]),
        **{f"outputs/{name}": schema for name, schema in outputs.documents().items()},
    }
    return {
        DOCS / "cli.md": _verbs_alone(),
        CATALOGUE: _catalogue(),
        DOCS / "formats.md": _with_lines(DOCS / "formats.md", CSV_LINE, f"`{' '.join(IN_CSV)}`\n"),
        DOCS / "rules.md": _with_lines(DOCS / "rules.md", RULE_LINES, _rule_lines()),
        DOCS / "rule-packs.md": _with_lines(DOCS / "rule-packs.md", PARAMETER_LINES, _parameter_lines()),
        **{DOCS / page: _with_lines(DOCS / page, NAMES, _names(schema)) for page, _, _, schema in FILES},
        **{
            DOCS / "man5" / f"{name}.5": man_pages.keys(name, title, schemas.reference(schema), OPTIONS.get(name, ()))
            for _, name, title, schema in FILES
        },
        **{DOCS / "man" / name: page for name, page in man_pages.pages(parser()).items()},
        **{DOCS / "schema" / f"{name}.json": json.dumps(schema, indent=1) + "\n" for name, schema in of_files.items()},
    }


def for_the_site() -> dict[str, str]:
    """Pages that only the site has, all of them, by name: what `campaign help VERB`, `campaign check` and `APPLET -h`
    print, and pages with the meaning of a file's keys, of which the repository has the names.
    """
    return {
        "cli.md": _reference(),
        "rules-why.md": _reasons(),
        "applets.md": _applets(),
        **{page: _with_lines(DOCS / page, NAMES, _keys(schema)) for page, _, _, schema in FILES},
    }


def _commands() -> list[str]:
    output = parser().format_help().rstrip()
    return ["# Command line", "", "Generated from the program's own help by `make docs`.", "", "```", output, "```"]


def _verbs_alone() -> str:
    text = (
        "All options of a verb: `campaign help VERB`, or `man campaign-VERB` where campaign is installed ([man](man)); "
        "the site that `make site` builds has them on one page."
    )
    return "\n".join([*_commands(), "", text]) + "\n"


def _reference() -> str:
    top = parser()
    parts = _commands()
    for name, verb, _ in verbs(top):
        parts += _section(f"campaign {name}", verb.format_help())
        for inner, sub_verb, _ in verbs(verb):
            parts += _section(f"campaign {name} {inner}", sub_verb.format_help())
    return "\n".join(parts) + "\n"


def _reasons() -> str:
    """What `campaign check` prints of each rule beside a finding."""
    head = ["# Why each rule matters, and what to do", ""]
    head += ["| rule | why it matters to the buyer | what the vendor should do |"]
    rows = [f"| {rule} | {entry.why} | {entry.remedy} |" for rule, entry in catalogue.CATALOGUE.items()]
    return "\n".join([*head, "|---|---|---|", *rows]) + "\n"


def _rules() -> dict[str, Rule]:
    """Every rule as its decorator says, those of bundles included."""
    return rules_of((*engine.MODULES, rfp_judgement, inventory, verify), *catalogue.Level)


def _catalogue() -> str:
    """What the driver reads of the rules, without their functions."""
    entries = {rule.id: asdict(rule.entry) for rule in _rules().values()}
    for entry in entries.values():
        entry["parameters"] = {
            name: {**parameter, "kind": parameter["kind"].name} for name, parameter in entry["parameters"].items()
        }
    return json.dumps(entries, indent=1, ensure_ascii=False) + "\n"


def _rule_lines() -> str:
    rows = [
        f"- **{rule.id}** {rule.entry.severity}: {rule.entry.statement}. {rule.method}" for rule in _rules().values()
    ]
    return "\n".join(rows) + "\n"


def _parameter_lines() -> str:
    rows = [
        f"- {rule.id} `{name}` ({catalogue.show(parameter.kind, parameter.default)}): {parameter.says}"
        for rule in _rules().values()
        for name, parameter in rule.entry.parameters.items()
    ]
    return "\n".join(rows) + "\n"


def _with_lines(page: Path, pattern: re.Pattern[str], lines: str) -> str:
    """A page in which the lines that match the pattern are replaced."""
    text = page.read_text(encoding="utf-8")
    assert pattern.search(text), f"{page.name} has no lines like {pattern.pattern}"
    return pattern.sub(lambda _: lines, text, count=1)


def _applets() -> str:
    """The help of each program of the built-in benchmark."""
    parts = ["# Options of the built-in benchmark", "", "What `mdtest -h` and the others print."]
    for name in output_format.BUILT_IN:
        process = subprocess.run([PROJECT / "bench-src/build" / name, "-h"], capture_output=True, text=True, check=True)
        parts += _section(name, process.stdout)
    return "\n".join(parts) + "\n"


def _names(record: KeyedMap) -> str:
    """The names of all keys, those of one section in one line."""
    keys = _own_keys(record)
    sections: dict[str, list[str]] = {}
    for key in keys:
        section, _, name = key.rpartition(".")
        if not any(other.startswith((f"{key}.", f"{key}[].")) for other in keys):
            sections.setdefault(section, []).append(f"`{name}`")
    lines = [f"- {f'`{section}`: ' if section else ''}{', '.join(names)}" for section, names in sections.items()]
    return "Keys by section:\n\n" + "\n".join(lines) + "\n"


def _own_keys(record: KeyedMap) -> dict[str, list[str]]:
    """All keys; what an entry of a list has as the whole file does too is there once."""
    keys = {key: cells for key, *cells in schemas.reference(record)}
    inner = {key: key.partition("[].")[2] for key in keys}
    return {key: cells for key, cells in keys.items() if "." not in inner[key] or inner[key] not in keys}


def _keys(record: KeyedMap) -> str:
    """The keys, those with the same meaning in one line."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for key, cells in _own_keys(record).items():
        rows.setdefault((key.rpartition(".")[2], *cells), []).append(f"`{key}`")
    often = {long: short for long, short in SHORT.items() if sum(long in allowed for _, allowed, _, _ in rows) > 2}
    values = [f"*{short}* is {long}" for long, short in often.items()]
    values += ["where nothing is said: a text on one line, false, up to 100 entries"]
    lines = []
    for (_, allowed, default, says), keys in rows.items():
        for long, short in often.items():
            allowed = allowed.replace(long, f"*{short}*")
        for pattern, simpler in SIMPLER:
            allowed = re.sub(rf"^{pattern}$", simpler, allowed)
        words = [
            allowed,
            "required" if default == "required" else "" if default in ("none", "false") else f"default: {default}",
        ]
        value = ", ".join(filter(None, words))
        lines.append(f"- {', '.join(keys)}{f' ({value})' if value else ''}: {says}")
    return f"Values: {'; '.join(values)}.\n\n" + "\n".join(lines) + "\n"


def _section(title: str, text: str) -> list[str]:
    return ["", f"## {title}", "", "```", text.rstrip(), "```"]


def bundle_source() -> OwnSource:
    """The source of the benchmark that the README's campaign ran."""
    with zipfile.ZipFile(BUNDLE) as archive:
        (name,) = (name for name in archive.namelist() if "/source/builds/" in name)
        build = json.loads(archive.read(name))
    return OwnSource(build["version"], build["source_tree"])


@contextmanager
def program_of_bundle() -> Iterator[None]:
    """The README's bundle is verified as by the program that made it: texts, job scripts, rule pack and the benchmark's
    source have changed since. `tests/data/readme/measure` makes it anew.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        zipfile.ZipFile(BUNDLE) as archive,
        mock.patch.object(packs, "PACKS", Path(folder)),
        mock.patch.object(derived_files, "differing_files", lambda *_: {}),
        mock.patch.object(copies, "differing_files", lambda *_: {}),
        mock.patch.object(copies, "check_scripts", lambda *_: ()),
        mock.patch.object(modifications, "own_source", bundle_source),
    ):
        for name in archive.namelist():
            if "/data/rules/" in name:
                Path(folder, Path(name).name).write_bytes(archive.read(name))
        yield


@contextmanager
def verify_bundle(signers: Path | None = None) -> Iterator[verify.VerifiedPart]:
    """The README's bundle as it was verified when it was made."""
    with program_of_bundle(), verify.verify(BUNDLE, verify.Buyer(signers)) as part:
        yield part


def samples() -> dict[Path, str]:
    """README.md and docs/report.md with what is printed now of the README's campaign."""
    with verify_bundle(SIGNERS) as part:
        assert part.evaluation is not None, "the bundle of the README cannot be judged"
        table = part.evaluation.files["tables/table.txt"]
        steps = [replace(step, what=step.what.replace(str(BUNDLE), BUNDLE.name)) for step in part.decision.block.steps]
        details = part.decision.block.details.replace(str(BUNDLE), BUNDLE.name)
        in_its_folder = replace(part.decision.block, steps=tuple(steps), details=details)
        block = decision.decision_text(in_its_folder, printing.WIDEST)
    command = f"$ campaign verify {BUNDLE.name} --signers {SIGNERS.name}"
    verification = "\n".join([command, block, "…"])
    return {
        README: _with_block(README, command, verification),
        REPORT: _with_block(REPORT, table.partition("\n")[0], table.partition("[4]")[0] + "…"),
    }


def _with_block(page: Path, first: str, block: str) -> str:
    """A page in which the fenced block that begins with `first` is another."""
    before, text, other_remaining_text = page.read_text(encoding="utf-8").partition(f"{FENCE}{first}\n")
    assert text, f"{page.name} has no block that begins with: {first}"
    return before + FENCE + block.rstrip("\n") + "\n" + FENCE + other_remaining_text.partition("\n" + FENCE)[2]


@mock.patch.dict(os.environ, COLUMNS="100")
def main(site: Path | None) -> None:
    pages = {site / name: text for name, text in for_the_site().items()} if site else generated() | samples()
    for path, text in pages.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else None)
