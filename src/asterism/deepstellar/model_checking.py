"""The Markov chain as explicit-state files for the model checkers PRISM and Storm.

State 0 is an artificial start from which the chain moves into a trace's first state with the
profiled probability, since both tools want one initial state. The abstract state with number
``i`` is state ``i + 1``.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from asterism.core.artifacts import replacing
from asterism.deepstellar.abstraction import Abstraction
from asterism.deepstellar.dtmc import Dtmc


def export(abstraction: Abstraction, dtmc: Dtmc, folder: Path) -> None:
    """Write ``dtmc.tra`` (transitions), ``dtmc.sta`` (cells) and ``dtmc.lab`` (labels).

    A state carries the label ``class_<c>`` of the class that traces through it most often end
    in (the lowest one when several are equal); the start carries ``init``.
    """
    _write(folder / "dtmc.tra", _transitions(dtmc))
    _write(folder / "dtmc.sta", _states(abstraction, dtmc))
    _write(folder / "dtmc.lab", _labels(dtmc))


def _transitions(dtmc: Dtmc) -> Iterable[str]:
    starts = np.flatnonzero(dtmc.initial)
    chances = dtmc.initial[starts] / dtmc.initial.sum()
    chain = dtmc.probabilities.tocoo()
    yield f"{len(dtmc.codes) + 1} {len(starts) + chain.nnz}"
    for state, chance in zip(starts.tolist(), chances.tolist(), strict=True):
        yield f"0 {state + 1} {chance!r}"
    rows, columns = chain.coords
    triples = zip(rows.tolist(), columns.tolist(), chain.data.tolist(), strict=True)
    for source, target, chance in triples:
        yield f"{source + 1} {target + 1} {chance!r}"


def _states(abstraction: Abstraction, dtmc: Dtmc) -> Iterable[str]:
    names = ",".join(f"c{i}" for i in range(abstraction.k))
    yield f"(started,{names})"
    yield f"0:(0,{','.join('0' * abstraction.k)})"
    for number, cell in enumerate(abstraction.cells(dtmc.codes).tolist(), start=1):
        yield f"{number}:(1,{','.join(map(str, cell))})"


def _labels(dtmc: Dtmc) -> Iterable[str]:
    classes = dtmc.class_visits.shape[1]
    names = ["init", "deadlock", *(f"class_{c}" for c in range(classes))]
    yield " ".join(f'{number}="{name}"' for number, name in enumerate(names))
    yield "0: 0"
    for number, label in enumerate(dtmc.class_visits.argmax(axis=1).tolist(), start=1):
        yield f"{number}: {label + 2}"


def _write(path: Path, lines: Iterable[str]) -> None:
    with replacing(path) as temporary, temporary.open("w", encoding="ascii") as file:
        file.writelines(f"{line}\n" for line in lines)
