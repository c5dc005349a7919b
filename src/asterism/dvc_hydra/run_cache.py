"""What the run-cache has of a stage: the entries that others have left, and taking one up.

DVC's own look into it hashes all that the stage depends on again, and afterwards its outputs. Here
hashes are remembered, and those of outputs are taken from the entry.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from asterism.dvc_hydra import lockfile
from asterism.dvc_hydra.cache_objects import objects_in
from asterism.dvc_hydra.cache_rules import key_of
from asterism.dvc_hydra.hashes import Hashes


def restore(stage: Any, hashes: Hashes) -> bool:
    """Check out what the cache has of a stage, whose outputs are not there; whether it has them.

    The run-cache names them, or else ``dvc.lock``, where that is of the same dependencies.

    Raises:
        UserError: a dependency is not there, or an object is not what its name says.
    """
    for dep in stage.deps:
        hashes.save(dep)
    entry = _entry(stage) or _locked(stage)
    if entry is None:
        return False
    objects_in(stage.repo).require(out["md5"] for out in entry.get("outs", []))
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
    return entry if entry is not None and key_of(entry) == key_of(facts_of(stage)) else None


def facts_of(stage: Any) -> dict[str, Any]:
    """A stage as the run-cache and ``dvc.lock`` have it."""
    from dvc.stage.serialize import to_single_stage_lockfile

    return dict(to_single_stage_lockfile(stage))


def _entry(stage: Any) -> dict[str, Any] | None:
    """The newest entry of the run-cache for this command, dependencies and outputs."""
    cache, key = stage.repo.stage_cache, key_of(facts_of(stage))
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
