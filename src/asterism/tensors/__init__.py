"""Floating-point tensors ``(N, ...)`` within the range of what was observed: mutators."""

from asterism.tensors.mutator import (
    TENSOR_MUTATORS,
    FeatureRange,
    TensorMutator,
    Tensors,
    build_tensor_mutators,
)

__all__ = ["TENSOR_MUTATORS", "FeatureRange", "TensorMutator", "Tensors", "build_tensor_mutators"]
