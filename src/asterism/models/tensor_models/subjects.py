"""A model as it was given: a file, run in a process of its own, or an open model of this one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, Self

from numpy.typing import NDArray

from asterism.core.files.hashes import digest_of
from asterism.core.files.user_files import whole_path
from asterism.core.messages.errors import UserError
from asterism.models.isolation.isolated_model import ModelCrashError
from asterism.models.runtimes.runtime import Runtime
from asterism.models.signatures.reading import read_signature
from asterism.models.signatures.signature import Signature
from asterism.models.tensor_models.answers import Rows
from asterism.models.tensor_models.feeding import FeedingParams
from asterism.models.tensor_models.isolated import IsolatedFileModel
from asterism.models.tensor_models.model import FileModel

#: Rows of a call to a model whose last bits differ with their number, and the most bytes of these.
_BATCH, _BATCH_BYTES = 32, 16_000_000


class OpenModel(Protocol):
    """A model that answers to items with rows; see :class:`.FileModel` for what is told of it."""

    name: str
    classes: int
    shapes: dict[str, tuple[int, ...]]
    axes: dict[str, int | None]
    room: dict[str, int]
    rooms: list[int]
    notes: tuple[str, ...]

    def predict(self, items: NDArray[Any]) -> Rows:
        """See :meth:`.FileModel.predict`."""
        ...

    def close(self) -> None:
        """End what runs for it."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class Subject(ABC):
    """A model that is asked about, of whatever form.

    Attributes:
        name: what reports call it.
        path: its file; None of an object.
    """

    name: str
    path: Path | None = None

    @property
    @abstractmethod
    def signature(self) -> Signature:
        """What it takes and gives.

        Raises:
            UserError: it cannot be read.
        """

    @property
    @abstractmethod
    def size(self) -> int | None:
        """Its bytes; None where they are not known."""

    @abstractmethod
    def digest(self) -> str | None:
        """SHA-256 of all that it consists of; None where that cannot be known."""

    @abstractmethod
    def open(
        self,
        params: FeedingParams,
        images: bool,
        probes: NDArray[Any],
        rooms: Sequence[int] | None = None,
    ) -> OpenModel:
        """The model, ready to be asked; use it as a context. See :class:`.FileModel`.

        Raises:
            UserError: it cannot be opened, or fails on the probes.
        """

    @property
    def reference(self) -> str:
        """What parameters call it: a file's path, else the name."""
        return self.name if self.path is None else str(whole_path(self.path))

    def __str__(self) -> str:
        return self.name if self.path is None else str(self.path)


class FileSubject(Subject):
    """A model file. It is read and run in processes of its own.

    Args:
        path: of the file.
    """

    def __init__(self, path: Path) -> None:
        self.name, self.path = path.name, path
        self._file = path

    @property
    def signature(self) -> Signature:
        """See :attr:`Subject.signature`."""
        return read_signature(self._file)

    @property
    def size(self) -> int:
        """See :attr:`Subject.size`."""
        return self._file.stat().st_size

    def digest(self) -> str:
        """See :meth:`Subject.digest`."""
        return digest_of(self._file)

    def open(
        self,
        params: FeedingParams,
        images: bool,
        probes: NDArray[Any],
        rooms: Sequence[int] | None = None,
    ) -> OpenModel:
        """See :meth:`Subject.open`."""
        return IsolatedFileModel(self._file, params, images, probes, rooms=rooms)


class ObjectSubject(Subject):
    """An open model of this process, which its user has made.

    Args:
        name: what reports call it.
        runtime: the model.
        size: see :attr:`Subject.size`.
        digest: see :meth:`Subject.digest`.
    """

    def __init__(
        self, name: str, runtime: Runtime, size: int | None = None, digest: str | None = None
    ) -> None:
        self.name, self.runtime = name, runtime
        self._size, self._digest = size, digest

    @property
    def signature(self) -> Signature:
        """See :attr:`Subject.signature`."""
        return self.runtime.signature

    @property
    def size(self) -> int | None:
        """See :attr:`Subject.size`."""
        return self._size

    def digest(self) -> str | None:
        """See :meth:`Subject.digest`."""
        return self._digest

    def open(
        self,
        params: FeedingParams,
        images: bool,
        probes: NDArray[Any],
        rooms: Sequence[int] | None = None,
    ) -> OpenModel:
        """See :meth:`Subject.open`."""
        return ModelHere(self, params, images, probes, rooms)


class ModelHere(FileModel):
    """A model of this process that fails as one in a process of its own does.

    Args:
        subject: the model.
        params: see :class:`.FileModel`; so are the others.
        images: .
        probes: .
        rooms: .
    """

    def __init__(
        self,
        subject: ObjectSubject,
        params: FeedingParams,
        images: bool,
        probes: NDArray[Any],
        rooms: Sequence[int] | None = None,
    ) -> None:
        runtime = subject.runtime
        many = max(1, min(_BATCH, _BATCH_BYTES // max(1, probes[0].nbytes)))
        super().__init__(
            Path(subject.name),
            params,
            images,
            probes,
            runtime,
            batch=many if runtime.varies_in and not runtime.signature.variables else None,
            rooms=rooms,
        )
        self.notes = (*runtime.notes, *self.notes)

    def predict(self, items: NDArray[Any]) -> Rows:
        """See :meth:`.FileModel.predict`.

        Raises:
            ModelCrashError: it raised an error on these items.
        """
        try:
            return super().predict(items)
        except UserError:
            raise
        except Exception as error:
            raise ModelCrashError(f"{self.name} failed: {error}") from error


def subject_of(model: Path | Subject) -> Subject:
    """A file as a subject; a subject as it is."""
    return FileSubject(model) if isinstance(model, Path) else model
