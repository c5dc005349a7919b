"""Files that people have beside models that open: ``check`` and ``vet`` say the same of each."""

import json
import re
import struct
from pathlib import Path

import h5py
import keras
import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper
from typer.testing import CliRunner

from asterism.cli import commands
from models.onnx_networks import constant, linear, save, value
from models.small_litert import lite_linear, lite_of_others

WEIGHTS = np.ones((8, 3), np.float32)
CODE = r"python -c \"import torch; .*torch\.onnx\.export\(.*, '{stem}\.onnx', dynamo=False\)\""


def module(path):
    torch.save(torch.nn.Sequential(torch.nn.Linear(8, 3)), path)


def old_module(path):
    torch.save(torch.nn.Linear(8, 3), path, _use_new_zipfile_serialization=False)


def state(path):
    torch.save(torch.nn.Linear(8, 3).state_dict(), path)


def old_state(path):
    torch.save(torch.nn.Linear(8, 3).state_dict(), path, _use_new_zipfile_serialization=False)


def script(path):
    torch.jit.trace(torch.nn.Linear(8, 3), torch.zeros(1, 8)).save(path)


def program(path):
    torch.export.save(torch.export.export(torch.nn.Linear(8, 3), (torch.zeros(1, 8),)), path)


def safetensors(path):
    head = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    path.write_bytes(struct.pack("<Q", len(head)) + head + b"\0\0\0\0")


def gguf(path):
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 0))


def saved_model(path):
    path.mkdir()
    (path / "saved_model.pb").write_bytes(b"\x08\x01")


def pointer(path):
    path.write_text(f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 1\n")


def page(path):
    path.write_text("\n<!DOCTYPE html><html><body>Not found</body></html>")


def answer(path):
    path.write_text('{"error": "Repository not found"}')


def cut(path):
    linear(path, WEIGHTS)
    path.write_bytes(path.read_bytes()[:-30])


def sizes_against_each_other(path):
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "net",
        [value("x", ["n", 5])],
        [value("y", ["n", 3])],
        [constant("w", WEIGHTS)],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


def sizes_found_wrong_when_it_runs(path):
    """The shape is a product of given numbers, which only running it says."""
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Add", ["s", "one"], ["t"]),
        helper.make_node("Reshape", ["x", "t"], ["y"]),
    ]
    save(
        path,
        nodes,
        [value("x", ["n", 4])],
        [value("y", ["a", "b"])],
        [constant("one", np.int64([1]))],
    )


def operator_of_no_library(path):
    graph = helper.make_graph(
        [helper.make_node("Gate", ["x"], ["y"], domain="mine")],
        "net",
        [value("x", [1, 4])],
        [value("y", [1, 4])],
    )
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=9), path)


def flex(path):
    lite_of_others(path, "FlexRFFT")


def custom(path):
    lite_of_others(path, "MyGate")


@keras.saving.register_keras_serializable(package="mine")
class Gate(keras.layers.Layer):
    def call(self, x):
        return x * keras.ops.sigmoid(x)


def own_layer(path):
    keras.Sequential([keras.Input((8,)), Gate(), keras.layers.Dense(3)]).save(path)


def arguments_of_nobody(path):
    keras.Sequential([keras.Input((8,)), keras.layers.Dense(3)]).save(path)
    with h5py.File(path, "a") as file:
        config = json.loads(file.attrs["model_config"])
        config["config"]["layers"][-1]["config"]["sparsity"] = 2
        file.attrs["model_config"] = json.dumps(config)
        file.attrs["keras_version"] = "2.3.1"


def weights_only(path):
    keras.Sequential([keras.Input((8,)), keras.layers.Dense(3)]).save_weights(path)


#: How a file is made, what it is called, and what is said of it.
FILES = [
    (module, "m.pt", rf"a pickled module of PyTorch \(torch\.nn\.\S*Sequential\).*{CODE}"),
    (module, "m.onnx", "a pickled module of PyTorch"),
    (old_module, "m.pth", rf"a pickled module of PyTorch \(torch\.nn\.\S*Linear\).*{CODE}"),
    (state, "m.pth", r"weights \(PyTorch.* without their network.*load_state_dict"),
    (old_state, "m.pt", r"weights \(PyTorch.* without their network.*load_state_dict"),
    (script, "m.pt", rf"a TorchScript program.*{CODE}"),
    (program, "m.bin", r"torch\.export wrote: give it the suffix \.pt2"),
    (safetensors, "m.safetensors", r"weights \(safetensors\) without their network.*load_file"),
    (gguf, "m.gguf", r"a language model for llama\.cpp.*optimum-cli export onnx"),
    (saved_model, "saved", r"SavedModel .*TFLiteConverter\.from_saved_model\('\S*saved'\)"),
    (pointer, "m.onnx", r"a pointer of git-lfs.*`git lfs pull --include m\.onnx`"),
    (pointer, "m.tflite", "a pointer of git-lfs"),
    (page, "m.onnx", "a page of HTML, as a failed download leaves it"),
    (page, "m.h5", "a page of HTML"),
    (answer, "m.keras", "a text, no model"),
    (Path.touch, "m.onnx", "is empty"),
    (Path.touch, "m.tflite", "is empty"),
    (Path.touch, "m.h5", "is empty"),
    (cut, "m.onnx", "is no ONNX model, or is damaged"),
    (lambda path: lite_linear(path, WEIGHTS), "m.h5", r"a file of LiteRT: give it .*\.tflite"),
    (sizes_against_each_other, "m.onnx", "ONNX Runtime cannot open"),
    (sizes_found_wrong_when_it_runs, "m.onnx", "cannot be run: .*Reshape"),
    (operator_of_no_library, "m.onnx", "ONNX Runtime cannot open .*mine"),
    (flex, "m.tflite", r"operators of TensorFlow itself \(flex\).*supported_ops"),
    (custom, "m.tflite", "custom op.*MyGate"),
    (own_layer, "own.keras", "needs Gate, which Keras does not have"),
    (own_layer, "m.h5", "needs Gate, which Keras does not have"),
    (arguments_of_nobody, "m.h5", "Keras cannot read .*sparsity"),
    (weights_only, "m.weights.h5", "weights only"),
]

#: Opened by Keras, each in a process of its own.
SLOW = ("m.keras", "m.h5", "own.keras", "m.weights.h5")


def run(*words):
    return CliRunner().invoke(commands.app, [str(word) for word in words])


def reason(ended):
    """Why a command refuses a file: its error, or the line of ``check`` about what it has read."""
    assert ended.exit_code == 1, ended.output
    if ended.stderr:
        return ended.stderr.strip().removeprefix("error: ")
    if ended.output:
        assert "yes" not in ended.output
        return ended.output.splitlines()[-1].partition("it cannot be opened: ")[2]
    return str(ended.exception)


def test_what_is_wrong_with_one_file_keeps_no_other_from_being_looked_at(tmp_path):
    pointer(tmp_path / "one.onnx")
    two = linear(tmp_path / "two.onnx", WEIGHTS)
    ended = run("check", tmp_path / "one.onnx", two)
    assert ended.exit_code == 1
    assert "git lfs pull" in ended.stderr and f"{two}: ONNX" in ended.stdout
    told = json.loads(run("check", tmp_path / "one.onnx", two, "--json").stdout)["models"]
    assert "git lfs pull" in told[0]["fault"] and told[1]["fault"] == ""


@pytest.mark.parametrize(
    ("make", "name", "told"),
    [
        pytest.param(
            *f,
            id=f"{f[0].__name__}-{f[1]}",
            marks=[pytest.mark.slow] * (f[1] in SLOW or number % 3 > 0),
        )
        for number, f in enumerate(FILES)
    ],
)
def test_check_and_vet_say_the_same_and_make_nothing(make, name, told, tmp_path, monkeypatch):
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    file, good = tmp_path / name, linear(tmp_path / "good.onnx", WEIGHTS)
    make(file)
    np.savez(tmp_path / "x.npz", inputs=np.zeros((4, 8), np.float32))
    said = reason(run("check", file))
    assert re.search(told.replace("{stem}", file.stem), said), said
    assert "\n" not in said and str(file) in said
    for pair in ((file, good), (good, file)):
        assert reason(run("vet", *pair, "--inputs", tmp_path / "x.npz")) == said
    assert list(here.iterdir()) == [], "no project"


def test_a_model_with_its_data_in_another_file_is_taken_as_it_is(tmp_path, monkeypatch):
    from asterism.cli.program import keep_packed_model, packed_models

    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    path = linear(tmp_path / "apart.onnx", WEIGHTS)
    outside = {"location": "apart.bin", "size_threshold": 0}
    onnx.save(onnx.load(path), path, save_as_external_data=True, **outside)
    ended = run("check", path)
    assert ended.exit_code == 0 and "yes     vet a compressed version" in ended.output
    places = []
    for content in (1.0, 1.0, 2.0):
        (tmp_path / "apart.bin").write_bytes(np.full((8, 3), content, np.float32).tobytes())
        with packed_models(path) as (whole,):
            places.append(keep_packed_model(whole))
    assert places[0] == places[1] != places[2], "a change of the data is a change of the file"
    weights = onnx.load(places[2]).graph.initializer[0]
    assert (onnx.numpy_helper.to_array(weights) == 2).all()
    assert [place.name for place in places] == ["apart.onnx"] * 3
    with packed_models(linear(tmp_path / "one.onnx", WEIGHTS)) as (whole,):
        assert keep_packed_model(whole) == whole == tmp_path / "one.onnx"


def test_free_sizes_prove_nothing_against_a_model(tmp_path):
    """A window of 32 fits no made-up size of 8, and the given inputs may fit."""
    node = helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[32])
    x, y = (value(name, ["n", 1, "t"], TensorProto.FLOAT) for name in "xy")
    path = save(tmp_path / "window.onnx", [node], [x], [y])
    assert run("check", path).exit_code == 0


def test_a_link_with_a_models_name_to_a_numbered_file_is_a_model(tmp_path):
    """Caches of downloads keep files so."""
    from asterism.core.files.user_files import absolute_path

    blob = linear(tmp_path / "blob.onnx", WEIGHTS).rename(tmp_path / "0123abcd")
    link = tmp_path / "model.onnx"
    link.symlink_to(blob)
    assert run("check", link).exit_code == 0
    assert absolute_path(link) == link
    assert absolute_path(tmp_path / "x" / "..") == tmp_path
