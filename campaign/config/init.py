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
    variable_lines = [f"{variable.id}: {variable.rehearsal}" for variable in pack.variables]
    return resources.render_template(
        "campaign.yaml.j2",
        name=name,
        pack=pack,
        rules=json.dumps(str(Path(rules_id).absolute())) if values.is_path_of_pack(rules_id) else pack.id,
        schema=(resources.SCHEMAS / "campaign-file.json").as_uri(),
        site=site,
        each=1 << max(0, site.cores.bit_length() - 1),  # a power of two divides most numbers of files
        largest=functools.partial(values.share_of, values.POWER),
        width=max(map(len, variable_lines), default=0),
        built_in=BUILT_IN,
        system=SYSTEM,
        contact=CONTACT,
        counted=units.format_count,
        quoted=json.dumps,
    )


def text_for(path: Path, rules_id: str, site: Site = UNKNOWN) -> str:
    """`text` for a file, whose name becomes the campaign's if possible."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", path.stem).strip("-_")[:40]
    return text(rules_id, site, *([name] if name else []))
