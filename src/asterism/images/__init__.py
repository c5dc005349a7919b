"""Images as uint8 ``(N, H, W, C)``: mutators, and bounds on how far a mutant may stray."""

from asterism.images.mutator import (
    MUTATORS,
    Draws,
    Images,
    Mutator,
    build_mutators,
    concatenate_draws,
    take_draws,
)

__all__ = [
    "MUTATORS",
    "Draws",
    "Images",
    "Mutator",
    "build_mutators",
    "concatenate_draws",
    "take_draws",
]
