"""A frozen dataclass with other fields is as `dataclasses.replace` makes it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property

import pytest

from campaign.core.frozen import named_values, replace


@dataclass(frozen=True, slots=True)
class Wheel:
    spokes: int


@dataclass(frozen=True)
class Car:
    name: str
    wheels: tuple[Wheel, ...] = (Wheel(4),)

    @cached_property
    def title(self) -> str:
        return f"{self.name} on {len(self.wheels)}"


@pytest.mark.parametrize("value", [Wheel(5), Car("a"), Car("a", ())])
def test_a_value_without_changes_is_equal(value: object) -> None:
    assert replace(value) == value
    assert dict(named_values(value)) == {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


def test_changed_fields_are_those_of_dataclasses_replace() -> None:
    assert replace(Wheel(5), spokes=6) == Wheel(6)
    assert replace(Car("a"), wheels=()) == dataclasses.replace(Car("a"), wheels=())


def test_what_was_cached_is_computed_again() -> None:
    car = Car("a")
    assert car.title == "a on 1"
    assert replace(car, wheels=()).title == "a on 0"


def test_a_field_that_does_not_exist_is_refused() -> None:
    with pytest.raises(AttributeError):
        replace(Wheel(5), tyres=2)
