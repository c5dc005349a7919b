"""Float64 runs on other inputs: off by a dtype's rounding, or without their special numbers."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.random_streams import stream
from asterism.memo.universe.tensors import EPSILON

#: Kinds of inputs that are probed.
PROBED = ("nan", "infinity", "largest")
#: The options of the two probes: what stands for the first NaN, for the size of an infinity, and
#: the factor of numbers that are all but too large. For more NaN stand more numbers up to twice the
#: first one: their order is another one in the second probe.
STAND_INS = {"probe_high": (1e4, 1e30, 2.0**-10), "probe_low": (-3e3, 1e25, 2.0**-20)}

#: The options of perturbed runs: the dtype whose rounding moves the numbers, and the direction.
#: Coarse dtypes have both directions: where a function jumps nearby, one of them crosses the jump.
PERTURBATIONS = {
    "perturbed": ("float32", 1),
    "perturbed_float16": ("float16", 1),
    "perturbed_float16_back": ("float16", -1),
    "perturbed_bfloat16": ("bfloat16", 1),
    "perturbed_bfloat16_back": ("bfloat16", -1),
}

#: Of files: the dtype and the option of the run in which what is quantised is off by a step.
STEP, STEPPED = "quantisation step", "perturbed_step"

#: Numbers beyond this are all but too large.
_LARGE = 1e3


def perturb(array: NDArray[Any], option: str) -> NDArray[Any]:
    """Every number of a floating array off by up to a dtype's relative rounding.

    The float64 model run with such inputs and weights moves as far as rounding of them can move
    it: a measure of the model's conditioning that no library under test enters.

    Args:
        array: inputs or weights.
        option: which of :data:`PERTURBATIONS` to take.
    """
    if not np.issubdtype(array.dtype, np.floating):
        return array
    noise = stream(0, "perturbation", array.size).uniform(-1, 1, array.shape)
    dtype, direction = PERTURBATIONS[option]
    moved: NDArray[Any] = (array * (1 + direction * EPSILON[dtype] * noise)).astype(array.dtype)
    return moved


def replace_special_numbers(array: NDArray[Any], option: str) -> NDArray[Any]:
    """A floating array with finite numbers in place of NaN, infinities and the largest numbers.

    Args:
        array: inputs or weights.
        option: which of :data:`STAND_INS` to take.
    """
    if not np.issubdtype(array.dtype, np.floating):
        return array
    number, size, factor = STAND_INS[option]
    smaller = np.where(np.abs(array) > _LARGE, array * factor, array)
    plain = np.where(np.isinf(array), np.sign(array) * size, smaller)
    unknown = np.isnan(array)
    plain[unknown] = number * np.linspace(1, 2, int(unknown.sum()))
    found: NDArray[Any] = plain.astype(array.dtype)
    return found


def change_for_run(array: NDArray[Any], option: str) -> NDArray[Any]:
    """Inputs or weights as the run of that option has them; as they are in all other runs."""
    if option in PERTURBATIONS:
        return perturb(array, option)
    return replace_special_numbers(array, option) if option in STAND_INS else array


@dataclass(frozen=True)
class ReferenceRuns:
    """The float64 runs that say what models of one kind compute: generated ones, or files.

    Args:
        library: whose run is a reference, and whose other runs say what is to be judged.
        others: more references, with the library's own the ones of which most are right.
        kin: a library under test that shares its kernels with a file's reference; nothing for none.
        steps: whether one of the runs says what a step of quantisation moves.
    """

    library: str
    others: tuple[str, ...] = ()
    kin: str = ""
    steps: bool = False

    @property
    def right(self) -> str:
        """The library's reference, which is also the run that rounding moves."""
        return f"{self.library}:float64"

    @property
    def references(self) -> tuple[str, ...]:
        """All runs that may say what the model computes."""
        return self.right, *self.others

    @property
    def perturbed(self) -> dict[str, tuple[str, ...]]:
        """The library's run with inputs and weights off by rounding, by the rounding's dtype."""
        runs: dict[str, tuple[str, ...]] = {}
        for option, (dtype, _) in PERTURBATIONS.items():
            runs[dtype] = (*runs.get(dtype, ()), f"{self.library}:{option}")
        return runs | ({STEP: (f"{self.library}:{STEPPED}",)} if self.steps else {})

    @property
    def probes(self) -> tuple[str, str]:
        """The library's runs with finite numbers in place of special ones."""
        return f"{self.library}:probe_high", f"{self.library}:probe_low"

    @property
    def on_other_inputs(self) -> tuple[str, ...]:
        """The runs on other inputs than the ones that are judged."""
        return *chain(*self.perturbed.values()), *self.probes

    @property
    def all(self) -> tuple[str, ...]:
        """All runs in float64."""
        return *self.references, *self.on_other_inputs
