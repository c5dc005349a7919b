"""Names of the files of a task's arrays, which lie in one folder. Workers read them too."""

from __future__ import annotations

#: The file of the inputs.
INPUTS = "inputs.npz"


def outputs_file(backend: str) -> str:
    """The file of a backend's outputs, below the folder of the task's arrays."""
    return f"{backend.replace(':', '-')}.npz"
