"""Whether mutators that parameters name exist, before it is known what the seeds are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from asterism.core.messages.errors import UserError
from asterism.images import build_mutators
from asterism.tensors import build_tensor_mutators
from asterism.text import build_text_mutators


def accept_mutators(ranges: Mapping[str, Mapping[str, Any]]) -> None:
    """Check that some kind of inputs has mutators of these names.

    Args:
        ranges: for each mutator's name the fields that differ from its own.

    Raises:
        UserError: none has; the message is about images.
    """
    for build in (build_text_mutators, build_tensor_mutators):
        try:
            build(ranges)
        except UserError:
            continue
        return
    build_mutators(ranges)
