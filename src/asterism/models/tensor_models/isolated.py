"""A model file of any signature in a process of its own."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.records import record_from
from asterism.models.isolation.isolated_model import IsolatedModel, Served
from asterism.models.tensor_models.answers import OutputForm, Rows
from asterism.models.tensor_models.feeding import FeedingParams
from asterism.models.tensor_models.model import FileModel, OpeningRequest

#: Bytes of items and answers that are sent at a time: both processes hold them.
_AT_ONCE = 64_000_000


class IsolatedFileModel(IsolatedModel):
    """A :class:`~asterism.models.tensor_models.model.FileModel` in a process of its own.

    Args:
        path: the model file.
        asked: how to open it.

    Raises:
        UserError: see :class:`~asterism.models.isolation.isolated_model.IsolatedModel` and
            :class:`~asterism.models.tensor_models.model.FileModel`.
    """

    def __init__(self, path: Path, asked: OpeningRequest) -> None:
        shapes = None if asked.wanted is None else [list(shape) for shape in asked.wanted]
        feeding = asked.feeding.model_dump()
        arguments = [str(path), feeding, asked.images, asked.rooms, shapes]
        super().__init__(path, served_model, arguments, [asked.trial_items])
        self.form = record_from(OutputForm, self.facts["form"])
        self.classes = self.form.width
        self.notes = tuple(self.facts["notes"])

    def predict(self, items: NDArray[Any]) -> Rows:
        """See :meth:`.FileModel.predict`.

        Raises:
            ModelCrashError: on these items the model ended its process, or raised an error.
            ModelHangError: it did not answer in time.
        """
        of_one = math.prod(items.shape[1:]) * items.itemsize + 4 * self.classes
        size = max(1, _AT_ONCE // of_one)
        if len(items) <= size:
            return self.ask([items])[0]
        rows = np.empty((len(items), self.classes), np.float32)
        for start in range(0, len(items), size):
            rows[start : start + size] = self.ask([items[start : start + size]])[0]
        return rows


def served_model(
    path: str,
    params: dict[str, Any],
    images: bool,
    rooms: list[int] | None,
    wanted: list[list[int]] | None,
    trial_items: NDArray[Any],
) -> Served:
    """A model as :class:`IsolatedFileModel` opens it in the other process."""
    feeding = FeedingParams.model_validate(params)
    shapes = None if wanted is None else [tuple(shape) for shape in wanted]
    model = FileModel(Path(path), OpeningRequest(feeding, images, trial_items, rooms, shapes))
    facts = {"form": asdict(model.form), "notes": model.notes}
    return facts, lambda arrays: [model.predict(arrays[0])]
