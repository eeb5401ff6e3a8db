"""Captured outputs of the benchmarks, tests/data/<applet>/: what reading each gives stands in its expected.json."""

from __future__ import annotations

import json
import re
import string
from collections.abc import Callable, Iterable
from dataclasses import fields
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from campaign.config.rules import packs
from campaign.config.rules.output_format import OutputFormat
from campaign.core import resources
from campaign.core.model import Observation, OutputRemark, Record
from campaign.results.parsers import output

DATA = Path(__file__).parents[1] / "data"
Parse = Callable[[str, str], tuple[list[Record], Observation]]


PACKS = {
    "stream": resources.PACKS / "stream.yaml",
    "osu": DATA / "declared" / "osu.yaml",
    "fio": resources.PACKS / "fio.yaml",
    "hpcg": resources.PACKS / "hpcg.yaml",
    "npb": resources.PACKS / "npb.yaml",
    "io500": resources.PACKS / "io500-app.yaml",
}


def declared() -> list[str]:
    """Names of the captures that rule packs read by their own `results`."""
    return sorted(path.name for path in (DATA / "declared").iterdir() if path.suffix != ".yaml")


def program(name: str) -> str:
    """The program of such a capture."""
    return re.split("[-_]", name)[0]


@cache
def declared_form(name: str) -> OutputFormat:
    """How the program's pack describes such a capture."""
    form = packs.load(PACKS[program(name)]).programs[0].results
    assert form is not None
    return form


def texts(applet: str) -> list[str]:
    """Names of the captured standard outputs: those of a folder, and single files."""
    there = DATA / applet
    single = [path for path in there.iterdir() if path.suffix in (".txt", ".json", ".csv")]
    found = [path for path in [*single, *there.glob("*/stdout")] if path.name != "expected.json"]
    return sorted(path.relative_to(there).as_posix() for path in found)


def folders(applet: str) -> list[str]:
    """Names of the folders of whole executions, with their JSON lines."""
    return sorted(path.parent.name for path in (DATA / applet).glob("*/bench.jsonl"))


def read_text(applet: str, name: str, parse: Parse) -> tuple[list[Record], Observation]:
    return parse((DATA / applet / name).read_text(encoding="utf-8"), Path(name).name)


def read_folder(applet: str, name: str) -> tuple[list[Record], Observation]:
    return output.read(applet, DATA / applet / name, DATA / applet)


def summary(records: list[Record], seen: Observation) -> dict[str, Any]:
    """What expected.json holds of an output."""
    values = [[r.operation, r.source.line, r.value, r.unit, r.iterations] for r in records]
    return {"records": values, "observation": observed(seen)}


def observed(seen: Observation) -> dict[str, Any]:
    """What an observation says, as JSON."""
    values = {field.name: (getattr(seen, field.name), field.default) for field in fields(seen)}
    told = {name: value for name, (value, default) in values.items() if value not in (default, {})}
    return {name: _plain(value) for name, value in told.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [str(each) if isinstance(each, OutputRemark) else each for each in value]
    return value


def said(remarks: Iterable[OutputRemark]) -> tuple[str, ...]:
    """Remarks as people read them: "stdout:3: words"."""
    return tuple(map(str, remarks))


def expected(applet: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DATA / applet / "expected.json").read_text(encoding="utf-8"))
    return found


def stands_in_its_line(record: Record, text: str) -> bool:
    """Whether the line that a record names holds its value, with as many digits as are printed there."""
    line = text.split("\n")[record.source.line - 1]
    numbers = re.findall(r"[0-9]+(?:\.[0-9]+)?", line)
    return any(float(number) == record.value for number in numbers)


def damaged(text: str, seed: int) -> str:
    """The text with some lines cut, doubled, swapped, emptied, filled with rubbish, or with digits changed."""
    random = Random(seed)
    lines = text.split("\n")
    for _ in range(random.randint(1, 6)):
        at = random.randrange(len(lines))
        kind = random.randrange(7)
        if kind == 0:
            lines[at] = lines[at][: random.randint(0, len(lines[at]))]
        elif kind == 1:
            lines.insert(at, lines[at])
        elif kind == 2:
            other = random.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        elif kind == 3:
            lines[at] = "".join(random.choices(string.printable.replace("\n", ""), k=random.randint(0, 80)))
        elif kind == 4:
            lines[at] = re.sub(r"[0-9]", lambda match: str(random.randrange(10)), lines[at])
        elif kind == 5:
            del lines[at:]
            lines.append("")
        else:
            lines[at] = lines[at].replace(" ", random.choice(["\t", "", "  ", "\r"]))
    return "\n".join(lines)


if __name__ == "__main__":
    # Shows what reading the captures of an applet gives, to be looked through before it becomes expected.json.
    import sys

    shown = {name: summary(*read_text(sys.argv[1], name, output.parser(sys.argv[1])[1])) for name in texts(sys.argv[1])}
    print(json.dumps(shown, indent=1, ensure_ascii=False))
