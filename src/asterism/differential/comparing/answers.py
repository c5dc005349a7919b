"""Answers that differ, in words: what each gave at the element at which they are furthest apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from asterism.differential.adapters.backends import precision_of
from asterism.differential.oracle.judge import Judge
from asterism.differential.subjects.model_files import Arrays


@dataclass(frozen=True)
class Unresolved:
    """A model and inputs on which libraries differ, and nothing decides which of them is right.

    Args:
        subject: name of the model.
        distribution: its inputs.
        answers: configurations that agree, the largest group first, and what each group gave; the
            reference comes last, where there is one.
    """

    subject: str
    distribution: str
    answers: list[tuple[list[str], str]]


def unresolved_of(subject: str, judge: Judge) -> Unresolved:
    """What each group of backends gave that agree.

    Args:
        subject: name of the model.
        judge: of it, on the inputs on which nothing decides.
    """
    groups: list[list[str]] = []
    for backend in sorted(judge.ran, key=lambda b: precision_of(b) is not None):
        near = (group for group in groups if judge.are_alike(group[0], backend))
        (group := next(near, [])).append(backend)
        if len(group) == 1:
            groups.append(group)
    groups.sort(key=len, reverse=True)
    given = [judge.result.outputs[group[0]][judge.distribution] for group in groups]
    if judge.standard is not None:
        groups.append(["the reference"])
        given.append(list(judge.standard.expected))
    answers = zip(groups, answers_in_words(given), strict=True)
    return Unresolved(subject, judge.distribution, list(answers))


def answers_in_words(given: Sequence[Arrays]) -> list[str]:
    """What each of several runs of a model gave, of the output in which they differ most.

    Args:
        given: the outputs of each run.
    """
    if len({len(outputs) for outputs in given}) > 1:
        return [f"{len(outputs)} outputs" for outputs in given]
    best, found = -1.0, [""] * len(given)
    for at, arrays in enumerate(zip(*given, strict=True)):
        if len({array.shape for array in arrays}) > 1:
            return [f"output {at} of shape {list(array.shape)}" for array in arrays]
        if not arrays[0].size:
            continue
        apart = _apart(arrays)
        place = np.unravel_index(int(np.argmax(apart)), apart.shape)
        if apart[place] > best:
            best = float(apart[place])
            where = f"output {at} at {[int(i) for i in place]}"
            found = [f"{where}: {float(a[place]):.6g}{_constant(a)}" for a in arrays]
    return found


def _constant(array: NDArray[np.generic]) -> str:
    return " everywhere" if array.size > 1 and (array == array.flat[0]).all() else ""


def _apart(arrays: Sequence[NDArray[np.generic]]) -> NDArray[np.float64]:
    """How far each element differs at most; infinitely where some are finite and others not."""
    numbers = np.stack([array.astype(np.float64) for array in arrays])
    finite = np.isfinite(numbers).all(0)
    with np.errstate(invalid="ignore"):
        spread = numbers.max(0) - numbers.min(0)
    odd = (numbers != numbers[0]).any(0) & ~np.isnan(numbers).all(0)
    found: NDArray[np.float64] = np.where(finite, spread, np.where(odd, np.inf, 0.0))
    return found
