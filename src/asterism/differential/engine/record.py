"""What models did in every backend: two files for each model, its outcomes and its outputs."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from numpy.typing import NDArray

from asterism.core.files.artifacts import read_arrays, read_json, write_arrays, write_json
from asterism.core.files.records import record_from
from asterism.core.messages.errors import UserError, prefix_errors
from asterism.differential.engine.tasks import Backend, ExecutionOutcome, Result

#: The folders of a record.
FOLDERS = ("outcomes", "outputs")
_OUTCOMES, _OUTPUTS = FOLDERS


class ExecutionRecord:
    """Outcomes and outputs of models.

    Each model is written once, when it has run, and read when it is asked for: memory holds the
    names of the files. New ones are written to a temporary folder that is removed with the object.
    """

    def __init__(self) -> None:
        self._files: dict[str, Path] = {}
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self._kept: list[ExecutionRecord] = []

    def __len__(self) -> int:
        return len(self._files)

    def __contains__(self, model: int) -> bool:
        return _name(model) in self._files

    def add(self, results: Sequence[Result]) -> None:
        """Write down what one model did with each group of inputs; equal arrays are kept once."""
        arrays: dict[str, NDArray[Any]] = {}
        tasks = [_task(result, arrays) for result in results]
        if self._scratch is None:
            self._scratch = tempfile.TemporaryDirectory(prefix="asterism-record-")
        folder, name = Path(self._scratch.name), _name(results[0].index)
        write_arrays(folder / _OUTPUTS / f"{name}.npz", **{n: arrays[n] for n in sorted(arrays)})
        write_json(folder / _OUTCOMES / f"{name}.json", tasks)
        self._files[name] = folder

    def save(self, folder: Path) -> None:
        """Copy what is not there yet to ``folder/outcomes`` and ``folder/outputs``."""
        for part in FOLDERS:
            (folder / part).mkdir(parents=True, exist_ok=True)
        for name, source in self._files.items():
            for file in _files_of(name):
                if not (folder / file).exists():
                    shutil.copyfile(source / file, folder / file)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """The record that :meth:`save` wrote; its files are read when they are asked for.

        Raises:
            UserError: a model has outcomes and no outputs, or the folder holds no record.
        """
        record = cls()
        if not (folder / _OUTCOMES).is_dir():
            raise UserError(f"{folder} has no folder {_OUTCOMES!r}")
        for path in sorted((folder / _OUTCOMES).glob("*.json")):
            if not (folder / _OUTPUTS / f"{path.stem}.npz").is_file():
                raise UserError(f"{folder} has outcomes of the model {path.stem}, and no outputs")
            record._files[path.stem] = folder
        return record

    @classmethod
    def copied(cls, folder: Path) -> Self:
        """A copy of a saved record, so that its files may be removed afterwards."""
        record = cls()
        record._scratch = tempfile.TemporaryDirectory(prefix="asterism-record-")
        read = cls.load(folder)
        read.save(Path(record._scratch.name))
        record._files = dict.fromkeys(read._files, Path(record._scratch.name))
        return record

    @classmethod
    def merged(cls, groups: Iterable[Self]) -> Self:
        """All groups as one, in the order of their models."""
        whole = cls()
        for group in groups:
            whole._kept.append(group)  # whose files it refers to
            whole._files |= group._files
        whole._files = dict(sorted(whole._files.items()))
        return whole

    def tasks(self) -> Iterator[dict[str, Any]]:
        """Outcomes, and names of outputs, of all tasks: a model, and inputs that it was run with.

        Raises:
            UserError: a file is damaged.
        """
        for name, folder in self._files.items():
            yield from _tasks(folder, name)

    def results(self, models: int) -> Iterator[Result]:
        """The results of all tasks, as the worker pool gave them.

        Args:
            models: number of models, which tasks refer to by an index from 0.

        Raises:
            UserError: the record is damaged, or names a model or a backend that does not exist.
        """
        for name, folder in self._files.items():
            tasks = _tasks(folder, name)
            arrays = read_arrays(folder / _OUTPUTS / f"{name}.npz")
            for at, task in enumerate(tasks):
                with prefix_errors(f"task {at} of {folder / _OUTCOMES / name}.json"):
                    result = record_from(_Task, task).result(arrays)
                    if not 0 <= result.index < models:
                        raise UserError(f"there is no model {result.index}")
                yield result


def _name(model: int) -> str:
    return f"{model:08d}"


def _files_of(name: str) -> tuple[str, str]:
    return f"{_OUTCOMES}/{name}.json", f"{_OUTPUTS}/{name}.npz"


def _tasks(folder: Path, name: str) -> list[dict[str, Any]]:
    path = folder / _OUTCOMES / f"{name}.json"
    tasks = read_json(path)
    if not isinstance(tasks, list):
        raise UserError(f"{path} holds no list of tasks")
    return tasks


def _task(result: Result, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """A result as a JSON value; the arrays that it names are added to ``arrays``."""

    def named(array: NDArray[Any]) -> str:
        name = _hash(array)
        arrays[name] = array
        return name

    return {
        "index": result.index,
        "distributions": list(result.distributions),
        "outcomes": [asdict(result.outcomes[r]) for r in sorted(result.outcomes)],
        "outputs": {
            backend: {d: [named(array) for array in many] for d, many in outputs.items()}
            for backend, outputs in result.outputs.items()
        },
    }


def _hash(array: NDArray[Any]) -> str:
    facts = f"{array.dtype}{array.shape}".encode()
    return hashlib.sha256(facts + array.tobytes()).hexdigest()[:20]


@dataclass(frozen=True)
class _Task:
    """A task as :func:`_task` writes it, with names of arrays in place of outputs."""

    index: int
    distributions: tuple[str, ...]
    outcomes: tuple[ExecutionOutcome, ...]
    outputs: dict[Backend, dict[str, tuple[str, ...]]]

    def result(self, arrays: dict[str, NDArray[Any]]) -> Result:
        """The task as the worker pool gave it."""
        outcomes = {outcome.backend: outcome for outcome in self.outcomes}
        try:
            outputs = {
                backend: {d: [arrays[n] for n in names] for d, names in distributions.items()}
                for backend, distributions in self.outputs.items()
            }
        except KeyError as name:
            raise UserError(f"there is no array {name}") from None
        return Result(self.index, self.distributions, outcomes, outputs)
