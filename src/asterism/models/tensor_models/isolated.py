"""A model file of any signature in a process of its own."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from asterism.models.isolation.isolated_model import Arrays, IsolatedModel, Served
from asterism.models.tensor_models.answers import Rows
from asterism.models.tensor_models.feeding import FeedingParams
from asterism.models.tensor_models.model import FileModel

#: Bytes of items and answers that are sent at a time: both processes hold them.
_AT_ONCE = 64_000_000


class IsolatedFileModel:
    """A :class:`~asterism.models.tensor_models.model.FileModel` in a process of its own.

    Use it as a context, or ``close`` it.

    Args:
        path: the model file.
        params: what to give beside the items.
        images: whether items are images uint8 ``(N, H, W, C)``.
        probes: some items, on which the model is tried.

    Raises:
        ModelCrashError: opening the file ended the process.
        ModelHangError: opening the file took too long.
        UserError: see :class:`~asterism.models.tensor_models.model.FileModel`.
    """

    def __init__(
        self, path: Path, params: FeedingParams, images: bool, probes: NDArray[Any]
    ) -> None:
        self._model = IsolatedModel(path, open_served, [str(path), params.model_dump(), images])
        self.name = path.name
        try:
            self._model.ask([probes])
            (told,) = self._model.ask([])
        except BaseException:
            self._model.close()
            raise
        facts = json.loads(told.tobytes())
        self.shapes = {name: tuple(shape) for name, shape in facts["shapes"].items()}
        self.axes: dict[str, int | None] = facts["axes"]
        self.room: dict[str, int] = facts["room"]
        #: Numbers in a row; for a classifier its classes.
        self.classes = int(facts["width"])
        self.notes = tuple(facts["notes"])

    @property
    def pid(self) -> int | None:
        """Its process, None where it has ended."""
        return self._model.pid

    def predict(self, items: NDArray[Any]) -> Rows:
        """See :meth:`.FileModel.predict`.

        Raises:
            ModelCrashError: on these items the model ended its process, or raised an error.
            ModelHangError: it did not answer in time.
        """
        of_one = math.prod(items.shape[1:]) * items.itemsize + 4 * self.classes
        size = max(1, _AT_ONCE // of_one)
        if len(items) <= size:
            return self._asked(items)
        rows = np.empty((len(items), self.classes), np.float32)
        for start in range(0, len(items), size):
            rows[start : start + size] = self._asked(items[start : start + size])
        return rows

    def _asked(self, items: NDArray[Any]) -> Rows:
        (rows,) = self._model.ask([items])
        return rows

    def close(self) -> None:
        """End the process."""
        self._model.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


#: What is told of an opened model.
_FACTS = ("shapes", "axes", "room", "width", "notes")


def open_served(path: str, params: dict[str, Any], images: bool) -> Served:
    """A model as :class:`IsolatedFileModel` opens it in the other process.

    It is opened by the first items that it is asked about, which are its probes. Asked about
    nothing it tells facts about itself.
    """
    opened: list[FileModel] = []

    def answer(arrays: Arrays) -> Arrays:
        if not arrays:
            facts = {name: getattr(opened[0], name) for name in _FACTS}
            return [np.frombuffer(json.dumps(facts).encode(), np.uint8)]
        if not opened:
            feeding = FeedingParams.model_validate(params)
            opened.append(FileModel(Path(path), feeding, images, arrays[0]))
        return [opened[0].predict(arrays[0])]

    return {}, answer
