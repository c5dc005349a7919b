"""``dvc.lock`` as a series of blocks of text, one for each stage.

DVC parses and writes the whole file for every stage, which for 3,000 lines takes most of what it
spends on one. Here the other stages' blocks stay as they are; the bytes are the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from asterism.core.files.artifacts import replacing
from asterism.core.files.limits import read_within
from asterism.core.messages.errors import UserError, reading

LOCK_FILE = "dvc.lock"

_HEAD = "schema: '2.0'\nstages:\n"

#: A stage's name, indented by two, and all lines that are indented by more, or empty.
_BLOCK = re.compile(r"^  (?P<name>[^\s:]+):\n(?:(?:   .*)?\n)*", re.MULTILINE)


def stage_names(root: Path) -> list[str]:
    """Names of the stages in a workspace's ``dvc.lock``, in its order."""
    return list(_read(root))


def read_entry(root: Path, name: str) -> dict[str, Any] | None:
    """What a workspace's ``dvc.lock`` has of a stage; None for nothing."""
    from dvc.utils.serialize import parse_yaml

    block = _read(root).get(name)
    if block is None:
        return None
    with reading(str(root / LOCK_FILE)):
        return dict(parse_yaml(block, root / LOCK_FILE)[name])


def set_stages(root: Path, stages: Iterable[Any], **options: Any) -> None:
    """Enter stages, whose dependencies and outputs have their hashes, as DVC would.

    Args:
        root: the workspace.
        stages: as DVC has them.
        options: of DVC's own function for it.
    """
    from dvc.stage.serialize import to_lockfile
    from dvc.utils.serialize import dumps_yaml

    entries = [dumps_yaml({"stages": to_lockfile(stage, **options)}) for stage in stages]
    new = {name: text for entry in entries for name, text in _blocks(entry)}
    _write(root, _read(root) | new)


def set_order(root: Path, order: Sequence[str]) -> None:
    """Put stages into this order; those that it does not name come first."""
    blocks = _read(root)
    for name in dict.fromkeys(order):
        if name in blocks:
            blocks[name] = blocks.pop(name)
    if blocks:
        _write(root, blocks)


@contextmanager
def written_here() -> Iterator[None]:
    """Let DVC write ``dvc.lock`` by :func:`set_stages` while the block lasts."""
    from dvc.dvcfile import Lockfile

    own = Lockfile.dump_stages

    def dump_stages(self: Any, stages: Sequence[Any], **options: Any) -> None:
        set_stages(Path(self.path).parent, stages, **options)

    Lockfile.dump_stages = dump_stages
    try:
        yield
    finally:
        Lockfile.dump_stages = own


def _blocks(text: str) -> list[tuple[str, str]]:
    return [(found["name"], found[0]) for found in _BLOCK.finditer(text)]


def _read(root: Path) -> dict[str, str]:
    path = root / LOCK_FILE
    if not path.exists():
        return {}
    with reading(str(path)):
        text = read_within(path, "limits.text_mb").decode("utf-8")
    if not text:
        return {}
    blocks = dict(_blocks(text))
    if text != _HEAD + "".join(blocks.values()):
        raise UserError(f"{path} is not as DVC writes it: restore it from git")
    return blocks


def _write(root: Path, blocks: dict[str, str]) -> None:
    with replacing(root / LOCK_FILE) as temporary:
        temporary.write_text(_HEAD + "".join(blocks.values()), encoding="utf-8")
