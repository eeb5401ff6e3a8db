"""What is put together of an object once."""

from __future__ import annotations

import pytest

from campaign.core.once import Once, cached_property

pytestmark = pytest.mark.unit


class Counted(Once):
    def __init__(self) -> None:
        self.made = 0

    @cached_property
    def number(self) -> int:
        """How often it was made."""
        self.made += 1
        return self.made

    @cached_property
    def broken(self) -> int:
        self.made += 1
        raise ValueError


def test_a_property_is_made_once_for_each_object() -> None:
    one, other = Counted(), Counted()
    assert (one.number, one.number, other.number) == (1, 1, 1)
    assert one.made == 1


def test_a_property_that_could_not_be_made_is_made_again() -> None:
    one = Counted()
    for _ in range(2):
        with pytest.raises(ValueError):
            _ = one.broken
    assert one.made == 2


def test_a_value_is_made_once_for_each_key() -> None:
    one = Counted()
    assert [one.once(key, lambda: object()) is one.once(key, lambda: object()) for key in (1, "two")] == [True, True]
    assert one.once(1, dict) is not one.once("two", dict)
