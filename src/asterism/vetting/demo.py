"""A pair to try vetting with: a small classifier of digits, and an int8 version made carelessly."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from asterism.compression.onnx_quantiser import make_calibration_reader, silence_advice
from asterism.core.files.artifacts import replacing
from asterism.core.files.interrupts import require_uninterrupted
from asterism.core.files.user_files import NO_FILE
from asterism.data import DataParams, load

#: The folder that the files are written to.
FOLDER = Path("demo")

#: The network learns from so many pictures; all others are there to test with. Half of these judge
#: the repair: with 54 or more of a class, one that differs leaves no doubt at the thresholds.
_LEARNT = 500

#: Neurons of the two hidden layers.
_WIDTHS = (32, 32)

#: Calibration pictures are so much darker than others: the mistake that vetting is to find.
_DARKER = 0.5
_CALIBRATION = 100


class DemoFiles(NamedTuple):
    """The files of the demonstration's pair.

    Attributes:
        original: an ONNX classifier of 28×28 grey pictures.
        compressed: its 8-bit version.
        photos: a folder of test pictures, in one subfolder for each digit.
    """

    original: Path
    compressed: Path
    photos: Path


def make_demo(folder: Path) -> DemoFiles:
    """Train the classifier, quantise it, and write both beside test pictures.

    Args:
        folder: made where it is missing; what is there is taken as it is.
    """
    if not folder.exists():
        with replacing(folder) as unfinished:
            _write(_files(unfinished))
    return _files(folder)


def _files(folder: Path) -> DemoFiles:
    return DemoFiles(folder / "digits.onnx", folder / "digits-int8.onnx", folder / "photos")


def _write(demo: DemoFiles) -> None:
    import onnx

    data = load(DataParams(name="digits", path=NO_FILE, train=None, test=None))
    pictures = np.concatenate([data.train_images, data.test_images])
    labels = np.concatenate([data.train_labels, data.test_labels])
    for label in range(data.classes):
        (demo.photos / str(label)).mkdir(parents=True)
    for number in range(_LEARNT, len(pictures)):
        name = demo.photos / str(labels[number]) / f"{number:04}.png"
        cv2.imwrite(str(name), pictures[number])
    rows = np.moveaxis(pictures[:_LEARNT], -1, 1).astype(np.float32) / np.float32(255)
    onnx.save(_train(rows, labels[:_LEARNT]), demo.original)
    _quantise(demo, rows[:_CALIBRATION] * np.float32(_DARKER))


def _train(rows: NDArray[Any], labels: NDArray[np.int64]) -> Any:
    """A network of dense layers that reads pictures from 0 to 1, as an ONNX model."""
    from onnx import TensorProto, helper, numpy_helper
    from sklearn.neural_network import MLPClassifier

    network = MLPClassifier(_WIDTHS, tol=0.001, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network.fit(rows.reshape(len(rows), -1), labels)
    require_uninterrupted()  # by an interrupt, fit gives back what it has learnt by then
    nodes = [helper.make_node("Flatten", ["pictures"], ["active"], "flatten")]
    constants = []
    for layer, (weights, bias) in enumerate(zip(network.coefs_, network.intercepts_, strict=True)):
        names = [f"weights{layer}", f"bias{layer}"]
        constants += [
            numpy_helper.from_array(np.float32(array), name)
            for array, name in zip((weights, bias), names, strict=True)
        ]
        before = nodes[-1].output[0]
        nodes.append(helper.make_node("Gemm", [before, *names], [f"sum{layer}"], f"dense{layer}"))
        nodes.append(helper.make_node("Relu", [f"sum{layer}"], [f"out{layer}"], f"relu{layer}"))
    nodes[-1] = helper.make_node("Softmax", [f"sum{layer}"], ["probabilities"], "softmax")
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "digits",
        [value("pictures", TensorProto.FLOAT, ["n", *rows.shape[1:]])],
        [value("probabilities", TensorProto.FLOAT, ["n", len(network.classes_)])],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def _quantise(demo: DemoFiles, rows: NDArray[Any]) -> None:
    """Write the 8-bit version, whose ranges are measured on these pictures."""
    from onnxruntime.quantization import quantize_static

    feeds = ({"pictures": row[np.newaxis]} for row in rows)
    with silence_advice():
        quantize_static(str(demo.original), str(demo.compressed), make_calibration_reader(feeds))
