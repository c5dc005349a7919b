"""``dvc.lock`` as a series of blocks of text, one for each stage, and YAML as DVC takes it.

DVC parses and writes the whole file for every stage, which for 3,000 lines takes most of what it
spends on one. Here the other stages' blocks stay as they are; the bytes are the same.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from asterism.core.files.artifacts import replacing
from asterism.core.files.limits import read_within_limit
from asterism.core.messages.errors import UserError, reading
from asterism.core.settings.yaml_files import parse_yaml

LOCK_FILE = "dvc.lock"

#: The entries that lie aside while DVC writes one.
_COPY = Path(".dvc/tmp/asterism/dvc.lock")

_HEAD = "schema: '2.0'\nstages:\n"

#: A stage's name, indented by two, and all lines that are indented by more, or empty.
_BLOCK = re.compile(r"^  (?P<name>[^\s:]+):\n(?:(?:   .*)?\n)*", re.MULTILINE)


def stage_names(root: Path) -> list[str]:
    """Names of the stages in a workspace's ``dvc.lock``, in its order."""
    return list(_read(root))


def read_locked_stage(root: Path, name: str) -> dict[str, Any] | None:
    """What a workspace's ``dvc.lock`` has of a stage; None for nothing."""
    block = _read(root).get(name)
    return None if block is None else dict(parse_as_dvc(block, LOCK_FILE)[name])


def parse_outputs(text: str, source: str) -> dict[str, str]:
    """Path and hash of every output that the text of a ``dvc.lock`` names.

    Args:
        text: anybody's; paths are as they stand there, and hashes are not checked.
        source: where it is from, for messages.

    Raises:
        UserError: it is no ``dvc.lock``.
    """
    with reading(source):
        entries = parse_yaml(text, source)["stages"].values()
        outputs = [out for entry in entries for out in entry.get("outs", [])]
        return {str(out["path"]): str(out["md5"]) for out in outputs}


def set_entries(root: Path, entries: Mapping[str, Mapping[str, Any]]) -> None:
    """Enter stages as DVC would.

    Args:
        root: the workspace.
        entries: by the stages' names.
    """
    blocks = _read(root)
    for name, entry in entries.items():
        if name in blocks and parse_as_dvc(blocks[name], LOCK_FILE)[name] == entry:
            continue  # to write one takes many times as long as to read it
        blocks |= _blocks(dump_as_dvc({"stages": {name: dict(entry)}}))
    _write(root, blocks)


def set_order(root: Path, order: Sequence[str]) -> None:
    """Put stages into this order; those that it does not name come first."""
    blocks = _read(root)
    for name in dict.fromkeys(order):
        if name in blocks:
            blocks[name] = blocks.pop(name)
    if blocks:
        _write(root, blocks)


@contextmanager
def protect_lockfile(root: Path) -> Iterator[None]:
    """Let DVC write a stage's entry of ``dvc.lock`` in the block; if it fails, nothing changes.

    Meanwhile, the entries that were there lie in another file: DVC would parse and rewrite all of
    them, which takes it a second for 34 stages. If the process is killed in the block, the next
    :func:`mend_lockfile` puts both files together.
    """
    mend_lockfile(root)
    file, copy = root / LOCK_FILE, root / _COPY
    if _read(root):
        copy.parent.mkdir(parents=True, exist_ok=True)
        file.replace(copy)
    try:
        yield
    except BaseException:
        file.unlink(missing_ok=True)
        if copy.exists():
            copy.replace(file)
        raise
    mend_lockfile(root)


def mend_lockfile(root: Path) -> None:
    """Put entries back that :func:`protect_lockfile` laid aside; those that DVC wrote since win."""
    if (root / _COPY).exists():
        blocks = _read(root, _COPY)
        with suppress(UserError):  # DVC was killed while it wrote
            blocks |= _read(root)
        _write(root, blocks)
        (root / _COPY).unlink()


def _blocks(text: str) -> dict[str, str]:
    return {found["name"]: found[0] for found in _BLOCK.finditer(text)}


def _read(root: Path, file: str | Path = LOCK_FILE) -> dict[str, str]:
    path = root / file
    if not path.exists():
        return {}
    with reading(str(path)):
        text = read_within_limit(path, "limits.text_mb").decode("utf-8")
    if not text:
        return {}
    blocks = _blocks(text)
    if text != _HEAD + "".join(blocks.values()):
        raise UserError(f"{path} is not as DVC writes it: restore it from git")
    return blocks


def _write(root: Path, blocks: dict[str, str]) -> None:
    with replacing(root / LOCK_FILE) as temporary:
        temporary.write_text(_HEAD + "".join(blocks.values()), encoding="utf-8")


def read_as_dvc(path: Path) -> dict[str, Any]:
    """What DVC takes from a YAML file.

    Raises:
        UserError: DVC cannot read it, or it holds no mapping.
    """
    with reading(str(path)):
        text = read_within_limit(path, "limits.text_mb").decode("utf-8")
    return parse_as_dvc(text, path.name)


def parse_as_dvc(text: str, source: str) -> dict[str, Any]:
    """What DVC takes from a text in YAML; see :func:`read_as_dvc`.

    Args:
        text: YAML.
        source: where it is from, for messages.
    """
    # Loaded here, since every stage loads this module, and few stages read YAML as DVC does.
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        return dict(YAML(typ="safe").load(text) or {})
    except (YAMLError, RecursionError, TypeError, ValueError) as error:
        raise UserError(f"DVC cannot read {source}: {' '.join(str(error).split())}") from None


def dump_as_dvc(document: dict[str, Any]) -> str:
    """The text that DVC writes of a document, as into ``dvc.lock``."""
    from ruamel.yaml import YAML

    yaml, stream = YAML(), io.StringIO()
    yaml.default_flow_style = False
    yaml.dump(document, stream)
    return stream.getvalue()
