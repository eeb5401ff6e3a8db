"""Writes a commented campaign file for a rule pack, to be completed by the user."""

from __future__ import annotations

import functools
import json
import re
from dataclasses import dataclass
from pathlib import Path

from campaign.config import values
from campaign.config.rules import packs
from campaign.config.rules.output_format import BUILT_IN
from campaign.config.system import CONTACT, SYSTEM
from campaign.core import resources, units
from campaign.core.errors import InputError

DIRECTORY = "/path/to/scratch"  # if none better is known; `plan` reports it


@dataclass(frozen=True, slots=True)
class Site:
    """What is known of this cluster, for values that fit it."""

    partition: str = ""  # the default one
    cores: int = 16  # of a node
    directory: str = DIRECTORY
    nodes: int = 16


UNKNOWN = Site()


def text(rules_id: str, site: Site = UNKNOWN, name: str = "my-campaign") -> str:
    """A campaign file for a rule pack (an id, or a path to one). Raises InputError where the pack cannot be read."""
    pack = packs.load(rules_id)
    is_path = "/" in rules_id or rules_id.endswith(".yaml")
    given = [f"{variable.id}: {variable.rehearsal}" for variable in pack.variables]
    return (
        resources.templates()
        .get_template("campaign.yaml.j2")
        .render(
            name=name,
            pack=pack,
            rules=json.dumps(str(Path(rules_id).absolute())) if is_path else pack.id,
            schema=(resources.SCHEMAS / "campaign-file.json").as_uri(),
            site=site,
            each=1 << max(0, site.cores.bit_length() - 1),  # a power of two divides most numbers of files
            largest=functools.partial(values.share_of, values.POWER),
            width=max(map(len, given), default=0),
            built_in=BUILT_IN,
            system=SYSTEM,
            contact=CONTACT,
            counted=units.format_count,
            quoted=json.dumps,
        )
    )


def write(path: Path, rules_id: str, site: Site = UNKNOWN) -> None:
    """Write `text` to a new file, whose name becomes the campaign's if possible. Raises InputError if the file exists
    or cannot be written.
    """
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", path.stem).strip("-_")[:40]
    content = text(rules_id, site, *([name] if name else []))
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(content)
    except FileExistsError:
        raise InputError(f"{path}: already exists; name another file or remove it") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        problem = f"cannot be written: {why}; name another file"
        if not path.parent.is_dir():
            problem = f"directory {path.parent} does not exist; create it or name another file"
        raise InputError(f"{path}: {problem}") from error
