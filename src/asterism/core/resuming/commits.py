"""Whether DVC has committed a stage's outputs, read from ``dvc.lock`` and the cache without DVC.

Loading DVC takes a second and more. Only documented formats are read: the entries of
``dvc.lock``, the option ``cache.dir``, and the cache's folders (``files/md5/ab/…``; a folder's
object is a JSON list of its files). Whatever has another format counts as not committed.
"""

from __future__ import annotations

import configparser
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from asterism.core.files.hashes import md5_of

#: MD5 of a file, or of each of a folder's files by relative path.
Content = str | dict[str, str]

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

#: What reading raises where files are missing, or not as DVC writes them.
_UNREADABLE = (
    OSError,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    RecursionError,
    yaml.YAMLError,
    configparser.Error,
)

_MD5 = re.compile(r"[0-9a-f]{32}(\.dir)?")


def hash_outputs(paths: Iterable[Path]) -> dict[str, Content]:
    """The content of outputs, by path; those that are not there are left out."""
    return {path.as_posix(): _content(path) for path in paths if path.exists()}


def is_committed(stage: str, outputs: dict[str, Content]) -> bool:
    """Whether ``dvc.lock`` here names these outputs of a stage, and the cache has every file.

    ``dvc.lock`` alone does not suffice: a fresh clone has it, with an empty cache.

    Args:
        stage: as DVC calls it, ``fuzz@state``.
        outputs: see :func:`hash_outputs`.
    """
    try:
        text = Path("dvc.lock").read_text(encoding="utf-8")
        entry = yaml.load(text, _LOADER)["stages"][stage]  # noqa: S506 - it is a safe one
        locked = {out["path"]: out["md5"] for out in entry["outs"]}
        files = _cache() / "files" / "md5"
        return locked.keys() == outputs.keys() and all(
            _has(files, locked[path], content) for path, content in outputs.items()
        )
    except _UNREADABLE:
        return False


def _content(path: Path) -> Content:
    if not path.is_dir():
        return md5_of(path)
    found = sorted(file for file in path.rglob("*") if file.is_file())
    return {file.relative_to(path).as_posix(): md5_of(file) for file in found}


def _has(files: Path, locked: str, content: Content) -> bool:
    """Whether the cache has an object of this content, with all files that it lists."""
    if isinstance(content, str):
        return locked == content and _object(files, content).is_file()
    listed: list[dict[str, Any]] = json.loads(_object(files, locked).read_text(encoding="utf-8"))
    return {item["relpath"]: item["md5"] for item in listed} == content and all(
        _object(files, md5).is_file() for md5 in content.values()
    )


def _object(files: Path, md5: str) -> Path:
    if not _MD5.fullmatch(md5):
        raise ValueError(f"{md5!r} is no MD5")
    return files / md5[:2] / md5[2:]


def _cache() -> Path:
    """The folder of DVC's cache, as the project's own configuration names it."""
    folder = Path(".dvc")
    settings = configparser.ConfigParser(interpolation=None, strict=False)
    settings.read([folder / "config", folder / "config.local"], encoding="utf-8")
    named = settings.get("cache", "dir", fallback="cache").strip("'\"")
    return folder / Path(named).expanduser()
