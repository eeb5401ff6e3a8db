"""How many examples a property is tried with: all of them in `make soak`, fewer in `make test`."""

from __future__ import annotations

from hypothesis import settings

ALL = 100  # Hypothesis's own number for a property that names none


def examples(number: int) -> int:
    """What the profile in use (tests/conftest.py) leaves of so many."""
    return number * settings().max_examples // ALL
