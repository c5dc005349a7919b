"""Importing Keras on one backend, and none of the other things that it looks for.

Keras asks for every other backend, for plotting and for scikit-learn, and loads what it finds:
TensorFlow's import, in a process that runs Keras on JAX, takes longer than all the rest. Keras
does without what is not there, so to such a process the others are not there.
"""

from __future__ import annotations

import os
import re
import runpy
import sys
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

#: What each backend is made of.
_NEEDS = {
    "jax": {"jax"},
    "numpy": {"jax"},  # Keras' NumPy backend borrows convolutions
    "openvino": {"openvino"},
    "tensorflow": {"tensorflow"},
    "torch": {"torch"},
}
_OPTIONAL = {"jax", "matplotlib", "sklearn", "tensorflow", "torch"}


def import_keras(backend: str) -> ModuleType:
    """Keras on ``backend``; afterwards this process cannot use another backend.

    Raises:
        RuntimeError: this process has imported Keras on another backend.
    """
    os.environ["KERAS_BACKEND"] = backend
    leave_out(*sorted(_OPTIONAL - _NEEDS[backend]))
    import keras

    if keras.backend.backend() != backend:
        raise RuntimeError(f"this process already runs Keras on {keras.backend.backend()}")
    module: ModuleType = keras
    return module


def leave_out(*names: str) -> None:
    """Hide packages from now on, as if they were not installed."""
    hidden = frozenset(names)
    at, finder = next((i, f) for i, f in enumerate(sys.meta_path) if _searches_paths(f))

    class Without(finder):  # type: ignore[misc, valid-type]
        @classmethod
        def find_spec(
            cls, fullname: str, path: Any = None, target: ModuleType | None = None
        ) -> ModuleSpec | None:
            if fullname.partition(".")[0] in hidden:
                return None
            return finder.find_spec(fullname, path, target)

    sys.meta_path[at] = Without


def _searches_paths(finder: Any) -> bool:
    return isinstance(finder, type) and issubclass(finder, PathFinder)


def unneeded_by(script: str) -> set[str]:
    """What Keras looks for and a script does without; nothing where it names no backend of Keras.

    Args:
        script: its text.
    """
    backend = re.search(r"KERAS_BACKEND='(\w+)'", script)
    needed = _NEEDS.get(backend[1], _OPTIONAL) if backend is not None else _OPTIONAL
    return _OPTIONAL - needed - {*re.findall(r"\w+", script)}


if __name__ == "__main__":  # a script of a finding is run without what it does not need
    del sys.argv[0]
    sys.path[0] = str(Path(sys.argv[0]).parent)
    leave_out(*unneeded_by(Path(sys.argv[-1]).read_text("utf-8", "replace")))
    runpy.run_path(sys.argv[0], run_name="__main__")
