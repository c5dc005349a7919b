"""Running calls by ways: what each shows is appended to a file of the way, which goes on."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from asterism.core.files.records import record_from
from asterism.core.resuming.journal import Journal
from asterism.differential.oracle.finding import INVALID_INPUTS
from asterism.findings.calls.call import Call
from asterism.findings.calls.judging import judge
from asterism.findings.calls.program import CallProgram
from asterism.findings.calls.running import TextRun, Runners
from asterism.findings.calls.way import WAYS

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
    for call in calls.values():
        wanted = [name for name in names if mark_of(call.name) not in done[name]]
        plains: dict[str, tuple[TextRun, TextRun, TextRun]] = {}
        for name in wanted:
            way, began = WAYS[name], time.monotonic()
            program = CallProgram(call, way)
            if way.expected not in plains:
                plains[way.expected] = runners.plain(program)
            shown = _show(program, plains[way.expected], runners, began)
            journal_of(folder, name).append(asdict(shown))
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


def journal_of(folder: Path, way: str) -> Journal:
    """Where a way's calls are kept."""
    return Journal(folder / f"{way.replace(':', '-')}.jsonl")


def read_shown(folder: Path, way: str) -> list[Shown]:
    """What a way has shown; what is damaged of it counts for nothing."""
    return [record_from(Shown, value) for value in journal_of(folder, way).read()]


def _show(program: CallProgram, plains: tuple[TextRun, TextRun, TextRun], runners: Runners, began: float) -> Shown:
    plain, exact, moved = plains
    if plain.status in ("crash", "hang", "memory"):
        return Shown(program.call.name, INVALID_INPUTS, f"{plain.status}: {plain.message}")
    indirect = runners.indirect(program)
    narrow = program.call.narrow
    one = judge(program.way, plain, exact, moved, indirect, runners.params, narrow)
    seconds = round(time.monotonic() - began, 3)
    facts = one.symptom, one.message[:600], one.exception, one.frame
    return Shown(program.call.name, *facts, seconds)
