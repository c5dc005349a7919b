"""Running calls by variants: what each shows is saved for its variant, and is not run again."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from asterism.core.files.records import record_from
from asterism.core.messages.errors import UserError
from asterism.core.resuming.checkpoints import read_facts, saved_facts
from asterism.differential.oracle.finding import INVALID_INPUTS
from asterism.findings.calls.call import VARIANTS, Call
from asterism.findings.calls.judging import judge_call
from asterism.findings.calls.running import CallProgram, CallWorkers, PlainRuns

#: The folder of what the variants have shown, below the root of the state.
CALLS = "called-functions"


@dataclass(frozen=True)
class CallOutcome:
    """What a call shows by a variant.

    Args:
        call: its name.
        status: a symptom, or why there is none.
        details: numbers or messages.
        exception: type of an exception.
        frame: innermost frame inside a package.
        seconds: that it took, plain runs included.
    """

    call: str
    status: str
    details: str = ""
    exception: str = ""
    frame: str = ""
    seconds: float = 0.0


def run_calls(
    calls: Mapping[str, Call],
    names: Sequence[str],
    workers: CallWorkers,
    folder: Path,
    elsewhere: Mapping[str, Any],
) -> Iterator[tuple[str, CallOutcome]]:
    """Run what these variants have not run yet; gives variant and what it shows, once it is known.

    Args:
        calls: by name, in order.
        names: of variants of one framework.
        workers: of their framework.
        folder: where it is saved.
        elsewhere: what :func:`count_calls` gave, perhaps on another machine.

    Raises:
        UserError: another process is at one of the variants.
    """
    with ExitStack() as using:
        try:
            kept = {n: using.enter_context(saved_facts(folder_of(folder, n))) for n in names}
        except BlockingIOError:
            raise UserError("another process runs these calls: wait until it ends") from None
        done = {
            name: {mark_of(record_from(CallOutcome, fact).call) for fact in facts.known}
            | set(elsewhere.get(name, {}).get("calls", "").split())
            for name, facts in kept.items()
        }
        for call in calls.values():
            wanted = [name for name in names if mark_of(call.name) not in done[name]]
            plains: dict[str, PlainRuns] = {}
            for name in wanted:
                variant, began = VARIANTS[name], time.monotonic()
                program = CallProgram(call, variant)
                if variant.expected not in plains:
                    plains[variant.expected] = workers.plain(program)
                outcome = _show(program, plains[variant.expected], workers, began)
                kept[name].add(asdict(outcome))
                yield name, outcome


def count_calls(folder: Path, known: Mapping[str, Any]) -> dict[str, Any]:
    """What each variant has run, beside what a collection knows, perhaps of another machine.

    Calls are named by a part of a hash, so that a file of them stays small.
    """
    found = {variant: dict(facts) for variant, facts in known.items()}
    for variant in VARIANTS:
        facts = found.setdefault(variant, {"seconds": 0.0, "words": {}, "calls": ""})
        done = set(facts["calls"].split())
        statuses: Counter[str] = Counter(facts["words"])
        for outcome in read_outcomes(folder, variant):
            if (mark := mark_of(outcome.call)) not in done:
                done.add(mark)
                statuses[outcome.status] += 1
                facts["seconds"] = round(facts["seconds"] + outcome.seconds, 1)
        facts |= {"words": dict(sorted(statuses.items())), "calls": " ".join(sorted(done))}
    return {variant: facts for variant, facts in found.items() if facts["calls"]}


def mark_of(call: str) -> str:
    """A short name of a call."""
    return hashlib.sha256(call.encode()).hexdigest()[:8]


def folder_of(folder: Path, variant: str) -> Path:
    """Where a variant's calls are saved."""
    return folder / variant.replace(":", "-")


def read_outcomes(folder: Path, variant: str) -> list[CallOutcome]:
    """What a variant has shown; what is damaged of it counts for nothing."""
    return [record_from(CallOutcome, value) for value in read_facts(folder_of(folder, variant))]


def _show(
    program: CallProgram,
    plain: PlainRuns,
    workers: CallWorkers,
    began: float,
) -> CallOutcome:
    ended = plain.usual.outcome
    if ended.killed:
        return CallOutcome(program.call.name, INVALID_INPUTS, f"{ended.status}: {ended.message}")
    one = judge_call(program, plain, workers.indirect(program), workers.params)
    seconds = round(time.monotonic() - began, 3)
    facts = one.symptom, one.message[:600], one.exception, one.frame
    return CallOutcome(program.call.name, *facts, seconds)
