"""Keras files: an image classifier runs as its ONNX export, everything else in Keras itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from numpy.typing import NDArray

from asterism.models.keras_models.reading import KERAS_SUFFIXES, load_keras
from asterism.models.runtimes.formats.onnx import OnnxFileRuntime
from asterism.models.runtimes.keras_export import faithful_export
from asterism.models.runtimes.keras_runtime import KerasRuntime
from asterism.models.runtimes.runtime import FORMATS, Format, Runtime, Tensors
from asterism.models.signatures.keras import keras_signature
from asterism.models.signatures.kinds import kind_of_inputs


class KerasFileRuntime(Runtime):
    """A Keras file, run by its ONNX export or by Keras; outputs have the names in the file.

    Stateful layers of Keras are not carried over calls here.
    """

    def __init__(self, path: Path) -> None:
        export = _export_of(path)
        inner = KerasRuntime(load_keras(path)) if export is None else OnnxFileRuntime(export)
        self._inner: Runtime = inner
        self.signature, self.fixed_batch = inner.signature, inner.fixed_batch
        self.varies_in = inner.varies_in
        self.notes = () if export is None else ("a Keras file, run as its ONNX export",)
        ours, named = self.signature.outputs, keras_signature(path).outputs
        # An export names its output anew, and Keras by a counter.
        if len(ours) == len({n.name for n in named}) == len(named):
            outputs = tuple(replace(o, name=n.name) for o, n in zip(ours, named, strict=True))
            self.signature = replace(self.signature, outputs=outputs)

    def run(self, inputs: Mapping[str, NDArray[Any]]) -> Tensors:
        """See :meth:`.Runtime.run`."""
        found = self._inner.run(inputs).values()
        names = (spec.name for spec in self.signature.outputs)
        return dict(zip(names, found, strict=True))


def _export_of(path: Path) -> Path | None:
    """The ONNX export of a classifier of images; None of any other model."""
    signature = keras_signature(path)
    shape_is_told = bool(signature.given) and len(signature.given[0].shape) > 1
    if shape_is_told and kind_of_inputs(signature)[0] != "images":
        return None
    return faithful_export(path)


@FORMATS.register("keras")
class Keras(Format):
    """Keras 3's zip archives, and the HDF5 files of Keras 3 and 2."""

    suffixes: ClassVar[tuple[str, ...]] = KERAS_SUFFIXES

    @staticmethod
    def recognises(head: bytes, path: Path) -> bool:
        """A zip archive for ``.keras``, HDF5's signature for the others."""
        if path.suffix == ".keras":
            return head[:4] == b"PK\x03\x04"
        return head[:8] == b"\x89HDF\r\n\x1a\n"

    @staticmethod
    def open(path: Path) -> KerasFileRuntime:
        """See :meth:`.Format.open`."""
        return KerasFileRuntime(path)
