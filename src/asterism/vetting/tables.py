"""Tables that a repair leaves, whatever it exchanged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from asterism.localisation.tensor_errors import TensorError

if TYPE_CHECKING:
    import polars as pl


def error_table(errors: Sequence[TensorError]) -> pl.DataFrame:
    """A row for each tensor, in the order in which they are computed."""
    import polars as pl

    columns = {
        "tensor": [error.tensor for error in errors],
        "node": [error.node for error in errors],
        "operator": [error.operator for error in errors],
        "sqnr_db": [error.cumulative.sqnr_db for error in errors],
        "relative_l2": [error.cumulative.relative_l2 for error in errors],
        "largest": [error.cumulative.largest for error in errors],
        "own_relative_l2": [None if e.own is None else e.own.relative_l2 for e in errors],
    }
    return pl.DataFrame(columns, strict=False)
