"""Where the program's own files are: rule packs, templates, JSON Schemas, the benchmark's source and its binaries.

In a checkout they are beside the package; a wheel has them inside it, in `_data/`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import campaign
from campaign.core.users import own_directory

if TYPE_CHECKING:
    import jinja2

_PACKAGE = Path(campaign.__file__).resolve().parent
_DATA = _PACKAGE / "_data"
INSTALLED = _DATA.is_dir()
_TOP = _DATA if INSTALLED else _PACKAGE.parent

PACKS = _TOP / "rules"
TEMPLATES = _TOP / "templates"
SCHEMAS = _TOP / "docs" / "schema"  # campaign-file.json, rule-pack.json
BENCHMARK: Path = _TOP / "bench-src"  # the source of the built-in benchmark


def binaries() -> Path:
    """The directory of the built-in benchmark's binaries: CAMPAIGN_BENCHMARK if set, `build` of the source in a
    checkout, otherwise a directory of the user's for each version.
    """
    if directory := os.environ.get("CAMPAIGN_BENCHMARK"):
        return Path(directory).absolute()
    if not INSTALLED:
        return BENCHMARK / "build"
    data = own_directory("XDG_DATA_HOME", "~/.local/share", "CAMPAIGN_BENCHMARK to a directory that all nodes see")
    return data.absolute() / "campaign" / campaign.__version__ / "bench"


def templates(**options: Any) -> jinja2.Environment:
    """The program's own templates. `options`: of jinja2, beside those that all of them have."""
    import jinja2

    return jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        **{"loader": jinja2.FileSystemLoader(TEMPLATES), **options},
    )


def render_template(template: str, **values: object) -> str:
    """A file of plain text by one of the templates."""
    return templates().get_template(template).render(**values)


def witness() -> Path:
    """The program that records the nodes of a job and what its ranks execute."""
    return binaries() / "witness"
