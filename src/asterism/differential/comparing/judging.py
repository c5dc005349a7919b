"""What backends do with a model that is given as a file, beside a float64 reference or each other.

A library is wrong where its outputs are off the reference by more than rounding explains, and those
of another configuration are not: that one shows that the type of the numbers suffices. Where no
reference computes the model, what most libraries agree on is right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from numpy.typing import NDArray

from asterism.differential.adapters.backends import (
    library_of,
    precision_of,
    product_of,
    under_test,
)
from asterism.differential.comparing.answers import answers_in_words
from asterism.differential.engine.tasks import GivenFile, Result, Task
from asterism.differential.engine.tolerance import Tolerance
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.differential.oracle.compare import moved_of, tolerance_for
from asterism.differential.oracle.finding import (
    INVALID_INPUTS,
    NOTHING_RUNS,
    RIGHT,
    SPECIAL_VALUES,
    UNCHECKED,
    UNRESOLVED,
    UNSUPPORTED,
    Finding,
)
from asterism.differential.oracle.judge import failure, judge_backend
from asterism.differential.oracle.params import JudgeParams
from asterism.differential.oracle.special_values import Probes
from asterism.differential.oracle.standard import Standard
from asterism.differential.subjects.model_files import ModelFile
from asterism.memo.universe.tensors import EPSILON

#: What one of eight bits is off, relative to its tensor's range.
STEP_OF_EIGHT_BITS = 1 / 255


@dataclass(frozen=True)
class Unresolved:
    """A model and inputs on which libraries differ, and nothing decides which of them is right.

    Args:
        subject: name of the model.
        distribution: its inputs.
        groups: configurations that agree, the largest group first, and what each group gave.
        reference: what the reference gave; nothing where there is none.
    """

    subject: str
    distribution: str
    groups: list[tuple[list[str], str]]
    reference: str = ""


@dataclass(frozen=True)
class Verdict:
    """What all libraries do with a model.

    Args:
        findings: of each configuration and kind of inputs, with a status of
            :data:`~asterism.differential.oracle.finding.STATUSES`. Those that agree begin with the
            best one to compare with.
        unresolved: what nothing decides.
    """

    findings: list[Finding]
    unresolved: list[Unresolved] = field(default_factory=list)


def run_subject(
    pool: WorkerPool,
    subject: ModelFile,
    inputs: dict[str, list[NDArray[Any]]],
    backends: Sequence[str],
) -> Result:
    """A model in these backends and the references."""
    wanted = dict.fromkeys((*backends, *subject.references.all))
    chosen = tuple(b for b in wanted if b in pool.usable())
    file = GivenFile(subject.content, subject.suffix, subject.quantises)
    return pool.run(Task(0, file, inputs, backends=chosen))


def verdict_of(subject: ModelFile, result: Result, params: JudgeParams) -> Verdict:
    """What every configuration under test does with a model, and what is left open."""
    judges = [FileJudge(subject, result, d, params) for d in result.distributions]
    found = [(judge, judge.findings()) for judge in judges]
    unresolved = [
        judge.unresolved()
        for judge, findings in found
        if any(one.symptom == UNRESOLVED for one in findings)
    ]
    return Verdict([one for _, findings in found for one in findings], unresolved)


@dataclass(frozen=True)
class FileJudge:
    """Judges what backends gave for one kind of inputs.

    Args:
        subject: the model.
        result: what all backends did with it.
        distribution: the inputs.
        params: tolerances.
    """

    subject: ModelFile
    result: Result
    distribution: str
    params: JudgeParams

    @property
    def is_known(self) -> bool:
        """Whether a float64 run says what the model computes."""
        ran = self.distribution in self.result.outputs.get(self.subject.references.right, {})
        return ran and self.subject.is_in_reference

    def standard(self) -> Standard | None:
        """What is right by the reference; None where there is none."""
        if not self.is_known:
            return None
        references, outputs = self.subject.references, self.result.outputs
        right = outputs[references.right][self.distribution]
        return Standard(
            {references.right: right},
            self._dtypes(right),
            tolerance_of(self.subject, self.params),
            right,
            moved_of(outputs, references.perturbed, self.distribution),
            Probes.of(
                outputs,
                references.probes,
                self.distribution,
                by_letter=self.subject.is_defined_for_nan,
            ),
        )

    def beside(self, other: str, backend: str) -> Standard:
        """What a backend must give to agree with another one, within the bound of both.

        Where no reference says what a step of quantisation moves, a few of each output are allowed.

        Args:
            other: the other one.
            backend: which is judged.
        """
        bounds = tolerance_of(self.subject, self.params)
        if self.subject.quantises and not self.is_known:
            coarse = any(precision_of(b) for b in (other, backend))
            steps, conditioning = 8 if coarse else 2, self.params.conditioning
            bounds = Tolerance(steps, conditioning, STEP_OF_EIGHT_BITS, 1)
        outputs = self.result.outputs[other][self.distribution]
        return Standard({other: outputs}, self._dtypes(outputs), tolerance_for(other, bounds))

    def are_alike(self, one: str, other: str) -> bool:
        """Whether two backends that ran the model agree."""
        outputs = self.result.outputs[one][self.distribution]
        return self.beside(other, one).off(outputs, one) is None

    def of(self, backend: str, other: str = "") -> Finding:
        """What one backend does by itself, see :func:`judge_backend`.

        Args:
            backend: which.
            other: what it is compared with where there is no reference.
        """
        standard = self.standard() or (self.beside(other, backend) if other else None)
        return judge_backend(self.result, self.distribution, standard, backend)

    def findings(self) -> list[Finding]:
        """What every configuration under test does."""
        outcomes = self.result.outcomes
        backends = under_test(outcomes)
        facts = self.result, self.distribution, self.standard()
        found = {b: judge_backend(*facts, b) for b in backends}
        ran = [b for b in backends if outcomes[b].ran]
        right = self._right(found, ran)
        alone = not self.is_known and len(_products(ran)) == 1
        no_one = self._why_nothing_runs(ran)
        return [
            self._failed(one, right if self.is_known else ran, no_one)
            if one.fails
            else replace(one, symptom=UNCHECKED)
            if backend in right and alone
            else self._judged(one, right)
            for backend, one in found.items()
        ]

    def _failed(self, one: Finding, others: Sequence[str], no_one: str) -> Finding:
        """A failure is the library's fault where another one, or the reference, runs the model."""
        (backend,) = one.backends
        outcome = self.result.outcomes[backend]
        if one.symptom == UNSUPPORTED:
            return one
        agreeing = _partners(backend, others)
        agreeing += [self.subject.references.right] if self.is_known else []
        impossible = no_one == INVALID_INPUTS and outcome.status == "error"
        if agreeing and not impossible:
            return replace(one, agreeing=tuple(agreeing))
        return one if outcome.killed else replace(one, symptom=no_one)

    def _judged(self, one: Finding, right: Sequence[str]) -> Finding:
        """What is off is the library's fault where a configuration is right that rounds no more."""
        (backend,) = one.backends
        if backend in right:
            return one if self.is_known else replace(one, symptom=RIGHT)
        others = [b for b in _partners(backend, right) if precision_of(b) is None]
        if others and not self.is_known:
            one = self.of(backend, others[0])
        if not others or one.symptom == RIGHT:
            return replace(one, symptom=UNRESOLVED)
        return replace(one, agreeing=tuple(others))

    def _why_nothing_runs(self, ran: Sequence[str]) -> str:
        """What a failure is that no other backend disproves."""
        outcomes = self.result.outcomes
        reference = outcomes.get(self.subject.references.right)
        failed = [b for b in under_test(outcomes) if outcomes[b].status == "error"]
        together = len(_products(failed)) > len(_products(ran))
        rejects = reference is not None and reference.status == "error" and together
        return INVALID_INPUTS if rejects else NOTHING_RUNS

    def _right(self, found: dict[str, Finding], ran: Sequence[str]) -> list[str]:
        """The right configurations: by the reference, else by what most libraries agree on."""
        if not self.is_known:
            return self._agreeing(ran)
        right = [b for b in ran if found[b].symptom in (RIGHT, SPECIAL_VALUES)]
        others = [b for b in ran if not self._is_kin(b) and precision_of(b) is None]
        together = len(_products(others)) > 1 and all(
            found[b].by_values and self.are_alike(others[0], b) for b in others
        )
        if all(map(self._is_kin, right)) and together:
            return []  # the reference may have the fault of its own library
        return right

    def _agreeing(self, ran: Sequence[str]) -> list[str]:
        """What the largest group of libraries agrees on; nothing where none is the largest."""
        alike = {
            b: [o for o in ran if self.are_alike(b, o)] for b in ran if precision_of(b) is None
        }
        products = {
            b: _products([o for o in others if precision_of(o) is None])
            for b, others in alike.items()
        }
        most = max(alike, key=lambda b: len(products[b]), default="")
        apart = _products([b for b in ran if b not in alike.get(most, ())])
        if not apart or len(products[most]) > max(1, len(apart)):
            return alike.get(most, [])
        return []

    def unresolved(self) -> Unresolved:
        """What each group of backends gave that agree."""
        groups: list[list[str]] = []
        ran = [b for b in under_test(self.result.outcomes) if self.result.outcomes[b].ran]
        for backend in sorted(ran, key=lambda b: precision_of(b) is not None):
            near = (group for group in groups if self.are_alike(group[0], backend))
            (group := next(near, [])).append(backend)
            if len(group) == 1:
                groups.append(group)
        groups.sort(key=len, reverse=True)
        first = [g[0] for g in groups]
        first += [self.subject.references.right] if self.is_known else []
        words = answers_in_words([self.result.outputs[b][self.distribution] for b in first])
        reference = words.pop() if self.is_known else ""
        pairs = list(zip(groups, words, strict=True))
        return Unresolved(self.subject.name, self.distribution, pairs, reference)

    def _is_kin(self, backend: str) -> bool:
        """Whether a configuration shares its kernels with the reference."""
        return product_of(library_of(backend)) == self.subject.references.kin

    def _dtypes(self, outputs: Sequence[NDArray[Any]]) -> list[str]:
        """The types that the file declares for outputs; none where it does not for all of them."""
        known = self.subject.declared
        return known if len(known) == len(outputs) else []


def lacks_reference(subject: ModelFile, result: Result) -> str:
    """Why no reference says what the model computes; nothing where one does."""
    outcome = result.outcomes.get(subject.references.right)
    if outcome is None:
        return "no reference works here"
    if outcome.status != "ok":
        return failure(outcome).said
    return "" if subject.is_in_reference else "the reference passes over an attribute of a node"


def tolerance_of(subject: ModelFile, params: JudgeParams) -> Tolerance:
    """What rounding explains: by the coarsest type of the file, and by its longest path."""
    epsilon = EPSILON[subject.coarsest]
    return Tolerance(params.ulps, params.conditioning, epsilon, depth_of(subject))


def depth_of(subject: ModelFile) -> int:
    """Number of nodes on the longest path."""
    depths: dict[str, int] = {}
    for node in subject.nodes:
        depth = max((depths.get(name, 0) for name in node.reads), default=0) + 1
        depths |= dict.fromkeys(node.makes, depth)
    return max(depths.values(), default=1)


def _products(backends: Sequence[str]) -> set[str]:
    return {product_of(library_of(b)) for b in backends}


def _partners(backend: str, others: Sequence[str]) -> list[str]:
    """Other configurations, those of other libraries first: they share no code with this one."""
    product = product_of(library_of(backend))
    mine = [b for b in others if product_of(library_of(b)) == product and b != backend]
    return [*(b for b in others if product_of(library_of(b)) != product), *mine]
