"""The parameters of a run as the page lists them, at the end of the section that they shape."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from asterism.core.settings.yaml_files import read_yaml


def parameters_of(workspace: Path, groups: Sequence[str]) -> list[tuple[str, str]]:
    """Full name and value of each parameter of these groups of ``params.yaml``, in its order.

    Args:
        workspace: project folder.
        groups: top-level keys; those that the file lacks are left out, as all are without a file.

    Raises:
        UserError: the file cannot be read as YAML.
    """
    path = workspace / "params.yaml"
    document = read_yaml(path) if path.exists() else {}
    known = document if isinstance(document, dict) else {}
    return [row for name in groups if name in known for row in flat(known[name], name)]


def flat(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """Full name and value of each parameter below a name; ``a.b`` and ``1`` of ``{b: 1}``."""
    return ((full, _spoken(leaf)) for full, leaf in leaves(value, name))


def leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Full name and value of each entry of nested mappings that is no filled mapping itself.

    Without a name, ``value`` is a whole document, and names begin with its keys.
    """
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from leaves(inner, f"{name}.{key}" if name else str(key))
    else:
        yield name, value


def _spoken(value: Any) -> str:
    """As YAML writes it on one line."""
    if isinstance(value, list):
        return f"[{', '.join(map(_spoken, value))}]"
    words = {None: "null", True: "true", False: "false"}
    return words[value] if value is None or isinstance(value, bool) else str(value)
