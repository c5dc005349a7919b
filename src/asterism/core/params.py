"""Parameters: declared once as typed sections, validated when a stage starts.

A section is declared beside the code that it configures (``asterism/data/params.py``, …) with
the type, the range and the meaning of each parameter. Defaults are not repeated here: they
live in ``conf/``, and ``params.yaml`` is their composition.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from asterism.core.errors import UserError
from asterism.core.registry import closest


class Section(BaseModel):
    """Base of every group of parameters: immutable, strict about types, no unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


S = TypeVar("S", bound=Section)


def read_params(schema: type[S], path: Path = Path("params.yaml")) -> S:
    """The part of ``params.yaml`` that ``schema`` declares.

    Args:
        schema: a section whose fields are top-level keys of the file; other keys of the file
            belong to other stages and are left alone.

    Raises:
        UserError: no such file, no YAML, or a parameter is missing, unknown or impossible. The
            message names the key, what was given and what is allowed.
    """
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path} is missing: write it with `asterism params`") from None
    except yaml.YAMLError as error:
        raise UserError(f"{path} is not YAML: {error}") from None
    if not isinstance(document, dict):
        raise UserError(f"{path} holds no parameters: write it with `asterism params`")
    mine = {key: document[key] for key in schema.model_fields if key in document}
    return validate(schema, mine, source=str(path))


def validate(schema: type[S], values: dict[str, Any], source: str = "params.yaml") -> S:
    """``values`` as an instance of ``schema``, or a one-line :class:`UserError`."""
    try:
        return schema.model_validate(values)
    except ValidationError as error:
        raise UserError(f"{source}: {_explain(error.errors()[0], schema)}") from None


def _explain(error: ErrorDetails, schema: type[Section]) -> str:
    location = [str(part) for part in error["loc"]]
    key = ".".join(location)
    if error["type"] == "missing":
        return f"the parameter {key} is missing (conf/ holds the defaults)"
    if error["type"] == "extra_forbidden":
        known = _known_keys(schema, location[:-1])
        expected = f" (known: {', '.join(known)})" if known else ""
        return f"unknown parameter {key}{closest(location[-1], known)}{expected}"
    return f"{key} is {error['input']!r}: {error['msg'][0].lower()}{error['msg'][1:]}"


def _known_keys(schema: type[Section], location: list[str]) -> list[str]:
    current: Any = schema
    for part in location:
        fields = getattr(current, "model_fields", {})
        if part not in fields:
            return []
        current = fields[part].annotation
    return list(getattr(current, "model_fields", {}))
