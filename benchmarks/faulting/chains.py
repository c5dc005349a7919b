"""What ends a run, at random moments: several runs end so before the results are compared."""

from __future__ import annotations

import os
import random
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress

import psutil

from asterism.core.files.interrupts import INTERRUPTED
from faulting.processes import Run, is_stage
from faulting.trial import GRACE_SECONDS, Disturbance, Moment, Outcome, Reference, Trial

#: Ends of one command, one after another, before its results are compared.
CHAIN = 5

#: Seconds in which a run that is asked to end has to.
END_SECONDS = 60.0

#: Seconds in which Python itself starts, which takes no signal then.
START_SECONDS = 0.3

#: Ends a run whose moment has come; how it did that, and what is wrong at once. The number counts.
End = Callable[[Trial, Run, random.Random, int], Outcome]


def chained(end: End, earliest: float = 0.0) -> Disturbance:
    """A disturbance of runs of one place, after each of which the command is given again.

    Args:
        end: ends a run.
        earliest: seconds of a run in which nothing is done to it.
    """

    def disturb(
        trial: Trial, reference: Reference, rng: random.Random, numbers: range
    ) -> Iterator[Outcome]:
        landed = 0
        while landed < len(numbers):
            trial.renew()
            chain: list[Outcome] = []
            for _ in range(min(CHAIN, len(numbers) - landed)):
                run, moment = trial.start(), _later(trial.draw(reference, rng), earliest)
                if not trial.wait_until(run, moment):
                    found = trial.conclude(run, reference)  # it ended before the moment came
                    break
                chain.append(end(trial, run, rng, numbers.start + landed + len(chain)))
                chain[-1].problems += [f"left running: {told}" for told in run.left(GRACE_SECONDS)]
                run.kill_everything()
                chain[-1].problems += trial.half_files(reference)
                chain[-1].phase = moment.phase
                chain[-1].detail += f" {moment}"
            else:
                found = trial.again(reference)
            if found and not chain:
                chain.append(Outcome("undisturbed", "run"))
            if chain:
                chain[-1].problems += found
            landed += len(chain)
            yield from chain

    disturb.__doc__ = end.__doc__
    return disturb


def _later(moment: Moment, earliest: float) -> Moment:
    """The moment, which is not in the first seconds of a run."""
    if moment.after is not None:
        return moment
    return Moment(moment.phase, None, max(moment.seconds, earliest), moment.output)


def kill(trial: Trial, run: Run, rng: random.Random, number: int) -> Outcome:
    """SIGKILL, again and again: to all processes at once, the command's own, or the stage's."""
    whom = rng.choices(["everything", "the command", "the stage"], [3, 1, 1])[0]
    outcome = Outcome(whom, "")
    run.send(signal.SIGKILL, _chosen(run.processes(), whom, rng))
    if whom == "the stage":  # the command minds its stage, and says what happened
        outcome.problems += trial.end(run)
    return outcome


def _chosen(found: list[psutil.Process], whom: str, rng: random.Random) -> list[psutil.Process]:
    if whom == "everything":
        return found
    stages = list(filter(is_stage, found))  # the one that works, and the one that watches it
    return [rng.choice(stages)] if whom == "the stage" and stages else found[:1]


#: What an interrupted stage says, before the command that runs it says the same of itself.
_OF_A_STAGE = re.compile(r"error: [a-z_0-9-]+: interrupted; the same command goes on")


def interrupt(trial: Trial, run: Run, rng: random.Random, number: int) -> Outcome:
    """Ctrl-C, or SIGTERM to the command or to its group: it has to end within a minute, and
    `asterism` with status 130 and one line.
    """
    kind = ("Ctrl-C", "SIGTERM", "Ctrl-C", "SIGTERM to the group")[number % 4]
    outcome = Outcome(kind, "")
    before = run.status
    with suppress(ProcessLookupError):
        send = os.kill if kind == "SIGTERM" else os.killpg
        send(run.pid, signal.SIGINT if kind == "Ctrl-C" else signal.SIGTERM)
    status = run.wait(END_SECONDS)
    if status is None:
        outcome.problems.append(f"it did not end in {END_SECONDS:.0f} s")
    elif before is None and trial.target.is_asterism:
        outcome.problems += _untold(status, run.output, (INTERRUPTED, *trial.target.statuses))
    return outcome


def _untold(status: int, output: str, statuses: tuple[int, ...]) -> Iterator[str]:
    """What is wrong with how an interrupted command says that it was."""
    lines = output.splitlines() or [""]
    if status not in statuses:
        yield f"it ended with status {status}: {lines[-1][:200]}"
    if "Traceback" in output or "Exception ignored" in output:
        yield f"it shows a traceback: {lines[-1][:200]}"
    errors = [line for line in lines if line.startswith("error: ")]
    own = [line for line in errors if not _OF_A_STAGE.fullmatch(line)]
    if status == INTERRUPTED and own != ["error: interrupted; the same command goes on"]:
        yield f"it does not say so in one line: {errors}"
