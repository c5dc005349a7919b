"""Plug-ins by name: found, known before they are imported, and made from their options."""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Annotated, Any

import pytest

from asterism.core.messages.errors import UserError
from asterism.core.parameters.construction import NoOptions, configure, options_by_name, options_of
from asterism.core.parameters.params import ParameterSection, validate
from asterism.core.parameters.registry import Registry
from asterism.core.parameters.validation import accepted_by, named, registered_names
from places import ROOT


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package whose plug-ins register themselves: one file each, and nothing else."""
    folder = tmp_path / "animals"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        "from asterism.core.parameters.registry import Registry\n"
        "ANIMALS = Registry('animal', 'animals', 'MORE_ANIMALS')\n"
    )
    for name in ("cat", "dog"):
        (folder / f"{name}.py").write_text(
            f"from animals import ANIMALS\n"
            f"@ANIMALS.register('{name}')\n"
            f"def make(): return '{name}'\n"
        )
    monkeypatch.syspath_prepend(tmp_path)
    yield folder
    for module in [m for m in sys.modules if m.startswith("animals")]:
        del sys.modules[module]
    registered_names.cache_clear()


def test_plugins_are_found_by_lying_in_the_package(package):
    from animals import ANIMALS

    assert ANIMALS.names() == ["cat", "dog"]
    assert ANIMALS["cat"]() == "cat"
    assert "cow" not in ANIMALS


def test_an_unknown_name_is_answered_with_those_that_there_are(package):
    from animals import ANIMALS

    with pytest.raises(UserError, match=r"'dot'.* 'dog'\? .*cat, dog"):
        ANIMALS["dot"]


def test_plugins_outside_of_the_package_are_named_by_a_variable(package, monkeypatch):
    from animals import ANIMALS

    text = "from animals import ANIMALS\nANIMALS.register('cow')(1)\n"
    (package.parent / "animals_of_mine.py").write_text(text)
    monkeypatch.setenv("MORE_ANIMALS", "animals_of_mine")
    assert registered_names("animals:ANIMALS") == ANIMALS.names() == ["cat", "cow", "dog"]


@pytest.mark.parametrize(
    ("error", "message"),
    [(UserError, "MORE_ANIMALS names animals.eel"), (ModuleNotFoundError, "no_such_library")],
)
def test_a_module_outside_that_is_not_there_is_named(package, monkeypatch, error, message):
    from animals import ANIMALS

    if error is not UserError:
        (package / "more").mkdir()
        (package / "more" / "eel.py").write_text("import no_such_library\n")
    monkeypatch.setenv("MORE_ANIMALS", "animals.eel" if error is UserError else "animals.more.eel")
    with pytest.raises(error, match=message):
        ANIMALS.names()


def test_two_plugins_of_one_name_are_a_defect():
    registry = Registry("thing")
    registry.register("a")(1)
    with pytest.raises(ValueError, match="two things"):
        registry.register("a")(2)


def test_a_plugin_that_cannot_be_imported_is_the_answer_every_time(package):
    from animals import ANIMALS

    (package / "eel.py").write_text("import no_such_library\n")
    for _ in range(2):
        with pytest.raises(ModuleNotFoundError, match="no_such_library"):
            ANIMALS["cat"]


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
    made: Registry[Any] = Registry("mutator")
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


SOURCE = ROOT / "src"
REGISTRIES = sorted(
    f"{'.'.join(file.relative_to(SOURCE).with_suffix('').parts)}".removesuffix(".__init__")
    + f":{variable}"
    for file in SOURCE.rglob("*.py")
    for variable in re.findall(r"^([A-Z_]+): Registry\[", file.read_text("utf-8"), re.MULTILINE)
)


#: In a process of its own, because other tests register plug-ins of theirs.
IMPORT_ALL = (
    "import json, sys; from asterism.core.parameters.validation import _find; "
    "print(json.dumps({where: _find(where).names() for where in sys.argv[1:]}))"
)


@pytest.fixture(scope="module")
def imported() -> dict[str, list[str]]:
    """What is in each registry after its plug-ins have been imported."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL, *REGISTRIES],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))


#: Registries some of whose names are computed: nothing in the parameters names what is in them.
COMPUTED = ("asterism.memo.generating.operators:OPERATORS", "asterism.memo.universe.layers:LAYERS")


@pytest.mark.slow  # to import all plug-ins takes as long as all libraries together
@pytest.mark.parametrize("where", [where for where in REGISTRIES if where not in COMPUTED])
def test_names_read_from_the_source_are_those_of_the_plugins(where, imported):
    assert registered_names(where) == imported[where] != []


@pytest.fixture
def zoo(tmp_path, monkeypatch):
    """Writes a package of animals, of which one cannot be imported."""

    def write(last):
        folder = tmp_path / "zoo"
        folder.mkdir()
        (folder / "__init__.py").write_text("")
        (folder / "registry.py").write_text(
            "from asterism.core.parameters.registry import Registry\n"
            "ANIMALS: Registry[int] = Registry('animal', 'zoo')\n"
            "PLANTS: Registry[int] = Registry('plant', 'zoo')\n"
            "def want(size):\n"
            "    from asterism.core.messages.errors import UserError\n"
            "    if size > 9: raise UserError(f'no animal is as large as {size}')\n"
        )
        (folder / "cat.py").write_text(
            "from zoo.registry import ANIMALS, PLANTS\nimport not_installed\n"
            "@ANIMALS.register('cat')\ndef cat(): ...\n"
            "PLANTS.register('fern')(1)\n"
        )
        (folder / "dog.py").write_text(f"from zoo.registry import ANIMALS\n{last}\n")

    monkeypatch.syspath_prepend(tmp_path)
    yield write
    registered_names.cache_clear()
    for module in [m for m in sys.modules if m.split(".")[0] == "zoo"]:
        del sys.modules[module]


def test_spelt_names_are_read_without_importing(zoo):
    zoo("ANIMALS.register('dog')(1)")
    assert registered_names("zoo.registry:ANIMALS") == ["cat", "dog"]
    assert registered_names("zoo.registry:PLANTS") == ["fern"]
    assert "zoo.cat" not in sys.modules


def test_computed_names_are_found_by_importing(zoo):
    zoo("for n in 'ab':\n    ANIMALS.register(n)(1)")
    with pytest.raises(ModuleNotFoundError, match="not_installed"):
        registered_names("zoo.registry:ANIMALS")


class Keeper(ParameterSection):
    pets: list[Annotated[str, named("zoo.registry:ANIMALS")]]
    size: Annotated[int, accepted_by("zoo.registry:want")]


class Farm(ParameterSection):
    accepted_by = "zoo.registry:want_farm"

    keepers: dict[str, Keeper]


def farm(**values: Any) -> dict[str, Any]:
    return {"keepers": {"ann": {"pets": ["cat"], "size": 3} | values}}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"pets": ["cat", "dot"]},
            "keepers.ann.pets.1: no animal is called 'dot'; did you mean 'dog'? (known: cat, dog)",
        ),
        ({"size": 10}, "keepers.ann.size: no animal is as large as 10"),
        ({"size": "x"}, "keepers.ann.size is 'x': input should be a valid integer"),
        ({"size": 5}, "the farm is full"),
    ],
)
def test_names_are_checked_where_that_is_asked_for(zoo, tmp_path, values, message):
    zoo("ANIMALS.register('dog')(1)")
    with (tmp_path / "zoo" / "registry.py").open("a") as file:
        file.write(
            "def want_farm(farm):\n"
            "    from asterism.core.messages.errors import UserError\n"
            "    if farm.keepers['ann'].size == 5: raise UserError('the farm is full')\n"
        )
    assert validate(Farm, farm(), names=True).keepers["ann"].pets == ["cat"]
    with pytest.raises(UserError) as error:
        validate(Farm, farm(**values), source="conf", names=True)
    assert str(error.value) == f"conf: {message}"
    if "'x'" not in message:
        validate(Farm, farm(**values))
