"""The Markov chain for people, as a picture, and for the model checkers PRISM and Storm.

For the model checkers, state 0 is an artificial start from which the chain moves into a trace's
first state with the profiled probability, since both tools want one initial state. The abstract
state with number ``i`` is state ``i + 1``. The tools spell the same facts differently, so each has
its files.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import networkx as nx
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from asterism.core.files.artifacts import replacing
from asterism.core.svg import PALETTE
from asterism.deepstellar.model.abstraction import Abstraction
from asterism.deepstellar.model.trace_model import Dtmc, TraceModel

#: Steps that are drawn from a state.
_STEPS = 2


def draw_markov_chain(model: TraceModel, states: int = 60) -> Figure:
    """The ``states`` most visited states, each with its likeliest steps to the others.

    A state lies at its grid cell in the first two components, a little aside of others there.
    A disc's area is a state's share of all visits, its colour the class that traces through it
    most often end in; a line's width is the step's probability. Loops are left out.
    """
    dtmc = model.dtmc
    shown = np.argsort(-dtmc.visits, kind="stable")[:states]
    graph = _graph(dtmc, shown)
    places = dict(zip(shown.tolist(), _places(model, shown), strict=True))
    classes = dtmc.class_visits[shown].argmax(axis=1)
    share = dtmc.visits[shown] / dtmc.visits.sum()

    figure = Figure(figsize=(7, 5.2))
    axes = figure.subplots()
    sizes = 25 + 500 * share / share.max()
    nx.draw_networkx_nodes(
        graph,
        places,
        nodelist=shown.tolist(),
        node_size=sizes,
        node_color=[PALETTE[c % len(PALETTE)] for c in classes],
        alpha=0.9,
        ax=axes,
    )
    edges = list(graph.edges(data="probability"))
    nx.draw_networkx_edges(
        graph,
        places,
        edgelist=[edge[:2] for edge in edges],
        width=[0.3 + 2.5 * edge[2] for edge in edges],
        edge_color="#666666",
        alpha=0.6,
        node_size=[dict(zip(shown.tolist(), sizes, strict=True))[n] for n in graph.nodes],
        arrowsize=7,
        connectionstyle="arc3,rad=0.08",
        ax=axes,
    )
    axes.legend(handles=_legend(classes), title="mostly ends in", fontsize=8, frameon=False)
    axes.tick_params(left=True, bottom=True, labelleft=True, labelbottom=True)
    axes.set_xlabel("interval of component 1")
    axes.set_ylabel("interval of component 2" if model.abstraction.k > 1 else "")
    axes.set_title(
        f"{len(shown)} of {len(dtmc.codes)} states, {share.sum():.0%} of all visits", fontsize=9
    )
    return figure


def _places(model: TraceModel, shown: NDArray[np.int64]) -> list[tuple[float, float]]:
    """Positions ``(x, y)`` of states: those that share a cell stand around its centre."""
    cells = model.abstraction.cells(model.dtmc.codes[shown])
    x, y = cells[:, 0], cells[:, 1] if model.abstraction.k > 1 else np.zeros(len(shown), int)
    places = []
    for i in range(len(shown)):
        together = np.flatnonzero((x == x[i]) & (y == y[i]))
        angle = 2 * np.pi * int(np.searchsorted(together, i)) / len(together)
        radius = 0.28 if len(together) > 1 else 0.0
        places.append((x[i] + radius * np.cos(angle), y[i] + radius * np.sin(angle)))
    return places


def _graph(dtmc: Dtmc, shown: NDArray[np.int64]) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(shown.tolist())
    within = dtmc.probabilities[shown][:, shown].toarray()
    np.fill_diagonal(within, 0)
    for row, source in enumerate(shown.tolist()):
        for column in np.argsort(-within[row], kind="stable")[:_STEPS]:
            if within[row, column] > 0:
                graph.add_edge(source, int(shown[column]), probability=float(within[row, column]))
    return graph


def _legend(classes: NDArray[np.int64]) -> list[Line2D]:
    return [
        Line2D([], [], marker="o", linestyle="", color=PALETTE[c % len(PALETTE)], label=str(c))
        for c in np.unique(classes).tolist()
    ]


def write_model_checker_files(abstraction: Abstraction, dtmc: Dtmc, folder: Path) -> None:
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
