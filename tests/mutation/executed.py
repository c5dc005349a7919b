"""Which tests run which functions, from one run of the tests that are no slow ones."""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mutation.checkout import NOTING, Copy
from mutation.running import run_tests

#: Seconds of processor time after which no further tests of a file are recorded.
_SECONDS_OF_A_FILE = 90


def executed_by(copy: Copy, file: Path, memory: Path) -> dict[str, Any]:
    """What the tests of a file run, from memory where they were recorded before.

    They are recorded anew where the file has changed, or where a function that they ran is not
    there any more, as after it was moved to another module.

    Args:
        copy: of the checkout, with functions that note their names.
        file: the tests, below the copy's folder.
        memory: a folder for what is known.

    Returns:
        ``tests``: for each that passes its ``seconds`` of processor time and ``functions``, those
        in its fixtures too; ``imported``: functions that run when the file is imported.
    """
    text = (copy.folder / file).read_text()
    place = memory / (str(file).replace(os.sep, "-") + ".json")
    if place.is_file():
        known: dict[str, Any] = json.loads(place.read_text())
        functions = {name for facts in known["tests"].values() for name in facts["functions"]}
        if known["text"] == text and copy.noted.issuperset(functions.union(known["imported"])):
            return known
    notes, result = memory / "notes", memory / "recorded.json"
    result.unlink(missing_ok=True)
    log = memory / "recording.log"

    def plugins() -> list[Any]:
        return [Profile(), _Recorder(notes, result)]

    run_tests(copy.folder, [str(file), "--maxfail=1000"], 2 * _SECONDS_OF_A_FILE, log, plugins)
    recorded: dict[str, Any] = {"tests": {}, "imported": []}
    if result.is_file():
        recorded = json.loads(result.read_text())
    recorded["text"] = text
    place.write_text(json.dumps(recorded))
    return recorded


class Profile:
    """No time for making failing examples small, and the same examples every time."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """Before the tests are imported."""
        from hypothesis import Phase, settings

        settings.register_profile(
            "faults", deadline=None, derandomize=True, phases=(Phase.explicit, Phase.generate)
        )
        settings.load_profile("faults")


class _Recorder:
    """Writes which functions ran in each test."""

    def __init__(self, notes: Path, result: Path) -> None:
        self._notes, self._result = notes, result
        self._fixtures: dict[str, set[str]] = {}
        self._found: dict[str, dict[str, Any]] = {}
        self._imported: set[str] = set()
        self._failed: set[str] = set()
        self._begin()  # tests may give their processes the environment as it is now

    def _read(self) -> set[str]:
        found = set(self._notes.read_text().split("\n")) if self._notes.is_file() else set()
        self._notes.unlink(missing_ok=True)
        return found - {""}

    def _begin(self) -> None:
        __import__(NOTING).note_in(str(self._notes))

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Iterator[None]:
        """What is run while the tests are imported."""
        self._read()
        self._begin()
        result = yield
        self._imported = self._read()
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """One test."""
        self._begin()
        before = _processor_seconds()
        result = yield
        functions = self._read()
        for name in getattr(item, "fixturenames", ()):
            functions |= self._fixtures.get(name, set())
        if item.nodeid not in self._failed:
            seconds = round(_processor_seconds() - before, 3)
            self._found[item.nodeid] = {"seconds": seconds, "functions": sorted(functions)}
        if _processor_seconds() > _SECONDS_OF_A_FILE:
            item.session.shouldstop = "recorded for long enough"
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        """What several tests share is run by the first of them only."""
        if fixturedef.scope == "function":
            return (yield)
        before = self._read()
        self._begin()
        result = yield
        self._fixtures[fixturedef.argname] = self._read()
        self._begin()
        self._notes.write_text("\n".join(before | self._fixtures[fixturedef.argname]) + "\n")
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Tests that fail or are skipped here can find nothing."""
        if report.outcome != "passed":
            self._failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Leave the result behind."""
        found = {"tests": self._found, "imported": sorted(self._imported)}
        self._result.write_text(json.dumps(found))


def _processor_seconds() -> float:
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, kinds))
