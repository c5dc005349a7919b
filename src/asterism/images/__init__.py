"""Images as uint8 ``(N, H, W, C)``: mutators, and bounds on how far a mutant may stray."""

from asterism.images.mutator import (
    MUTATORS,
    Draws,
    Images,
    Mutator,
    build_mutators,
    concatenate,
    take,
)

__all__ = ["MUTATORS", "Draws", "Images", "Mutator", "build_mutators", "concatenate", "take"]
