"""What a DVC cache may hold that someone else may have written to: rules for names and contents.

DVC writes every file that an entry of the run-cache or a list of a folder's files names, wherever
that lies in the project, and takes a file's hash for a part of a path. These rules say what an
honest cache can hold; :mod:`asterism.sweep.guard` applies them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml

#: Where stages write; nothing else in a project is an output of theirs.
RESULTS = ("artifacts", "metrics", "plots", "report")

#: An entry's place below the folder of the run-cache: key and value, after two digits of the key.
ENTRY = re.compile(r"(?P<start>[0-9a-f]{2})/(?P<key>(?P=start)[0-9a-f]{62})/[0-9a-f]{64}")

#: Bytes of the largest entry that is read. One of the pipeline's has 1 to 10 kB.
LARGEST_ENTRY = 1_000_000

#: Levels of lists and groups in an entry; one of the pipeline's has six.
DEEPEST = 50

_OBJECT = re.compile(r"[0-9a-f]{32}(\.dir)?")
_FILE = re.compile(r"[0-9a-f]{32}")

#: All that DVC's stores name an object by, other hashes than MD5 too.
_PLACE = re.compile(r"[0-9A-Za-z]+(\.dir)?")

#: What DVC writes of an output. It takes more, which says that files lie elsewhere.
_OUTPUT = {"path", "hash", "md5", "size", "nfiles", "isexec"}


def why_no_text(content: bytes) -> str | None:
    """Why a file cannot be an entry that DVC has written; None where it can.

    References of YAML make a value of any size of a few lines; DVC writes none.
    """
    if len(content) > LARGEST_ENTRY:
        return f"it has {len(content)} bytes, and an entry at most {LARGEST_ENTRY}"
    depth = 0
    try:
        for event in yaml.parse(content, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent):
                return "it has references, which DVC does not write"
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > DEEPEST:
                return f"it is nested more than {DEEPEST} deep"
    except (yaml.YAMLError, UnicodeError):
        return "it is not YAML"
    return None


def why_no_entry(entry: Mapping[str, Any], key: str) -> str | None:
    """Why what an entry of the run-cache says cannot be honest; None where it can.

    Args:
        entry: as DVC's schema has taken it.
        key: the folder that it lies in: the hash of a stage's command, dependencies with their
            hashes, parameters and paths of outputs. So an entry with other outputs than the
            stage's belongs elsewhere.
    """
    from dvc.stage.cache import _get_cache_hash

    outputs = entry.get("outs", [])
    for output in outputs:
        if reason := _why_no_output(output):
            return reason
    if _get_cache_hash(dict(entry), key=True) != key:
        paths = ", ".join(repr(output["path"]) for output in outputs)
        return f"it is not of the stage that it is filed under (its outputs are {paths or 'none'})"
    return None


def _why_no_output(output: Mapping[str, Any]) -> str | None:
    path, digest = output["path"], output.get("md5")
    if not is_result(path):
        return f"it writes {path!r}, and stages write below {', '.join(RESULTS)} only"
    if unknown := sorted(output.keys() - _OUTPUT):
        return f"its output {path!r} has {', '.join(unknown)}, which no output of a stage has"
    if output.get("hash") != "md5" or not isinstance(digest, str) or not _OBJECT.fullmatch(digest):
        return f"its output {path!r} has no hash, but {digest!r}"
    return None


def is_result(path: str) -> bool:
    """Whether a path from a project's root names something that a stage may write."""
    parts = path.split("/")
    return len(parts) > 1 and parts[0] in RESULTS and all(_is_plain(part) for part in parts)


def why_no_list(listed: Any) -> str | None:
    """Why a list of a folder's files cannot be honest; None where it can.

    Args:
        listed: as JSON gives it: of each file its path in the folder and its hash.
    """
    if not isinstance(listed, list):
        return "it is no list of files"
    for item in listed:
        if not isinstance(item, Mapping):
            return "it is no list of files"
        path, digest = item.get("relpath"), item.get("md5")
        if not isinstance(path, str) or not all(_is_plain(part) for part in path.split("/")):
            return f"it names {path!r}, which is no file of the folder"
        if not isinstance(digest, str) or not _FILE.fullmatch(digest):
            return f"its file {path!r} has no hash, but {digest!r}"
    return None


def is_place(name: str) -> bool:
    """Whether a hash, of which DVC makes an object's path in a cache, stays in the cache."""
    return _PLACE.fullmatch(name) is not None


def _is_plain(part: str) -> bool:
    return part not in ("", ".", "..") and "\0" not in part
