"""SIGKILL at random moments: one run is killed several times before its results are compared."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator

import psutil

from faulting.processes import Run, is_stage
from faulting.trial import GRACE_SECONDS, Outcome, Reference, Trial

#: Kills of one run that goes on, one after another, before its results are compared.
CHAIN = 5


def kill(
    trial: Trial, reference: Reference, rng: random.Random, numbers: range
) -> Iterator[Outcome]:
    """SIGKILL, again and again: to all processes at once, the command's own, or the stage's."""
    landed = 0
    while landed < len(numbers):
        trial.renew()
        chain = []
        for _ in range(min(CHAIN, len(numbers) - landed)):
            run, moment = trial.start(), trial.draw(reference, rng)
            if not trial.wait_until(run, moment):
                found = trial.conclude(run, reference)  # it ended before the moment came
                break
            chain.append(_kill(trial, run, reference, rng))
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


def _kill(trial: Trial, run: Run, reference: Reference, rng: random.Random) -> Outcome:
    """Kill a run; what is wrong at once."""
    whom = rng.choices(["everything", "the command", "the stage"], [3, 1, 1])[0]
    outcome = Outcome(whom, "")
    run.send(signal.SIGKILL, _chosen(run.processes(), whom, rng))
    if whom == "the stage":  # the command minds its stage, and says what happened
        outcome.problems += trial.end(run)
    outcome.problems += [f"left running: {told}" for told in run.left(GRACE_SECONDS)]
    run.kill_everything()
    outcome.problems += trial.half_files(reference)
    return outcome


def _chosen(found: list[psutil.Process], whom: str, rng: random.Random) -> list[psutil.Process]:
    if whom == "everything":
        return found
    stages = list(filter(is_stage, found))  # the one that works, and the one that watches it
    return [rng.choice(stages)] if whom == "the stage" and stages else found[:1]
