"""Names of the files of a task, which lie in one folder. Workers read and write them too."""

from __future__ import annotations

#: The file of the inputs.
INPUTS = "inputs.npz"
#: Name and suffix of a model's file of Keras' own, beside its graph.
KERAS_FILE = ("model", ".keras")


def outputs_file(backend: str) -> str:
    """The file of a backend's outputs, below the folder of the task's arrays."""
    return f"{backend.replace(':', '-')}.npz"
