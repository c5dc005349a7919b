"""What each library does with one model, beside the other libraries and a float64 reference.

A library is wrong where its outputs are off the reference by more than rounding explains, and those
of another configuration are not: that one shows that the type of the numbers suffices. What a
library does is told as a change from that configuration to it, so that whatever explains an
upgrade's changes explains it too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from asterism.libraries.adapters.backends import (
    library_of,
    precision_of,
    product_of,
    under_test,
)
from asterism.libraries.judging.params import JudgeParams
from asterism.libraries.running.tasks import Result
from asterism.versions.answers import answers_in_words
from asterism.versions.comparing import (
    Change,
    Pair,
    are_alike,
    change_of,
    has_reference,
    lacks_reference,
    off_reference,
    probes_of,
    said_by,
)
from asterism.versions.model_files import ModelFile

#: What a library can do with a model, the worst first, and what each word means on the page.
DEEDS = {
    "fails": "it does not run the model, and another configuration or the reference does; or its "
    "process dies of it",
    "wrong": "it is outside the bound of the reference, and another configuration is within",
    "differs": "no reference computes the model, and it differs from what most libraries agree on",
    "unresolved": "it is outside the bound, and so is every other; or, where no reference computes "
    "the model, the libraries differ and none of them is alone",
    "unchecked": "it runs the model; no reference and no other library does, so that nothing says "
    "whether it is right",
    "beyond its type": "the reference's own values exceed the largest number of the type that the "
    "file names, in which the library computes: what overflows there is the file's fault",
    "stated limit": "it warns that it does not compute what the model says",
    "invalid question": "it fails on these inputs, and so do the reference and more libraries "
    "than run it: the sizes or the values of the inputs, or the file itself, are not possible",
    "nothing runs it": "it fails, no other library runs it, and the reference cannot",
    "not supported": "it says that it does not run such a model",
    "right": "it is within the bound, or agrees with the others where there is no reference",
}
#: Those that are a library's fault.
FAULTS = ("fails", "wrong", "differs")
#: What a change from a right configuration to another one says of the latter.
_AS_DEED = {
    "no longer runs": "fails",
    "now wrong": "wrong",
    "differs": "differs",
    "stated limit": "stated limit",
}


@dataclass(frozen=True)
class Deed:
    """What one configuration of a library does with a model.

    Args:
        backend: the configuration.
        distribution: the model's inputs.
        kind: one of :data:`DEEDS`.
        change: from a configuration that is right to this one; None where there is none to tell.
        said: what it says where it does not run the model.
    """

    backend: str
    distribution: str
    kind: str
    change: Change | None = None
    said: str = ""

    @property
    def is_fault(self) -> bool:
        """Whether the library does what it must not."""
        return self.kind in FAULTS

    @property
    def excess(self) -> float:
        """How far off it is, as a multiple of the bound; infinite where it fails."""
        if self.change is None or self.change.said:
            return float("inf")
        difference = self.change.new or self.change.old
        return float("inf") if difference is None else difference.excess


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
        deeds: of each configuration and kind of inputs.
        unresolved: what nothing decides.
        no_reference: why no reference says what the model computes; nothing where one does.
    """

    deeds: list[Deed]
    unresolved: list[Unresolved] = field(default_factory=list)
    no_reference: str = ""


def verdict_of(subject: ModelFile, result: Result, params: JudgeParams) -> Verdict:
    """What every configuration under test does with a model, and what is left open."""
    deeds = deeds_of(subject, result, params)
    kinds = {(deed.distribution, deed.kind) for deed in deeds}
    unresolved = [
        _unresolved(subject, result, distribution, params)
        for distribution in result.distributions
        if (distribution, "unresolved") in kinds
    ]
    return Verdict(deeds, unresolved, lacks_reference(subject, result))


def _unresolved(
    subject: ModelFile, result: Result, distribution: str, params: JudgeParams
) -> Unresolved:
    groups: list[list[str]] = []
    ran = [b for b in under_test(result.outcomes) if result.outcomes[b].ran]
    for backend in sorted(ran, key=lambda b: precision_of(b) is not None):
        near = (
            group
            for group in groups
            if are_alike(subject, result, Pair(group[0], backend), distribution, params)
        )
        (group := next(near, [])).append(backend)
        if len(group) == 1:
            groups.append(group)
    groups.sort(key=len, reverse=True)
    known = has_reference(subject, result, distribution)
    first = [*(g[0] for g in groups), *([subject.references.right] if known else [])]
    words = answers_in_words([result.outputs[b][distribution] for b in first])
    reference = words.pop() if known else ""
    return Unresolved(subject.name, distribution, list(zip(groups, words, strict=True)), reference)


def deeds_of(subject: ModelFile, result: Result, params: JudgeParams) -> list[Deed]:
    """What every configuration under test does with a model, for each kind of inputs."""
    return [
        deed
        for distribution in result.distributions
        for deed in _deeds(subject, result, distribution, params)
    ]


def _deeds(
    subject: ModelFile, result: Result, distribution: str, params: JudgeParams
) -> list[Deed]:
    backends = under_test(result.outcomes)
    ran = [b for b in backends if result.outcomes[b].ran]
    right = _right(subject, result, ran, distribution, params)
    known = has_reference(subject, result, distribution)
    alone = not known and len({product_of(library_of(b)) for b in ran}) == 1
    reference = result.outcomes.get(subject.references.right)
    failed = {product_of(library_of(b)) for b in backends if result.outcomes[b].status == "error"}
    together = len(failed) > len({product_of(library_of(b)) for b in ran})
    rejects = reference is not None and reference.status == "error" and together
    no_one = "invalid question" if rejects else "nothing runs it"
    found = []
    for backend in backends:
        outcome = result.outcomes[backend]
        said = said_by(outcome)
        if outcome.status == "unsupported":
            found.append(Deed(backend, distribution, "not supported", said=said))
        elif outcome.status != "ok":
            others = _partners(backend, right if known else ran)
            others += [subject.references.right] if known else []
            if others and not (rejects and outcome.status == "error"):
                pair = Pair(others[0], backend)
                change = change_of(subject, result, pair, distribution, params)
                found.append(Deed(backend, distribution, "fails", change, said))
            else:
                kind = "fails" if outcome.killed else no_one
                found.append(Deed(backend, distribution, kind, said=said))
        elif backend in right:
            found.append(Deed(backend, distribution, "unchecked" if alone else "right"))
        elif others := [b for b in _partners(backend, right) if precision_of(b) is None]:
            # Without a reference, a change is told of the version that is left.
            pair = Pair(others[0], backend) if known else Pair(backend, others[0])
            change = change_of(subject, result, pair, distribution, params)
            kind = _AS_DEED.get(change.kind, "unresolved")
            found.append(Deed(backend, distribution, kind, change, change.said))
        else:
            found.append(Deed(backend, distribution, "unresolved"))
    return found


def _right(
    subject: ModelFile, result: Result, ran: Sequence[str], distribution: str, params: JudgeParams
) -> list[str]:
    """The configurations that are right: by the reference, else by what most libraries agree on."""
    if has_reference(subject, result, distribution):
        probes = probes_of(subject, result, distribution)
        right = [
            b for b in ran if not off_reference(subject, result, b, distribution, params, probes)
        ]
        others = [b for b in ran if not _is_kin(b, subject) and precision_of(b) is None]
        if all(_is_kin(b, subject) for b in right) and _are_one(
            subject, result, others, distribution, params
        ):
            return []  # the reference may have the fault of its own library
        return right
    alike = {
        b: [o for o in ran if _agree(subject, result, Pair(b, o), distribution, params)]
        for b in ran
        if precision_of(b) is None
    }
    products = {
        b: {product_of(library_of(o)) for o in others if precision_of(o) is None}
        for b, others in alike.items()
    }
    most = max(alike, key=lambda b: len(products[b]), default="")
    apart = {product_of(library_of(b)) for b in ran if b not in alike.get(most, ())}
    if not apart or len(products[most]) > max(1, len(apart)):
        return alike.get(most, [])
    return []


def _is_kin(backend: str, subject: ModelFile) -> bool:
    """Whether a configuration shares its kernels with the reference."""
    return product_of(library_of(backend)) == subject.references.kin


def _are_one(
    subject: ModelFile,
    result: Result,
    backends: Sequence[str],
    distribution: str,
    params: JudgeParams,
) -> bool:
    """Whether these are of several libraries, and all give the same, off the reference."""
    return len({product_of(library_of(b)) for b in backends}) > 1 and all(
        change_of(subject, result, Pair(backends[0], b), distribution, params).kind
        == "both off alike"
        for b in backends
    )


def _agree(
    subject: ModelFile, result: Result, pair: Pair, distribution: str, params: JudgeParams
) -> bool:
    """Whether two configurations give the same within rounding, where no reference tells more."""
    return change_of(subject, result, pair, distribution, params).kind in (
        "same",
        "within rounding",
    )


def _partners(backend: str, others: Sequence[str]) -> list[str]:
    """Other configurations, those of other libraries first: they share no code with this one."""
    product = product_of(library_of(backend))
    mine = [b for b in others if product_of(library_of(b)) == product and b != backend]
    return [*(b for b in others if product_of(library_of(b)) != product), *mine]
