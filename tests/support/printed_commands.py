"""The commands that pages and screens print: found, and made executable on one measured campaign.

A command in a block of a page, in a step of a screen, or with everything that it requires is complete. An inline one
may be a mere mention, such as `campaign table --decimal ,`: its verb and its options must exist.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import campaign
from campaign.cli.arguments import VERBS, parser
from tests.support import bundled
from tests.support.texts import texts

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(campaign.__file__).parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SCREENS = sorted((ROOT / "tests" / "goldens").rglob("*.txt"))
SOURCES = [
    *sorted(PROGRAM.rglob("*.py")),
    PROGRAM / "config/rules/catalogue.json",
    *sorted((ROOT / "templates").rglob("*.j2")),
]
IN_BLOCK = re.compile(r"^(?:\$ |> )?(?:\.venv/bin/)?campaign +([a-z]+(?: .*)?)$", re.MULTILINE)
STEP = re.compile(r"^ +\d+ (?:you|vendor) +campaign (.*?)(?:, then .*)?$", re.MULTILINE)
BLOCK = re.compile(r"^```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMPUTED = re.compile(r"\{\{.*?\}\}|\{[^}]*\}")
QUOTED = re.compile(r"(?:'|`|<code>)campaign ([^'`<]+)(?:'|`|</code>)")
AT_END = re.compile(rf": campaign ((?:{'|'.join(verb.name for verb in VERBS)})\b[^,:;()'`]*)$")
BARE = re.compile(rf"^campaign ((?:{'|'.join(verb.name for verb in VERBS)})\b[^,:;(]*)")


def complete(path: Path) -> list[str]:
    """The commands in the blocks of a page, or in the steps of a screen."""
    text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    if path.suffix != ".md":
        return STEP.findall(text)
    return [command for block in BLOCK.findall(text) for command in (*IN_BLOCK.findall(block), *STEP.findall(block))]


def inline(path: Path) -> list[str]:
    """The commands in the sentences of a page, or in the texts of a source file; PLACE is what the program computes."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return [" ".join(command.split()) for command in re.findall(r"`campaign ([^`]+)`", BLOCK.sub("", text))]
    passages = [text]
    if path.suffix == ".py":
        passages = [passage for _, passage in texts(ast.parse(text))]
    elif path.suffix == ".json":
        passages = list(_strings(json.loads(text)))
    plain = [COMPUTED.sub("PLACE", re.sub(r"(?<=\w)\{[^}]*\}", "", passage)) for passage in passages]
    return [command for passage in plain for form in (QUOTED, BARE, AT_END) for command in form.findall(passage)]


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for member in value.values() if isinstance(value, dict) else value:
            yield from _strings(member)


def words_of(command: str) -> list[str]:
    """Up to what the shell takes for itself; N stands for a number."""
    words = shlex.split(command, comments=True)
    end = next((at for at, word in enumerate(words) if re.match(r"[|;&<>]|\d?>", word)), len(words))
    return ["1" if word == "N" else word.rstrip(";") for word in words[:end]]


def mentions() -> argparse.ArgumentParser:
    """The program's parser, of which nothing is required."""
    top = parser()
    _relax(top)
    return top


def _relax(verb: argparse.ArgumentParser) -> None:
    for action in verb._actions:
        if isinstance(action, argparse._SubParsersAction):
            for of_verb in action.choices.values():
                _relax(of_verb)
        elif action.nargs in (None, "+"):
            action.nargs = "*" if action.nargs else "?"
        action.required = False


# --- on a measured campaign

FORM = "result,rate\nstat,{}\n"
CELL = "scratch/node/unique/stat"


@dataclass(frozen=True)
class MeasuredCampaign:
    """A measured campaign with all that commands name: a bundle, a measured sample, terms, forms, keys."""

    vendor: bundled.Vendor

    def execute(self, words: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
        """Such words, in an empty directory; the outputs are removed."""
        place = self.vendor.root / "outputs"
        place.mkdir()
        try:
            return self.vendor.call(*words, cwd=place)
        finally:
            shutil.rmtree(place)

    def words(self, command: list[str]) -> tuple[str | Path, ...]:
        """The command with existing files, results and ids in place of what it names, and new files as outputs."""
        if {"--help", "--version"} & set(command):
            return (*command,)
        arguments = vars(parser().parse_args(command))
        words: list[str | Path] = [*command]
        for name, value in arguments.items():
            for text in map(str, value if isinstance(value, list) else [value]):
                if text in words[1:] and (replacement := self._replacement(command[0], name, text, arguments)):
                    words[words.index(text, 1)] = replacement
        if words[0] == "sample" and "--cells" not in words:  # so few results allow no design
            words += ["--cells", "1", "--repetitions", "1"]
        if words[0] in ("verify", "sample", "accept"):  # the results of this campaign count by the buyer's waivers
            words += ["--waiver-signers", self.vendor.root / "buyers"]
        return (*words,)

    def _replacement(self, verb: str, name: str, text: str, arguments: dict[str, Any]) -> str | Path:
        root = self.vendor.root
        if name in arguments["outputs"]:
            suffix = Path(text).suffix or (".csv" if verb == "fill" else "")
            return text if text == "-" else root / "outputs" / f"new{suffix}"
        files: dict[str, Callable[[], str]] = {
            "file": lambda: self._file(text, arguments),
            "campaigns": lambda: "response.csv" if text.endswith(".csv") else self._file(text, arguments),
            "form": lambda: (
                f"{'mapped' if arguments['mapping'] else 'form'}{Path(text).suffix if '.' in text else '.csv'}"
            ),
            "table": lambda: "response.csv" if arguments["mapping"] else "table.csv",
            "bundle": lambda: "waived",
            "challenge": lambda: "sample.yaml",
            "mapping": lambda: "map.yaml",
            "sign": lambda: "key",
            "signers": lambda: "signers",
            "waiver_signers": lambda: "signers",
            "terms": lambda: "terms.yaml",
        }
        if name in files:
            return root / files[name]()
        if name == "test":
            return "crossroads-mdtest" if text == arguments["test"][0] else next(root.glob("results/**/1/stdout"))
        of_pack = dict.fromkeys(("rules", "id", "other"), "crossroads-mdtest")
        known_texts = of_pack | {"only": CELL, "head": "0" * 64}
        known_texts |= {"verb": "run", "shell": "bash"} if text.isupper() else {}
        known_texts |= {"cells": CELL} if verb == "rerun" else {}
        return known_texts.get(name, "")

    def _file(self, text: str, arguments: dict[str, Any]) -> str:
        if text.endswith((".zip", ".tar.gz")):
            return "waived"
        if text.lower().endswith(".csv"):
            return "response.csv" if arguments["mapping"] else "table.csv"
        return "campaign.yaml"


def measure_campaign(root: Path) -> MeasuredCampaign:
    import openpyxl

    vendor = bundled.waived(bundled.make(root))
    vendor = replace(vendor, environment={**vendor.environment, "FAKE_TRUE_CLOCK": "1"})
    (root / "form.csv").write_text(FORM.format(f"{{{{ {CELL} }}}}"))
    (root / "mapped.csv").write_text(FORM.format(""))
    (root / "map.yaml").write_text(f"cells: {{B2: {CELL}}}\n")
    book = openpyxl.Workbook()
    book.active["B2"] = f"{{{{ {CELL} }}}}"
    book.save(root / "form.xlsx")
    buyers = ("--waiver-signers", root / "buyers")
    for words in (
        ("table", vendor.file, "-o", root / "table.csv"),
        ("fill", vendor.file, root / "mapped.csv", "-o", root / "response.csv", "--mapping", root / "map.yaml"),
        ("terms", "init", root / "terms.yaml", "--rules", "crossroads-mdtest"),
        (
            "sample",
            root / "waived",
            "--cells",
            "1",
            "--repetitions",
            "1",
            "--seed",
            "a",
            "-o",
            root / "sample.yaml",
            *buyers,
        ),
        ("run", root / "sample.yaml"),
    ):
        process = vendor.call(*words)
        assert process.returncode in (0, 1, 4), process.stderr
    terms = root / "terms.yaml"
    terms.write_text(terms.read_text().replace("<a random word that you issue>", "buyer-2026"))
    return MeasuredCampaign(vendor)
