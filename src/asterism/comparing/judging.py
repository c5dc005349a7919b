"""Running a model that is given as a file beside its reference, and judging what came.

Where nothing decides, the answers are told: what each gave where they are furthest apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.differential.adapters.backend_names import precision_of
from asterism.differential.engine.tasks import GivenFile, Result, Task
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.differential.oracle.finding import BEYOND_TYPE, Finding
from asterism.differential.oracle.judge import Judge, failure
from asterism.differential.oracle.standard import MASK_DIFFERS, ReferenceOutputs
from asterism.differential.params import JudgeParams
from asterism.differential.subjects import Arrays, ModelFile

#: The largest number of half precision.
_LARGEST = float(np.finfo(np.float16).max)


def run_subject(
    pool: WorkerPool,
    subject: ModelFile,
    inputs: dict[str, list[NDArray[Any]]],
    backends: Sequence[str],
) -> Result:
    """The results of a model in these backends and in the references."""
    all_backends = dict.fromkeys((*backends, *subject.references.all))
    chosen = tuple(b for b in all_backends if b in pool.usable())
    file = GivenFile(subject.content, subject.suffix, subject.quantises)
    return pool.run(Task(0, file, inputs, backends=chosen))


def compute_tensor_values(
    pool: WorkerPool,
    subject: ModelFile,
    inputs: dict[str, list[NDArray[Any]]],
    backends: Sequence[str],
) -> dict[str, dict[str, NDArray[Any]]]:
    """The value of every tensor of a model, by backend and name; the reference is one of them.

    A backend that does not run it, or gives fewer values, has none.

    Args:
        pool: started workers.
        subject: the model.
        inputs: the inputs of one kind.
        backends: beside the reference.
    """
    every, names = subject.exposing()
    result = run_subject(pool, every, inputs, backends)
    (kind,) = inputs
    values = {}
    for backend in (every.references.right, *backends):
        arrays = result.outputs.get(backend, {}).get(kind, [])
        values[backend] = dict(zip(names, arrays, strict=False))
        values[backend] = values[backend] if len(arrays) == len(names) else {}
    return values


def judge_of_file(
    subject: ModelFile, result: Result, distribution: str, params: JudgeParams
) -> Judge:
    """The judge of a file, by its float64 reference where that computes what the model says.

    Args:
        subject: the model.
        result: what all backends did with it.
        distribution: the inputs.
        params: tolerances.
    """
    runs, declared = subject.references, subject.declared
    bounds = params.tolerance(subject.epsilon, subject.depth)
    standard = None
    if subject.is_in_reference:
        checks = runs, declared, bounds
        by_letter = subject.is_defined_for_nan
        standard = ReferenceOutputs.of(result.outputs, distribution, *checks, by_letter=by_letter)
    return Judge(result, distribution, bounds, standard, declared, subject.quantises, runs)


def why_no_reference(subject: ModelFile, result: Result) -> str:
    """Why no reference says what the model computes; nothing where one does."""
    outcome = result.outcomes.get(subject.references.right)
    if outcome is None:
        return "no reference works here"
    if outcome.status != "ok":
        return failure(outcome).said
    return "" if subject.is_in_reference else "the reference passes over an attribute of a node"


def drop_type_findings(
    pool: WorkerPool, subject: ModelFile, inputs: Mapping[str, Arrays], findings: Sequence[Finding]
) -> list[Finding]:
    """The findings, without the blame for what follows from the type that the file names.

    A library that computes in that type overflows where the type cannot hold a value, and is right
    to. The reference computes in float64, and most libraries half precision in float32.

    Args:
        pool: started workers of the references.
        subject: the model.
        inputs: by distribution.
        findings: the findings of the model.
    """
    suspects = {finding.distributions[0] for finding in findings if finding.symptom == MASK_DIFFERS}
    said: dict[str, str] = {}
    if subject.coarsest == "float16":
        said = {name: _overflow(pool, subject, inputs[name], name) for name in suspects}
    return [
        replace(finding, symptom=BEYOND_TYPE, message=why)
        if finding.symptom == MASK_DIFFERS and (why := said.get(finding.distributions[0]))
        else finding
        for finding in findings
    ]


def _overflow(pool: WorkerPool, subject: ModelFile, inputs: Arrays, distribution: str) -> str:
    """The first node whose half-precision values the type cannot hold; nothing where all fit."""
    right = subject.references.right
    values = compute_tensor_values(pool, subject, {distribution: inputs}, [])[right]
    kinds = subject.kinds()
    for node in subject.nodes:
        for name in node.makes:
            if kinds.get(name) == np.float16 and name in values:
                finite = np.abs(values[name][np.isfinite(values[name])])
                largest = float(finite.max(initial=0.0))
                if largest > _LARGEST:
                    return f"{node.label} makes {largest:.4g}, and half precision ends at 65,504"
    return ""


#: Configurations that agree, and what they gave where answers are furthest apart; for each group.
Answers = tuple[tuple[tuple[str, ...], str], ...]


def group_answers(judge: Judge) -> Answers:
    """What each group of backends gave that agree, the largest group first.

    The reference comes last, where there is one.

    Args:
        judge: the judge of a model, on inputs on which nothing decides.
    """
    groups: list[list[str]] = []
    for backend in sorted(judge.backends_that_ran, key=lambda b: precision_of(b) is not None):
        near = (group for group in groups if judge.are_alike(group[0], backend))
        (group := next(near, [])).append(backend)
        if len(group) == 1:
            groups.append(group)
    groups.sort(key=len, reverse=True)
    outputs = [judge.result.outputs[group[0]][judge.distribution] for group in groups]
    if judge.standard is not None:
        groups.append(["the reference"])
        outputs.append(list(judge.standard.expected))
    return tuple(zip(map(tuple, groups), describe_answers(outputs), strict=True))


def describe_answers(answers: Sequence[Arrays]) -> list[str]:
    """What each of several runs of a model gave, of the output in which they differ most.

    Args:
        answers: the outputs of each run.
    """
    if len({len(outputs) for outputs in answers}) > 1:
        return [f"{len(outputs)} outputs" for outputs in answers]
    best, texts = -1.0, [""] * len(answers)
    for at, arrays in enumerate(zip(*answers, strict=True)):
        if len({array.shape for array in arrays}) > 1:
            return [f"output {at} of shape {list(array.shape)}" for array in arrays]
        if not arrays[0].size:
            continue
        gaps = _gaps(arrays)
        place = np.unravel_index(int(np.argmax(gaps)), gaps.shape)
        if gaps[place] > best:
            best = float(gaps[place])
            where = f"output {at} at {[int(i) for i in place]}"
            texts = [f"{where}: {float(a[place]):.6g}{_constant(a)}" for a in arrays]
    return texts


def _constant(array: NDArray[np.generic]) -> str:
    return " everywhere" if array.size > 1 and (array == array.flat[0]).all() else ""


def _gaps(arrays: Sequence[NDArray[np.generic]]) -> NDArray[np.float64]:
    """How far each element differs at most; infinitely where some are finite and others not."""
    numbers = np.stack([array.astype(np.float64) for array in arrays])
    finite = np.isfinite(numbers).all(0)
    with np.errstate(invalid="ignore"):
        spread = numbers.max(0) - numbers.min(0)
    odd = (numbers != numbers[0]).any(0) & ~np.isnan(numbers).all(0)
    return np.where(finite, spread, np.where(odd, np.inf, 0.0))
