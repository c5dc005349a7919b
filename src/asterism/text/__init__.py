"""Tokens and bytes as integers ``(N, T)`` with padding at the end: mutators and edit distances."""

from asterism.text.mutator import (
    TEXT_MUTATORS,
    Alphabet,
    Sequences,
    TextMutator,
    build_text_mutators,
)

__all__ = ["TEXT_MUTATORS", "Alphabet", "Sequences", "TextMutator", "build_text_mutators"]
