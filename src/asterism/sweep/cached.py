"""Bringing the cached part of a run into a workspace that holds no results yet, at once.

DVC does this stage by stage: each time it hashes the same code again and writes ``dvc.lock`` anew,
which takes longer than many a stage. Here every path is hashed once, hashes of outputs are taken
from the run-cache instead of the files, and ``dvc.lock`` is written once.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asterism.sweep import lockfile
from asterism.sweep.hashes import Hashes

if TYPE_CHECKING:
    from asterism.sweep.pipeline import PlannedStage


def take_from_cache(
    repository: Any, plan: Sequence[PlannedStage], hashes: Hashes
) -> list[PlannedStage]:
    """Check out the outputs of all stages that the run-cache has, and write ``dvc.lock``.

    Args:
        repository: a workspace that holds no results yet.
        plan: the stages of a run.
        hashes: what is known of their dependencies.

    Returns:
        The stages that are not in the cache, or that read such a stage's outputs. Data under
        ``dvc add``, which are stages without a command to DVC, are there already.
    """
    stages = {stage.addressing: stage for stage in repository.index.stages}
    # DVC notes every link, to remove it later; this workspace is removed as a whole.
    repository.state.save_link = lambda *_: None
    missing: dict[str, PlannedStage] = {}
    restored: list[Any] = []
    with repository.lock:
        for planned in plan:
            stage = stages[planned.name]
            if not stage.cmd:
                continue
            if missing.keys().isdisjoint(planned.upstream) and restore(stage, hashes):
                restored.append(stage)
            else:
                missing[planned.name] = planned
        if restored:
            lockfile.set_stages(Path(repository.root_dir), restored)
    return list(missing.values())


def restore(stage: Any, hashes: Hashes) -> bool:
    """Check out what the cache has of a stage, whose outputs are not there; whether it has them.

    The run-cache names them, or else ``dvc.lock``, where that is of the same dependencies.

    Raises:
        UserError: a dependency is not there.
    """
    for dep in stage.deps:
        hashes.save(dep)
    entry = _entry(stage) or _locked(stage)
    if entry is None:
        return False
    found = stage.repo.stage_cache._create_stage(entry, wdir=stage.wdir)
    if not found.outs_cached():
        return False
    found.checkout()
    outputs = {out.fs_path: out for out in found.outs}
    for out in stage.outs:
        same = outputs[out.fs_path]
        out.hash_info, out.meta, out.obj = same.hash_info, same.meta, same.obj
        hashes.learn(out)
    return True


def _locked(stage: Any) -> dict[str, Any] | None:
    """The entry of ``dvc.lock``, if it is of this command, these dependencies and outputs."""
    entry = lockfile.read_entry(Path(stage.repo.root_dir), stage.addressing)
    return entry if entry is not None and _key(entry) == _key(_facts(stage)) else None


def _facts(stage: Any) -> dict[str, Any]:
    """A stage as the run-cache and ``dvc.lock`` have it."""
    from dvc.stage.serialize import to_single_stage_lockfile

    return dict(to_single_stage_lockfile(stage))


def _key(facts: dict[str, Any]) -> str:
    """What the run-cache files a stage under: command, dependencies, names of outputs."""
    from dvc.stage.cache import _get_cache_hash

    return str(_get_cache_hash(dict(facts), key=True))


def _entry(stage: Any) -> dict[str, Any] | None:
    """The newest entry of the run-cache for this command, dependencies and outputs."""
    cache, key = stage.repo.stage_cache, _key(_facts(stage))
    for path in _newest_first(Path(cache._get_cache_dir(key))):
        entry: dict[str, Any] | None = cache._load_cache(key, path.name)
        if entry is not None:
            return entry
    return None


def _newest_first(folder: Path) -> list[Path]:
    """The whole entries in a folder of the run-cache, to which other runs write meanwhile.

    DVC writes an entry under a name that ends in ``.tmp`` and moves it. A damaged entry is removed
    by whoever reads it first.
    """
    try:
        entries = [(p.stat().st_mtime, p) for p in folder.iterdir() if p.suffix != ".tmp"]
    except FileNotFoundError:
        return []
    return [path for _, path in sorted(entries, reverse=True)]
