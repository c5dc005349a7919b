"""The Markov chain as explicit-state files for the model checkers PRISM and Storm.

State 0 is an artificial start from which the chain moves into a trace's first state with the
profiled probability, since both tools want one initial state. The abstract state with number
``i`` is state ``i + 1``. The tools spell the same facts differently, so each has its files.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from asterism.core.files.artifacts import replacing
from asterism.deepstellar.model.abstraction import Abstraction
from asterism.deepstellar.model.dtmc import Dtmc


def export(abstraction: Abstraction, dtmc: Dtmc, folder: Path) -> None:
    """Write ``prism/dtmc.{tra,sta,lab}`` and ``storm/dtmc.{tra,lab}`` into a folder.

    ``.tra`` holds transitions, ``.sta`` the grid cell of each state, ``.lab`` labels: ``init``
    for the start and ``class_<c>`` for each abstract state, where c is the class that traces
    through it most often end in (the lowest one when several are equal).
    """
    transitions = list(_transitions(dtmc))
    _write(
        folder / "prism" / "dtmc.tra", [f"{len(dtmc.codes) + 1} {len(transitions)}"], transitions
    )
    _write(folder / "prism" / "dtmc.sta", _cells(abstraction, dtmc))
    _write(folder / "storm" / "dtmc.tra", ["dtmc"], transitions)

    classes = dtmc.class_visits.shape[1]
    names = ["init", "deadlock", *(f"class_{c}" for c in range(classes))]
    labels = [0, *(dtmc.class_visits.argmax(axis=1) + 2).tolist()]
    _write(
        folder / "prism" / "dtmc.lab",
        [" ".join(f'{number}="{name}"' for number, name in enumerate(names))],
        (f"{state}: {label}" for state, label in enumerate(labels)),
    )
    _write(
        folder / "storm" / "dtmc.lab",
        ["#DECLARATION", " ".join(names), "#END"],
        (f"{state} {names[label]}" for state, label in enumerate(labels)),
    )


def _transitions(dtmc: Dtmc) -> Iterable[str]:
    starts = np.flatnonzero(dtmc.initial)
    chances = dtmc.initial[starts] / dtmc.initial.sum()
    for state, chance in zip(starts.tolist(), chances.tolist(), strict=True):
        yield f"0 {state + 1} {chance!r}"
    chain = dtmc.probabilities.tocoo()
    rows, columns = chain.coords
    triples = zip(rows.tolist(), columns.tolist(), chain.data.tolist(), strict=True)
    for source, target, chance in triples:
        yield f"{source + 1} {target + 1} {chance!r}"


def _cells(abstraction: Abstraction, dtmc: Dtmc) -> Iterable[str]:
    yield f"(started,{','.join(f'c{i}' for i in range(abstraction.k))})"
    yield f"0:(0,{','.join('0' * abstraction.k)})"
    for number, cell in enumerate(abstraction.cells(dtmc.codes).tolist(), start=1):
        yield f"{number}:(1,{','.join(map(str, cell))})"


def _write(path: Path, *parts: Iterable[str]) -> None:
    with replacing(path) as temporary, temporary.open("w", encoding="ascii") as file:
        for part in parts:
            file.writelines(f"{line}\n" for line in part)
