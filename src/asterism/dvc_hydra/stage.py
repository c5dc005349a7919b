"""The stages of a workspace's ``dvc.yaml`` as plain facts, and whether one is up to date."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import chdir
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from asterism.core.messages.errors import UserError
from asterism.core.parameters.registry import unknown
from asterism.core.resuming.work_units import PIPELINE
from asterism.dvc_hydra import run_cache
from asterism.dvc_hydra.commands import private_site_cache, report_dvc_errors
from asterism.dvc_hydra.hashes import WorkspaceHashes

#: What a stage takes of which the pipeline says nothing.
USUAL_SECONDS = 5.0


@dataclass(frozen=True)
class Stage:
    """A stage of ``dvc.yaml``, or data under ``dvc add``, which are a stage without a command.

    Attributes:
        name: as ``dvc repro`` takes it, ``fuzz@state``.
        command: what it runs, each line by a shell of its own; empty for data under ``dvc add``.
        root: the workspace.
        deps: files and folders that it depends on, as ``dvc.yaml`` spells them.
        outs: those that it writes.
        params: names of parameters that it depends on, by file; none stands for all.
        kept: those of ``outs`` that stay when it runs again (``persist: true``).
        hashes: of data under ``dvc add``: that of each output.
        is_long: whether its entry says ``meta: {shards: true}``.
        seconds: roughly how long it takes, which its entry may say by ``meta: {seconds: 90}``.
        always_runs: whether it says ``always_changed: true``.
        is_frozen: whether it never runs.
    """

    name: str
    command: str | list[str]
    root: Path
    deps: tuple[str, ...]
    outs: tuple[str, ...]
    params: Mapping[str, list[str]] = field(default_factory=dict)
    kept: tuple[str, ...] = ()
    hashes: Mapping[Path, str] = field(default_factory=dict)
    is_long: bool = False
    seconds: float = USUAL_SECONDS
    always_runs: bool = False
    is_frozen: bool = False

    @property
    def commands(self) -> list[str]:
        """The lines of its command."""
        return self.command.splitlines() if isinstance(self.command, str) else self.command

    @property
    def outputs(self) -> list[Path]:
        """Files and folders that it writes, absolute."""
        return [self.root / name for name in self.outs]

    @property
    def inputs(self) -> list[Path]:
        """Files and folders that it depends on, absolute; those of parameters among them."""
        return [self.root / name for name in (*self.deps, *self.params)]

    def hashes_of_inputs(
        self, hashes: WorkspaceHashes, makers: Mapping[Path, str]
    ) -> list[list[Any]]:
        """What it depends on, by name, with its hash or the values of its parameters.

        Args:
            hashes: takes in what is computed.
            makers: names of other stages by what they write, which is left out.

        Raises:
            UserError: a file is not there.
        """
        outer = sorted(name for name in self.deps if not makers_of(self.root / name, makers))
        files = [[name, self._hash(name, hashes)["md5"]] for name in outer]
        return [*files, *sorted([n, v] for n, v in self._values(hashes).items())]

    def facts(self, hashes: WorkspaceHashes) -> dict[str, Any]:
        """Its command, and all that it depends on, as ``dvc.lock`` has them; outputs by path.

        Raises:
            UserError: a dependency is not there.
        """
        facts: dict[str, Any] = {"cmd": self.command}
        if self.deps:
            facts["deps"] = [{"path": n} | self._hash(n, hashes) for n in sorted(self.deps)]
        if self.params:
            facts["params"] = self._values(hashes)
        return facts | {"outs": [{"path": name} for name in sorted(self.outs)]}

    def is_up_to_date(
        self, entry: Mapping[str, Any] | None, hashes: WorkspaceHashes, cache: Path
    ) -> bool:
        """Whether an entry of ``dvc.lock`` is of these facts, and its outputs are there as it says.

        Args:
            entry: of the stage; None for none.
            hashes: of the workspace.
            cache: the folder of its cache, which has to have the outputs too.
        """
        if self.is_frozen:
            return True
        if entry is None or self.always_runs or not (self.deps or self.params):
            return False
        if run_cache.run_cache_key(entry) != run_cache.run_cache_key(self.facts(hashes)):
            return False
        found = {out["path"]: hashes.of(self.root / out["path"]) for out in entry.get("outs", [])}
        same = all(
            facts is not None and facts["md5"] == out.get("md5")
            for out, facts in zip(entry.get("outs", []), found.values(), strict=True)
        )
        return same and run_cache.has_outputs(cache, entry)

    def _hash(self, name: str, hashes: WorkspaceHashes) -> dict[str, Any]:
        facts = hashes.of(self.root / name)
        if facts is None:
            raise UserError(
                f"stage {self.name} reads {name}, which is not there: a file of yours has to be "
                "committed, under `dvc add`, or given by its absolute path"
            )
        return facts

    def _values(self, hashes: WorkspaceHashes) -> dict[str, Any]:
        return {name: hashes.parameters(name, keys) for name, keys in self.params.items()}


def makers_of(path: Path, makers: Mapping[Path, str]) -> set[str]:
    """Names of the stages that write a path, a folder around it, or something in it.

    Args:
        path: absolute.
        makers: names of stages by what they write.
    """
    around = {makers[one] for one in (path, *path.parents) if one in makers}
    folder = f"{path}{os.sep}"
    return around | {name for out, name in makers.items() if str(out).startswith(folder)}


def unknown_stage(target: str, names: Sequence[str]) -> UserError:
    """The error that says that no stage is called ``target``, and what there is near it.

    Args:
        target: what the user gave.
        names: all stages, each with its variant where it has one.
    """
    group, at, _ = target.partition("@")
    variants = [name for name in names if name.partition("@")[0] == group]
    alike = {name if at else name.partition("@")[0] for name in names if at in name}
    return unknown("stage", target, variants or sorted(alike))


def locked_outputs(root: Path, entry: Mapping[str, Any]) -> dict[Path, str]:
    """Hash of each output in an entry of ``dvc.lock``, by its path.

    Raises:
        UserError: it is of an older version of DVC.
    """
    found = {}
    for out in entry.get("outs", []):
        if out.get("hash") != "md5" or "md5" not in out:
            raise UserError(
                f"dvc.lock: the hash of {out['path']} is of an older DVC, and cannot be checked: "
                "run `dvc cache migrate --dvc-files`"
            )
        found[root / out["path"]] = str(out["md5"])
    return found


def read_stages(root: Path) -> dict[str, Stage]:
    """All stages of a workspace, by name.

    Raises:
        UserError: DVC cannot read them.
    """
    from dvc.repo import Repo

    # DVC names stages by where they are from here.
    with (
        private_site_cache(root),
        report_dvc_errors(PIPELINE),
        chdir(root),
        Repo(str(root)) as opened,
    ):
        found = [one for one in opened.index.stages if not one.cmd or one.path_in_repo == PIPELINE]
        stages = [_stage(root, one) for one in found]
    return {stage.name: stage for stage in stages}


def stage_names_under(root: Path, parameters: str) -> list[str]:
    """Names of the stages, with their variants, that ``dvc.yaml`` has under parameters.

    Args:
        root: the workspace.
        parameters: the text of a ``params.yaml``.
    """
    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder)
        (other / ".dvc").mkdir()
        (other / ".dvc/config").write_text("[core]\n    no_scm = True\n", encoding="utf-8")
        (other / PIPELINE).write_bytes((root / PIPELINE).read_bytes())
        (other / "params.yaml").write_text(parameters, encoding="utf-8")
        return [name for name, stage in read_stages(other).items() if stage.command]


def _stage(root: Path, found: Any) -> Stage:
    """The facts of one of DVC's stages."""
    if found.cmd and Path(found.wdir) != root:
        raise UserError(f"stage {found.addressing} has `wdir`: stages run in the project's folder")
    params = [dep for dep in found.deps if hasattr(dep, "params")]
    meta = found.meta or {}
    return Stage(
        name=str(found.addressing),
        command=found.cmd or "",
        root=root,
        deps=tuple(str(dep.def_path) for dep in found.deps if dep not in params),
        outs=tuple(str(out.def_path if found.cmd else out.fs_path) for out in found.outs),
        params={str(dep.def_path): list(dep.params) for dep in params},
        kept=tuple(str(out.def_path) for out in found.outs if out.persist),
        hashes={} if found.cmd else {Path(o.fs_path): str(o.hash_info.value) for o in found.outs},
        is_long=bool(meta.get("shards")),
        seconds=float(meta.get("seconds", USUAL_SECONDS)),
        always_runs=bool(found.always_changed),
        is_frozen=bool(found.frozen),
    )
