"""Checking that a model has a score for each class of a data set."""

from __future__ import annotations

from pathlib import Path

from asterism.core.messages.errors import UserError


def require_score_for_each(classes: int, outputs: int, path: Path) -> None:
    """Raise a :class:`UserError` unless a model has an output for each class of the data.

    Args:
        classes: how many classes the data have.
        outputs: how many outputs the model has; more than classes are fine.
        path: the model's file, for the message.
    """
    if outputs < classes:
        raise UserError(
            f"{path} has {outputs} output{'s' * (outputs != 1)}, but the data have {classes} "
            "classes: a classifier needs a score for each"
        )
