from typing import Annotated, Literal

import pytest
from pydantic import Field

from asterism.core.files.user_files import File
from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import Distinct, ParameterSection, read_params, validate


class Grid(ParameterSection):
    k: int = Field(ge=1)
    share: float = Field(gt=0, le=1)


class Made(ParameterSection):
    source: Literal["make"]
    units: list[Annotated[int, Field(ge=1)]]
    marks: Distinct[Literal["a", "b", "nan"]] = Field(default=[])
    grid: Grid


class Given(ParameterSection):
    source: Literal["file"]
    path: File


class Whole(ParameterSection):
    grid: Grid
    place: str | int | None = None
    model: Annotated[Made | Given, Field(discriminator="source")]


GOOD = """
grid: {k: 3, share: 0.5}
model: {source: make, units: [4, 2], grid: {k: 1, share: 1.0}}
someone_elses: {anything: goes}
"""


def read(tmp_path, text):
    path = tmp_path / "params.yaml"
    path.write_text(text)
    return read_params(Whole, path)


def test_reads_its_part_and_leaves_the_rest(tmp_path):
    whole = read(tmp_path, GOOD)
    assert whole.grid.k == 3
    assert isinstance(whole.model, Made)


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("k: 3", "k: 0", ["grid.k", "0", "greater than or equal to 1"]),
        ("k: 3", "k: 3.5", ["grid.k", "3.5", "integer"]),
        ("k: 3", "k: '3'", ["grid.k", "'3'", "integer"]),
        ("k: 3", "kk: 3", ["unknown parameter grid.kk; did you mean 'k'?"]),
        ("k: 3", "size: 3", ["grid.k", "missing"]),
        ("k: 3", "k: 3, shape: 1", ["grid.shape", "did you mean 'share'?", "k, share"]),
        ("share: 0.5", "share: .nan", ["grid.share", "nan"]),
        ("units: [4, 2]", "units: [4, 0]", ["model.units.1", "0"]),
        ("{k: 1,", "{k: -1,", ["model.grid.k", "-1"]),
        ("units: [4, 2]", "units: [4], unit: 2", ["model.unit", "did you mean 'units'?"]),
        ("source: make", "source: magic", ["model.source", "'magic'", "'make', 'file'"]),
        ("grid: {k: 3, share: 0.5}", "", ["grid", "missing"]),
        ("units: [4, 2]", "units: [4], marks: [a, b, a]", ["model.marks: 'a' is listed twice"]),
        ("units: [4, 2]", "units: [4], marks: [a, b, b]", ["model.marks: 'b' is listed twice"]),
        ("units: [4, 2]", "units: [4], marks: [.nan]", ["marks.0 is nan", 'quote it: "nan"']),
        ("source: make", "source: file, path: '', x: [0]", ["model.path", "''", "at least 1"]),
        ("share: 0.5", "share: .inf", ["grid.share is inf: input should be a finite number"]),
        ("grid:", "place: 1.5\ngrid:", ["place is 1.5: ", "valid string or ", "valid integer"]),
        ("source: make", "source: file", ["the parameter model.path is missing"]),
    ],
)
def test_a_wrong_parameter_is_explained_in_one_line(tmp_path, old, new, parts):
    with pytest.raises(UserError) as error:
        read(tmp_path, GOOD.replace(old, new, 1))
    message = str(error.value)
    assert "\n" not in message
    assert ".make." not in message
    for part in parts:
        assert part in message


@pytest.mark.parametrize("text", ["", "- a\n", "a: [1,", "5"])
def test_a_file_that_holds_no_parameters(tmp_path, text):
    with pytest.raises(UserError, match=r"params\.yaml"):
        read(tmp_path, text)


def test_a_missing_file_says_what_to_do(tmp_path):
    with pytest.raises(UserError, match="asterism params"):
        read_params(Whole, tmp_path / "params.yaml")


def test_what_the_user_has_to_give_is_named_with_the_keys_around_it():
    class Inner(ParameterSection):
        k: str

    class Outer(ParameterSection):
        inner: Inner
        top: str

    with pytest.raises(UserError, match=r"\binner\.k\b"):
        validate(Outer, {"inner": {"k": "???"}, "top": "x"})
    with pytest.raises(UserError, match=r"(?<![.\w])top\b"):
        validate(Outer, {"inner": {"k": "x"}, "top": "???"})
