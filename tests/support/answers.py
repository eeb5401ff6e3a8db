"""Answers of Slurm as campaign asks for them: a mark behind each field."""

from __future__ import annotations

from campaign.slurm import commands


def slurm_output(*rows: str) -> str:
    """Rows whose fields are written with a bar between them, as Slurm would print them."""
    return "".join("".join(field + commands.MARK for field in row.split("|")) + "\n" for row in rows)
