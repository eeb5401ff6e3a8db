"""Names of this machine's users."""

from __future__ import annotations

import pwd


def name_of(number: int) -> str:
    """The name of a user; the number if it has none, as in a container. Slurm takes that as well."""
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)
