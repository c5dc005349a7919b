"""One way to open every format: same probabilities, any batch, one-line errors."""

import json
import shutil
import time
from concurrent.futures import ThreadPoolExecutor

import keras
import numpy as np
import onnx
import pytest
import torch
from model_files import CLASSES, SHAPE, images, keras_model, write
from onnx import numpy_helper
from small_trainings import UNIT
from strange_programs import entries
from strange_programs import write as write_entries
from structlog.testing import capture_logs

from asterism.core.messages.errors import UserError
from asterism.models.classifier import FileClassifier
from asterism.models.formats import FORMATS, open_runtime
from asterism.models.formats import keras as keras_export
from asterism.models.formats.keras import KerasRuntime
from asterism.models.images_and_scores import PreprocessingParams
from onnx_texts import write_onnx
from thinning import every

SUFFIXES = [".keras", ".h5", ".onnx", ".tflite", ".pt2"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    model = keras_model()
    return model, {suffix: write(model, folder / f"model{suffix}") for suffix in SUFFIXES}


def test_the_table_covers_every_format():
    assert set(FORMATS) == {*SUFFIXES, ".hdf5", ".lite"}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_format_gives_the_same_probabilities_in_any_batch(files, suffix):
    model, paths = files
    classifier = FileClassifier(paths[suffix], UNIT)
    assert classifier.input_shape == SHAPE
    assert classifier.classes == CLASSES
    given = images(35)
    together = classifier.predict(given)
    assert together.dtype == np.float32
    expected = model.predict(given.astype(np.float32) / 255, verbose=0)
    assert together == pytest.approx(expected, abs=1e-5)
    for size in (1, 33):
        pieces = [classifier.predict(given[i : i + size]) for i in range(0, 35, size)]
        assert np.array_equal(np.concatenate(pieces), together)
    assert np.array_equal(classifier.predict(given[::-1])[::-1], together)
    assert classifier.predict(given[:0]).shape == (0, CLASSES)


def another_model(export):
    graph = onnx.load(export / "model.onnx")
    for tensor in graph.graph.initializer:
        zeros = np.zeros_like(numpy_helper.to_array(tensor))
        tensor.CopyFrom(numpy_helper.from_array(zeros, tensor.name))
    onnx.save(graph, export / "model.onnx")


@pytest.fixture(scope="module")
def exported(files, tmp_path_factory):
    """The folder of all exports, with that of the Keras file, and what the model predicts."""
    root = tmp_path_factory.mktemp("exported")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASTERISM_STATE_ROOT", str(root))
        return root / "onnx", FileClassifier(files[1][".keras"], UNIT).predict(images(5))


def test_a_keras_file_is_exported_once(files, exported, state_root, monkeypatch):
    folder, first = exported
    shutil.copytree(folder, state_root / "onnx")
    (facts,) = folder.glob("*/facts.json")
    assert json.loads(facts.read_text())["faithful"]
    monkeypatch.setattr(keras_export, "save_onnx", lambda *_: pytest.fail("it is there"))
    again = FileClassifier(files[1][".keras"], UNIT)
    assert "run as its ONNX export" in again.notes[0]
    assert np.array_equal(first, again.predict(images(5)))


def test_a_damaged_export_is_set_aside_and_made_again(files, exported, state_root):
    folder, expected = exported
    shutil.copytree(folder, state_root / "onnx")
    (export,) = [path for path in (state_root / "onnx").iterdir() if path.is_dir()]
    another_model(export)
    again = FileClassifier(files[1][".keras"], UNIT)
    assert np.array_equal(again.predict(images(5)), expected)
    assert "run as its ONNX export" in again.notes[0]
    assert (state_root / f"onnx/{export.name}.damaged-0").exists()


def test_no_export_is_written_through_a_link(files, state_root, tmp_path):
    (tmp_path / "victim").mkdir()
    state_root.mkdir()
    (state_root / "onnx").symlink_to(tmp_path / "victim")
    with pytest.raises(UserError, match="onnx is a symbolic link"):
        FileClassifier(files[1][".keras"], UNIT)
    assert list((tmp_path / "victim").iterdir()) == []


@pytest.mark.slow
def test_two_who_open_a_keras_file_at_once_export_it_once(files, monkeypatch):
    export, exports = keras_export.save_onnx, []

    def slow(model, path):
        exports.append(path)
        time.sleep(0.5)  # in which the other one comes
        export(model, path)

    monkeypatch.setattr(keras_export, "save_onnx", slow)
    with ThreadPoolExecutor(2) as threads:
        both = list(threads.map(FORMATS[".keras"], [files[1][".keras"]] * 2))
    assert len(exports) == 1
    assert all("run as its ONNX export" in runtime.notes[0] for runtime in both)


@pytest.mark.parametrize("error", every(2, [OSError(28, "No space left on device"), MemoryError()]))
def test_what_kept_a_model_from_being_exported_once_is_not_held_against_it(
    error, files, monkeypatch
):
    def fail(*_):
        raise error

    with monkeypatch.context() as full:
        full.setattr(keras_export, "save_onnx", fail)
        with pytest.raises(type(error)):
            FileClassifier(files[1][".keras"], UNIT)
    assert "run as its ONNX export" in FileClassifier(files[1][".keras"], UNIT).notes[0]


@pytest.mark.parametrize("changed", ["onnx", "onnxruntime", "code"])
def test_an_export_by_other_code_or_libraries_is_another(changed, files, tmp_path, monkeypatch):
    before = keras_export._export_folder(files[1][".keras"])
    if changed == "code":
        (tmp_path / "keras.py").write_text("another version")
        monkeypatch.setattr(keras_export, "__file__", str(tmp_path / "keras.py"))
    else:
        version = keras_export.version
        monkeypatch.setattr(
            keras_export, "version", lambda name: "0.1" if name == changed else version(name)
        )
    assert keras_export._export_folder(files[1][".keras"]) != before


def test_a_model_that_cannot_be_exported_runs_in_keras(tmp_path):
    model = keras_model()
    model.quantize("int8")
    classifier = FileClassifier(write(model, tmp_path / "int8.keras"), UNIT)
    given = images(40)
    expected = model.predict(given.astype(np.float32) / 255, verbose=0)
    assert classifier.predict(given) == pytest.approx(expected, abs=1e-5)
    assert np.array_equal(classifier.predict(given[7:9]), classifier.predict(given)[7:9])


def test_a_model_with_dropout_and_noise_predicts_as_keras_does_every_time(tmp_path):
    keras.utils.set_random_seed(0)
    inputs = keras.Input(SHAPE)
    x = keras.layers.Dropout(0.5)(keras.layers.GaussianNoise(1.0)(inputs))
    x = keras.layers.Dense(CLASSES, "softmax")(keras.layers.Flatten()(x))
    model, path = keras.Model(inputs, x), tmp_path / "dropout.keras"
    classifier = FileClassifier(write(model, path), UNIT)
    given = images(32)
    batch = given.astype(np.float32) / 255
    expected = pytest.approx(model.predict(batch, verbose=0), abs=1e-5)
    assert classifier.notes == ("a Keras file, run as its ONNX export",)
    assert classifier.predict(given) == expected
    native = KerasRuntime(model)  # as where a model cannot be exported
    (given,) = native.signature.inputs
    first, again = (next(iter(native.run({given.name: batch}).values())) for _ in range(2))
    assert first == expected
    assert np.array_equal(first, again)


@pytest.mark.slow
def test_the_reason_why_a_model_is_not_exported_is_not_the_place_of_its_export(tmp_path):
    inputs = keras.Input(SHAPE)
    rows = keras.layers.GRU(5)(keras.layers.Reshape(SHAPE[:2])(inputs))
    model = keras.Model(inputs, keras.layers.Dense(CLASSES, "softmax")(rows))
    path = write(model, tmp_path / "gru.keras")
    with capture_logs() as told:
        classifier = FileClassifier(path, UNIT)
    assert classifier.notes == ("runs in Keras, in batches of 32",)
    (reason,) = (entry["reason"] for entry in told if "reason" in entry)
    assert "cannot open model.onnx: " in reason and "output of any previous nodes" in reason
    assert str(tmp_path) not in reason


def test_exports_to_onnx_are_the_same_bytes(tmp_path):
    model = keras_model()
    first, second = (write(model, tmp_path / f"{i}.onnx").read_bytes() for i in range(2))
    assert first == second


@pytest.mark.parametrize("suffix", every(3, [".onnx", ".keras", ".tflite"]))
def test_logits_get_a_softmax_and_that_is_said(suffix, tmp_path):
    model = keras_model(softmax=False)
    classifier = FileClassifier(write(model, tmp_path / f"logits{suffix}"), UNIT)
    logits = model.predict(images(5).astype(np.float32) / 255, verbose=0)
    expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    assert classifier.predict(images(5)) == pytest.approx(expected, abs=1e-5)
    assert any("softmax" in note for note in classifier.notes)
    assert classifier.logits


def quantised_softmax(path, classes):
    """A fully quantised classifier of so many classes, most of them improbable."""
    import tensorflow as tf

    keras.utils.set_random_seed(0)
    inputs = keras.Input(SHAPE)
    outputs = keras.layers.Dense(classes, activation="softmax")(keras.layers.Flatten()(inputs))
    given = images(50).astype(np.float32) / 255
    keras.Model(inputs, outputs).export(
        path,
        format="litert",
        verbose=False,
        optimizations=[tf.lite.Optimize.DEFAULT],
        representative_dataset=lambda: ([image[np.newaxis]] for image in given),
        target_spec={"supported_ops": [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]},
        inference_input_type=tf.int8,
        inference_output_type=tf.int8,
    )
    return path


def requantised_softmax(path, classes):
    """A classifier in ONNX whose probabilities are rounded to 8 bits."""
    weights = np.random.default_rng(0).normal(0, 0.1, (64, classes)).astype(np.float32)
    text = f"""(float[N,8,8,1] images) => (float[N,{classes}] outputs) {{
        flat = Flatten (images)
        logits = MatMul (flat, weights)
        exact = Softmax <axis = 1> (logits)
        integers = QuantizeLinear (exact, scale, zero)
        outputs = DequantizeLinear (integers, scale, zero)
    }}"""
    constants = {"weights": weights, "scale": np.float32(1 / 255), "zero": np.uint8(0)}
    return write_onnx(path, text, opset=13, **constants)


@pytest.mark.parametrize(
    ("write_many", "suffix"),
    [
        (requantised_softmax, ".onnx"),
        pytest.param(quantised_softmax, ".tflite", marks=pytest.mark.slow),
    ],
)
def test_quantised_probabilities_of_many_classes_are_no_logits(write_many, suffix, tmp_path):
    classifier = FileClassifier(write_many(tmp_path / f"many{suffix}", 1000), UNIT)
    assert abs(classifier.predict(images(5)).sum(axis=1) - 1).max() > 0.06
    assert not classifier.logits


def test_a_model_of_one_output_is_rejected(tmp_path):
    inputs = keras.Input(SHAPE)
    outputs = keras.layers.Dense(1, activation="sigmoid")(keras.layers.Flatten()(inputs))
    path = write(keras.Model(inputs, outputs), tmp_path / "one.onnx")
    with pytest.raises(UserError, match=r"one\.onnx .*one output"):
        FileClassifier(path, UNIT)


def test_a_model_that_mixes_its_batch_is_run_image_by_image(tmp_path):
    """Dividing by the batch's largest value, as dynamic quantisation does."""
    text = f"""(float[N,8,8,1] images) => (float[N,{CLASSES}] outputs) {{
        top = ReduceMax <keepdims = 0> (images)
        divisor = Add (top, one)
        scaled = Div (images, divisor)
        flat = Flatten (scaled)
        logits = MatMul (flat, weights)
        outputs = Softmax <axis = 1> (logits)
    }}"""
    weights = np.random.default_rng(0).normal(0, 1, (64, CLASSES)).astype(np.float32)
    path = write_onnx(tmp_path / "mixing.onnx", text, opset=13, one=np.float32(1), weights=weights)
    classifier = FileClassifier(path, UNIT)
    given = images(9)
    given[0] //= 20
    alone = np.concatenate([classifier.predict(given[i : i + 1]) for i in range(9)])
    assert np.array_equal(classifier.predict(given), alone)


def test_a_batch_size_written_into_the_file_is_kept(tmp_path):
    text = f"""(float[2,8,8,1] images) => (float[2,{CLASSES}] outputs) {{
        flat = Flatten (images)
        outputs = MatMul (flat, weights)
    }}"""
    weights = np.full((64, CLASSES), 0.1, np.float32)
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, CLASSES, bias=False))
    torch.nn.init.constant_(net[1].weight, 0.1)
    torch.export.save(torch.export.export(net, (torch.zeros(2, 1, 8, 8),)), tmp_path / "two.pt2")
    for path in (write_onnx(tmp_path / "two.onnx", text, weights=weights), tmp_path / "two.pt2"):
        classifier = FileClassifier(path, UNIT)
        assert classifier.predict(images(5)) == pytest.approx(np.full((5, CLASSES), 0.25))


def test_a_model_that_raises_on_a_probe_image_is_rejected_with_that_reason(tmp_path):
    """It looks up a row that is not there where no pixel is darker than white."""
    text = f"""(float[N,8,8,1] images) => (float[N,{CLASSES}] outputs) {{
        darkest = ReduceMin <keepdims = 0> (images)
        row = Cast <to = 7> (darkest)
        nothing = Gather (table, row)
        flat = Flatten (images)
        scores = MatMul (flat, weights)
        outputs = Add (scores, nothing)
    }}"""
    constants = {"table": np.zeros(1, np.float32), "weights": np.ones((64, CLASSES), np.float32)}
    write_onnx(tmp_path / "p.onnx", text, opset=13, **constants)
    with pytest.raises(UserError, match=r"p\.onnx failed"):
        FileClassifier(tmp_path / "p.onnx", UNIT)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_damaged_files_are_one_line(files, suffix, tmp_path):
    content = files[1][suffix].read_bytes()
    for name, damaged in (
        ("cut", content[: len(content) // 3]),
        ("empty", b""),
        ("text", b"hi" * 99),
    ):
        path = tmp_path / f"{name}{suffix}"
        path.write_bytes(damaged)
        if suffix == ".tflite" and name == "cut":
            continue  # may end the interpreter: tests of isolation
        with pytest.raises(UserError) as error:
            FileClassifier(path, UNIT)
        assert "\n" not in str(error.value)
        assert path.name in str(error.value)


@pytest.mark.parametrize(
    ("true", "claimed", "hint"),
    [(".tflite", ".h5", ".tflite"), (".h5", ".tflite", ".h5"), (".keras", ".tflite", ".keras"),
     (".tflite", ".onnx", ".tflite"), (".tflite", ".keras", ".tflite")],
)  # fmt: skip
def test_a_wrong_suffix_is_told(files, true, claimed, hint, tmp_path):
    path = tmp_path / f"model{claimed}"
    path.write_bytes(files[1][true].read_bytes())
    with pytest.raises(UserError, match=rf"give it the suffix \{hint}"):
        FileClassifier(path, UNIT)


def test_a_missing_file_a_folder_and_an_unknown_suffix(tmp_path):
    with pytest.raises(UserError, match="no model file"):
        FileClassifier(tmp_path / "none.onnx", UNIT)
    (tmp_path / "folder.keras").mkdir()
    with pytest.raises(UserError, match=r"folder\.keras is a folder"):
        FileClassifier(tmp_path / "folder.keras", UNIT)
    (tmp_path / "model.pkl").write_bytes(b"x")
    with pytest.raises(UserError, match=r"known: .*onnx"):
        FileClassifier(tmp_path / "model.pkl", UNIT)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (images(2).astype(np.float32) / 255, "uint8"),
        (np.zeros((2, 9, 9, 1), np.uint8), r"\(8, 8, 1\)"),
        (np.zeros((8, 8, 1), np.uint8), "takes images of shape"),
    ],
)
def test_wrong_images_are_one_line(files, given, message):
    classifier = FileClassifier(files[1][".onnx"], UNIT)
    with pytest.raises(UserError, match=message):
        classifier.predict(given)


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (
            lambda c: c.replace(b'"major": ', b'"major": 9'),
            "Serialized schema version .* does not match",
        ),
        (lambda c: c.replace(b'"name": "relu"', b'"name": "nowhere"', 1), "KeyError: 'nowhere'"),
    ],
)
def test_why_pytorch_cannot_open_an_archive_is_told(files, edit, reason, tmp_path, caplog):
    contents = entries(files[1][".pt2"])
    contents["model/models/model.json"] = edit(contents["model/models/model.json"])
    path = write_entries(tmp_path / "odd.pt2", contents)
    with pytest.raises(UserError, match=rf"PyTorch cannot open .*odd\.pt2: {reason}"):
        FileClassifier(path, UNIT)
    assert not caplog.records


class _Applied(torch.nn.Module):
    """A function of an input and modules, as a module."""

    def __init__(self, function, *modules):
        super().__init__()
        self.function = function
        self.parts = torch.nn.ModuleList(modules)

    def forward(self, images):
        return self.function(images, *self.parts)


def _torch_nets():
    from torch import nn

    def tokens(images, patches):
        return patches(images).flatten(2).transpose(1, 2)

    return {
        "convolutional": nn.Sequential(
            nn.Conv2d(1, 4, 3, padding="same"), nn.BatchNorm2d(4), nn.ReLU(inplace=True),
            nn.MaxPool2d(2), nn.Conv2d(4, 4, 1), nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Dropout(),
            nn.Flatten(), nn.Linear(4, CLASSES), nn.LogSoftmax(1),
        ),
        "viewed": _Applied(
            lambda x, a, b, o: o(b(torch.relu(a(x))).view(-1, 256)),
            nn.Conv2d(1, 6, 3, padding=1), nn.Conv2d(6, 16, 5), nn.Linear(256, CLASSES),
        ),
        "light": nn.Sequential(
            nn.ConvTranspose2d(1, 4, 2), nn.GroupNorm(2, 4), nn.Hardswish(), nn.AvgPool2d(2),
            nn.ReLU6(), nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.ELU(), nn.Linear(4, CLASSES),
        ),
        "residual": _Applied(
            lambda x, a, b: b((x - 0.1 + a(x)).mean((2, 3)).view(x.shape[0], -1)),
            nn.Conv2d(1, 4, 3, padding=1), nn.Linear(4, CLASSES),
        ),
        "attention": _Applied(
            lambda x, p, e, a, n, o: o(n(a(tokens(x, p) + e(torch.arange(16))))[:, 0]),
            nn.Conv2d(1, 8, 2, 2), nn.Embedding(16, 8),
            nn.TransformerEncoderLayer(8, 2, 16, activation="gelu", batch_first=True),
            nn.LayerNorm(8), nn.Linear(8, CLASSES),
        ),
        "recurrent": _Applied(
            lambda x, r, o: o(r(x[:, 0])[0][:, -1]),
            nn.LSTM(8, 6, batch_first=True), nn.Linear(6, CLASSES),
        ),
    }  # fmt: skip


@pytest.mark.parametrize("name", every(2, list(_torch_nets())))
@pytest.mark.parametrize("core", every(2, [True, False]))
def test_usual_torch_networks_open(name, core, tmp_path):
    net = _torch_nets()[name].eval()
    program = torch.export.export(net, (torch.zeros(2, 1, 8, 8),))
    path = tmp_path / "net.pt2"
    torch.export.save(program.run_decompositions() if core else program, path)
    given = images(2).reshape(2, 1, 8, 8).astype(np.float32) / 255
    with torch.inference_mode():
        expected = net(torch.from_numpy(given))
    runtime = open_runtime(path)
    (taken,) = runtime.signature.inputs
    (outputs,) = runtime.run({taken.name: given}).values()
    assert outputs == pytest.approx(expected.numpy(), abs=1e-5)


def test_a_pickled_torch_model_is_not_read(tmp_path):
    torch.save({"weight": torch.zeros(3)}, tmp_path / "model.pt2")
    with pytest.raises(UserError, match="a state dictionary"):
        FileClassifier(tmp_path / "model.pt2", UNIT)


@pytest.mark.parametrize("values", [{"mean": [1.0, 2.0]}, {"std": [1.0, 2.0]}])
def test_preprocessing_must_fit_the_channels(values):
    params = PreprocessingParams(**({"scale": 1.0, "mean": [0.0], "std": [1.0]} | values))
    with pytest.raises(UserError, match="channels"):
        params.apply(images(1))


def test_preprocessing_is_its_formula():
    params = PreprocessingParams(scale=0.5, mean=[10.0, 20.0, 30.0], std=[2.0, 4.0, 8.0])
    given = np.random.default_rng(0).integers(0, 256, (3, 4, 4, 3), dtype=np.uint8)
    expected = (given * 0.5 - np.array([10, 20, 30])) / np.array([2, 4, 8])
    assert params.apply(given) == pytest.approx(expected, abs=1e-4)
    assert params.apply(given).dtype == np.float32


@pytest.mark.parametrize("name", every(2, ["lenet1", "resnet"]))
def test_the_published_models_open(name, shared_models):
    shape = (28, 28, 1) if name == "lenet1" else (32, 32, 3)
    for file in (f"{name}.h5", f"{name}-quan.lite"):
        classifier = FileClassifier(shared_models / file, UNIT)
        given = np.random.default_rng(0).integers(0, 256, (9, *shape), dtype=np.uint8)
        together = classifier.predict(given)
        assert together.sum(axis=1) == pytest.approx(np.ones(9), abs=1e-3)
        assert np.array_equal(classifier.predict(given[3:5]), together[3:5])
