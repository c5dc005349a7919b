"""Models in every format: opened, run, and taken as the seeds of the libraries lane."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from asterism.core.files.artifacts import read_json
from asterism.core.messages.errors import UserError, name_file_in_errors
from asterism.models.classifier import FileClassifier, IsolatedClassifier, trial_images
from asterism.models.images_and_scores import PreprocessingParams
from asterism.models.keras_models.reading import load_keras
from asterism.models.recurrent import open_rnn
from readers import onnx_models
from readers.examples import Places

UNIT = PreprocessingParams(scale=1 / 255, mean=[0.0], std=[1.0])


def run_classifier(path: Path) -> object:
    model = FileClassifier(path, UNIT)
    return model.predict(trial_images(model.input_shape)).shape


def run_isolated(path: Path) -> object:
    """As the stages run a foreign file."""
    with IsolatedClassifier(path, UNIT) as model:
        return model.predict(trial_images(model.input_shape)).shape


def run_rnn(path: Path, isolated: bool = False) -> object:
    model = open_rnn(path, None, isolated=isolated)
    with name_file_in_errors(path):  # images that do not fit are told by their shapes
        return model.run(np.zeros((2, 8, 4, 1), np.uint8))[0].shape, model.layer


run_rnn_isolated = partial(run_rnn, isolated=True)


def onnx_files(place: Places) -> None:
    for number, kind in enumerate(("plain", "looped", "quantised", "of_all_strings")):
        make = getattr(onnx_models, kind)
        onnx.save(make(), place(number) / "model.onnx")


def rnn_onnx_files(place: Places) -> None:
    for number, kind in enumerate(("LSTM", "GRU", "RNN")):
        onnx.save(onnx_models.recurrent(kind), place(number) / "rnn.onnx")


def served_signature(path: Path) -> object:
    from asterism.models.signatures.reading import served_signature

    return served_signature(str(path))


def run_in_library(name: str, content: bytes, inputs: Any, folder: Path) -> int:
    """A file's content in a library that runs ONNX in this process; how many outputs it gives."""
    from asterism.differential.adapters.library import LIBRARIES
    from asterism.differential.adapters.model_under_test import ModelUnderTest

    library = LIBRARIES[name]()
    library.start()
    option = library.all_options()[0]
    under_test = ModelUnderTest(folder, None, None, batch=2)
    library.path(under_test, option).write_bytes(content)
    try:
        return len(library.run(library.compile(under_test, option), inputs))
    except SyntaxError:  # of source that the library wrote: a name has reached it
        raise
    except Exception:  # what a library says of a model is for the judge
        return 0


def run_libraries(path: Path) -> object:
    """A file in libraries that write source for it, as workers of compare-libraries run it."""
    from asterism.differential.subjects.onnx_file import read_subject

    subject = read_subject(path, 4, {})
    inputs, names = subject.draw(0, "normal"), ("onnx2torch", "onnx2pytorch")
    return [run_in_library(name, subject.content, inputs, path.parent) for name in names]


def end_of_worker(path: Path) -> object:
    raise UserError(f"{path} is run by workers alone, whose end is an answer")


def litert_tables(path: Path) -> object:
    """The signature, and what is changed of a graph before it is converted to ONNX."""
    from asterism.localisation.lite_graphs import make_convertible
    from asterism.models.foreign.litert import read_litert
    from asterism.models.signatures.tflite import tflite_signature

    return tflite_signature(path), len(make_convertible(read_litert(path), str(path)))


def _classifiers(suffix: str) -> Callable[[Places], None]:
    def write_files(place: Places) -> None:
        from models.model_files import keras_model, write

        write(keras_model(), place(0) / f"model{suffix}")
        write(keras_model(softmax=False, seed=1), place(1) / f"model{suffix}")

    return write_files


tflite_files, pt2_files = _classifiers(".tflite"), _classifiers(".pt2")
classifier_keras_files = _classifiers(".keras")


def _cleared(read: Callable[[Path], Any]) -> Callable[[Path], object]:
    """A reader that leaves nothing in Keras' memory."""

    def cleared(path: Path) -> object:
        import keras

        try:
            return read(path)
        finally:
            keras.utils.clear_session(free_memory=False)

    return cleared


read_keras = _cleared(lambda path: [layer.name for layer in load_keras(path).layers])


def _recurrent() -> Any:
    from keras import Input, Sequential, layers

    return Sequential(
        [
            Input((8, 4)),
            layers.Bidirectional(layers.LSTM(3, return_sequences=True)),
            layers.TimeDistributed(layers.Dense(4, activation="relu")),
            layers.GRU(3),
            layers.Dense(3, activation="softmax"),
        ]
    )


def _keras_files(place: Places, suffix: str) -> None:
    from models.keras_2_files import convolutional
    from models.model_files import keras_model, write

    for number, model in enumerate((keras_model(), _recurrent(), convolutional())):
        write(model, place(number) / f"model{suffix}")


keras_files, h5_files = (partial(_keras_files, suffix=suffix) for suffix in (".keras", ".h5"))


def keras_2_files(place: Places) -> None:
    from models.keras_2_files import convolutional, write_keras_2

    write_keras_2(convolutional(), place(0) / "model.json")
    (place(0) / "whole.h5").unlink()


def read_architecture(path: Path) -> object:
    """An architecture without weights, as a seed of the libraries lane."""
    from asterism.memo.graphs.keras_read import read_json_graph

    with name_file_in_errors(path):
        graph = read_json_graph(read_json(path), 16, 0)
    return graph.outputs, graph.to_json()


def architecture_files(place: Places) -> None:
    from models.keras_2_files import convolutional, keras_2_config
    from models.model_files import keras_model

    for number, model in enumerate((keras_model(), convolutional())):
        (place(number) / "model.json").write_text(model.to_json())
    (place(2) / "model.json").write_text(json.dumps(keras_2_config(convolutional())))


@_cleared
def read_user_model(path: Path) -> object:
    """A user's network as a seed of the libraries lane."""
    from asterism.differential.reducing.reduction import read_user_model

    _, graph, arrays = read_user_model(path, {}, 16, 0)
    return graph.outputs, sorted(arrays)


def rnn_keras_files(place: Places) -> None:
    from models.model_files import write

    write(_recurrent(), place(0) / "rnn.keras")
