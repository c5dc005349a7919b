"""Further inputs: what a request gives them, and what follows from the original's names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from asterism.core.messages.errors import UserError
from asterism.models.signatures.signature import ROLES, SEGMENTS, Signature, TensorSpec, role_of

#: A further input gets a number, or what it is to the tokens.
Told: TypeAlias = Mapping[str, float | str]
_Form: TypeAlias = tuple[str, int, int]


def told_inputs(texts: Sequence[str]) -> Told:
    """What ``NAME=NUMBER`` and ``NAME=ROLE`` say of further inputs, by their names.

    Raises:
        UserError: a text says neither.
    """
    return dict(map(_told, texts))


def _told(text: str) -> tuple[str, float | str]:
    name, _, value = text.rpartition("=")
    if value in ROLES:
        return name, value
    try:
        return name, float(value)
    except ValueError:
        raise UserError(
            f"--constant {text!r}: give NAME=NUMBER, or NAME={', '.join(ROLES[:-1])} or {ROLES[-1]}"
        ) from None


def following_roles(original: Signature, compressed: Signature, told: Told) -> dict[str, str]:
    """The roles of the compressed model's inputs whose names tell none, as the original has them.

    Only where nothing is guessed: the main input differs from all others in form, and so does an
    input that takes a role. Everything else is asked.

    Args:
        original, compressed: what the models take.
        told: of further inputs, by their names.
    """
    main, *others = compressed.given
    if any(_form(main) == _form(spec) for spec in others):
        return {}
    named = {_role(spec, told) for spec in others}
    missing = [
        (_form(spec), role)
        for spec in original.given[1:]
        if (role := _role(spec, told)) is not None and role not in named
    ]
    unnamed = [
        (_form(spec), spec.name)
        for spec in others
        if spec.name not in told and role_of(spec.name) is None
    ]
    roles = _of_one_form(missing)
    return {name: roles[form] for form, name in _of_one_form(unnamed).items() if form in roles}


def _of_one_form(pairs: Sequence[tuple[_Form, str]]) -> dict[_Form, str]:
    """What has a form that nothing else has."""
    counts = Counter(form for form, _ in pairs)
    return {form: value for form, value in pairs if counts[form] == 1}


def _role(spec: TensorSpec, told: Told) -> str | None:
    """What an input is to the tokens; None where it is a number, or where nothing tells."""
    value = told.get(spec.name)
    return role_of(spec.name) if value is None else value if isinstance(value, str) else None


def _form(spec: TensorSpec) -> _Form:
    """What tells inputs apart whose names tell nothing."""
    kind = np.dtype(spec.dtype).kind if spec.dtype in np.sctypeDict else spec.dtype
    return kind, len(spec.shape), min(spec.rows, SEGMENTS + 1)
