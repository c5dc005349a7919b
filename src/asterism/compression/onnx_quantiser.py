"""What ONNX Runtime's quantiser is called with."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from numpy.typing import NDArray


def make_calibration_reader(feeds: Iterable[Mapping[str, NDArray[Any]]]) -> Any:
    """Inputs of runs one by one, as ONNX Runtime's calibration asks for them.

    Args:
        feeds: arrays by the names of a model's inputs.
    """
    from onnxruntime.quantization import CalibrationDataReader

    class Reader(CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self._feeds = iter(feeds)

        def get_next(self) -> Mapping[str, NDArray[Any]] | None:
            return next(self._feeds, None)

    return Reader()


@contextmanager
def silence_advice() -> Iterator[None]:
    """Keep the advice away that the quantiser gives to the root logger."""
    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.ERROR)
    try:
        yield
    finally:
        root.setLevel(level)
