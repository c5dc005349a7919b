"""Readers of models' files, in every format."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from asterism.core.messages.errors import UserError
from reader_fuzzing.of_data import place
from reader_fuzzing.table import Reader, register


def _preprocessing() -> Any:
    from asterism.models.keras_models.preprocessing import PreprocessingParams

    return PreprocessingParams(scale=1 / 255, mean=[0.0], std=[1.0])


def _open_classifier(path: Path) -> object:
    from asterism.models.classifiers.classifier import open_classifier, probe_images

    model = open_classifier(path, _preprocessing())
    return model.predict(probe_images(model.input_shape)).shape


def open_isolated(reader: str, path: Path, patience: float) -> object:
    """As the stages open a foreign file: what ends the library's process is an answer.

    Args:
        reader: name of the reader.
        path: the file.
        patience: seconds after which a model is taken for one that hangs.
    """
    from asterism.models.classifiers.classifier import probe_images
    from asterism.models.classifiers.isolated import IsolatedClassifier
    from asterism.models.isolation import isolated_model

    isolated_model.PATIENCE_S = patience
    if reader.startswith("signature"):
        from asterism.models.signatures.reading import read_signature

        return read_signature(path)
    if reader.startswith("libraries"):
        raise UserError(f"{path} is run by workers alone, whose end is an answer")
    if reader.startswith("rnn"):
        return _open_rnn(path, isolated=True)
    with IsolatedClassifier(path, _preprocessing()) as model:
        return model.predict(probe_images(model.input_shape)).shape


def _classifier_seeds(suffix: str):
    def seeds(folder: Path) -> None:
        from models.model_files import keras_model, write

        write(keras_model(), place(folder, 0) / f"model{suffix}")
        write(keras_model(softmax=False, seed=1), place(folder, 1) / f"model{suffix}")

    return seeds


def _onnx_seeds(folder: Path) -> None:
    """Small classifiers: of our own export's kind, with control flow, with other layouts."""
    from onnx import TensorProto, checker, helper, numpy_helper, save

    rng = np.random.default_rng(0)
    kernel = rng.normal(size=(4, 1, 3, 3)).astype(np.float32)
    dense = rng.normal(size=(144, 4)).astype(np.float32)
    constants = [
        numpy_helper.from_array(kernel, "kernel"),
        numpy_helper.from_array(dense, "dense"),
        numpy_helper.from_array(np.zeros(4, np.float32), "bias"),
    ]
    nodes = [
        helper.make_node("Conv", ["images", "kernel"], ["c"], strides=[1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Flatten", ["r"], ["f"], axis=1),
        helper.make_node("Gemm", ["f", "dense", "bias"], ["logits"]),
        helper.make_node("Softmax", ["logits"], ["outputs"], axis=1),
    ]
    floats = TensorProto.FLOAT
    inputs = [helper.make_tensor_value_info("images", floats, ["N", 1, 8, 8])]
    outputs = [helper.make_tensor_value_info("outputs", floats, ["N", 4])]
    options: dict[str, Any] = {
        "opset_imports": [helper.make_opsetid("", 17)],
        "ir_version": 9,
    }
    graph = helper.make_graph(nodes, "model", inputs, outputs, constants)
    model = helper.make_model(graph, **options)
    checker.check_model(model)
    save(model, place(folder, 0) / "model.onnx")

    body = helper.make_graph(
        [
            helper.make_node("Identity", ["going"], ["goes_on"]),
            helper.make_node("Mul", ["state", "half"], ["next"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("step", TensorProto.INT64, []),
            helper.make_tensor_value_info("going", TensorProto.BOOL, []),
            helper.make_tensor_value_info("state", floats, None),
        ],
        [
            helper.make_tensor_value_info("goes_on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("next", floats, None),
        ],
        [numpy_helper.from_array(np.float32(0.5), "half")],
    )
    constants += [
        numpy_helper.from_array(np.int64(3), "times"),
        numpy_helper.from_array(np.bool_(True), "yes"),
    ]
    loop = helper.make_node("Loop", ["times", "yes", "logits"], ["looped"], body=body)
    last = helper.make_node("Softmax", ["looped"], ["outputs"], axis=1)
    graph = helper.make_graph([*nodes[:4], loop, last], "model", inputs, outputs, constants)
    model = helper.make_model(graph, **options)
    checker.check_model(model)
    save(model, place(folder, 1) / "model.onnx")
    quantised = helper.make_graph(
        [
            *nodes[:4],
            helper.make_node("QuantizeLinear", ["logits", "scale", "zero"], ["q"]),
            helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["outputs"]),
        ],
        "model", inputs, outputs,
        [
            *constants[:3],
            numpy_helper.from_array(np.float32(0.1), "scale"),
            numpy_helper.from_array(np.uint8(128), "zero"),
        ],
    )  # fmt: skip
    save(helper.make_model(quantised, **options), place(folder, 2) / "model.onnx")
    place(folder, 3)
    external = helper.make_model(
        helper.make_graph(nodes, "model", inputs, outputs, constants[:3]), **options
    )
    save(
        external, str(folder / "3" / "model.onnx"), save_as_external_data=True,
        location="weights.bin", size_threshold=64,
    )  # fmt: skip


register(
    Reader(
        "classifier .onnx", "onnx", "model.onnx", _open_classifier, _onnx_seeds, 20, isolated=True
    )
)


def _open_rnn(path: Path, isolated: bool = False) -> object:
    from asterism.core.messages.errors import naming
    from asterism.models.recurrent import open_rnn

    model = open_rnn(path, None, isolated=isolated)
    with naming(path):  # images that do not fit are told by their shapes
        return model.run(np.zeros((2, 8, 4, 1), np.uint8))[0].shape, model.layer


def _rnn_onnx_seeds(folder: Path) -> None:
    from onnx import TensorProto, helper, numpy_helper, save

    rng = np.random.default_rng(0)

    def array(name: str, *shape: int):
        return numpy_helper.from_array(rng.normal(size=shape).astype(np.float32), name)

    for number, (kind, gates) in enumerate((("LSTM", 4), ("GRU", 3), ("RNN", 1))):
        hidden, features = 5, 4
        nodes = [
            helper.make_node("Transpose", ["images"], ["t"], perm=[1, 0, 2]),
            helper.make_node(kind, ["t", "w", "r"], ["y", "last"], name="cell", hidden_size=hidden),
            helper.make_node("Squeeze", ["last", "zero"], ["s"]),
            helper.make_node("MatMul", ["s", "dense"], ["logits"]),
            helper.make_node("Softmax", ["logits"], ["outputs"], axis=-1),
        ]
        constants = [
            array("w", 1, gates * hidden, features),
            array("r", 1, gates * hidden, hidden),
            array("dense", hidden, 3),
            numpy_helper.from_array(np.array([0], np.int64), "zero"),
        ]
        graph = helper.make_graph(
            nodes,
            "rnn",
            [helper.make_tensor_value_info("images", TensorProto.FLOAT, ["N", 8, features])],
            [helper.make_tensor_value_info("outputs", TensorProto.FLOAT, ["N", 3])],
            constants,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        save(model, place(folder, number) / "rnn.onnx")


register(Reader("rnn .onnx", "onnx", "rnn.onnx", _open_rnn, _rnn_onnx_seeds, 10, isolated=True))


def _signature(path: Path) -> object:
    from asterism.models.signatures.reading import served_signature

    return served_signature(str(path))


register(
    Reader("signature .onnx", "onnx", "model.onnx", _signature, _onnx_seeds, 10, isolated=True)
)


def _in_libraries(path: Path) -> object:
    """A file in libraries that write source for it, as workers of compare-libraries run it."""
    from asterism.differential.adapters.library import LIBRARIES
    from asterism.differential.adapters.model_under_test import ModelUnderTest
    from asterism.differential.subjects.onnx_file import read_subject

    subject = read_subject(path, 4, {})
    inputs, done = subject.draw(0, "normal"), []
    for name in ("onnx2torch", "onnx2pytorch"):
        library = LIBRARIES[name]()
        library.start()
        option = library.all_options()[0]
        under_test = ModelUnderTest(path.parent, None, None, batch=2)
        library.path(under_test, option).write_bytes(subject.content)
        try:
            done.append(len(library.run(library.compile(under_test, option), inputs)))
        except SyntaxError:  # of source that the library wrote: a name has reached it
            raise
        except Exception:  # what a library says of a model is for the judge
            continue
    return done


register(
    Reader("libraries .onnx", "torch", "model.onnx", _in_libraries, _onnx_seeds, 10, isolated=True)
)

register(
    Reader(
        "classifier .tflite", "litert", "model.tflite", _open_classifier,
        _classifier_seeds(".tflite"), 10, isolated=True,
    )
)  # fmt: skip


def _litert_tables(path: Path) -> object:
    """The signature, and what is changed of a graph before it is converted to ONNX."""
    from asterism.localisation.lite_graphs import convertible
    from asterism.models.foreign.litert import read_litert
    from asterism.models.signatures.tflite import tflite_signature

    return tflite_signature(path), len(convertible(read_litert(path), str(path)))


register(
    Reader(
        "signature .tflite", "litert", "model.tflite", _litert_tables,
        _classifier_seeds(".tflite"), 10,
    )
)  # fmt: skip

register(
    Reader(
        "classifier .pt2", "torch", "model.pt2", _open_classifier, _classifier_seeds(".pt2"), 10,
        isolated=True,
    )
)  # fmt: skip


def _load_keras(path: Path) -> object:
    import keras

    from asterism.models.keras_models.reading import load_keras

    model = load_keras(path)
    names = [layer.name for layer in model.layers]
    keras.utils.clear_session(free_memory=False)
    return names


def _keras_seeds(suffix: str):
    def seeds(folder: Path) -> None:
        import keras

        from models.keras_2_files import convolutional
        from models.model_files import keras_model, write

        layers = keras.layers
        write(keras_model(), place(folder, 0) / f"model{suffix}")
        model = keras.Sequential(
            [
                keras.Input((8, 4)),
                layers.Bidirectional(layers.LSTM(3, return_sequences=True)),
                layers.TimeDistributed(layers.Dense(4, activation="relu")),
                layers.GRU(3),
                layers.Dense(3, activation="softmax"),
            ]
        )
        write(model, place(folder, 1) / f"model{suffix}")
        write(convolutional(), place(folder, 2) / f"model{suffix}")

    return seeds


register(Reader("keras .keras", "keras", "model.keras", _load_keras, _keras_seeds(".keras"), 6))
register(Reader("keras .h5", "keras", "model.h5", _load_keras, _keras_seeds(".h5"), 6))


def _keras_signature(path: Path) -> object:
    from asterism.models.signatures.keras import keras_signature

    return keras_signature(path)


for _suffix in (".keras", ".h5"):
    register(
        Reader(
            f"signature {_suffix}", "keras", f"model{_suffix}", _keras_signature,
            _keras_seeds(_suffix), 3,
        )
    )  # fmt: skip


def _keras_2_seeds(folder: Path) -> None:
    from models.keras_2_files import convolutional, write_keras_2

    here = place(folder, 0)
    write_keras_2(convolutional(), here / "model.json")
    (here / "whole.h5").unlink()


register(Reader("keras 2 .json", "keras", "model.json", _load_keras, _keras_2_seeds, 4))


def _read_architecture(path: Path) -> object:
    """An architecture without weights, as a seed of the libraries lane."""
    from asterism.core.files.artifacts import read_json
    from asterism.core.messages.errors import naming
    from asterism.memo.graphs.keras_read import graph_of_json

    with naming(path):
        graph = graph_of_json(read_json(path), 16, 0)
    return graph.outputs, graph.to_json()


def _architecture_seeds(folder: Path) -> None:
    _keras_seeds(".keras")(folder)
    for here in sorted(folder.iterdir()):
        with zipfile.ZipFile(here / "model.keras") as archive:
            config = json.loads(archive.read("config.json"))
        (here / "model.keras").unlink()
        (here / "model.json").write_text(json.dumps(config))
    from models.keras_2_files import convolutional, keras_2_config

    (place(folder, 9) / "model.json").write_text(json.dumps(keras_2_config(convolutional())))


register(
    Reader("architecture .json", "keras", "model.json", _read_architecture, _architecture_seeds, 10)
)


def _read_user_model(path: Path) -> object:
    """A user's network as a seed of the libraries lane."""
    import keras

    from asterism.differential.reducing.reduction import _opened
    from asterism.differential.reducing.user_models import UserModel

    _, graph, arrays = _opened(UserModel(path, {}), 16, 0)
    keras.utils.clear_session(free_memory=False)
    return graph.outputs, sorted(arrays)


register(
    Reader("user model .keras", "keras", "model.keras", _read_user_model, _keras_seeds(".keras"), 2)
)


def _rnn_keras_seeds(folder: Path) -> None:
    _keras_seeds(".keras")(folder)
    (folder / "1/model.keras").rename(folder / "1/rnn.keras")
    for other in ("0", "2"):
        (folder / other / "model.keras").unlink()
        (folder / other).rmdir()


register(Reader("rnn .keras", "keras", "rnn.keras", _open_rnn, _rnn_keras_seeds, 2, isolated=True))
register(
    Reader(
        "classifier .keras", "keras", "model.keras", _open_classifier, _classifier_seeds(".keras"),
        1, isolated=True,
    )
)  # fmt: skip
