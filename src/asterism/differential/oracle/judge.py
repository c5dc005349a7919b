"""Judging what each backend did with a subject: every backend gets one status.

Generated models, files and calls of functions are all judged here. A backend is wrong about values
where it lies outside of the bound of every reference, while another backend lies inside of one:
that one shows that the type of the numbers suffices. Where no reference says what is right, what
most libraries agree on is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from asterism.differential.adapters.backend_names import (
    converter_of,
    library_of,
    precision_of,
    product_of,
    select_under_test,
)
from asterism.differential.adapters.library import CONVERTERS
from asterism.differential.engine.tasks import ExecutionOutcome, Result
from asterism.differential.oracle.finding import (
    ERROR,
    INVALID_INPUTS,
    NOTHING_RUNS,
    RIGHT,
    SPECIAL_VALUES,
    STATED_LIMIT,
    UNCHECKED,
    UNRESOLVED,
    UNSUPPORTED,
    WRONG_BUFFERS,
    Finding,
)
from asterism.differential.oracle.standard import ReferenceOutputs, tolerance_for
from asterism.differential.params import Tolerance
from asterism.differential.reference.runs import ReferenceRuns

#: What one of eight bits is off, relative to its tensor's range.
_STEP_OF_EIGHT_BITS = 1 / 255


@dataclass(frozen=True)
class Judge:
    """Judges what backends did with a subject on one kind of inputs.

    Args:
        result: what all of them did.
        distribution: the inputs.
        bounds: what rounding explains between two backends.
        standard: what is right by the references; None where none says so.
        dtypes: the dtypes that outputs have by the subject; none where it does not say so of all.
        quantises: whether the subject quantises: a few steps are allowed between two backends.
        of_file: the references of a subject that is a file; None for a generated model. A file may
            be invalid, and another way of the same library shows too that its type suffices.
    """

    result: Result
    distribution: str
    bounds: Tolerance
    standard: ReferenceOutputs | None
    dtypes: Sequence[str] = ()
    quantises: bool = False
    of_file: ReferenceRuns | None = None

    @property
    def is_known(self) -> bool:
        """Whether a reference says what is right."""
        return self.standard is not None

    @property
    def backends_that_ran(self) -> list[str]:
        """The backends under test that gave outputs."""
        return [b for b in select_under_test(self.result.outcomes) if self.result.outcomes[b].ran]

    def findings(self) -> list[Finding]:
        """What every backend and converter under test does, with one status of each."""
        outcomes = self.result.outcomes
        found = {
            b: self.finding_of(b) for b in select_under_test(outcomes) if not _is_file(outcomes[b])
        }
        right = self._right(found)
        wrong = [b for b, one in found.items() if one.by_values]
        culprits = dict(self._blamed(wrong, right))
        unchecked = not self.is_known and len(products_of(self.backends_that_ran)) == 1
        no_one = self._why_nothing_runs()
        return [
            self._failed(one, right if self.is_known else self.backends_that_ran, no_one)
            if one.fails
            else replace(one, symptom=UNCHECKED)
            if backend in right and unchecked
            else self._judged(replace(one, library=culprits.get(backend, one.library)), right)
            for backend, one in found.items()
        ]

    def finding_of(self, backend: str, other: str = "") -> Finding:
        """How a backend ended, and whether its outputs are right.

        Whether a difference is the library's fault is left open: that takes another one that is
        right.

        Args:
            backend: which.
            other: what it is compared with where no reference says what is right.
        """
        outputs = self.result.outputs.get(backend, {}).get(self.distribution)
        if outputs is None:
            ended = failure(self.result.outcomes[backend])
            return replace(ended, distributions=(self.distribution,))

        def found(status: str, excess: float = 0.0, message: str = "") -> Finding:
            return Finding(
                model=self.result.index,
                symptom=status,
                stage="run",
                library=library_of(backend),
                backends=(backend,),
                distributions=(self.distribution,),
                message=message,
                excess=excess,
            )

        standard = self.standard or (self.beside(other, backend) if other else None)
        if standard is None:
            return found(UNCHECKED)
        difference = standard.off(outputs, backend)
        if difference is not None:
            limit = _limit(self.result, backend)
            return found(STATED_LIMIT if limit else difference.kind, difference.excess, limit)
        strictly = standard.probes is not None
        beyond = standard.off(outputs, backend, strictly=True) if strictly else None
        return found(RIGHT) if beyond is None else found(SPECIAL_VALUES, beyond.excess)

    def beside(self, other: str, backend: str) -> ReferenceOutputs:
        """The outputs that a backend must give to agree with another, within both tolerances.

        Where no reference says what a step of quantisation moves, a few of each output are allowed.

        Args:
            other: the other one.
            backend: which is judged.
        """
        bounds = self.bounds
        if self.quantises and not self.is_known:
            coarse = any(precision_of(b) for b in (other, backend))
            bounds = Tolerance(8 if coarse else 2, bounds.conditioning, _STEP_OF_EIGHT_BITS, 1)
        outputs = self.result.outputs[other][self.distribution]
        dtypes = self.dtypes if len(self.dtypes) == len(outputs) else ()
        return ReferenceOutputs({other: outputs}, dtypes, tolerance_for(other, bounds))

    def are_alike(self, one: str, other: str) -> bool:
        """Whether two backends that ran the subject agree."""
        outputs = self.result.outputs[one][self.distribution]
        return self.beside(other, one).off(outputs, one) is None

    def _failed(self, one: Finding, others: Sequence[str], no_one: str) -> Finding:
        """A failure is the library's fault where another one, or a reference, runs the subject.

        It is the converter's whose file the library rejects while it takes another converter's.
        """
        (backend,) = one.backends
        outcome = self.result.outcomes[backend]
        if one.symptom == UNSUPPORTED:
            return one
        source = converter_of(backend) if outcome.stage == "compile" else None
        if source is not None and _reads_another(one.library, source, self.backends_that_ran):
            one = replace(one, library=source)
        agreeing = _partners(backend, others)
        agreeing += [] if self.standard is None else self.standard.references
        impossible = no_one == INVALID_INPUTS and outcome.status == "error"
        if agreeing and not impossible:
            return replace(one, agreeing=tuple(agreeing))
        return one if outcome.killed else replace(one, symptom=no_one)

    def _judged(self, one: Finding, right: Sequence[str]) -> Finding:
        """What is off is somebody's fault where a backend is right that rounds no more."""
        (backend,) = one.backends
        if backend in right:
            return one if self.is_known else replace(one, symptom=RIGHT)
        if one.symptom == STATED_LIMIT:
            return one
        others = [b for b in _partners(backend, right) if precision_of(b) is None]
        if self.of_file is None:
            others = [b for b in others if library_of(b) != one.library]
        if others and not self.is_known:
            one = self.finding_of(backend, others[0])
        if not others or one.symptom == RIGHT:
            return replace(one, symptom=UNRESOLVED)
        return replace(one, agreeing=tuple(others))

    def _why_nothing_runs(self) -> str:
        """What a failure is that no other backend disproves."""
        outcomes = self.result.outcomes
        reference = None if self.of_file is None else outcomes.get(self.of_file.right)
        failed = [b for b in select_under_test(outcomes) if outcomes[b].status == "error"]
        together = len(products_of(failed)) > len(products_of(self.backends_that_ran))
        rejects = reference is not None and reference.status == "error" and together
        return INVALID_INPUTS if rejects else NOTHING_RUNS

    def _right(self, found: Mapping[str, Finding]) -> list[str]:
        """The right backends: by the references, else by what most libraries agree on."""
        if not self.is_known:
            return self._agreeing()
        right = [b for b in self.backends_that_ran if found[b].symptom in (RIGHT, SPECIAL_VALUES)]
        if self.of_file is None or not self.of_file.kin:
            return right
        others = [
            b for b in self.backends_that_ran if not self._is_kin(b) and precision_of(b) is None
        ]
        together = len(products_of(others)) > 1 and all(
            found[b].by_values and self.are_alike(others[0], b) for b in others
        )
        if all(map(self._is_kin, right)) and together:
            return []  # the reference may have the fault of its own library
        return right

    def _agreeing(self) -> list[str]:
        """What the largest group of libraries agrees on; nothing where none is the largest."""
        ran = [
            b for b in self.backends_that_ran if self.distribution in self.result.outputs.get(b, {})
        ]
        alike = {
            b: [o for o in ran if self.are_alike(b, o)] for b in ran if precision_of(b) is None
        }
        products = {
            b: products_of([o for o in others if precision_of(o) is None])
            for b, others in alike.items()
        }
        most = max(alike, key=lambda b: len(products[b]), default="")
        others = products_of([b for b in ran if b not in alike.get(most, ())])
        if not others or len(products[most]) > max(1, len(others)):
            return alike.get(most, [])
        return []

    def _is_kin(self, backend: str) -> bool:
        """Whether a backend shares its kernels with the reference."""
        return self.of_file is not None and product_of(library_of(backend)) == self.of_file.kin

    def _blamed(self, wrong: Sequence[str], right: Sequence[str]) -> Iterable[tuple[str, str]]:
        """Wrong backends with whom to blame: the library, or the converter of the file it reads.

        That is the converter where all readers of its file are wrong and its host is right. One
        library's readers say so only where it is right on another converter's file.
        """
        sources = {b: converter_of(b) for b in (*wrong, *right)}
        for backend, source in ((b, sources[b]) for b in wrong):
            library = library_of(backend)
            readers = [b for b in sources if sources[b] == source]
            if source is not None and all(b in wrong for b in readers):
                doubted = len(products_of(readers)) > 1 or _reads_another(library, source, right)
                if doubted and any(library_of(b) == CONVERTERS[source].host for b in right):
                    library = source
            yield backend, library


def failure(outcome: ExecutionOutcome) -> Finding:
    """The end of a step that gave no outputs, as a finding of its backend or converter."""
    status = ERROR if outcome.status == "blocked" else outcome.status  # its worker does not start
    if outcome.exception.endswith(".WrongBuffersError"):
        status = WRONG_BUFFERS
    return Finding(
        outcome.model,
        status,
        outcome.stage,
        library_of(outcome.backend),
        (outcome.backend,),
        exception=outcome.exception,
        frame=outcome.frame,
        message=outcome.message,
    )


def _reads_another(library: str, source: str, right: Iterable[str]) -> bool:
    """Whether a library is right on another converter's file of the model."""
    return any(library_of(r) == library and converter_of(r) not in (source, None) for r in right)


def products_of(backends: Iterable[str]) -> set[str]:
    """The libraries of some backends; two versions of one share their faults, and are one."""
    return {product_of(library_of(b)) for b in backends}


def _is_file(outcome: ExecutionOutcome) -> bool:
    """Whether a step ended in a file that others read, or waits for such a file in vain."""
    return outcome.stage == "convert" and outcome.status in ("ok", "blocked")


def _limit(result: Result, backend: str) -> str:
    """What a backend, or the converter of its file, warns of; empty where it warns of nothing."""
    steps = (backend, converter_of(backend))
    warnings = (result.outcomes[s].warned for s in steps if s in result.outcomes)
    return next(filter(None, warnings), "")


def _partners(backend: str, others: Sequence[str]) -> list[str]:
    """Other backends, those of other libraries first: they share no code with this one."""
    product = product_of(library_of(backend))
    mine = [b for b in others if product_of(library_of(b)) == product and b != backend]
    return [*(b for b in others if product_of(library_of(b)) != product), *mine]
