"""Running calls by ways: what each shows is appended to a file of the way, which goes on."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from asterism.core.files.limits import parse_json, read_within
from asterism.core.files.plain_files import open_plain
from asterism.core.files.records import record_from
from asterism.core.messages.errors import naming
from asterism.core.resuming import saved_folders
from asterism.core.workers.worker import Limits
from asterism.findings.calls.call import Call
from asterism.findings.calls.judging import judge
from asterism.libraries.judging.finding import INVALID_INPUTS
from asterism.findings.calls.program import Program, imports_of
from asterism.findings.calls.running import Ran, TextRunner
from asterism.findings.calls.way import WAYS, Way
from asterism.libraries.judging.params import JudgeParams

#: The folder of the ways' files, below the root of the state.
CALLS = "calls"


@dataclass(frozen=True)
class Shown:
    """What a call shows by a way.

    Args:
        call: its name.
        word: a symptom, or why there is none.
        details: numbers or messages.
        exception: type of an exception.
        frame: innermost frame inside a package.
        seconds: that it took, plain runs included.
    """

    call: str
    word: str
    details: str = ""
    exception: str = ""
    frame: str = ""
    seconds: float = 0.0


class Runners:
    """Workers of one framework: one for plain calls, one for each library's ways.

    Args:
        framework: whose calls.
        limits: of one text.
        params: tolerances.
    """

    def __init__(self, framework: str, limits: Limits, params: JudgeParams) -> None:
        self.framework, self.params, self._limits = framework, params, limits
        self._stack = ExitStack()
        self._runners: dict[str, TextRunner] = {}

    def run(self, way: Way | None, text: str, result: str) -> Ran:
        """Run a text in the worker of a way; None for plain calls."""
        name = "" if way is None else way.imports
        if name not in self._runners:
            first = next(r for r in map(WAYS.__getitem__, WAYS) if r.framework == self.framework)
            imports = imports_of([first if way is None else way])
            runner = TextRunner(self.framework, imports, self._limits)
            self._runners[name] = self._stack.enter_context(runner)
        return self._runners[name].run(text, result)

    def plain(self, program: Program) -> tuple[Ran, Ran, Ran]:
        """A plain call as it is, in float64, and in float64 with inputs that are moved."""
        plain = self.run(None, program.plain, "expected")
        floating = any("float" in given.dtype for given in program.call.inputs)
        if not plain.is_ok or not floating:
            return plain, Ran("error"), Ran("error")
        exact, moved = (
            self.run(None, program.in_float64(moved), "expected") for moved in (False, True)
        )
        return plain, exact, moved

    def close(self) -> None:
        """End the workers."""
        self._stack.close()

    def __enter__(self) -> Runners:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def run_calls(
    calls: Mapping[str, Call],
    names: Sequence[str],
    runners: Runners,
    folder: Path,
    elsewhere: Mapping[str, Any],
) -> Iterator[tuple[str, Shown]]:
    """Run what no file of these ways has yet; gives way and what it shows, as it is written.

    Args:
        calls: by name, in order.
        names: of ways of one framework.
        runners: workers.
        folder: of the files.
        elsewhere: what :func:`totals` gave, perhaps on another machine.
    """
    done = {
        name: {mark_of(shown.call) for shown in read_shown(folder, name)}
        | set(elsewhere.get(name, {}).get("calls", "").split())
        for name in names
    }
    folder.mkdir(parents=True, exist_ok=True)
    for call in calls.values():
        wanted = [name for name in names if mark_of(call.name) not in done[name]]
        plains: dict[str, tuple[Ran, Ran, Ran]] = {}
        for name in wanted:
            way, began = WAYS[name], time.monotonic()
            program = Program(call, way)
            if way.expected not in plains:
                plains[way.expected] = runners.plain(program)
            shown = _show(program, plains[way.expected], runners, began)
            opened = open_plain(folder / file_of(name), os.O_WRONLY | os.O_APPEND)
            with os.fdopen(opened, "ab") as file:
                file.write(json.dumps(asdict(shown)).encode() + b"\n")
            yield name, shown


def totals(folder: Path, known: Mapping[str, Any]) -> dict[str, Any]:
    """What each way has run, beside what a collection knows, perhaps of another machine.

    Calls are named by a part of a hash, so that a file of them stays small.
    """
    found = {way: dict(facts) for way, facts in known.items()}
    for way in WAYS:
        facts = found.setdefault(way, {"seconds": 0.0, "words": {}, "calls": ""})
        done = set(facts["calls"].split())
        words: Counter[str] = Counter(facts["words"])
        for shown in read_shown(folder, way):
            if (mark := mark_of(shown.call)) not in done:
                done.add(mark)
                words[shown.word] += 1
                facts["seconds"] = round(facts["seconds"] + shown.seconds, 1)
        facts |= {"words": dict(sorted(words.items())), "calls": " ".join(sorted(done))}
    return {way: facts for way, facts in found.items() if facts["calls"]}


def mark_of(call: str) -> str:
    """A short name of a call."""
    return hashlib.sha256(call.encode()).hexdigest()[:8]


def file_of(way: str) -> str:
    """The name of a way's file."""
    return f"{way.replace(':', '-')}.jsonl"


def read_shown(folder: Path, way: str) -> list[Shown]:
    """What a way has shown; a last line that was cut short counts for nothing."""
    path = folder / file_of(way)
    saved_folders.require_no_link(path)
    if not path.exists():
        return []
    with naming(path):
        lines = read_within(path, "limits.text_mb").split(b"\n")[:-1]
        return [record_from(Shown, parse_json(line, "a line")) for line in lines]


def _show(program: Program, plains: tuple[Ran, Ran, Ran], runners: Runners, began: float) -> Shown:
    plain, exact, moved = plains
    if plain.status in ("crash", "hang", "memory"):
        return Shown(program.call.name, INVALID_INPUTS, f"{plain.status}: {plain.message}")
    indirect = runners.run(program.way, program.indirect, "actual")
    narrow = program.call.narrow
    word, details = judge(program.way, plain, exact, moved, indirect, runners.params, narrow)
    odd = plain if plain.status == "error" else indirect
    seconds = round(time.monotonic() - began, 3)
    return Shown(program.call.name, word, details[:600], odd.exception, odd.frame, seconds)
