"""Plug-ins made from their names and options."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from asterism.core.messages.errors import UserError
from asterism.core.parameters.construction import NoOptions, configure, options_by_name, options_of
from asterism.core.parameters.params import ParameterSection
from asterism.core.parameters.registry import Registry


class Blur:
    class Options(ParameterSection):
        size: int = 3


class Plain:
    Options = NoOptions


@dataclass
class Noise:
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self):
        if self.high < self.low:
            raise ValueError("the range is empty")


@pytest.fixture
def registry():
    made: Registry[Any] = Registry("mutator", "asterism.core.randomness")
    for name, plugin in {"blur": Blur, "plain": Plain, "noise": Noise}.items():
        made.register(name)(plugin)
    made.register("bare")(SimpleNamespace)
    return made


def test_options_are_those_of_the_class(registry):
    found = options_of(registry, "blur", {"size": 5})
    assert isinstance(found, Blur.Options) and found.size == 5
    with pytest.raises(UserError, match="blur: size is 'x'"):
        options_of(registry, "blur", {"size": "x"})
    with pytest.raises(UserError, match=r"'blurr'.* 'blur'"):
        options_of(registry, "blurr", {})


def test_options_of_several_are_those_given_and_defaults_for_the_others(registry):
    found = options_by_name(registry, {"blur": {"size": 7}}, ["plain", "blur"])
    assert list(found) == ["plain", "blur"]
    assert found == {"plain": NoOptions(), "blur": Blur.Options(size=7)}
    assert options_by_name(registry, {}) == {}
    assert options_by_name(registry, {}, ["blur"]) == {"blur": Blur.Options(size=3)}


def test_an_instance_has_the_options_and_defaults_for_the_others(registry):
    assert configure(registry, "noise", {"high": 2}) == Noise(0.0, 2.0)
    assert configure(registry, "noise", {}) == Noise()


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("nois", {}, "no mutator is called 'nois'; did you mean 'noise'"),
        (
            "noise",
            {"hihg": 2},
            "noise has no option called 'hihg'; did you mean 'high'? (known: low, high)",
        ),
        ("bare", {"x": 2}, "the mutator bare has no option called 'x' (known: none)"),
        ("noise", {"high": "much"}, "the mutator noise.high is 'much': "),
        ("noise", {"high": -1.0}, "the mutator noise: the range is empty"),
    ],
)
def test_what_cannot_be_is_one_line(registry, name, options, told):
    with pytest.raises(UserError) as error:
        configure(registry, name, options)
    assert told in str(error.value)
