import sys

import pytest

from asterism.core.errors import UserError
from asterism.core.registry import Registry


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package whose plug-ins register themselves: one file each, and nothing else."""
    folder = tmp_path / "animals"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        "from asterism.core.registry import Registry\nANIMALS = Registry('animal', 'animals')\n"
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


def test_plugins_are_found_by_lying_in_the_package(package):
    from animals import ANIMALS

    assert ANIMALS.names() == ["cat", "dog"]
    assert ANIMALS["cat"]() == "cat"
    assert "cow" not in ANIMALS


def test_an_unknown_name_is_answered_with_those_that_there_are(package):
    from animals import ANIMALS

    with pytest.raises(
        UserError, match=r"no animal is called 'dot'; did you mean 'dog'\? .*cat, dog"
    ):
        ANIMALS["dot"]


def test_two_plugins_of_one_name_are_a_defect():
    registry = Registry("thing", "asterism.search")
    registry.register("a")(1)
    with pytest.raises(ValueError, match="two things"):
        registry.register("a")(2)


def test_a_plugin_that_cannot_be_imported_is_the_answer_every_time(package):
    from animals import ANIMALS

    (package / "eel.py").write_text("import no_such_library\n")
    for _ in range(2):
        with pytest.raises(ModuleNotFoundError, match="no_such_library"):
            ANIMALS["cat"]
