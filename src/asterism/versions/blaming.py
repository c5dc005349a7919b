"""Which nodes of a model an upgrade's change comes from: the smallest part that shows it alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from asterism.libraries.adapters.backends import FILE_REFERENCE
from asterism.libraries.judging.params import JudgeParams
from asterism.libraries.running.tasks import Result
from asterism.libraries.running.worker_pool import WorkerPool
from asterism.versions.comparing import Change, change_of, off, run_subject, tolerance_of
from asterism.versions.subjects import InputSpec, Subject

if TYPE_CHECKING:
    import onnx

Arrays = list[NDArray[Any]]


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

    subject: Subject
    inputs: Arrays
    change: Change
    result: Result
    nodes: int
    tried: int
    finished: bool

    @property
    def layers(self) -> list[str]:
        """Operator and name of each of its nodes."""
        return [f"{n.op_type} {n.name}".strip() for n in self.subject.model.graph.node]


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

    def smallest(self, subject: Subject, inputs: Arrays, change: Change) -> Part:
        """The smallest part found; the whole model where no part shows the change."""
        whole = _fixed(subject, inputs)
        search = _Search(self._pool, self._params, change, whole, inputs, self._steps)
        return search.run()


class _Search:
    def __init__(
        self,
        pool: WorkerPool,
        params: JudgeParams,
        change: Change,
        subject: Subject,
        inputs: Arrays,
        steps: int,
    ) -> None:
        self._pool, self._params, self._change = pool, params, change
        self._subject, self._inputs = subject, inputs
        self._left = self._steps = steps
        self._nodes = list(subject.model.graph.node)
        self._values: dict[str, NDArray[Any]] = {}
        self._kinds = _kinds(subject.model)
        self._found: tuple[Subject, Arrays, Change, Result] | None = None
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

        None where the reference cannot run the model; the node is None where none is off as long
        as every value is put out (which forbids to fuse nodes).
        """
        names = [name for node in self._nodes for name in node.output if name]
        model = _copy(self._subject.model)
        del model.graph.output[:]
        model.graph.output.extend(_value(name) for name in names)
        every = Subject(self._subject.name, model, self._subject.inputs)
        culprit, name = self._change.culprit, self._change.distribution
        result = run_subject(self._pool, every, {name: self._inputs}, [culprit])
        reference = result.outputs.get(FILE_REFERENCE, {}).get(name)
        if reference is None:
            return None
        values = dict(zip(names, reference, strict=True))
        values |= {s.name: a for s, a in zip(self._subject.inputs, self._inputs, strict=True)}
        outputs = result.outputs.get(culprit, {}).get(name)
        if outputs is None:
            return values, None
        wrong: set[str] = set()
        given = dict(zip(names, outputs, strict=True))
        bounds = tolerance_of(self._subject, self._params)
        for number, node in enumerate(self._nodes):
            for output in filter(None, node.output):
                ours, right = [given[output]], [values[output]]
                if off(ours, right, None, [str(ours[0].dtype)], bounds) is not None:
                    if not wrong & set(node.input):
                        return values, number
                    wrong.add(output)
        return values, None

    def _around(self, suspect: int) -> set[int]:
        """The suspect alone, else with the nearest nodes that it depends on, ever more."""
        made = {name: i for i, node in enumerate(self._nodes) for name in node.output}
        near = [suspect]
        for number in near:  # grows while it is gone through
            sources = [made[name] for name in self._nodes[number].input if name in made]
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

    def _part(self, chosen: Sequence[int]) -> tuple[Subject, Arrays] | None:
        """These nodes as a model, and what it reads; None where a value of it is not known."""
        nodes = [self._nodes[i] for i in chosen]
        made = [name for node in nodes for name in node.output if name]
        graph = self._subject.model.graph
        constants = {constant.name: constant for constant in graph.initializer}
        read = list(dict.fromkeys(name for node in nodes for name in _reads(node)))
        outside = [n for n in read if n not in made and n not in constants]
        others = [node for i, node in enumerate(self._nodes) if i not in chosen]
        wanted = {value.name for value in graph.output}
        wanted |= {name for node in others for name in _reads(node)}
        outputs = [n for n in made if n in wanted or n not in read]
        if not outputs or any(n not in self._values for n in (*outside, *outputs)):
            return None
        arrays = [self._as_computed(n) for n in outside]
        model = _copy(self._subject.model)
        for field in ("node", "initializer", "input", "output", "value_info"):
            del getattr(model.graph, field)[:]
        model.graph.node.extend(nodes)
        model.graph.initializer.extend(constants[n] for n in read if n in constants)
        model.graph.input.extend(_value(n, a) for n, a in zip(outside, arrays, strict=True))
        model.graph.output.extend(_value(n, self._as_computed(n)) for n in outputs)
        specs = [InputSpec(n, a.shape, str(a.dtype)) for n, a in zip(outside, arrays, strict=True)]
        return Subject(self._subject.name, model, tuple(specs)), arrays


def _is_alike(change: Change, wanted: Change) -> bool:
    """Whether a part changes as the whole does; a failure by the same type of exception."""
    if change.kind != wanted.kind:
        return False
    if wanted.said:
        return change.said.split()[:2] == wanted.said.split()[:2]
    kinds = [d.kind for d in (change.old, change.new) if d is not None]
    return kinds == [d.kind for d in (wanted.old, wanted.new) if d is not None]


def _fixed(subject: Subject, inputs: Arrays) -> Subject:
    """The model with the shapes of these inputs, without what it says of values inside."""
    model = _copy(subject.model)
    del model.graph.value_info[:]
    for spec, array in zip(subject.inputs, inputs, strict=True):
        for at, value in enumerate(model.graph.input):
            if value.name == spec.name:
                model.graph.input[at].CopyFrom(_value(spec.name, array))
    specs = tuple(
        InputSpec(s.name, a.shape, s.dtype) for s, a in zip(subject.inputs, inputs, strict=True)
    )
    return Subject(subject.name, model, specs)


def _kinds(model: onnx.ModelProto) -> dict[str, np.dtype[Any]]:
    """The type of every value that the model tells or that follows from it."""
    import onnx

    try:
        graph = onnx.shape_inference.infer_shapes(model).graph
    except Exception:  # of a model that no runtime takes either
        graph = model.graph
    kinds = {
        value.name: value.type.tensor_type.elem_type
        for value in (*graph.input, *graph.value_info, *graph.output)
    }
    known = {name: kind for name, kind in kinds.items() if kind}
    return {n: np.dtype(onnx.helper.tensor_dtype_to_np_dtype(k)) for n, k in known.items()}


def _reads(node: Any) -> Iterator[str]:
    """Names that a node reads, those inside of its graphs too."""
    yield from filter(None, node.input)
    for attribute in node.attribute:
        for inner in attribute.g.node if attribute.HasField("g") else ():
            yield from _reads(inner)


def _copy(model: onnx.ModelProto) -> onnx.ModelProto:
    import onnx

    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    return copy


def _value(name: str, array: NDArray[Any] | None = None) -> onnx.ValueInfoProto:
    """A value's declaration; of an unknown one its name alone, which runtimes complete."""
    import onnx

    if array is None:
        return onnx.ValueInfoProto(name=name)
    kind = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
    return onnx.helper.make_tensor_value_info(name, kind, array.shape)
