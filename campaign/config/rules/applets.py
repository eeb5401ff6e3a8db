"""How the outputs of the project's own programs are read: outputs/NAME.yaml, with the keys of a pack's `results`."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

from campaign.config.rules.output_format import RESULTS, OutputFormat
from campaign.core import keys, schema
from campaign.core.strict_yaml import Document

OUTPUTS = Path(__file__).with_name("outputs")


@cache
def form(applet: str) -> OutputFormat:
    """`applet` is one of DESCRIBED."""
    path = OUTPUTS / f"{applet}.yaml"
    document = Document.open(path)
    values = schema.read(RESULTS, document)
    document.finish()
    made: OutputFormat = keys.make(RESULTS, values, path)
    return replace(made, applet=applet)
