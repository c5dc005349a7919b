"""Hostile text in each string of Keras and LiteRT files: no consumer makes source of it."""

from pathlib import Path

import numpy as np
import pytest
from hostile_models import (
    NAMES,
    PLAIN,
    keras_changed,
    keras_texts,
    litert_places,
    network,
    recurrent,
    run_on_zeros,
    with_litert_texts,
)

from asterism.core.messages.errors import UserError
from asterism.data import Dataset
from asterism.models.keras_models.preprocessing import PreprocessingParams
from hostile_text import TEXTS, environment_of_children, noted_by_children, watched
from models.small_litert import lite_variable

UNIT = PreprocessingParams(scale=1 / 255, mean=[0.0], std=[1.0])
TUNING = {"optimizer": "sgd", "learning_rate": 1e-9, "batch_size": 20, "epochs": 1}
#: Options of the compression methods.
METHODS = {
    "changed_weights": {"share": 0.5, "amount": 0.1},
    "convolution_pruning": {"convolution": 1, "sparsity": 0.25},
    "distillation": {"student": "plain_cnn", "temperature": 2.0, "alpha": 0.5, "training": TUNING},
    "filter_pruning": {"share": 0.5, "tuning": TUNING},
    "keras_int8": {},
    "litert_dynamic_range": {},
    "litert_float16": {},
    "litert_full_integer": {"calibration_images": 3},
    "magnitude_pruning": {"sparsity": 0.5, "scope": "global", "tuning": TUNING},
    "onnx_dynamic": {},
    "onnx_static": {"calibration_images": 3},
}


def pictures():
    """A data set of random images."""
    rng = np.random.default_rng(0)
    images, labels = rng.integers(0, 256, (60, 8, 8, 1), np.uint8), np.arange(60) % 3
    return Dataset(images, labels, images[:30], labels[:30], 3)


# ---- What is done with files: each is given a path and a folder ----------------------------------


def signature(path, folder):
    from asterism.models.signatures.reading import served_signature

    served_signature(str(path))


def signature_in_a_process(path, folder):
    from asterism.models.signatures.reading import read_signature

    read_signature(path)


def first_reading(path, folder):
    """HDF5's, whose errors the second reading meets as well."""
    from asterism.models.keras_models.first_reading import _read_whole

    _read_whole(path)


def runtime(path, folder):
    run_on_zeros(path)


def classifier(path, folder):
    from asterism.models.classifiers.classifier import open_classifier, probe_images

    opened = open_classifier(path, UNIT)
    opened.predict(probe_images(opened.input_shape))


def classifier_in_a_process(path, folder):
    from asterism.models.classifiers.classifier import probe_images
    from asterism.models.classifiers.isolated import IsolatedClassifier

    with IsolatedClassifier(path, UNIT) as opened:
        opened.predict(probe_images(opened.input_shape))


def classifier_in_keras(path, folder):
    from asterism.models.keras_models.reading import load_keras
    from asterism.models.runtimes.keras_runtime import KerasRuntime

    runtime = KerasRuntime(load_keras(path))
    runtime.run({s.name: np.zeros((32, 8, 8, 1), s.dtype) for s in runtime.signature.inputs})


def checked(path, folder):
    """``asterism check``."""
    from asterism.vetting.looking import describe_model, model_facts

    describe_model(path), model_facts(path)


def localisation(path, folder):
    """The conversion to ONNX, and what is to blame in the pair."""
    from asterism.localisation.conversion import convert
    from asterism.localisation.quantised_nodes import match
    from asterism.localisation.reading import open_pair

    convert(path, folder / "converted.onnx")
    match(open_pair(folder / "converted.onnx", folder / "converted.onnx"))


def conversion_in_a_process(path, folder):
    from asterism.localisation.conversion import as_onnx

    as_onnx(path, folder)


def compression(name):
    def compress(path, folder):
        from asterism.compression.compressor import compress
        from asterism.compression.params import CompressionParams

        params = CompressionParams(method=name, options=METHODS[name])
        compress(params, path, folder / "compressed", pictures(), UNIT, 0)

    compress.__name__ = name
    return compress


def gradients(path, folder):
    """What attacks ask of a classifier."""
    from asterism.attacks.estimator import PixelEstimator
    from asterism.models.keras_models.reading import load_keras

    estimator = PixelEstimator(load_keras(path), UNIT)
    images, labels = np.zeros((2, 8, 8, 1), np.float32), np.array([0, 1])
    estimator.class_gradient(images, labels)
    estimator.loss_gradient(images, np.eye(3, dtype=np.float32)[:2])
    estimator.lead(images, labels, np.ones(2, np.float32), 0.1)


def adequacy(path, folder):
    """Coverage by importance and other criteria, and heatmaps."""
    from asterism.deepimportance.fitting import fit
    from asterism.deepimportance.heatmaps import heatmaps
    from asterism.deepimportance.judged_keras import JudgedKeras
    from asterism.deepimportance.results import save_fitted
    from asterism.models.keras_models.reading import load_keras
    from deepimportance.test_coverage import CRITERIA, RULES, UNIT, importance

    model, data = load_keras(path), pictures()
    labels = model.predict(UNIT.apply(data.train_images), verbose=0).argmax(1)
    judged = JudgedKeras(model, UNIT)
    fitted = fit(judged, data.train_images, labels, importance(neurons=[2]), CRITERIA)
    save_fitted(fitted, folder)
    heatmaps(judged, RULES, data, 1)


def obtained(path, folder):
    """The user's classifier as a stage takes and saves it."""
    from asterism.models.keras_models.reading import load_keras, save_keras
    from asterism.models.parameters.params import ClassifierFile
    from asterism.models.training.image_classifier import obtain_classifier

    params = ClassifierFile(source="file", path=str(path), weights=str(path))
    model, _ = obtain_classifier(params, UNIT, pictures(), 0)
    save_keras(model, folder / "obtained.keras")
    load_keras(folder / "obtained.keras")


def seed_model(path, folder):
    """The user's network in the libraries' lane, reduced and built anew."""
    from asterism.differential.reducing.reduce import reduce_model, renumbered
    from asterism.differential.reducing.reduction import _opened
    from asterism.differential.reducing.user_models import UserModel
    from asterism.memo.graphs.keras_build import build

    _, graph, arrays = _opened(UserModel(path, {}), 16, 0)
    build(renumbered(reduce_model(graph)), arrays)


def states(path, folder):
    """A recurrent network, by its ONNX graph and by Keras."""
    from asterism.models.keras_models.reading import load_keras
    from asterism.models.recurrent import open_rnn
    from asterism.models.recurrent.keras_engine import KerasEngine
    from asterism.models.recurrent.keras_layers import find_layer

    open_rnn(path, None).run(np.zeros((2, 8, 4, 1), np.uint8))
    model = load_keras(path)
    KerasEngine(model, find_layer(model, None))


OF_ALL = (signature, signature_in_a_process, runtime, checked, localisation)
OF_IMAGES = (classifier, classifier_in_a_process, conversion_in_a_process)
OF_KERAS = (
    *OF_ALL,
    *OF_IMAGES,
    first_reading,
    classifier_in_keras,
    gradients,
    adequacy,
    obtained,
    seed_model,
    *map(compression, METHODS),
)
FORMATS = {
    ".keras": OF_KERAS,
    ".h5": OF_KERAS,
    "recurrent .keras": (states,),
    "recurrent .h5": (states,),
    ".tflite": (*OF_ALL, *OF_IMAGES),
    "variable .tflite": OF_ALL,
}
ROWS = [(use, kind) for kind, uses in FORMATS.items() for use in uses]
QUICK = {
    ".keras": (signature, runtime, seed_model, obtained),
    "recurrent .h5": (states,),
    "variable .tflite": (signature, signature_in_a_process, runtime, localisation),
}
#: Consumers that work in processes of their own, which are watched as well.
APART = (signature_in_a_process, checked, classifier_in_a_process, conversion_in_a_process)
#: Consumers that read no more of a Keras file than its configuration, or read it to its end only.
OF_CONFIGURATION = (signature, signature_in_a_process, checked, first_reading)

#: Texts of Keras files that name parts of the network, in any letters that TensorFlow takes.
NAMED = {"network", "pixels", "conv", "flat", "hidden", "scores"}
#: Texts in whose place any text of a line may stand, and the file is still read.
FREE = {
    ".keras": {"keras_version", "3.15.1", "date_saved", "registered_name", "sparse", "optional",
               "compile_config", "lstm_cell", "flatten"},
    ".h5": {"backend", "tensorflow", "keras_version", "registered_name", "module", "sparse",
            "kernel", "recurrent_kernel", "bias", "top_level_model_weights"},
}  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Gives a whole file of each format."""
    folder, made = tmp_path_factory.mktemp("whole"), {}

    def make(kind):
        if kind not in made:
            made[kind] = folder / f"{len(made)}{Path(kind).suffix or kind}"
            if kind.startswith("variable"):
                lite_variable(made[kind])
            elif kind == ".tflite":
                network().export(made[kind], format="litert", verbose=False)
            else:
                (recurrent if "recurrent" in kind else network)().save(made[kind])
        return made[kind]

    return make


def packed(source, folder, count):
    """Files that are read, with a plain text in each place, and another one in each file."""
    suffix = source.suffix
    for turn in range(count):
        path = folder / f"packed{turn}{suffix}"
        if suffix == ".tflite":
            content = source.read_bytes()
            texts = {
                place: f"{PLAIN[(place + turn) % len(PLAIN)]}#{place}"
                for place in range(litert_places(content))
            }
            path.write_bytes(with_litert_texts(content, texts))
        else:
            found = keras_texts(source, folder / f"scratch{suffix}")
            new = {}
            for number, old in enumerate(found):
                if old in NAMED:
                    new[old] = f"{NAMES[(number + turn) % len(NAMES)]}{number}"
                elif old in FREE[suffix]:
                    new[old] = f"{PLAIN[(number + turn) % len(PLAIN)]}#{number}"
            assert len(new) > 10
            keras_changed(source, path, lambda text, new=new: new.get(text, text))
        yield path


def alone(source, folder):
    """Files with a hostile text in one place each: the other ones of Keras, all of LiteRT."""
    suffix = source.suffix
    if suffix == ".tflite":
        content = source.read_bytes()
        odd = [text for text in TEXTS if text not in PLAIN]
        for place in range(litert_places(content)):
            path = folder / f"alone{place}{suffix}"
            path.write_bytes(with_litert_texts(content, {place: odd[place % len(odd)]}))
            yield path
        return
    for number, old in enumerate(keras_texts(source, folder / f"scratch{suffix}")):
        kinds = TEXTS if old in NAMED | FREE[suffix] else (*PLAIN, *NAMES)
        new = kinds[number % len(kinds)]
        path = folder / f"alone{number}{suffix}"
        keras_changed(source, path, lambda text, old=old, new=new: new if text == old else text)
        yield path


def tried(use, path, folder):
    """Whether a consumer works with a file; else one line of its own names the file."""
    folder.mkdir(exist_ok=True)
    try:
        use(path, folder)
    except UserError as error:
        assert path.name in str(error) and "\n" not in str(error)
        return False
    finally:
        if path.suffix != ".tflite":
            import keras

            keras.utils.clear_session(free_memory=False)
    return True


def run_on(use, files, tmp_path, monkeypatch):
    """Which of the files a consumer works with; no text of theirs becomes source."""
    monkeypatch.setenv("ASTERISM_STATE_ROOT", str(tmp_path / "state"))
    children = tmp_path / "children"
    for name, value in environment_of_children(children).items():
        monkeypatch.setenv(name, value)
    with watched() as seen:
        worked = [tried(use, path, tmp_path / path.stem) for path in files]
    processes, noted = noted_by_children(children)
    assert seen == noted == []
    assert processes > 0 or use not in APART
    return worked


def row(use, kind, files, marks=()):
    return pytest.param(use, kind, files, id=f"{use.__name__} {kind} {files}", marks=marks)


@pytest.mark.parametrize(
    ("use", "kind", "count"),
    [
        *(row(use, kind, 1) for kind, uses in QUICK.items() for use in uses),
        *(row(*one, 2, pytest.mark.slow) for one in ROWS),
    ],
)
def test_no_text_of_a_file_that_is_read_becomes_source(
    use, kind, count, whole, tmp_path, monkeypatch
):
    files = [*packed(whole(kind), tmp_path, count)]
    assert run_on(use, files, tmp_path, monkeypatch) == [True] * count


@pytest.mark.slow
@pytest.mark.parametrize(
    ("use", "kind"), [pytest.param(*one, id=f"{one[0].__name__} {one[1]}") for one in ROWS]
)
def test_no_text_that_most_readers_reject_becomes_source(use, kind, whole, tmp_path, monkeypatch):
    # HDF5's own process is a consumer of its own above, and takes a second each time.
    monkeypatch.setattr("asterism.models.keras_models.reading.require_end", lambda path: None)
    files = [*alone(whole(kind), tmp_path)]
    if use in APART:
        files = files[::8]
    worked = run_on(use, files, tmp_path, monkeypatch)
    if use in OF_CONFIGURATION and "tflite" not in kind:  # it takes many files that others reject
        assert len(worked) == len(files) > 5
    else:
        assert worked.count(False) > len(worked) / 2
