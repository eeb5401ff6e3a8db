"""Captured outputs of the benchmarks, tests/data/<benchmark>/: what reading each gives is in a file beside it, or, of a
whole execution, in its folder.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from campaign.config.rules import packs
from campaign.config.rules.output_format import BUILT_IN, Form, OutputFormat
from campaign.core import resources
from campaign.core.records import Observation, OutputRemark, Record
from campaign.results.parsers import output

DATA = Path(__file__).parents[1] / "data"
Parse = Callable[[str, str], tuple[list[Record], Observation]]


PACKS = {
    "stream": resources.PACKS / "stream.yaml",
    "osu": DATA / "declared" / "osu.yaml",
    "fio": resources.PACKS / "fio.yaml",
    "hpcg": resources.PACKS / "hpcg.yaml",
    "npb": resources.PACKS / "npb.yaml",
    "hpcc": resources.PACKS / "hpcc.yaml",
    "hpl": resources.PACKS / "uk-nnss-hpl.yaml",
    "gromacs": resources.PACKS / "jupiter-gromacs.yaml",
    "omb": resources.PACKS / "uk-nnss-omb.yaml",
    "lammps": resources.PACKS / "uk-nnss-lammps.yaml",
    "esif": resources.PACKS / "esif-hpc-4-lammps.yaml",
    "mlperf": resources.PACKS / "mlperf-storage.yaml",
    "mdworkbench": resources.PACKS / "md-workbench.yaml",
    "io500": resources.PACKS / "io500-app.yaml",
}


def program(name: str) -> str:
    """The program of such a capture."""
    return re.split("[-_]", name)[0]


@cache
def declared_form(name: str) -> OutputFormat:
    """How the program's pack describes such a capture."""
    form = packs.load(PACKS[program(name)]).programs[0].results
    assert form is not None
    return form


@dataclass(frozen=True)
class Capture:
    """A captured output: a single file, or a folder with what a whole execution left."""

    path: Path

    def __str__(self) -> str:
        return self.path.relative_to(DATA).as_posix()

    @property
    def applet(self) -> str:
        return self.path.parent.name

    @property
    def form(self) -> Form:
        """How it is read: by the pack of its program, or as the applet's."""
        return declared_form(self.path.name) if self.applet == "declared" else self.applet

    @property
    def is_whole(self) -> bool:
        return self.path.is_dir()

    @property
    def text_path(self) -> Path:
        return self.path / "stdout" if self.is_whole else self.path

    @property
    def text(self) -> str:
        return self.text_path.read_text(encoding="utf-8")

    @property
    def parse(self) -> Parse:
        return output.parser(self.form)

    def read(self) -> tuple[list[Record], Observation]:
        """All its files."""
        if self.is_whole:
            return output.read(self.form, self.path, self.path.parent)
        return output.read_sample(self.form, self.path)

    def read_text(self) -> tuple[list[Record], Observation]:
        return self.parse(self.text, self.text_path.name)

    @property
    def expectation(self) -> Path:
        return self.path / "expected.json" if self.is_whole else self.path.with_name(f"{self.path.name}.expected.json")

    def expected_summary(self) -> Any:
        return json.loads(self.expectation.read_text(encoding="utf-8"))


def find() -> list[Capture]:
    """All captured outputs of benchmarks, tests/data/<benchmark>/<capture>."""
    paths = [path for applet in (*BUILT_IN, "declared") for path in (DATA / applet).glob("*")]
    ours = [path for path in paths if path.name not in ("README.md", "osu.yaml")]
    return [Capture(path) for path in sorted(ours) if not path.name.endswith("expected.json")]


def summary(records: list[Record], seen: Observation) -> dict[str, Any]:
    """What is expected of a capture."""
    values = [
        [r.operation, r.source.line, r.value, r.unit, r.minimum, r.mean, r.stddev, r.iterations, r.elapsed_s]
        for r in records
    ]
    return {"records": values, "observation": observation_fields(seen)}


def observation_fields(seen: Observation) -> dict[str, Any]:
    """What an observation says, as JSON."""
    values = {field.name: (getattr(seen, field.name), field.default) for field in fields(seen) if field.name != "facts"}
    found_fields = {name: value for name, (value, default) in values.items() if value not in (default, {})}
    return {name: _plain(value) for name, value in found_fields.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [str(item) if isinstance(item, OutputRemark) else item for item in value]
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def summary_text(fields: dict[str, Any]) -> str:
    """A summary as it is kept: a line for each record, and for each thing observed."""
    records = [json.dumps(record, ensure_ascii=False) for record in fields["records"]]
    facts = [
        f"{json.dumps(name)}: {json.dumps(fact, ensure_ascii=False)}" for name, fact in fields["observation"].items()
    ]
    separator = ",\n  "
    return f"""{{
 "records": [
  {separator.join(records)}
 ],
 "observation": {{
  {separator.join(facts)}
 }}
}}
""".replace("[\n  \n ]", "[]")


def texts_of(remarks: Iterable[OutputRemark]) -> tuple[str, ...]:
    """Remarks as people read them: "stdout:3: words"."""
    return tuple(map(str, remarks))


def stands_in_its_line(record: Record, text: str) -> bool:
    """Whether the line that a record names holds its value, with as many digits as are printed there."""
    line = text.split("\n")[record.source.line - 1]
    numbers = re.findall(r"[0-9]+(?:\.[0-9]+)?", line)
    return any(float(number) == record.value for number in numbers)


def damage(text: str, seed: int) -> str:
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
    # Shows what reading a capture gives, to be looked through before it becomes its expectation.
    import sys

    print(summary_text(summary(*Capture(Path(sys.argv[1]).resolve()).read())), end="")
