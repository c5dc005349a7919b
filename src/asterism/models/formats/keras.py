"""Keras files: an image classifier runs as its ONNX export, everything else in Keras itself.

TensorFlow's kernels give other last bits for other batch sizes, so a result would depend on what
it was computed together with. ONNX Runtime gives the same bytes for every batch size, several times
faster. The export is compared with Keras itself when it is made, and kept by the file's content,
once for all processes; a model that cannot be exported, or whose export differs, runs in Keras.
"""

from __future__ import annotations

import hashlib
import tempfile
import warnings
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.artifacts import read_json, replacing, write_json
from asterism.core.files.locks import hold_lock
from asterism.core.messages.console import get_logger
from asterism.core.messages.errors import extract_reason
from asterism.core.resuming import saved_folders
from asterism.models.formats import FORMATS, Runtime, Tensors
from asterism.models.formats.onnx import OnnxFileRuntime
from asterism.models.keras_models.reading import KERAS_SUFFIXES, load_keras
from asterism.models.signatures.keras import keras_signature
from asterism.models.signatures.signature import Signature, TensorSpec, kind_of_inputs

if TYPE_CHECKING:
    import keras


@FORMATS.register(*KERAS_SUFFIXES)
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


class KerasRuntime(Runtime):
    """A Keras model on TensorFlow, compiled once for all batches.

    TensorFlow's kernels give other last bits for other batch sizes.
    """

    varies_in = "Keras"

    def __init__(self, model: keras.Model) -> None:
        import tensorflow as tf

        inputs, outputs = tuple(map(_spec, model.inputs)), tuple(map(_spec, model.outputs))
        self.signature = Signature("keras", inputs, outputs, operators=len(model.layers))
        self.fixed_batch = inputs[0].shape[0]
        specs = [tf.TensorSpec(tensor.shape, tensor.dtype) for tensor in model.inputs]

        def call(*tensors: Any) -> list[Any]:
            given = list(tensors) if len(tensors) > 1 else tensors[0]
            answer = model(given, training=False)
            return list(answer) if isinstance(answer, list | tuple) else [answer]

        self._call = tf.function(call, input_signature=specs, autograph=False)

    def run(self, inputs: Mapping[str, NDArray[Any]]) -> Tensors:
        """See :meth:`.Runtime.run`."""
        import tensorflow as tf

        answers = self._call(*(tf.constant(inputs[spec.name]) for spec in self.signature.inputs))
        names = (spec.name for spec in self.signature.outputs)
        return {name: answer.numpy() for name, answer in zip(names, answers, strict=True)}


def _spec(tensor: Any) -> TensorSpec:
    return TensorSpec(tensor.name, str(tensor.dtype), tuple(tensor.shape))


log = get_logger(__name__)

#: Images on which an export is compared with Keras.
_TRIALS = 32
#: Numbers of channels that images have.
_CHANNELS = (1, 3)
#: Largest difference of an output, in units of 1 or of the largest output, that rounding explains.
_ROUNDING = 1e-4


def faithful_export(path: Path) -> Path | None:
    """The ONNX file that computes what an image classifier of Keras does, made on first use.

    Args:
        path: the Keras file.

    Returns:
        None where the model is no classifier of images or cannot be exported, or where its export
        computes something else.

    Raises:
        UserError: the file cannot be read.
    """
    export = _export_folder(path)
    with hold_lock(export.with_suffix(".lock")):
        if export.exists():
            try:
                faithful = saved_folders.read(export, _is_faithful)
            except saved_folders.DamagedError as error:
                saved_folders.set_aside(export, error)
        if not export.exists():
            model = load_keras(path)
            saved_folders.write(export, lambda folder: _export(model, folder))
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


def _export(model: keras.Model, folder: Path) -> None:
    """Export a classifier of images, and write down whether the export computes what Keras does.

    Raises:
        OSError, MemoryError: disk or memory did not suffice, which says nothing about the model.
    """
    target = folder / "model.onnx"
    faithful = False
    try:
        if _is_image_classifier(model):
            save_onnx(model, target)
            faithful = _agree(KerasRuntime(model), OnnxFileRuntime(target))
    except (OSError, MemoryError):
        raise
    except Exception as error:  # whatever the exporter meets in a foreign model
        said = str(error).replace(str(target), target.name)  # what matters comes after it
        reason = extract_reason(said) or type(error).__name__
        log.info("not exported to ONNX", model=model.name, reason=reason)
    write_json(folder / "facts.json", {"faithful": faithful})


def _is_image_classifier(model: keras.Model) -> bool:
    """Whether it takes images of one size, and gives a row of numbers for each."""
    if len(model.inputs) != 1 or len(model.outputs) != 1:
        return False
    image, row = model.inputs[0].shape[1:], model.outputs[0].shape[1:]
    has_channels = len(image) == 3 and (image[0] in _CHANNELS or image[-1] in _CHANNELS)
    return has_channels and None not in image and len(row) == 1 and None not in row


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


def _agree(native: KerasRuntime, exported: OnnxFileRuntime) -> bool:
    (given,), (taken,) = native.signature.inputs, exported.signature.inputs
    rng = np.random.default_rng(0)
    sizes = [size or _TRIALS for size in given.shape]  # none but the batch is free
    trials = rng.random(sizes, dtype=np.float32)
    trials *= np.linspace(0.1, 255, len(trials), dtype=np.float32)[:, None, None, None]
    (expected,) = native.run({given.name: trials.astype(given.dtype)}).values()
    (found,) = exported.run({taken.name: trials}).values()
    unit = max(1.0, float(np.abs(expected).max()))
    return bool(np.abs(expected - found).max() <= _ROUNDING * unit)
