"""Answers of a model that are kept, so that a later run of the same question goes on from there.

They lie below ``state.root``, by the model's file, how it is fed, the versions of the libraries and
the code that runs it. A row of answers is the same in every batch, so what is kept is what the
model would say again.
"""

from __future__ import annotations

import secrets
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.artifacts import read_arrays
from asterism.core.files.hashes import hash_path
from asterism.core.resuming import saved_folders
from asterism.core.resuming.checkpoints import SAVE_EVERY
from asterism.core.resuming.work_units import stage_run
from asterism.dflare.prediction_cache import item_keys
from asterism.models.tensor_models.answers import Rows
from asterism.models.tensor_models.feeding import FeedingParams
from asterism.models.tensor_models.subjects import OpenModel

#: The most bytes of a model's answers that are kept.
_ROOM = 200_000_000


class KeptAnswers:
    """An open model that runs each input once only, also across processes.

    Several processes may keep answers of one model at the same time. Each saves its own.

    Args:
        model: to be asked; closed with this one.
        path: its file.
        params: how it is fed.
        items: some inputs, ``(N, ...)``: those of another shape or type are other inputs.
    """

    def __init__(
        self, model: OpenModel, path: Path, params: FeedingParams, items: NDArray[Any]
    ) -> None:
        self.model = model
        self.name, self.classes, self.form = model.name, model.classes, model.form
        self.notes = model.notes
        facts = {
            "model": hash_path(path),
            "feeding": params.model_dump(mode="json"),
            "outputs": {name: list(shape) for name, shape in model.form.shapes.items()},
            "rooms": model.form.rooms,
            "moved": model.form.moved,
            "items": [str(items.dtype), *items.shape[1:]],
        }
        self._run = stage_run("vet_measure", facts, [])
        self._known: dict[bytes, Rows] = {}
        self._new: list[bytes] = []
        self._saved = time.monotonic()
        self._using = ExitStack()

    def predict(self, items: NDArray[Any]) -> Rows:
        """See :meth:`.FileModel.predict`."""
        keys = item_keys(items)
        new = [row for row, key in enumerate(keys) if key not in self._known]
        if len(new) == len(items):
            rows = self.model.predict(items)
        else:
            rows = np.empty((len(items), self.classes), np.float32)
            if new:
                rows[new] = self.model.predict(items[new])
            for row in set(range(len(items))).difference(new):
                rows[row] = self._known[keys[row]]
        self._keep([keys[row] for row in new], rows[new])
        return rows

    def close(self) -> None:
        """Save new answers, and close the model."""
        try:
            self._save()
        finally:
            self._using.close()
            self.model.close()

    def __enter__(self) -> Self:
        self._using.enter_context(self._run.in_use())
        for name in self._run.units():
            self._read(self._run.unit(name))
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _keep(self, keys: list[bytes], rows: Rows) -> None:
        room = _ROOM // max(1, rows[:1].nbytes) - len(self._known) if len(rows) else 0
        for key, row in list(zip(keys, rows, strict=True))[: max(0, room)]:
            if key not in self._known:
                self._known[key] = row.copy()
                self._new.append(key)
        if time.monotonic() - self._saved >= SAVE_EVERY:
            self._save()

    def _save(self) -> None:
        self._saved = time.monotonic()
        if self._new:
            saved_folders.write(self._run.unit(secrets.token_hex(8)), self._write)
            self._new = []

    def _write(self, folder: Path) -> None:
        keys = self._new
        rows = np.stack([self._known[key] for key in keys])
        told = np.frombuffer(b"".join(keys), np.uint8).reshape(len(keys), -1)
        np.savez(folder / "answers.npz", keys=told, rows=rows)  # to compress them is slow, and vain

    def _read(self, folder: Path) -> None:
        """Take what a process has saved; where it is damaged, the model is asked again."""
        try:
            self._known |= saved_folders.read(folder, self._saved_rows)
        except saved_folders.DamagedError as reason:
            saved_folders.set_aside(folder, reason)

    def _saved_rows(self, folder: Path) -> dict[bytes, Rows]:
        arrays = read_arrays(folder / "answers.npz")
        keys, rows = arrays["keys"], arrays["rows"]
        if rows.shape != (len(keys), self.classes) or rows.dtype != np.float32:
            raise ValueError("it holds no answers of this model")
        return dict(zip([key.tobytes() for key in keys], rows, strict=True))
