"""The stages of ``dvc.yaml``, with its templates filled in, and data under ``dvc add``."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any

from asterism.core.messages.errors import UserError
from asterism.dvc_hydra.commands import private_notes
from asterism.dvc_hydra.stage import USUAL_SECONDS, Stage

#: The file that defines the pipeline.
PIPELINE = "dvc.yaml"


def read_stages(root: Path) -> dict[str, Stage]:
    """All stages of a workspace, by name.

    Raises:
        UserError: DVC cannot read them.
    """
    from dvc.repo import Repo

    # DVC names stages by where they are from here.
    with private_notes(root), errors_of_dvc(PIPELINE), chdir(root), Repo(str(root)) as opened:
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


@contextmanager
def errors_of_dvc(source: str = "") -> Iterator[None]:
    """Raise what DVC rejects in the block as one line.

    Args:
        source: what stands before DVC's message, such as a file's name.

    Raises:
        UserError: DVC raised any of its exceptions.
    """
    try:
        yield
    except Exception as error:
        if not type(error).__module__.startswith("dvc"):
            raise
        told = " ".join(str(error).split())
        raise UserError(f"{source}: {told}" if source else told) from None
