"""The units of a long stage's work: each is a call that ends in a folder of saved results.

A long stage cuts its work into units by its parameters alone: islands of a campaign, groups of
seeds, groups of models. Units that have their folder are skipped, and the stage merges all of them
in their order. So its result depends neither on what computed them, nor on what was killed.

Other processes can compute units before the stage does. Each runs the stage's own command for a
*part* of the units: the first of four parts has the units 0, 4, 8 and so on. The processes agree
on nothing. If two compute the same unit, they save the same bytes, and the first result counts.

To write a campaign or a long stage, make a :class:`SharedWorkUnits` with a key of everything that
the results depend on, call :meth:`~WorkUnits.gather` with a name and a call for each unit, and
:meth:`~WorkUnits.finish` once the results are written.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

from asterism.core.files.hashes import hash_path
from asterism.core.messages.console import get_logger
from asterism.core.messages.errors import UserError, reading
from asterism.core.parameters.params import ParameterSection
from asterism.core.resuming import saved_folders
from asterism.core.resuming.checkpoints import Checkpoint
from asterism.core.resuming.state import RunState
from asterism.core.settings.yaml_files import read_yaml

#: The stages, and what each depends on.
PIPELINE = "dvc.yaml"

#: Versions of the libraries that are installed.
LOCK = Path("requirements.lock")

#: What stands for the variant in ``dvc.yaml``.
_VARIANT = re.compile(r"\$\{(key|item\.\w+)\}")


class UnitResult(Protocol):
    """What a unit's computation gives."""

    def save(self, folder: Path) -> None:
        """Write it into an existing folder."""


log = get_logger(__name__)

R = TypeVar("R", bound=UnitResult)

#: Computes one unit. The checkpoint, where there is one, keeps the state of the unfinished unit.
Job = Callable[[Checkpoint | None], R]


@dataclass(frozen=True)
class UnitShare:
    """A share of the units: those whose place, divided by ``of``, leaves ``number``."""

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """The part that a text names, ``"0/4"`` the first of four.

        Raises:
            UserError: there is no such part.
        """
        found = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
        if found is None or int(found[1]) >= int(found[2]):
            raise UserError(f"{text!r} is not a part of the units: write 0/4 for the first of four")
        return cls(int(found[1]), int(found[2]))


def split_evenly(budget: int, units: int) -> list[int]:
    """The budget of each unit, as equal as may be, larger ones first."""
    return [budget // units + (unit < budget % units) for unit in range(units)]


class PartEnded(Exception):  # noqa: N818  (no error: what this process is for is done)
    """The units of this process' part are finished; merging is the stage's own."""


class WorkUnits:
    """Units that this process computes alone, one after another, and keeps nowhere."""

    def gather(self, jobs: Mapping[str, Job[R]], load: Callable[[Path], R]) -> list[R]:
        """The results of all units, in the order of ``jobs``.

        Args:
            jobs: how to compute each unit, by a name that can be a folder's.
            load: reads what a result has saved.
        """
        return [compute(None) for compute in jobs.values()]

    def finished(self, names: Iterable[str]) -> set[str]:
        """Those of some units that are finished and kept, whoever computed them."""
        return set()

    def finish(self) -> None:
        """The stage has written its outputs."""


ALONE = WorkUnits()


class SharedWorkUnits(WorkUnits):
    """Units that are kept until DVC has committed the outputs.

    Args:
        stage: name of the stage, with its variant (``"fuzz-state"``).
        key: what the result depends on, see
            :func:`~asterism.core.resuming.work_units.dependency_key`.
        part: what this process is to compute; None where it is the stage.
        address: the stage as DVC calls it, ``"fuzz@state"``.
        outputs: what the stage writes, relative to the workspace.
    """

    def __init__(
        self,
        stage: str,
        key: str,
        part: UnitShare | None = None,
        address: str = "",
        outputs: Sequence[Path] = (),
    ) -> None:
        self._stage, self._run, self._part = stage, RunState(stage, key[:32]), part
        self._address, self._outputs = address, outputs
        self._using = ExitStack()

    def gather(self, jobs: Mapping[str, Job[R]], load: Callable[[Path], R]) -> list[R]:
        """See :meth:`WorkUnits.gather`. Nobody removes the units from here on until :meth:`finish`.

        Raises:
            PartEnded: this process is for a part only.
        """
        self._using.enter_context(self._run.in_use())
        if finished := self.finished(jobs):
            there = f"{len(finished)} of {len(jobs)}"
            log.info("resumes", stage=self._stage, finished_units=there)
        names = list(jobs)
        for name in names if self._part is None else names[self._part.number :: self._part.of]:
            self._finish(name, jobs[name])
        if self._part is not None:
            raise PartEnded
        return [self._result(name, compute, load) for name, compute in jobs.items()]

    def finished(self, names: Iterable[str]) -> set[str]:
        """See :meth:`WorkUnits.finished`."""
        return {name for name in names if self._is_there(name)}

    def so_far(self, names: Iterable[str], load: Callable[[Path], R]) -> list[R]:
        """Results of finished units, and what is saved of those that are being computed.

        Nothing is computed or removed, so it may be called while processes are at work.

        Args:
            names: of the units.
            load: reads a finished unit or a saved state, whose folder may be gone afterwards.
        """
        found = (saved_folders.look(partial(self._latest, name), load) for name in names)
        return [result for result in found if result is not None]

    def finish(self) -> None:
        """See :meth:`WorkUnits.finish`."""
        self._run.finish(self._address, self._outputs)
        self._using.close()

    def _latest(self, name: str) -> Path | None:
        """Folder of a finished unit, else of the latest state of it."""
        if self._is_there(name):
            return self._run.unit(name)
        return Checkpoint(self._run.checkpoint(name)).latest()

    def _result(self, name: str, compute: Job[R], load: Callable[[Path], R]) -> R:
        """A unit's result, computed again where what is kept of it is damaged."""
        try:
            return saved_folders.read(self._run.unit(name), load)
        except saved_folders.DamagedError as reason:
            saved_folders.set_aside(self._run.unit(name), reason)
        self._finish(name, compute)
        return load(self._run.unit(name))

    def _finish(self, name: str, compute: Job[R]) -> None:
        if self._is_there(name):
            return
        checkpoint = Checkpoint(self._run.checkpoint(name))
        if (state := checkpoint.latest()) is not None:
            since = f"{datetime.fromtimestamp(state.lstat().st_mtime):%Y-%m-%d %H:%M:%S}"
            log.info("resumes", stage=self._stage, unit=name, saved=since)
        result = compute(checkpoint)
        if not self._is_there(name):  # another process has computed it too
            saved_folders.write(self._run.unit(name), result.save)
        checkpoint.discard()

    def _is_there(self, name: str) -> bool:
        return os.path.lexists(self._run.unit(name))


#: The part that this process computes of a stage; None where it is the stage.
part: ContextVar[UnitShare | None] = ContextVar("part", default=None)


def work_units(
    name: str, params: ParameterSection, inputs: Iterable[Path], variant: str | None = None
) -> SharedWorkUnits:
    """The units of a stage's run, for its process and for those of its parts.

    Their key covers the parameters, the content of ``inputs``, the versions of all libraries and
    the code that the stage depends on by ``dvc.yaml``, most of which other processes may load. So
    another version never continues this one's work.

    Raises:
        UserError: ``dvc.yaml`` has no such stage.
    """
    label = name if variant is None else f"{name}-{variant}"
    key = _key(label, name, params.model_dump(mode="json"), inputs)
    address = name if variant is None else f"{name}@{variant}"
    return SharedWorkUnits(label, key, part.get(), address, stage_outputs(name, variant))


def stage_run(name: str, facts: Any, inputs: Iterable[Path]) -> RunState:
    """The state of a stage that is not cut into units, by what its content depends on.

    Args:
        name: of the stage, whose code counts as for :func:`work_units`.
        facts: what else the content depends on, as JSON-compatible values.
        inputs: files and folders whose content counts.

    Raises:
        UserError: ``dvc.yaml`` has no such stage.
    """
    return RunState(name, _key(name, name, facts, inputs)[:32])


def stage_outputs(name: str, variant: str | None = None) -> list[Path]:
    """What a stage writes, as ``dvc.yaml`` lists it; a variant has outputs of its own."""
    definition = _definition(name)
    listed = [out for kind in ("outs", "metrics", "plots") for out in definition.get(kind, [])]
    paths = [out if isinstance(out, str) else next(iter(out)) for out in listed]
    return [Path(_VARIANT.sub(variant or "", path)) for path in paths]


def _key(label: str, name: str, facts: Any, inputs: Iterable[Path]) -> str:
    """Hash of facts, inputs, the stage's code, and the versions of all libraries.

    DVC's key of a stage leaves these versions out, so that a result outlives an upgrade; its
    unfinished units must not.
    """
    code = [Path(p) for p in _definition(name)["deps"] if p.startswith(("src/", "stages/"))]
    return dependency_key(label, facts, [*inputs, *code, LOCK])


def declared_stages() -> dict[str, dict[str, Any]]:
    """The stages of ``dvc.yaml`` by name, as they stand there: all variants are one.

    Raises:
        UserError: it cannot be read.
    """
    with reading(PIPELINE):
        return dict(read_yaml(Path(PIPELINE))["stages"])


def _definition(name: str) -> dict[str, Any]:
    """A stage's entry in ``dvc.yaml``."""
    stages = declared_stages()
    if name not in stages:
        raise UserError(f"{PIPELINE} has no stage {name}, so nobody knows on what code it depends")
    definition: dict[str, Any] = stages[name]
    return dict(definition.get("do", definition))  # ``do``: below a ``foreach``


def dependency_key(stage: str, params: Any, paths: Iterable[Path]) -> str:
    """Hash of all that a stage's result depends on.

    Args:
        stage: the stage's name and variant.
        params: its parameters, as JSON-compatible values.
        paths: its dependencies; a directory stands for all the files below it.
    """
    digest = hashlib.sha256(json.dumps([stage, params], sort_keys=True).encode())
    for path in sorted(paths):
        for file in _files(path):
            digest.update(f"\0{file.as_posix()}\0{hash_path(file)}".encode())
    return digest.hexdigest()


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(f for f in path.rglob("*") if f.is_file() and "__pycache__" not in f.parts)
    return [path] if path.exists() else []
