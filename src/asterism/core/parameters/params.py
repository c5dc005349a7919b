"""Parameters: declared once as typed sections, validated when a stage starts.

A section is declared beside the code that it configures (in ``asterism/data/sources``, …) with the
type, the range and the meaning of each parameter. Defaults are not repeated here: they live in
``conf/``, and ``params.yaml`` is their composition.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, TypeVar, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails

from asterism.core.messages.errors import UserError
from asterism.core.parameters.registry import suggest_closest
from asterism.core.parameters.validation import REJECTED, require_accepted, validate_names
from asterism.core.settings.yaml_files import read_yaml


class ParameterSection(BaseModel):
    """Base of every group of parameters: immutable, strict about types, no unknown keys.

    Numbers are finite.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    #: ``package.module:callable`` that has to take the whole section where names are checked;
    #: single parameters are marked by :mod:`asterism.core.parameters.validation`.
    accepted_by: ClassVar[str | None] = None

    @model_validator(mode="after")
    def _is_accepted(self) -> Self:
        return self if self.accepted_by is None else require_accepted(self.accepted_by, self)


#: Root of a run's random streams.
Seed = Annotated[int, Field(ge=0, le=2**63 - 1)]

T = TypeVar("T")


def _reject_repetition(items: list[T]) -> list[T]:
    for number, item in enumerate(items):
        if item in items[:number]:
            raise ValueError(f"{item!r} is listed twice")
    return items


#: Marks a list in which nothing may be there twice, for ``Annotated``.
NO_REPETITION = AfterValidator(_reject_repetition)

#: A list of different things, such as names.
Distinct = Annotated[list[T], NO_REPETITION]

S = TypeVar("S", bound=ParameterSection)

_QUOTE = "'"

#: The end of the location that Pydantic gives to an error of a key itself.
_IS_KEY = ("[key]",)

#: What Hydra writes for a value that the user has to give.
_NOT_GIVEN = "???"


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
        document = read_yaml(path)
    except FileNotFoundError:
        raise UserError(f"{path} is missing: write it with `asterism params`") from None
    if not isinstance(document, dict):
        raise UserError(f"{path} holds no parameters: write it with `asterism params`")
    mine = {key: document[key] for key in schema.model_fields if key in document}
    return validate(schema, mine, source=str(path))


def validate(
    schema: type[S], values: dict[str, Any], source: str = "params.yaml", *, names: bool = False
) -> S:
    """``values`` as an instance of ``schema``, or a one-line :class:`UserError`.

    Args:
        schema: what the values should be.
        values: as YAML gives them.
        source: where they are from, for the message.
        names: check also that there is what they name: plug-ins, and these' options.
    """
    for key in _not_given(values):
        raise UserError(f"{source}: {key} has to be given")
    try:
        with validate_names() if names else nullcontext():
            return schema.model_validate(values)
    except ValidationError as error:
        raise UserError(f"{source}: {_explain(error.errors(), schema, values)}") from None


def _not_given(values: Any, prefix: str = "") -> Iterator[str]:
    if isinstance(values, dict):
        for key, value in values.items():
            yield from _not_given(value, f"{prefix}.{key}" if prefix else str(key))
    elif values == _NOT_GIVEN:
        yield prefix


def rejection_reason(error: ErrorDetails) -> str:
    """What a validator that raised a ``ValueError`` says, without Pydantic's own words."""
    return error["msg"].removeprefix("Value error, ")


def _explain(
    errors: list[ErrorDetails], schema: type[ParameterSection], values: dict[str, Any]
) -> str:
    error = _most_telling(errors)
    location, sections = _follow(error, schema, values)
    if error["loc"][-1:] == _IS_KEY:
        group, reason = ".".join(location[:-1]), rejection_reason(error)
        named = "" if error["type"] == "value_error" else f"the key {error['input']!r}: "
        return f"{group}: {named}{reason[0].lower() + reason[1:] if named else reason}"
    key = ".".join(location)
    if error["type"] == "missing":
        return f"the parameter {key} is missing (conf/ holds the defaults)"
    if error["type"] == "extra_forbidden":
        known = [name for section in sections for name in section.model_fields]
        expected = f" (known: {', '.join(known)})" if known else ""
        return f"unknown parameter {key}{suggest_closest(location[-1], known)}{expected}"
    if error["type"] in (REJECTED, "value_error"):  # whoever raised it says what is wrong
        return f"{key}: {rejection_reason(error)}" if key else rejection_reason(error)
    if error["type"] == "model_type":
        given = error["input"]
        chosen = f"; one of conf/ is chosen by {'/'.join(location)}={given}"
        told = f"{key} is {given!r}, but it is a group of parameters"
        return told + chosen if isinstance(given, str) else told
    if error["type"] == "union_tag_invalid":
        context = error["ctx"]
        tag, given, expected = (context[k] for k in ("discriminator", "tag", "expected_tags"))
        hint = suggest_closest(given, _quoted(expected))
        return f"{key}.{tag.strip(_QUOTE)} is {given!r}: it should be {expected}{hint}"
    # The members of a union reject a value one by one.
    together = [e["msg"] for e in errors if _follow(e, schema, values)[0] == location]
    reasons = " or ".join(reason[0].lower() + reason[1:] for reason in together)
    told = f"{key} is {error['input']!r}: {reasons}"
    if error["type"] == "literal_error":
        given, choices = str(error["input"]), _quoted(error["ctx"]["expected"])
        # A word that YAML or Hydra reads as a number, such as nan.
        is_word = given in choices
        told += (
            f'; to mean the word, quote it: "{given}"'
            if is_word
            else suggest_closest(given, choices)
        )
    return told


def _most_telling(errors: list[ErrorDetails]) -> ErrorDetails:
    """The first; of a parameter that is missing because it is misspelt, that it is misspelt."""
    first = errors[0]
    if first["type"] == "missing":
        *group, wanted = first["loc"]
        for error in errors:
            beside = error["type"] == "extra_forbidden" and [*error["loc"][:-1]] == group
            if beside and suggest_closest(str(error["loc"][-1]), [str(wanted)]):
                return error
    return first


def _quoted(choices: str) -> list[str]:
    """The names in Pydantic's enumerations, as in ``"'a', 'b' or 'c'"``."""
    return choices.split(_QUOTE)[1::2]


def _follow(
    error: ErrorDetails, schema: type[ParameterSection], values: Any
) -> tuple[list[str], list[type[ParameterSection]]]:
    """The error's place as the file spells it, and the sections that may stand around it.

    Pydantic's location names the member of a union after the key that holds it; the file does
    not, so parts that the values do not have are left out, but for one that is missing.
    """
    location = error["loc"]
    path: list[str] = []
    sections: list[type[ParameterSection]] = [schema]
    for depth, part in enumerate(location):
        last = depth == len(location) - 1
        inside = part in values if isinstance(values, dict) else isinstance(part, int)
        if not (inside or (last and error["type"] == "missing")):
            sections = [s for s in sections if _tagged(s, part)] or sections
            continue
        path.append(str(part))
        if last:
            break
        values = values[part]
        sections = [
            member
            for section in sections
            if part in section.model_fields
            for member in _sections_in(section.model_fields[str(part)].annotation)
        ]
    return path, sections


def _sections_in(annotation: Any) -> list[type[ParameterSection]]:
    if isinstance(annotation, type) and issubclass(annotation, ParameterSection):
        return [annotation]
    return [section for member in get_args(annotation) for section in _sections_in(member)]


def _tagged(section: type[ParameterSection], tag: int | str) -> bool:
    return any(tag in get_args(field.annotation) for field in section.model_fields.values())


@dataclass(frozen=True)
class PaperSource:
    """The place in a paper that a parameter or its default comes from; a note of its annotation.

    Attributes:
        text: paper and place, and the paper's value where it differs from the default.
    """

    text: str
