"""Which nodes of a model a fault or a change comes from: the smallest part that shows it alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.comparing.cases import ComparisonCase
from asterism.comparing.judging import (
    compute_tensor_values,
    judge_of_file,
    run_subject,
)
from asterism.comparing.libraries import title_of
from asterism.differential.adapters.backend_names import library_of
from asterism.differential.engine.tasks import Result
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.differential.oracle.standard import ReferenceOutputs
from asterism.differential.params import JudgeParams
from asterism.differential.report.decisions import ExpectedOutputs, ScriptDecision, compare_outputs
from asterism.differential.report.model_text import onnx_reference, onnx_text
from asterism.differential.report.numbers import ArrayExpression
from asterism.differential.report.program_text import Runner, onnx_program, write_file_script
from asterism.differential.report.script_writer import REPRO
from asterism.differential.shrinking.reducer import Reducer, RunnableParts, TriageBudget
from asterism.differential.subjects import Arrays, ModelFile


@dataclass(frozen=True)
class ModelPart:
    """A part of a model that shows a fault or a change by itself.

    Args:
        subject: the part, as a model of its own.
        inputs: what reaches it in the whole model.
        case: what the part shows.
        result: what the part did in both versions and the references.
        nodes: number of nodes of the whole model.
        finished: whether no smaller part was left to try.
    """

    subject: ModelFile
    inputs: Arrays
    case: ComparisonCase
    result: Result
    nodes: int
    finished: bool

    @property
    def layers(self) -> list[str]:
        """Operator and name of each of its nodes."""
        return [node.label for node in self.subject.nodes]

    @property
    def title(self) -> str:
        """A title: the library at fault, what is wrong, and how the other one does."""
        case = self.case
        culprit, other = (title_of(library_of(backend)) for backend in (case.culprit, case.other))
        what = f"{case.at_fault.symptom} in {', '.join(self.layers[:3])}"
        return f"{culprit}: {what} ({other}{case.of_other})"

    def right(self, params: JudgeParams) -> ExpectedOutputs | None:
        """The right outputs of the part, and its own; None if something fails.

        Args:
            params: the oracle's tolerances.
        """
        case, culprit = self.case, self.case.culprit
        if case.at_fault.fails:
            return None
        judge = judge_of_file(self.subject, self.result, case.distribution, params)
        standard = judge.standard or judge.beside(case.other, culprit)
        actual = self.result.outputs[culprit][case.distribution]
        return ExpectedOutputs(
            standard.expected, actual, standard.allowed(culprit), standard.dtypes
        )

    def write_script(
        self,
        folder: Path,
        title: str,
        params: JudgeParams,
        simple: Sequence[ArrayExpression] | None = None,
    ) -> Path:
        """Write its script and the model's file, with the arrays where they are not simple.

        On simple inputs the script has the model as ONNX's text, where that is short.

        Args:
            folder: where they go.
            title: what the script is about, one line.
            params: the oracle's tolerances.
            simple: the inputs as a script writes them.
        """
        culprit, finding = self.case.culprit, self.case.at_fault
        content, right, script = self.subject.content, self.right(params), folder / REPRO
        text = onnx_text(content) if simple is not None else None
        if text is None or simple is None:
            write_file_script(script, title, culprit, content, self.inputs, right, finding)
            return script
        (folder / "model.onnx").write_bytes(content)
        runner, decision = Runner.of([culprit]), ScriptDecision("it runs", finding=finding)
        if right is not None:
            decision = compare_outputs(right, onnx_reference(text, simple, right))
        program = onnx_program(runner, text, "", simple)
        script.write_text(program.script(title, runner.versions, decision), encoding="utf-8")
        return script


@dataclass(frozen=True)
class _Candidate:
    """Some nodes as a model of their own.

    Args:
        chosen: numbers of the nodes.
        subject: the model.
        inputs: what reaches it in the whole model.
    """

    chosen: frozenset[int]
    subject: ModelFile
    inputs: Arrays


class FaultLocaliser:
    """Looks for the smallest part of a model that shows a fault or a change.

    Args:
        pool: started workers of the backends that are compared.
        params: the oracle's tolerances.
        case: what a part must show.
        subject: the model.
        inputs: the inputs of the model.
    """

    def __init__(
        self,
        pool: WorkerPool,
        params: JudgeParams,
        case: ComparisonCase,
        subject: ModelFile,
        inputs: Arrays,
    ) -> None:
        self._pool, self._params, self._case = pool, params, case
        whole = subject.fixed(inputs)
        self._whole = _Candidate(frozenset(range(len(whole.nodes))), whole, inputs)
        self._nodes, self._kinds = whole.nodes, whole.kinds()
        self._values: dict[str, NDArray[Any]] = {}
        self._found: tuple[ComparisonCase, Result] | None = None

    def smallest(self, steps: int) -> ModelPart:
        """The smallest part that is found in so many steps; the whole model where none shows it."""
        budget = TriageBudget(steps)
        reducer = Reducer(self._shows, lambda candidate: str(sorted(candidate.chosen)), budget)
        smallest = self._whole
        exposed = self._exposed()
        if exposed is not None:
            self._values, suspect = exposed
            smallest = reducer.fewest(self._whole, self._parts(), suspect)
            smallest = reducer.repeat(smallest, self._without_each)
        if self._found is None:
            self._found = self._case, self._run(self._whole)
        rest = (*self._found, len(self._nodes), not budget.untried)
        return ModelPart(smallest.subject, smallest.inputs, *rest)

    def _exposed(self) -> tuple[dict[str, NDArray[Any]], int | None] | None:
        """The value of every tensor, and the first node that is off.

        Where the reference cannot run the model, values are those of the other configuration. None
        where neither can, or where neither gives all that a node makes; the node is None where none
        is off as long as every value is put out (which forbids to fuse nodes).
        """
        subject, inputs = self._whole.subject, self._whole.inputs
        culprit, other = self._case.culprit, self._case.other
        by_backend = compute_tensor_values(
            self._pool, subject, {self._case.distribution: inputs}, (culprit, other)
        )
        values = by_backend[subject.references.right] or by_backend[other]
        if not values:
            return None
        values |= {s.name: a for s, a in zip(subject.inputs, inputs, strict=True)}
        given = by_backend[culprit]
        bounds = self._params.tolerance(subject.epsilon, subject.depth)
        for number, node in enumerate(self._nodes):
            for output in (made for made in node.makes if made in given):
                standard = ReferenceOutputs({other: [values[output]]}, (), bounds)
                if standard.off([given[output]]) is not None:
                    return values, number
        return values, None

    def _parts(self) -> RunnableParts[_Candidate]:
        """The nodes as parts of the model."""
        made = {name: i for i, node in enumerate(self._nodes) for name in node.makes}

        def sources(number: int) -> list[int]:
            return [made[name] for name in self._nodes[number].reads if name in made]

        return RunnableParts(range(len(self._nodes)), sources, self._alone)

    def _without_each(self, candidate: _Candidate) -> Iterator[_Candidate]:
        """One node less."""
        for number in sorted(candidate.chosen) if len(candidate.chosen) > 1 else ():
            smaller = self._alone(candidate.chosen - {number})
            if smaller is not None:
                yield smaller

    def _alone(self, chosen: Set[int]) -> _Candidate | None:
        """These nodes as a model, and what it reads; None where a value of it is not known."""
        part = self._whole.subject.part(
            sorted(chosen), lambda name: self._as_computed(name) if name in self._values else None
        )
        return None if part is None else _Candidate(frozenset(chosen), *part)

    def _shows(self, candidate: _Candidate) -> bool:
        """Whether these nodes alone show it, on what reaches them in the whole model."""
        result = self._run(candidate)
        case = self._case.seen_in(candidate.subject, result, self._params)
        if case is None:
            return False
        self._found = case, result
        return True

    def _run(self, candidate: _Candidate) -> Result:
        inputs = {self._case.distribution: candidate.inputs}
        return run_subject(self._pool, candidate.subject, inputs, self._case.backends)

    def _as_computed(self, name: str) -> NDArray[Any]:
        """A value of the float64 reference in the type that the model computes in."""
        value = self._values[name]
        floating = value.dtype == np.float64
        return value.astype(self._kinds.get(name, np.dtype(np.float32))) if floating else value
