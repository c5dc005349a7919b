"""Giving pairs to the real command, one after the other, and going on after an interrupt."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, as_completed
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from vetted_truth.judging import WORDS, Outcome, judge
from vetted_truth.pairs import make, plan

#: Questions of one pair that are answered.
_MOST_QUESTIONS = 3
_TIMEOUT = 1200
#: What Python says of an error that nobody expected; a log may show its end only.
TRACEBACK = re.compile(r'Traceback \(|^ +File ".+", line \d+', re.MULTILINE)


@dataclass(frozen=True)
class Runs:
    """Where pairs are made and vetted.

    Attributes:
        work: holds ``pairs`` and ``runs``.
        seed: of all pairs.
        asterism: the command.
    """

    work: Path
    seed: int
    asterism: str

    def pair(self, number: int) -> dict[str, Any]:
        """Make a pair where it is not there yet; its truth."""
        folder = self.work / "pairs" / f"{number:04d}"
        truth = folder / "truth.json"
        if truth.exists():
            return dict(json.loads(truth.read_text()))
        asked = next(islice(plan(self.seed), number, None))
        return make(folder, asked, self.seed, number)

    def run(self, number: int) -> dict[str, Any]:
        """Vet one pair, and judge what is said."""
        folder, truth = self.work / "pairs" / f"{number:04d}", self.pair(number)
        place = self.work / "runs" / f"{number:04d}"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        outcome = self._answered(truth, folder, place)
        facts = {k: truth[k] for k in ("kind", "input_kind", "form", "damage", "node", "labelled")}
        for entry in place.iterdir():  # the projects, not what was said
            if entry.is_dir():
                shutil.rmtree(entry, ignore_errors=True)
        return {"number": number, "seed": self.seed, **facts, **asdict(outcome)}

    def _answered(self, truth: dict[str, Any], folder: Path, place: Path) -> Outcome:
        """The outcome, after the questions that the program asks are answered from the truth."""
        extra: list[str] = []
        asked: list[str] = []
        started = time.monotonic()
        for turn in range(_MOST_QUESTIONS + 1):
            status, output, errors = self._vet(truth, folder, place, extra, turn)
            if status in WORDS and output.strip().startswith("{"):
                certificate = json.loads(output)
                outcome = judge(truth, certificate, folder, _repaired(place))
                outcome.status = status
                if WORDS[status] != outcome.word:
                    outcome.failures.append(f"exit status {status} with verdict {outcome.word}")
                break
            outcome = Outcome(status=status)
            if TRACEBACK.search(errors):
                outcome.failures.append(f"traceback: {_raised(errors)}")
                break
            if status not in (1, 2):
                outcome.failures.append(f"status {status}: {_last(errors)}")
                break
            found = _answer_to(errors, truth, extra)
            if not found:
                after = f" after {' '.join(extra)}" if extra else ""
                outcome.failures.append(f"dead end{after}: {_last(errors)}")
                break
            asked.append(" ".join(found))
            extra += found
        else:
            outcome = Outcome(status=status, failures=[f"asks without end: {_last(errors)}"])
        outcome.asked, outcome.seconds = asked, time.monotonic() - started
        return outcome

    def _vet(
        self, truth: dict[str, Any], folder: Path, place: Path, extra: list[str], turn: int
    ) -> tuple[int, str, str]:
        files = [str(folder / truth["original"]), str(folder / truth["compressed"])]
        command = [self.asterism, "vet", *files, "--inputs", str(folder / truth["inputs"])]
        command += ["--json", "--exit-code", "--no-open", *extra]
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
        try:
            done = subprocess.run(
                command,
                cwd=place,
                env=environment,
                capture_output=True,
                text=True,
                timeout=_TIMEOUT,
            )
        except subprocess.TimeoutExpired:
            return 124, "", f"it takes more than {_TIMEOUT} seconds"
        (place / f"certificate-{turn}.json").write_text(done.stdout)
        (place / f"said-{turn}.txt").write_text(done.stderr)
        return done.returncode, done.stdout, done.stderr


def _repaired(place: Path) -> Path:
    found = sorted(place.rglob("vet/repaired.*"))
    return found[-1] if found else place / "repaired.onnx"


def _last(errors: str) -> str:
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    told = [line for line in lines if line.startswith("error")]
    return (told or lines or ["nothing is said"])[-1][:300]


def _raised(errors: str) -> str:
    """The error behind the last traceback, and the place that raised it."""
    *_, frame = TRACEBACK.finditer(errors)
    places = re.findall(r'File ".*?([^/"]+)", line (\d+)', errors)
    after = errors[frame.end() :].splitlines()
    told = [line for line in after if re.match(r"[\w.]*(Error|Exception|Exit)\b", line)]
    where = ":".join(places[-1]) if places else "somewhere"
    return f"{(told or ['an error'])[0][:200]} ({where})"


def _answer_to(errors: str, truth: dict[str, Any], given: list[str]) -> list[str]:
    """The flag that the error names, with what the truth says it should be."""
    line = _last(errors)
    answers = {"--kind": [truth["input_kind"]]}
    if truth["preprocessing"]:
        answers["--preprocessing"] = [truth["preprocessing"]]
    names = [name for right in truth["comparisons"].values() for name in right]
    answers["--comparison"] = [name for name in names if name in line] or names
    for flag in re.findall(r"--[a-z-]+", line):
        if flag in answers and flag not in given:
            return [flag, answers[flag][0]]
    return []


def read_outcomes(file: Path, seed: int) -> dict[int, dict[str, Any]]:
    """Outcomes of a seed by the pair's number; none where nothing was run."""
    lines = file.read_text().splitlines() if file.exists() else []
    return {line["number"]: line for line in map(json.loads, lines) if line["seed"] == seed}


def run_all(
    run: Callable[[int], dict[str, Any]], pairs: int, file: Path, seed: int, pool: Executor
) -> Iterator[dict[str, Any]]:
    """Outcomes of the first pairs; those that a file knows come first, and it gets the others.

    Args:
        run: gives the outcome of a pair, by its number.
        pairs: how many.
        file: has a line of JSON for each outcome.
        seed: of all pairs.
        pool: runs several at a time.
    """
    known = read_outcomes(file, seed)
    yield from (known[number] for number in range(pairs) if number in known)
    file.parent.mkdir(parents=True, exist_ok=True)
    left = [number for number in range(pairs) if number not in known]
    with pool:
        for done in as_completed(pool.submit(run, number) for number in left):
            with file.open("a") as to:
                to.write(json.dumps(done.result()) + "\n")
            yield done.result()
