"""Parameters of a layer: what values they take and how coverage counts them.

A parameter declares its *options*: the labels that coverage counts. A numeric range has five
(its bins), a choice one for each value. ``labels`` of a value outside the declaration is empty,
so such a value counts nowhere. What a model that is read may have beyond that, ``accepts`` says:
published models have larger sizes than generated ones, but no other kinds of values.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Any

import numpy as np

from asterism.memo.universe.tensors import Tensor

BINS = 5
_BIN_NAMES = tuple(f"bin{i}" for i in range(BINS))

#: No whole number of a configuration is larger.
LARGEST = 2**31 - 1
#: A name of Keras' own, as of an activation.
_WORD = re.compile(r"[a-z][a-z0-9_]{0,63}")


def is_whole(value: Any, low: int = -LARGEST) -> bool:
    """Whether a value is a whole number of at least ``low``; truth values are none."""
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= LARGEST


def is_number(value: Any) -> bool:
    """Whether a value is a finite number."""
    return is_whole(value) or (isinstance(value, float) and isfinite(value))


def are_whole(values: Any, low: int = -LARGEST) -> bool:
    """Whether a value is a list of whole numbers of at least ``low``."""
    return isinstance(values, list | tuple) and all(is_whole(v, low) for v in values)


class Parameter(ABC):
    """One parameter of a layer, by the name that Keras gives it."""

    name: str
    default: Any

    @property
    @abstractmethod
    def options(self) -> tuple[str, ...]:
        """Labels of everything that there is to cover."""

    @abstractmethod
    def labels(self, value: Any) -> tuple[str, ...]:
        """Options that ``value`` covers; none where it lies outside the declaration."""

    @abstractmethod
    def accepts(self, value: Any) -> bool:
        """Whether a model that is read may have ``value``, counted or not."""

    @abstractmethod
    def draw(
        self, rng: np.random.Generator, inputs: Sequence[Tensor], wanted: str | None = None
    ) -> Any:
        """A value for a layer with these inputs, covering ``wanted`` where that is an option."""


@dataclass(frozen=True)
class Choice(Parameter):
    """One of a list of values.

    Args:
        name: Keras' name.
        default: Keras' default.
        listed: the values, or what reads them off Keras when they are first needed.
        uncounted: words that models may have too, and no coverage counts.
    """

    name: str
    default: Any
    listed: tuple[Any, ...] | Callable[[], tuple[Any, ...]]
    uncounted: tuple[str, ...] = ()

    @cached_property
    def values(self) -> tuple[Any, ...]:
        """What there is to choose from."""
        return self.listed() if callable(self.listed) else self.listed

    @cached_property
    def options(self) -> tuple[str, ...]:
        """The values, written out."""
        return tuple(map(str, self.values))

    def labels(self, value: Any) -> tuple[str, ...]:
        """The value as a text."""
        return (str(value),) if str(value) in self.options else ()

    def accepts(self, value: Any) -> bool:
        """One of its words or switches; where numbers are listed, any such number or a list.

        Which names Keras lists is not asked here, where no Keras is loaded: any word may be one,
        and Keras rejects those that are none.
        """
        if callable(self.listed):
            return isinstance(value, str) and _WORD.fullmatch(value) is not None
        if isinstance(value, str | bool):
            words = (*self.listed, *self.uncounted)
            return any(type(word) is type(value) and word == value for word in words)
        if isinstance(value, float):
            return is_number(value) and any(isinstance(v, float) for v in self.listed)
        numbers = any(isinstance(v, list) or is_number(v) for v in self.listed)
        return numbers and (is_whole(value) or are_whole(value))

    def draw(
        self, rng: np.random.Generator, inputs: Sequence[Tensor], wanted: str | None = None
    ) -> Any:
        """A uniform draw, or the wanted value."""
        if wanted in self.options:
            return self.values[self.options.index(wanted)]
        return self.values[int(rng.integers(len(self.values)))]


@dataclass(frozen=True, slots=True)
class Number(Parameter):
    """A number in ``[low, high]``, counted in five bins of equal width.

    Args:
        name: Keras' name.
        default: Keras' default, or a middling value where Keras has none.
        low: smallest value.
        high: largest value.
        integer: whole numbers only; their bins hold equally many numbers, give or take one.
        channels: models may have a list instead, with a number for each channel.
    """

    name: str
    default: float
    low: float
    high: float
    integer: bool = True
    channels: bool = False

    @property
    def options(self) -> tuple[str, ...]:
        """``bin0`` to ``bin4``, fewer where there are fewer numbers."""
        count = min(BINS, int(self.high - self.low) + 1) if self.integer else BINS
        return _BIN_NAMES[:count]

    def labels(self, value: Any) -> tuple[str, ...]:
        """The bin of the value."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            return ()
        if not self.low <= value <= self.high:
            return ()
        return (f"bin{self._bin(value)}",)

    def accepts(self, value: Any) -> bool:
        """A number, also above the range; none below it that a size cannot be."""
        if self.integer:
            return is_whole(value, min(int(self.low), 1))
        if self.channels and isinstance(value, list | tuple):
            return all(map(is_number, value))
        return is_number(value)

    def _bin(self, value: float) -> int:
        count = len(self.options)
        width = self.high - self.low + (1 if self.integer else 0)
        return min(int((value - self.low) / width * count), count - 1)

    def draw(
        self, rng: np.random.Generator, inputs: Sequence[Tensor], wanted: str | None = None
    ) -> Any:
        """A uniform draw from the bin that is wanted, else from the range."""
        options = self.options
        chosen = options.index(wanted) if wanted in options else int(rng.integers(len(options)))
        if self.integer:
            numbers = [
                n for n in range(int(self.low), int(self.high) + 1) if self._bin(n) == chosen
            ]
            return numbers[int(rng.integers(len(numbers)))]
        width = (self.high - self.low) / len(options)
        return max(self.low, round(self.low + width * (chosen + float(rng.random())), 4))


@dataclass(frozen=True, slots=True)
class Sizes(Parameter):
    """A whole number for each spatial axis (kernel size, strides, …).

    A value covers the bin of each of its numbers.

    Args:
        name: Keras' name.
        default: one number, which stands for all axes.
        axes: how many numbers there are.
        low: smallest number.
        high: largest number.
        equal: all numbers are the same.
    """

    name: str
    default: Any
    axes: int
    low: int
    high: int
    equal: bool = False

    @property
    def _number(self) -> Number:
        return Number(self.name, self.low, self.low, self.high)

    @property
    def options(self) -> tuple[str, ...]:
        """Bins of one number."""
        return self._number.options

    def labels(self, value: Any) -> tuple[str, ...]:
        """The bins of its numbers."""
        values = value if isinstance(value, list | tuple) else [value]
        found = [self._number.labels(v) for v in values]
        return tuple(sorted({b for bins in found for b in bins})) if all(found) else ()

    def accepts(self, value: Any) -> bool:
        """A size, also above the range, or one for each axis."""
        return is_whole(value, 1) or (are_whole(value, 1) and len(value) == self.axes)

    def draw(
        self, rng: np.random.Generator, inputs: Sequence[Tensor], wanted: str | None = None
    ) -> Any:
        """All axes alike or, in a third of the draws, each on its own."""
        first = self._number.draw(rng, inputs, wanted)
        if self.equal or rng.random() < 2 / 3:
            return [first] * self.axes
        rest = [self._number.draw(rng, inputs) for _ in range(self.axes - 1)]
        return [first, *rest]


@dataclass(frozen=True, slots=True)
class ShapeDependentParameter(Parameter):
    """A parameter whose values depend on the shape of the input (an axis, a target shape, …).

    Args:
        name: Keras' name.
        default: a value that fits every input, or None where only a draw does.
        kinds: the labels that coverage counts.
        kind_of: the label of a value.
        draw_value: draws a value for the inputs.
        is_one: whether something is such a value at all, of whatever kind.
    """

    name: str
    default: Any
    kinds: tuple[str, ...]
    kind_of: Callable[[Any], str]
    draw_value: Callable[[np.random.Generator, Sequence[Tensor]], Any]
    is_one: Callable[[Any], bool]

    @property
    def options(self) -> tuple[str, ...]:
        """The declared kinds."""
        return self.kinds

    def labels(self, value: Any) -> tuple[str, ...]:
        """The value's kind, if it is declared."""
        try:
            kind = self.kind_of(value)
        except (TypeError, ValueError, IndexError):
            return ()
        return (kind,) if kind in self.kinds else ()

    def accepts(self, value: Any) -> bool:
        """What it is, whether or not its kind is declared."""
        return self.is_one(value)

    def draw(
        self, rng: np.random.Generator, inputs: Sequence[Tensor], wanted: str | None = None
    ) -> Any:
        """A value that fits; several tries for one of the wanted kind."""
        value = self.draw_value(rng, inputs)
        for _ in range(4 if wanted in self.kinds else 0):
            if self.kind_of(value) == wanted:
                break
            value = self.draw_value(rng, inputs)
        return value
