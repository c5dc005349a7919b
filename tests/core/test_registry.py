import sys

import pytest

from asterism.core.messages.errors import UserError
from asterism.core.parameters.registry import Registry
from asterism.core.parameters.validation import names_in


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
    names_in.cache_clear()


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
    assert names_in("animals:ANIMALS") == ANIMALS.names() == ["cat", "cow", "dog"]


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
