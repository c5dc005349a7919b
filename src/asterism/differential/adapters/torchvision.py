"""A stand-in for a torchvision that cannot be imported beside the installed PyTorch."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from types import ModuleType


def stand_in_where_broken() -> None:
    """Put empty ``torchvision`` modules in place where the real one fails to import.

    onnx2torch and onnx2pytorch import torchvision for a few operators (deformable convolution,
    non-maximum suppression) that no generated model has. A build for another PyTorch fails
    with "operator torchvision::nms does not exist"; the real one is used where it works.
    """
    try:
        import torchvision  # type: ignore[import-untyped]  # noqa: F401
    except (ImportError, RuntimeError, AttributeError, OSError):
        for name in [n for n in sys.modules if n.split(".")[0] == "torchvision"]:
            del sys.modules[name]
        parts = {part: AbsentModule(f"torchvision.{part}") for part in ("io", "ops", "transforms")}
        whole = AbsentModule("torchvision")
        vars(whole).update(parts, __path__=[])
        for module in (whole, *parts.values()):
            sys.modules[module.__name__] = module


class AbsentModule(ModuleType):
    """A module whose functions say that they are not there when they are called."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)

        def absent(*_: object, **__: object) -> None:
            raise NotImplementedError(f"torchvision's {name} is not supported here")

        return absent


if __name__ == "__main__":  # a script of a finding is run with the stand-in
    del sys.argv[0]
    sys.path[0] = str(Path(sys.argv[0]).parent)
    stand_in_where_broken()
    runpy.run_path(sys.argv[0], run_name="__main__")
