"""``dvc.lock``, read and written whole: DVC does both for every stage, and parses slowly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from asterism.core.artifacts import replacing

LOCK_FILE = "dvc.lock"


def stage_names(root: Path) -> list[str]:
    """Names of the stages in a workspace's ``dvc.lock``, in its order."""
    return list(_read(root).get("stages", {}))


def set_stages(root: Path, stages: Sequence[Any], **options: Any) -> None:
    """Enter stages, whose dependencies and outputs have their hashes, as DVC would.

    Args:
        root: the workspace.
        stages: DVC's stages.
        options: of DVC's own function for it.
    """
    from dvc.stage.serialize import to_lockfile

    document = _read(root) or {"schema": "2.0", "stages": {}}
    for stage in stages:
        document["stages"].update(to_lockfile(stage, **options))
    _write(root, document)


@contextmanager
def written_here() -> Iterator[None]:
    """Let DVC write ``dvc.lock`` by :func:`set_stages` while the block lasts: the same bytes.

    DVC itself parses the file so that comments survive, which for a file of 3,000 lines takes
    most of what it spends on a stage. There are no comments in ``dvc.lock``.
    """
    from dvc.dvcfile import Lockfile

    own = Lockfile.dump_stages

    def dump_stages(self: Any, stages: Sequence[Any], **options: Any) -> None:
        set_stages(Path(self.path).parent, stages, **options)

    Lockfile.dump_stages = dump_stages
    try:
        yield
    finally:
        Lockfile.dump_stages = own


def set_order(root: Path, order: Sequence[str]) -> None:
    """Put stages into this order; those that it does not name come first."""
    document = _read(root)
    if not document:
        return
    stages = document["stages"]
    for name in dict.fromkeys(order):
        if name in stages:
            stages[name] = stages.pop(name)
    _write(root, document)


def _read(root: Path) -> dict[str, Any]:
    from dvc.utils.serialize import load_yaml

    path = root / LOCK_FILE
    document: dict[str, Any] = load_yaml(str(path)) if path.exists() else {}
    return document


def _write(root: Path, document: dict[str, Any]) -> None:
    from dvc.utils.serialize import dumps_yaml

    with replacing(root / LOCK_FILE) as temporary:
        temporary.write_text(dumps_yaml(document), encoding="utf-8")
