"""Which nodes of a model an upgrade's change comes from: the smallest part that shows it alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.libraries.judging.params import JudgeParams
from asterism.libraries.judging.standard import Standard
from asterism.libraries.running.tasks import Result
from asterism.libraries.running.worker_pool import WorkerPool
from asterism.versions.comparing import Change, change_of
from asterism.versions.judging import run_subject, tolerance_of
from asterism.versions.model_files import Arrays, ModelFile


@dataclass(frozen=True)
class Part:
    """A part of a model that shows a change by itself.

    Args:
        subject: the part, as a model of its own.
        inputs: what reaches it in the whole model.
        change: as the part shows it.
        result: what the part did in both versions and the references.
        nodes: number of nodes of the whole model.
        tried: number of parts that were run.
        finished: whether no smaller part was left to try.
    """

    subject: ModelFile
    inputs: Arrays
    change: Change
    result: Result
    nodes: int
    tried: int
    finished: bool

    @property
    def layers(self) -> list[str]:
        """Operator and name of each of its nodes."""
        return [node.label for node in self.subject.nodes]


class Blame:
    """Looks for the smallest part of a model that shows a change.

    Args:
        pool: started workers of both versions.
        params: the oracle's tolerances.
        steps: parts that may be tried for one change.
    """

    def __init__(self, pool: WorkerPool, params: JudgeParams, steps: int) -> None:
        self._pool = pool
        self._params = params
        self._steps = steps

    def smallest(self, subject: ModelFile, inputs: Arrays, change: Change) -> Part:
        """The smallest part found; the whole model where no part shows the change."""
        whole = subject.fixed(inputs)
        search = _Search(self._pool, self._params, change, whole, inputs, self._steps)
        return search.run()


class _Search:
    def __init__(
        self,
        pool: WorkerPool,
        params: JudgeParams,
        change: Change,
        subject: ModelFile,
        inputs: Arrays,
        steps: int,
    ) -> None:
        self._pool, self._params, self._change = pool, params, change
        self._subject, self._inputs = subject, inputs
        self._left = self._steps = steps
        self._nodes = subject.nodes
        self._values: dict[str, NDArray[Any]] = {}
        self._kinds = subject.kinds()
        self._found: tuple[ModelFile, Arrays, Change, Result] | None = None
        self._asked: set[frozenset[int]] = set()

    def run(self) -> Part:
        chosen = set(range(len(self._nodes)))
        exposed = self._exposed()
        if exposed is not None:
            self._values, suspect = exposed
            chosen = self._around(suspect) if suspect is not None else self._cut(chosen)
            chosen = self._without_each(chosen)
        if self._found is None:
            backends = (self._change.pair.old, self._change.pair.new)
            given = {self._change.distribution: self._inputs}
            result = run_subject(self._pool, self._subject, given, backends)
            self._found = self._subject, self._inputs, self._change, result
        subject, inputs, change, result = self._found
        tried = self._steps - self._left
        return Part(
            subject, inputs, change, result, len(self._nodes), tried, finished=self._left > 0
        )

    def _exposed(self) -> tuple[dict[str, NDArray[Any]], int | None] | None:
        """The value of every tensor, and the first node that is off although its inputs are not.

        Where the reference cannot run the model, values are those of the other configuration. None
        where neither can, or where neither gives all that a node makes; the node is None where none
        is off as long as every value is put out (which forbids to fuse nodes).
        """
        every, names = self._subject.exposing()
        culprit, name = self._change.culprit, self._change.distribution
        pair = self._change.pair
        other = pair.old if culprit == pair.new else pair.new
        result = run_subject(self._pool, every, {name: self._inputs}, [culprit, other])
        asked = (every.references.right, other, culprit)
        ran = {b: result.outputs.get(b, {}).get(name, []) for b in asked}
        whole = {b: outputs for b, outputs in ran.items() if len(outputs) == len(names)}
        values = next(
            (dict(zip(names, whole[b], strict=True)) for b in asked[:2] if b in whole), {}
        )
        if not values:
            return None
        values |= {s.name: a for s, a in zip(self._subject.inputs, self._inputs, strict=True)}
        if culprit not in whole:
            return values, None
        wrong: set[str] = set()
        given = dict(zip(names, whole[culprit], strict=True))
        bounds = tolerance_of(self._subject, self._params)
        for number, node in enumerate(self._nodes):
            for output in node.makes:
                standard = Standard({other: [values[output]]}, (), bounds)
                if standard.off([given[output]]) is not None:
                    if not wrong & set(node.reads):
                        return values, number
                    wrong.add(output)
        return values, None

    def _around(self, suspect: int) -> set[int]:
        """The suspect alone, else with the nearest nodes that it depends on, ever more."""
        made = {name: i for i, node in enumerate(self._nodes) for name in node.makes}
        near = [suspect]
        for number in near:  # grows while it is gone through
            sources = [made[name] for name in self._nodes[number].reads if name in made]
            near += [s for s in dict.fromkeys(sources) if s not in near]
        size = 1
        while not self._shows(set(near[:size])):
            if size >= len(near):
                return self._cut(set(range(len(self._nodes))))
            size = min(2 * size, len(near))
        return set(near[:size])

    def _cut(self, chosen: set[int]) -> set[int]:
        """A half of the nodes as long as one of them is enough."""
        while len(chosen) > 1:
            order = sorted(chosen)
            middle, quarter = len(order) // 2, len(order) // 4
            parts = (order[middle:], order[:middle], order[quarter : quarter + middle])
            smaller = next((set(p) for p in parts if p and self._shows(set(p))), None)
            if smaller is None:
                break
            chosen = smaller
        return chosen

    def _without_each(self, chosen: set[int]) -> set[int]:
        """One node less, as long as that is enough."""
        found = True
        while found and len(chosen) > 1:
            found = False
            for number in sorted(chosen):
                if self._shows(chosen - {number}):
                    chosen, found = chosen - {number}, True
                    break
        return chosen

    def _shows(self, chosen: set[int]) -> bool:
        """Whether these nodes alone show the change, on what reaches them in the whole model."""
        key = frozenset(chosen)
        if self._left <= 0 or key in self._asked:
            return False
        self._asked.add(key)
        part = self._part(sorted(chosen))
        if part is None:
            return False
        self._left -= 1
        subject, inputs = part
        backends = (self._change.pair.old, self._change.pair.new)
        name = self._change.distribution
        result = run_subject(self._pool, subject, {name: inputs}, backends)
        change = change_of(subject, result, self._change.pair, name, self._params)
        if not _is_alike(change, self._change):
            return False
        self._found = subject, inputs, change, result
        return True

    def _as_computed(self, name: str) -> NDArray[Any]:
        """A value of the float64 reference in the type that the model computes in."""
        value = self._values[name]
        floating = value.dtype == np.float64
        return value.astype(self._kinds.get(name, np.dtype(np.float32))) if floating else value

    def _part(self, chosen: Sequence[int]) -> tuple[ModelFile, Arrays] | None:
        """These nodes as a model, and what it reads; None where a value of it is not known."""
        return self._subject.part(
            chosen, lambda name: self._as_computed(name) if name in self._values else None
        )


def _is_alike(change: Change, wanted: Change) -> bool:
    """Whether a part changes as the whole does; a failure by the same type of exception."""
    if change.kind != wanted.kind:
        return False
    failing = wanted.at_fault
    if failing.fails:
        ends = [(f.symptom, f.exception) for f in (change.at_fault, failing)]
        return ends[0] == ends[1]
    return _differences(change) == _differences(wanted)


def _differences(change: Change) -> list[str]:
    return [one.symptom for one in (change.old, change.new) if one.by_values]
