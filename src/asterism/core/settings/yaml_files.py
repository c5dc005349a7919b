"""Reading YAML files, without aliases and of bounded size and depth.

With aliases a short document can stand for one that fills the memory, and the parser recurses once
for each level of a document.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from asterism.core.messages.errors import UserError, reading
from asterism.core.settings.regular_files import open_regular

#: Bytes of a file. A constant, because the limits of the machine are in a YAML file too.
_LARGEST = 4_000_000
#: Levels of nested lists and mappings.
_DEEPEST = 100


class AliasError(yaml.YAMLError):
    """A document repeats a value by a reference to it."""


def read_yaml(path: Path) -> Any:
    """The document in a YAML file, None where it is empty.

    Raises:
        UserError: it is not YAML, is too large or nested too deeply, or has an alias.
        FileNotFoundError: there is no such file.
    """
    try:
        file = open_regular(path)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UserError(f"cannot read {path}: {error}") from None
    with reading(str(path)), file:
        text = file.read(_LARGEST + 1)
        if len(text) > _LARGEST:
            raise OSError(f"it has more than the {_LARGEST:,} bytes that YAML may have")
        document = text.decode("utf-8")
    return parse_yaml(document, str(path))


def parse_yaml(text: str, source: str) -> Any:
    """A YAML document, None where it is empty.

    Args:
        text: the document.
        source: where it is from, for messages.

    Raises:
        UserError: it is not YAML, is nested too deeply, or has an alias.
    """
    with reading(source):
        try:
            require_plain_yaml(text, _DEEPEST)
            return yaml.load(text, Loader=yaml.CSafeLoader)
        except yaml.YAMLError as error:
            raise UserError(f"{source} is not YAML: {error}") from None


def require_plain_yaml(text: str, deepest: int) -> None:
    """Reject aliases and too many levels before anything is built of a document.

    Args:
        text: the document.
        deepest: levels of nested lists and mappings that it may have.

    Raises:
        AliasError: it has an alias.
        YAMLError: it is not YAML.
        RecursionError: it is nested too deeply.
    """
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.AliasEvent):
            told = f"it repeats a value by *{event.anchor}: write it out"
            raise AliasError(f"{told}\n{event.start_mark}")
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > deepest:
            raise RecursionError


def flatten_mapping(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Full name and value of each entry of nested mappings that is no filled mapping itself.

    Without a name, ``value`` is a whole document, and names begin with its keys.
    """
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from flatten_mapping(inner, f"{name}.{key}" if name else str(key))
    else:
        yield name, value
