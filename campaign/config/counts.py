"""Numbers of nodes, and of processes per node, as a share of those available: `10%`, `half`, `all`. Pure."""

from __future__ import annotations

import re

ALLOWED = "a whole number from 1 to 1000000, all, half, power of two, or a share such as 10%"
Count = int | str  # a number, or a share as written
POWER = "power of two"
SERIES = "powers of two"  # in rule packs: 1, 2, 4 ... up to what is available
EACH = "each"  # in rule packs: every usable node by itself
ALLOWED_IN_PACKS = f"{ALLOWED}, {SERIES}, or {EACH}"


def parse(text: str, in_pack: bool = False) -> Count:
    """Parse a count. Raises ValueError with what is allowed."""
    if re.fullmatch(r"[1-9][0-9]{0,5}|1000000", text):
        return int(text)
    share = re.fullmatch(r"([0-9]{1,3}(?:\.[0-9]{1,3})?)%", text)
    if text in ("all", "half", POWER) or (in_pack and text in (SERIES, EACH)) or (share and 0 < float(share[1]) <= 100):
        return text
    raise ValueError(f'found "{text}"; allowed: {ALLOWED_IN_PACKS if in_pack else ALLOWED}')


def of(count: Count, there: int) -> int:
    """How many of those that are `there`; a share is rounded up, a power of two is the largest possible."""
    if isinstance(count, int):
        return count
    if count == POWER:
        return 1 << (there.bit_length() - 1)
    if count == EACH:
        return 1
    share = {"all": 100.0, "half": 50.0}.get(count) or float(count.removesuffix("%"))
    return max(1, -int(-there * share * (1 - 1e-12) // 100))
