"""A model as it was given: a file, run in a process of its own, or an open model of this one."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.hashes import hash_path
from asterism.core.files.records import record_from
from asterism.core.files.user_files import absolute_path
from asterism.core.messages.errors import UserError
from asterism.models.formats import Runtime
from asterism.models.isolated_model import IsolatedModel, ModelCrashError, Served
from asterism.models.signatures.reading import read_signature
from asterism.models.signatures.signature import Signature
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
        UserError: see :class:`~asterism.models.isolated_model.IsolatedModel` and
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


#: Rows of a call to a model whose last bits differ with their number, and the most bytes of these.
_BATCH, _BATCH_BYTES = 32, 16_000_000


class OpenModel(Protocol):
    """A model that answers to items with rows; see :class:`.FileModel` for what is told of it."""

    name: str
    classes: int
    form: OutputForm
    notes: tuple[str, ...]

    def predict(self, items: NDArray[Any]) -> Rows:
        """See :meth:`.FileModel.predict`."""
        ...

    def close(self) -> None:
        """End what runs for it."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


@dataclass(frozen=True)
class FileSubject:
    """A model file. It is read and run in processes of its own.

    Attributes:
        path: of the file.
    """

    path: Path

    @property
    def name(self) -> str:
        """What reports call it."""
        return self.path.name

    @property
    def reference(self) -> str:
        """What parameters call it."""
        return str(absolute_path(self.path))

    @property
    def signature(self) -> Signature:
        """What it takes and gives.

        Raises:
            UserError: it cannot be read.
        """
        return read_signature(self.path)

    @property
    def size(self) -> int:
        """Its bytes."""
        return self.path.stat().st_size

    @property
    def digest(self) -> str:
        """Its SHA-256."""
        return hash_path(self.path)

    def open(self, asked: OpeningRequest) -> OpenModel:
        """The model, to be used as a context; see :class:`.IsolatedFileModel`.

        Raises:
            UserError: it cannot be opened, or fails on the trial items.
        """
        return IsolatedFileModel(self.path, asked)

    def __str__(self) -> str:
        return str(self.path)


@dataclass(frozen=True)
class ObjectSubject:
    """An open model of this process, which its user has made.

    Attributes:
        name: what reports call it.
        runtime: the model.
        size: bytes of its weights; None where they are not known.
        digest: SHA-256 of its weights; None where they are not known.
        path: no file is its.
    """

    name: str
    runtime: Runtime
    size: int | None = None
    digest: str | None = None
    path: None = None

    @property
    def reference(self) -> str:
        """What parameters call it."""
        return self.name

    @property
    def signature(self) -> Signature:
        """What it takes and gives."""
        return self.runtime.signature

    def open(self, asked: OpeningRequest) -> OpenModel:
        """The model, to be used as a context; see :class:`.FileModel`.

        Raises:
            UserError: it fails on the trial items.
        """
        runtime, batch = self.runtime, None
        if runtime.varies_in:
            batch = max(1, min(_BATCH, _BATCH_BYTES // max(1, asked.trial_items[0].nbytes)))
        model = _ModelHere(Path(self.name), asked, runtime, batch)
        model.notes = (*runtime.notes, *model.notes)
        return model

    def __str__(self) -> str:
        return self.name


#: A model that is asked about.
Subject = FileSubject | ObjectSubject


class _ModelHere(FileModel):
    """A model of this process that fails as one in a process of its own does."""

    def predict(self, items: NDArray[Any]) -> Rows:
        """See :meth:`.IsolatedFileModel.predict`."""
        try:
            return super().predict(items)
        except UserError:
            raise
        except Exception as error:
            raise ModelCrashError(f"{self.name} failed: {error}") from error


def subject_of(model: Path | Subject) -> Subject:
    """A file as a subject; a subject as it is."""
    return FileSubject(model) if isinstance(model, Path) else model
