"""Keras files: ``.keras`` and ``.h5``.

TensorFlow's kernels give other last bits for other batch sizes, so a result would depend on what
it was computed together with. Therefore a Keras model runs as its ONNX export, where ONNX Runtime
gives the same bytes for every batch size, several times faster. The export is compared with Keras
itself when it is made, and kept by the file's content, once for all processes; a model that cannot
be exported, or whose export differs, runs in Keras, in batches of one fixed size.
"""

from __future__ import annotations

import hashlib
import tempfile
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from asterism.core.files.artifacts import read_json, replacing, write_json
from asterism.core.files.locks import held
from asterism.core.messages.console import get_logger
from asterism.core.messages.errors import telling_line
from asterism.core.resuming import saved_folders
from asterism.models.classifiers.formats import FORMATS, Batch, Format, Runtime
from asterism.models.classifiers.formats.layout import Layout, require_vector
from asterism.models.classifiers.formats.onnx import OnnxRuntime
from asterism.models.keras_models.reading import KERAS_SUFFIXES, load_keras

if TYPE_CHECKING:
    import keras

log = get_logger(__name__)

#: Batches of this size run in Keras itself: large enough to be quick, small enough for one image.
_BATCH = 32
#: Largest difference of an output, in units of 1 or of the largest output, that rounding explains.
_ROUNDING = 1e-4


class KerasRuntime:
    """A Keras model run by TensorFlow, in batches of one size."""

    def __init__(self, model: keras.Model, path: Path) -> None:
        import tensorflow as tf

        self._layout = Layout(model.input_shape, path)
        self.input_shape = self._layout.input_shape
        self.outputs = require_vector(model.output_shape, path)
        self.output_step = 0.0
        self.fixed_batch: int | None = _BATCH
        self.notes: tuple[str, ...] = (f"runs in Keras, in batches of {_BATCH}",)
        spec = tf.TensorSpec((_BATCH, *model.input_shape[1:]), tf.float32)
        self._function: Callable[[Any], Any] = tf.function(
            lambda batch: model(batch, training=False), input_signature=[spec]
        )

    def run(self, batch: Batch) -> Batch:
        """See :meth:`asterism.models.classifiers.formats.Runtime.run`."""
        import tensorflow as tf

        outputs: Batch = self._function(tf.constant(self._layout.adapt(batch))).numpy()
        return outputs.astype(np.float32, copy=False)


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
    def open(path: Path) -> Runtime:
        """See :meth:`asterism.models.classifiers.formats.Format.open`."""
        export = faithful_export(path)
        if export is None:
            return KerasRuntime(load_keras(path), path)
        runtime = OnnxRuntime(export)
        runtime.notes = ("a Keras file, run as its ONNX export",)
        return runtime


def faithful_export(path: Path) -> Path | None:
    """The ONNX file that computes what an image classifier of Keras does, made on first use.

    Args:
        path: the Keras file.

    Returns:
        None where the model cannot be exported, or its export computes something else.

    Raises:
        UserError: the file cannot be read, or is no classifier of images.
    """
    export = _export_folder(path)
    with held(export.with_suffix(".lock")):
        if export.exists():
            try:
                faithful = saved_folders.read(export, _is_faithful)
            except saved_folders.DamagedError as error:
                saved_folders.set_aside(export, error)
        if not export.exists():
            model = load_keras(path)
            saved_folders.write(export, lambda folder: _export(model, path, folder))
            faithful = _is_faithful(export)
    return export / "model.onnx" if faithful else None


def _is_faithful(export: Path) -> bool:
    faithful: bool = read_json(export / "facts.json")["faithful"]
    return faithful


def _export_folder(path: Path) -> Path:
    """Where the export of this very file by this very code and these libraries is kept."""
    digest = hashlib.sha256(path.read_bytes())
    digest.update(Path(__file__).read_bytes())
    for package in ("keras", "tensorflow", "tf2onnx", "onnx", "onnxruntime"):
        digest.update(f"\0{package} {version(package)}".encode())
    return saved_folders.place("onnx", digest.hexdigest()[:40])


def _export(model: keras.Model, path: Path, folder: Path) -> None:
    """Export a model, and write down whether the export computes what Keras does.

    Raises:
        OSError, MemoryError: disk or memory did not suffice, which says nothing about the model.
    """
    native = KerasRuntime(model, path)
    target = folder / "model.onnx"
    faithful = False
    try:
        save_onnx(model, target)
        faithful = _agree(native, OnnxRuntime(target))
    except (OSError, MemoryError):
        raise
    except Exception as error:  # whatever the exporter meets in a foreign model
        said = str(error).replace(str(target), target.name)  # what matters comes after it
        reason = telling_line(said) or type(error).__name__
        log.info("not exported to ONNX", model=model.name, reason=reason)
    write_json(folder / "facts.json", {"faithful": faithful})


def save_onnx(model: keras.Model, path: Path) -> None:
    """Write a Keras model as ONNX with a free batch size, the same bytes for the same model."""
    import keras
    import onnx

    shape = (None, *model.input_shape[1:])
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        raw = Path(folder) / "model.onnx"
        signature = [keras.InputSpec(shape=shape, dtype="float32", name="images")]
        model.export(raw, format="onnx", input_signature=signature, verbose=False)
        exported = onnx.load(raw)
    _renumber(exported)
    with replacing(path) as temporary:
        temporary.write_bytes(exported.SerializeToString(deterministic=True))


def _renumber(exported: Any) -> None:
    """Give tensors and nodes names that do not count what the process built before."""
    graph = exported.graph
    del exported.metadata_props[:]
    graph.name = "model"
    graph.doc_string = ""
    names: dict[str, str] = {"": ""}
    for tensor in graph.input:
        names[tensor.name] = "images"
    for tensor in graph.output:
        names[tensor.name] = "outputs"
    constants = {tensor.name: tensor for tensor in graph.initializer}
    used = dict.fromkeys(n for node in graph.node for n in node.input if n in constants)
    for number, constant in enumerate(used):
        names[constant] = f"constant_{number}"
    # The exporter lists constants in no particular order.
    kept = [type(constants[name]).FromString(constants[name].SerializeToString()) for name in used]
    del graph.initializer[:]
    graph.initializer.extend(kept)
    for number, node in enumerate(graph.node):
        node.name = f"{node.op_type}_{number}"
        for index, output in enumerate(node.output):
            names.setdefault(output, f"value_{number}_{index}")
    for node in graph.node:
        node.input[:] = [names[name] for name in node.input]
        node.output[:] = [names[name] for name in node.output]
    for tensor in (*graph.initializer, *graph.input, *graph.output):
        tensor.name = names[tensor.name]
    for tensor in (*graph.input, *graph.output):
        tensor.type.tensor_type.shape.dim[0].dim_param = "N"
    del graph.value_info[:]


def _agree(native: KerasRuntime, exported: OnnxRuntime) -> bool:
    rng = np.random.default_rng(0)
    probes = rng.random((_BATCH, *native.input_shape), dtype=np.float32)
    probes *= np.linspace(0.1, 255, _BATCH, dtype=np.float32)[:, None, None, None]
    expected, given = native.run(probes), exported.run(probes)
    unit = max(1.0, float(np.abs(expected).max()))
    return bool(np.abs(expected - given).max() <= _ROUNDING * unit)
