"""Domains by name: the operations on a kind of inputs that the searches need.

An item is an input of the models, one entry along the first axis of an array of any shape and
dtype. A domain names its mutation operators and applies them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError
from asterism.core.parameters.construction import NoOptions, options_of
from asterism.core.parameters.params import ParameterSection
from asterism.core.parameters.registry import Registry, unknown
from asterism.core.random_streams import BatchedStreams
from asterism.dflare.bounds import Bound
from asterism.dflare.params import BoundParams, DomainParams

Items = NDArray[Any]
Rows = NDArray[np.int64]

#: The variant of an item that is the item itself.
UNCHANGED = 0


@dataclass(frozen=True)
class Measure:
    """A distance between items.

    Attributes:
        unit: what it is counted in.
        larger_is_closer: whether a limit is the smallest value that is allowed.
    """

    unit: str
    larger_is_closer: bool = False


class Domain(ABC):
    """A kind of inputs, chosen by name and built from its options.

    Args:
        operators: for each operator's name the options that differ from its defaults.
        options: the domain's own.
    """

    #: The mutation operators' names, in the order of their numbers.
    operators: tuple[str, ...]
    #: Which operators have so few mutants of an item that the same come again, bool ``(O,)``.
    few_mutants: NDArray[np.bool_]
    #: The options that this domain takes.
    Options: ClassVar[type[ParameterSection]] = NoOptions
    #: The distances that :meth:`distance` knows, by name.
    measures: ClassVar[Mapping[str, Measure]]

    @abstractmethod
    def __init__(self, operators: Mapping[str, Mapping[str, Any]], options: Any) -> None:
        self.operators = tuple(operators)
        self.few_mutants = np.ones(len(operators), np.bool_)
        self.options = options

    @abstractmethod
    def prepare(self, items: Items) -> None:
        """Check that inputs are of this kind, and learn from them what the operators need.

        Raises:
            UserError: they have another shape or dtype, or values that this kind does not have.
        """

    def mutate(self, items: Items, operators: Rows, streams: BatchedStreams) -> Items:
        """A mutant of each item, by the given operators.

        Args:
            items: ``(n, ...)``, left as they are.
            operators: the operator's number for each, int64 ``(n,)``.
            streams: random numbers for each; a mutant depends on no other item's.
        """
        mutants = np.empty_like(items)
        order, ends = operators.argsort(kind="stable"), np.bincount(operators).cumsum()
        for number, rows in enumerate(np.split(order, ends[:-1])):
            if len(rows):
                mutants[rows] = self.mutate_by(number, items[rows], streams.of(rows))
        return mutants

    @abstractmethod
    def mutate_by(self, operator: int, items: Items, streams: BatchedStreams) -> Items:
        """A mutant of each item by the operator of this number; see :meth:`mutate`."""

    def variants(self, shape: tuple[int, ...], operators: Rows, streams: BatchedStreams) -> Rows:
        """Numbers that tell which mutants of an item by :meth:`mutate` are equal.

        Args:
            shape: the shape of an item.
            operators: the operator's number for each, int64 ``(n,)``.
            streams: random numbers for each.

        Returns:
            int64 ``(n,)``: equal numbers are equal mutants of an item, :data:`UNCHANGED` is the
            item itself; below 0 that is not told.
        """
        return np.full(len(operators), -1)

    @abstractmethod
    def crossover(self, first: Items, second: Items, rng: np.random.Generator) -> Items:
        """Children of pairs of items: each part comes from one of the two."""

    @abstractmethod
    def distance(self, items: Items, references: Items, measure: str) -> NDArray[np.float64]:
        """The distance of each item to its reference, float64 ``(n,)``.

        Args:
            items: ``(n, ...)``.
            references: ``(n, ...)``.
            measure: a name of :attr:`measures`.
        """

    @abstractmethod
    def changes(self, item: Items, reference: Items) -> Rows:
        """The places where one item differs from its reference, smallest changes first."""

    @abstractmethod
    def revert(self, item: Items, reference: Items, places: Rows) -> Items:
        """The item with its reference's values at these places, numbers of :meth:`changes`."""

    def fade(self, items: Items, references: Items, share: NDArray[np.float64]) -> Items:
        """The items, with a share of their difference from their references.

        Args:
            items: ``(n, ...)``.
            references: ``(n, ...)``.
            share: what is left of each item's difference, from [0, 1], float64 ``(n,)``.

        Returns:
            ``(n, ...)``; where this kind of inputs knows no smaller difference, the items as they
            are.
        """
        return items

    def bound_around(self, references: Items, chosen: BoundParams) -> Bound:
        """What lies within a bound around references, ``(N, ...)``."""
        return DistanceBound(self, references, chosen.measure, chosen.limit)

    def project(self, items: Items, references: Items, measure: str, limit: float) -> Items:
        """The items moved towards their references until they lie within a bound.

        Args:
            items: ``(n, ...)``.
            references: ``(n, ...)``.
            measure: name of a distance.
            limit: the farthest that is allowed, see :meth:`within`.

        Returns:
            ``(n, ...)``; where this kind of inputs has no such movement, the items as they are.
        """
        return items

    def within(
        self, items: Items, references: Items, measure: str, limit: float
    ) -> NDArray[np.bool_]:
        """Whether each item lies within a bound around its reference, bool ``(n,)``."""
        found = self.distance(items, references, measure)
        return found >= limit if self.measures[measure].larger_is_closer else found <= limit


@dataclass(frozen=True)
class DistanceBound(Bound):
    """The items whose distance to their references is small enough.

    Attributes:
        domain: the kind of inputs, which measures the distance.
        references: ``(N, ...)``.
        measure: name of a distance.
        limit: the farthest that is allowed, see :meth:`Domain.within`.
    """

    domain: Domain
    references: Items
    measure: str
    limit: float

    def enclose(self, items: Items, references: Rows) -> tuple[Items, NDArray[np.bool_]]:
        """See :meth:`Bound.enclose`."""
        nearest = self.references[references]
        moved = self.domain.project(items, nearest, self.measure, self.limit)
        return moved, self.domain.within(moved, nearest, self.measure, self.limit)


DOMAINS: Registry[type[Domain]] = Registry("domain", "asterism.dflare.domains")


def domain_options(chosen: DomainParams) -> ParameterSection:
    """The domain's options, as it declares them.

    Raises:
        UserError: no such domain, or the options are none of its.
    """
    return options_of(DOMAINS, chosen.kind, chosen.options)


def build_domain(chosen: DomainParams, operators: Mapping[str, Mapping[str, Any]]) -> Domain:
    """The domain that parameters choose.

    Args:
        chosen: its name and options.
        operators: for each operator's name the options that differ from its defaults.

    Raises:
        UserError: no such domain or operator, or the options are none of theirs.
    """
    return DOMAINS[chosen.kind](operators, domain_options(chosen))


def accept_operators(given: tuple[DomainParams, Mapping[str, Mapping[str, Any]]]) -> None:
    """Check that a domain has these operators.

    Raises:
        UserError: see :func:`build_domain`.
    """
    build_domain(*given)


def accept_bound(given: tuple[DomainParams, BoundParams | None]) -> None:
    """Check that a bound is in a measure that a domain has.

    Raises:
        UserError: it is not.
    """
    chosen, bound = given
    measures = DOMAINS[chosen.kind].measures
    if bound is not None and bound.measure not in measures:
        raise unknown(f"distance of {chosen.kind}", bound.measure, sorted(measures))
    if bound is not None and bound.limit < 0 and not measures[bound.measure].larger_is_closer:
        raise UserError(
            f"{bound.measure} is at least 0, so that its limit cannot be {bound.limit:g}"
        )


def changes_by_size(size: NDArray[Any]) -> Rows:
    """Places where a change has a size above 0, smallest first, int64."""
    changed = np.flatnonzero(size)
    return changed[np.argsort(size[changed], kind="stable")]


def shrink_difference(
    items: NDArray[Any], references: NDArray[Any], share: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Items that keep a share of their difference to the references.

    Args:
        items: numbers ``(n, ...)``.
        references: ``(n, ...)``.
        share: the share of each item, float64 ``(n,)``, at most 1.
    """
    difference = items.astype(np.float64) - references
    kept: NDArray[np.float64] = difference * share.reshape(-1, *[1] * (items.ndim - 1))
    return references + kept


def require_form(items: Items, kind: str, expected: str, *, rank: int | None, dtypes: str) -> None:
    """Check rank and dtype of inputs.

    Args:
        items: ``(N, ...)``.
        kind: what they should be.
        expected: the form, as the error says it.
        rank: number of axes; None: at least two.
        dtypes: letters of the kinds of dtype that fit, as in ``numpy.dtype.kind``.

    Raises:
        UserError: they have another form.
    """
    fits = items.ndim >= 2 if rank is None else items.ndim == rank
    if not fits or items.dtype.kind not in dtypes:
        raise UserError(
            f"inputs of kind {kind} should be {expected}, but these are {items.dtype} of shape "
            f"{items.shape}"
        )
