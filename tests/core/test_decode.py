"""What asdict made of a dataclass comes back from JSON, and what is not as its fields say is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

import pytest

from campaign.core.decode import decode, dumps


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Wheel:
    spokes: int


@dataclass(frozen=True)
class Car:
    name: str
    colour: Colour
    wheels: tuple[Wheel, ...] = ()
    spare: Wheel | None = None
    weight: float | None = None
    sold: bool = False
    notes: Mapping[str, tuple[str, ...]] | None = None


CAR = Car("a", Colour.RED, (Wheel(4), Wheel(5)), Wheel(6), 1.5, True, {"b": ("c", "d")})


def test_what_was_written_comes_back() -> None:
    assert decode(Car, json.loads(json.dumps(asdict(CAR)))) == decode(Car, json.loads(dumps(CAR))) == CAR


def test_fields_that_have_their_defaults_are_not_written() -> None:
    assert json.loads(dumps(Car("a", Colour.RED, sold=True))) == {"name": "a", "colour": "red", "sold": True}


def test_an_absent_field_has_its_default() -> None:
    assert decode(Car, {"name": "a", "colour": "red"}) == Car("a", Colour.RED)


def test_an_unknown_field_is_refused_or_passed_over_where_it_may_be_there() -> None:
    fields = {"name": "a", "colour": "red", "spare": {"spokes": 1, "tyre": 2}}
    with pytest.raises(ValueError, match=r"car\.spare: unknown field 'tyre'"):
        decode(Car, fields)
    assert decode(Car, fields, pass_over_unknown=True) == Car("a", Colour.RED, spare=Wheel(1))


@pytest.mark.parametrize(
    ("changed_fields", "message"),
    [
        ({"name": 1}, "car.name: found 1; allowed: str"),
        ({"colour": "blue"}, "'blue' is not a valid Colour"),
        ({"wheels": {}}, "car.wheels: not a list"),
        ({"wheels": [{"spokes": True}]}, "car.wheels[0].spokes: found True; allowed: int"),
        ({"wheels": [{}]}, "car.wheels[0]: "),
        ({"spare": 1}, "car.spare: not an object"),
        ({"weight": "1"}, "car.weight: found '1'; allowed: float"),
        ({"notes": []}, "car.notes: not an object"),
        ({"notes": {"b": [1]}}, "car.notes.b[0]: found 1; allowed: str"),
    ],
)
def test_a_field_of_another_kind_is_refused_with_its_place(changed_fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as error:
        decode(Car, {"name": "a", "colour": "red"} | changed_fields)
    assert message in str(error.value)
