"""Source: the place in a paper that a parameter comes from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """The place in a paper that a parameter or its default comes from; a note of its annotation.

    Attributes:
        text: paper and place, and the paper's value where it differs from the default.
    """

    text: str
