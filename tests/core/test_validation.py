"""Names are known before the plug-ins behind them are imported, and none is left out."""

import json
import os
import re
import subprocess
import sys
from typing import Annotated, Any

import pytest

from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import ParameterSection, validate
from asterism.core.parameters.validation import accepted_by, named, names_in
from places import ROOT

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
COMPUTED = ("asterism.memo.generating.operator:OPERATORS", "asterism.memo.universe.spec:LAYERS")


@pytest.mark.slow  # to import all plug-ins takes as long as all libraries together
@pytest.mark.parametrize("where", [where for where in REGISTRIES if where not in COMPUTED])
def test_names_read_from_the_source_are_those_of_the_plugins(where, imported):
    assert names_in(where) == imported[where] != []


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
    names_in.cache_clear()
    for module in [m for m in sys.modules if m.split(".")[0] == "zoo"]:
        del sys.modules[module]


def test_spelt_names_are_read_without_importing(zoo):
    zoo("ANIMALS.register('dog')(1)")
    assert names_in("zoo.registry:ANIMALS") == ["cat", "dog"]
    assert names_in("zoo.registry:PLANTS") == ["fern"]
    assert "zoo.cat" not in sys.modules


def test_computed_names_are_found_by_importing(zoo):
    zoo("for n in 'ab':\n    ANIMALS.register(n)(1)")
    with pytest.raises(ModuleNotFoundError, match="not_installed"):
        names_in("zoo.registry:ANIMALS")


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
