"""Input makers: how the inputs of real pairs are made, by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from asterism.core.parameters.registry import Registry
from asterism.data.given import ArrayInputs
from real_pairs.entry import PackagedFile

#: Takes a file out of its wheel.
Find = Callable[[PackagedFile], Path]
#: Input makers by name. A maker is told how many inputs to make, what draws them, and what finds
#: files, and its options by keyword; if all are equal, so are the inputs. It raises UserError if
#: something is missing on the machine.
INPUT_MAKERS: Registry[Callable[..., ArrayInputs]] = Registry(
    "maker of inputs", "real_pairs.inputs"
)
