"""Overrides as Hydra's grammar reads and takes them, and the points that they span."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from asterism.core.messages.errors import UserError
from asterism.dvc_hydra.composition import shorten_hydra_message


@dataclass(frozen=True)
class SweepOverride:
    """One override of a sweep.

    Attributes:
        key: what it sets, with its ``+`` or ``~``.
        values: the overrides that it stands for, ``("seed=1", "seed=2")``; None for an interval,
            which has no end of them.
        bounds: the ends of a range or an interval as overrides, or all of the choices.
    """

    key: str
    values: tuple[str, ...] | None
    bounds: tuple[str, ...]


def parse_overrides(overrides: Sequence[str]) -> list[SweepOverride]:
    """Read overrides.

    Args:
        overrides: of parameters; those of Hydra itself are for Hydra.

    Raises:
        UserError: one of them cannot be read.
    """
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    parser, parsed = OverridesParser.create(), []
    for override in overrides:
        try:
            parsed.append(_override(parser.parse_override(override)))
        except HydraException as error:
            raise UserError(
                f"the override {override!r} cannot be read: {shorten_hydra_message(error)}"
            ) from None
    return parsed


def expand_sweep(overrides: Sequence[SweepOverride]) -> list[tuple[str, ...]]:
    """The overrides of each point of a sweep, in the order of Hydra's own sweeper.

    That changes the last override fastest; of two overrides of one key the second counts.

    Raises:
        UserError: an override is an interval.
    """
    columns = {}
    for override in overrides:
        if override.values is None:
            raise UserError(
                f"{override.key} is an interval, in which only hydra/sweeper=optuna chooses "
                "points: give a range or a list"
            )
        columns[override.key] = override.values
    return list(product(*columns.values()))


def _override(parsed: Any) -> SweepOverride:
    from hydra.core.override_parser.types import IntervalSweep, RangeSweep

    key, sweep = parsed.get_key_element(), parsed.value()
    if not parsed.is_sweep_override():
        only = (f"{key}={parsed.get_value_element_as_str()}",)
        return SweepOverride(key, only, only)
    if isinstance(sweep, IntervalSweep):
        return SweepOverride(key, None, (f"{key}={sweep.start}", f"{key}={sweep.end}"))
    values = tuple(f"{key}={value}" for value in parsed.sweep_string_iterator())
    ends = (values[0], values[-1]) if isinstance(sweep, RangeSweep) and values else values
    return SweepOverride(key, values, ends)


def hydra_text(text: str) -> str:
    """A text as Hydra's grammar takes it, whatever characters it has.

    A backslash is doubled before a quote, at the end, and before an interpolation: anywhere else
    it stands for itself.
    """
    plain = re.sub(r"(\\*)\$\{", r"\1\1\\${", text)
    escaped = re.sub(r"(\\*)'", r"\1\1\\'", plain)
    return "'" + re.sub(r"(\\+)\Z", r"\1\1", escaped) + "'"


def hydra_value(value: Any) -> str:
    """A value of JSON as Hydra's grammar takes it."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {hydra_value(part)}" for name, part in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(hydra_value, value)) + "]"
    return hydra_text(value) if isinstance(value, str) else json.dumps(value)
