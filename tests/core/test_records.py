"""Records: dataclasses that are read from JSON which others may have written."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import FiniteFloat

from asterism.core.files.artifacts import write_json
from asterism.core.files.records import ShortText, read_record, record_from, write_record
from asterism.core.messages.errors import UserError


@dataclass(frozen=True)
class Leg:
    length: FiniteFloat = 0.0


@dataclass(frozen=True)
class Animal:
    age: int
    names: tuple[ShortText, ...]
    weight: FiniteFloat = 0.0
    legs: Sequence[Leg] = ()
    marks: dict[str, int | float] = field(default_factory=dict)


RIGHT = {"age": 3, "names": ["a"], "weight": 1.5, "legs": [{"length": 2.0}], "marks": {"x": 1}}


@given(
    st.integers(-(2**63), 2**63),
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20)),
    st.floats(allow_nan=False, allow_infinity=False),
)
def test_what_is_written_is_read_back(age, names, weight):
    animal = Animal(age, tuple(names), weight, [Leg(weight)], {"x": weight, "y": age})
    assert record_from(Animal, asdict(animal)) == animal


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"age": True}, "'age'.*integer.*True"),
        ({"age": "3"}, "'age'.*integer"),
        ({"age": 2.5}, "'age'.*integer"),
        ({"names": "a"}, "'names'.*array"),
        ({"names": [1]}, "'names.0'.*string"),
        ({"names": ["x" * 2001]}, "'names.0'.*2000 characters"),
        ({"weight": float("nan")}, "JSON"),
        ({"weight": 10**400}, "'weight'.*finite"),
        ({"legs": [{"length": "2"}]}, "'legs.0.length'.*number"),
        ({"marks": {"x": None}}, "'marks.x"),
        ({"wings": 2}, "'wings'.*Unexpected"),
    ],
)
def test_a_wrong_field_is_named(changes, message):
    with pytest.raises(UserError, match=message) as caught:
        record_from(Animal, RIGHT | changes)
    assert len(str(caught.value)) < 200 and "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [None, [], "text", 3, {"names": ["a"]}])
def test_what_is_no_such_mapping_is_one_line(value):
    with pytest.raises(UserError):
        record_from(Animal, value)


def test_fields_with_defaults_may_be_missing():
    assert record_from(Animal, {"age": 3, "names": []}) == Animal(3, ())


@dataclass(frozen=True)
class Den:
    place: Path
    animals: Sequence[Animal] = ()


def test_a_record_is_read_from_the_file_that_it_was_written_to(tmp_path):
    den = Den(tmp_path / "dä", [Animal(3, ("a",), legs=[Leg(2.0)])])
    write_record(tmp_path / "one.json", den)
    assert read_record(Den, tmp_path / "one.json") == den


def test_a_damaged_file_is_named(tmp_path):
    write_json(tmp_path / "one.json", RIGHT)
    assert read_record(Animal, tmp_path / "one.json").legs == [Leg(2.0)]
    write_json(tmp_path / "two.json", RIGHT | {"age": "old"})
    with pytest.raises(UserError, match=r"two.json .*'age'.*'old'"):
        read_record(Animal, tmp_path / "two.json")
