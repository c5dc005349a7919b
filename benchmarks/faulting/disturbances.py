"""What is done to a running command, beside killing it.

Each function disturbs one run at the moment that has come, and gives what was wrong in the end,
when the same command, given again where it failed, has ended by itself.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from faulting import clocks
from faulting.chains import START_SECONDS, chained, interrupt, kill
from faulting.processes import Run, is_below_stage, is_stage
from faulting.trial import Disturbance, Outcome, Reference, Trial, read_only

#: Seconds for which a run is stopped.
STOP_SECONDS = 3.0

#: Seconds between two looks for processes that a stage has started.
_LOOK_SECONDS = 0.1

#: Runs that may end before their moment, in place of one that is disturbed.
_ATTEMPTS = 6

#: Folders of a place that may become read-only.
_FOLDERS = (
    "project/artifacts",
    "project/metrics",
    "project/.dvc/cache",
    "project/.dvc/tmp",
    "project/logs",
    "project",
    "state",
    "store",
)


class NotHereError(Exception):
    """The disturbance is not possible, for the reason that the text gives."""


@dataclass
class Round:
    """A run whose moment has come.

    Attributes:
        trial: where it runs.
        reference: how it goes undisturbed.
        run: the run.
        rng: for further choices.
        number: counts the rounds of a cell.
        done: says what is done to it, where that differs from round to round.
    """

    trial: Trial
    reference: Reference
    run: Run
    rng: random.Random
    number: int
    done: list[str] = field(default_factory=list)

    def end_and_again(self) -> list[str]:
        """Wait for the run's end, whatever its status, and give the command once more."""
        problems = self.trial.end(self.run) + self.trial.half_files(self.reference)
        return problems + self.trial.again(self.reference)


#: Gives the problems.
Once = Callable[[Round], list[str]]


def repeated(once: Once, variables: Callable[[Trial], dict[str, str]] | None = None) -> Disturbance:
    """A disturbance in rounds, each in a fresh place.

    Args:
        once: disturbs a run.
        variables: gives what is added to the environment of the runs.
    """

    def disturb(
        trial: Trial, reference: Reference, rng: random.Random, numbers: range
    ) -> Iterator[Outcome]:
        for number in numbers:
            for _ in range(_ATTEMPTS):
                trial.renew()
                moment = trial.draw(reference, rng)
                run = trial.start(variables(trial) if variables is not None else None)
                try:
                    if not trial.wait_until(run, moment):
                        continue
                    now = Round(trial, reference, run, rng, number)
                    problems = once(now)
                finally:
                    run.kill_everything()
                yield Outcome(" ".join([*now.done, str(moment)]), moment.phase, problems)
                break

    disturb.__doc__ = once.__doc__
    return disturb


def kill_helper(now: Round) -> list[str]:
    """SIGKILL to one of the processes that a stage has started for its work."""
    if not now.trial.target.is_stage:
        raise NotHereError("–")
    while not (found := _helpers(now.run)):
        if now.run.wait(_LOOK_SECONDS) is not None:
            raise NotHereError("none at work")
    now.run.send(signal.SIGKILL, [now.rng.choice(found)])
    if now.run.wait(now.trial.target.limit) == 0:
        return now.trial.conclude(now.run, now.reference)
    return now.end_and_again()


def _helpers(run: Run) -> list[psutil.Process]:
    return [p for p in run.processes() if not is_stage(p) and is_below_stage(p)]


def stop(now: Round) -> list[str]:
    """SIGSTOP to every process, and SIGCONT after some seconds."""
    stopped = now.run.processes()
    now.run.send(signal.SIGSTOP, stopped)
    now.run.wait(STOP_SECONDS)
    now.run.send(signal.SIGCONT, stopped)
    return now.trial.conclude(now.run, now.reference)


def full_disk(now: Round) -> list[str]:
    """The disk of project, cache, remote, saved state and temporary files has no byte left."""
    if not now.trial.is_mounted:
        raise NotHereError("needs the right to mount")
    with _filled(now.trial.place):
        problems = now.trial.end(now.run)
    return problems + now.end_and_again()


@contextmanager
def _filled(place: Path) -> Iterator[None]:
    """No byte is free on the file system of a folder, whatever is removed meanwhile."""
    filler, over = place / "tmp" / "filler", threading.Event()

    def fill(file: int) -> None:
        while not over.wait(0.02):
            state = os.fstatvfs(file)
            if free := state.f_bavail * state.f_frsize:
                with suppress(OSError):
                    os.posix_fallocate(file, os.fstat(file).st_size, free)

    with filler.open("wb") as file:
        thread = threading.Thread(target=fill, args=(file.fileno(),))
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            filler.unlink()


def read_only_folder(now: Round) -> list[str]:
    """Nothing can be written into one of the folders, not even by root."""
    folder = now.rng.choice([f for f in _FOLDERS if (now.trial.place / f).is_dir()])
    now.done.append(folder)
    with read_only(now.trial.place / folder) as made:
        if not made:
            raise NotHereError("needs the right to mount")
        problems = now.trial.end(now.run)
    return problems + now.end_and_again()


def take_away(now: Round) -> list[str]:
    """A file goes: an input, which comes back for the next run, or one of the saved state."""
    place = now.trial.place
    saved = [p for p in (place / "state").rglob("*") if p.is_file()]
    inputs = now.reference.inputs
    if saved and (now.number % 2 or not inputs):
        taken = now.rng.choice(saved)
        now.done.append("saved state")
        taken.unlink(missing_ok=True)
        return now.end_and_again()
    if not inputs:
        now.run.kill_everything()
        raise NotHereError("reads no file")
    chosen = now.rng.choice(inputs)
    now.done.append(chosen)
    taken, aside = place / chosen, place / "tmp" / "taken"
    shutil.move(taken, aside)
    problems = now.trial.end(now.run)
    shutil.move(aside, taken)
    return problems + now.end_and_again()


def move_clock(now: Round) -> list[str]:
    """The clock jumps a day forward during a run, or is a day off while a killed run resumes.

    Times of files remain the machine's own, as on a file server with another clock.
    """
    told = _clock_file(now.trial)
    if now.number % 2 == 0:
        now.done.append("forward")
        clocks.move(told, "+1d")
        return now.trial.conclude(now.run, now.reference)
    now.done.append("killed, on a day later, killed, on a day earlier")
    run = now.run
    for offset in ("+1d", "-1d"):
        run.kill_everything()
        clocks.move(told, offset)
        run = now.trial.start(_another_clock(now.trial))
        if offset == "+1d":
            now.trial.wait_until(run, now.trial.draw(now.reference, now.rng))
    return now.trial.conclude(run, now.reference)


def _another_clock(trial: Trial) -> dict[str, str]:
    """Variables that let processes read their clock's offset in a file, which is made."""
    found = clocks.variables(_clock_file(trial), trial.place.parent)
    if found is None:
        raise NotHereError("needs libfaketime and a C compiler")
    return found


def _clock_file(trial: Trial) -> Path:
    return trial.place / "tmp" / "clock"


#: All disturbances, in the order of the table: the heading, and what does it.
DISTURBANCES: dict[str, tuple[str, Disturbance]] = {
    "kill": ("killed", chained(kill)),
    "interrupt": ("interrupted", chained(interrupt, START_SECONDS)),
    "helper": ("a helper killed", repeated(kill_helper)),
    "stop": ("stopped and resumed", repeated(stop)),
    "disk": ("full disk", repeated(full_disk)),
    "read-only": ("read-only folder", repeated(read_only_folder)),
    "taken": ("file taken away", repeated(take_away)),
    "clock": ("clock moved", repeated(move_clock, _another_clock)),
}
