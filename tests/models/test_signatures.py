"""Signatures: what model files take and give, read without running them."""

import json
import time

import h5py
import keras
import numpy as np
import pytest
import tensorflow as tf
import torch
from ai_edge_litert import schema_py_generated as schema
from onnx_networks import linear, masked, quantised, streaming
from small_litert import LiteFile
from strange_programs import entries
from strange_programs import write as write_entries
from torch import nn

from asterism.asking.model_description import describe_model, examine_model
from asterism.core.messages.errors import UserError
from asterism.models.foreign.torch_operators import only_computes
from asterism.models.formats import open_runtime
from asterism.models.signatures.reading import read_signature
from asterism.models.signatures.signature import (
    Signature,
    TensorSpec,
    kind_of_inputs,
    matching_states,
)
from onnx_texts import write_onnx
from readers.formats import litert_edited
from thinning import every
from vetting.torch_programs import QuantisedLinear

L = keras.layers
WEIGHTS = np.arange(6, dtype=np.float32).reshape(3, 2)


@pytest.mark.parametrize("of_transformers", [False, True])
def test_weights_alone_are_told_how_they_become_a_model(tmp_path, of_transformers):
    path = tmp_path / "m.safetensors"
    path.write_bytes((2).to_bytes(8, "little") + b"{}")
    if of_transformers:
        (tmp_path / "config.json").write_text("{}")
    with pytest.raises(UserError, match=r"safetensors\.torch\.load_file") as error:
        read_signature(path)
    assert ("optimum-cli" in str(error.value)) is of_transformers


def test_an_onnx_file_says_names_types_and_shapes(tmp_path):
    found = read_signature(linear(tmp_path / "a.onnx", WEIGHTS, batch="n"))
    assert found.inputs == (TensorSpec("x", "float32", (None, 3)),)
    assert found.outputs == (TensorSpec("y", "float32", (None, 2), made_by="matmul"),)
    assert (found.operators, found.quantised, found.half, found.streams) == (1, 0, False, False)


def test_integers_and_half_precision_are_counted(tmp_path):
    found = read_signature(quantised(tmp_path / "q.onnx", WEIGHTS))
    assert (found.operators, found.quantised) == (2, 1)
    assert read_signature(linear(tmp_path / "half.onnx", WEIGHTS.astype(np.float16))).half


def test_a_state_is_an_input_that_an_output_carries_on(tmp_path):
    found = read_signature(streaming(tmp_path / "s.onnx"))
    assert found.states == (("state_in", "state_out"),)
    assert [spec.name for spec in found.given] == ["x"]
    assert [spec.name for spec in found.answers] == ["y"]
    assert found.streams


@pytest.mark.parametrize(
    ("given", "answer", "same"),
    [
        (("h", (1, 128)), ("hn", (1, 128)), True),
        (("state", (2, None, 8)), ("stateN", (None, None, None)), True),
        (("old_memory", (1, 8)), ("new_memory", (1, 8)), True),
        (("state", (2, 8)), ("stateN", (2, 9)), False),
        (("h", (1, 128)), ("c", (1, 128)), False),
        (("input", (1, 8)), ("output", (1, 8)), False),
    ],
)
def test_states_are_matched_by_name_and_shape(given, answer, same):
    inputs = [TensorSpec("x", "float32", (None, 3)), TensorSpec(given[0], "float32", given[1])]
    outputs = [TensorSpec("y", "float32", (None, 3)), TensorSpec(answer[0], "float32", answer[1])]
    assert matching_states(inputs, outputs) == (((given[0], answer[0]),) if same else ())


def test_a_network_that_only_carries_states_has_none():
    one, other = TensorSpec("h", "float32", (1, 3)), TensorSpec("hn", "float32", (1, 3))
    assert matching_states([one], [other]) == ()


def test_lite_files_say_what_integers_stand_for(tmp_path):
    model = keras.Sequential([keras.Input((4,)), L.Dense(3)])
    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    rows = np.linspace(-1, 1, 80, dtype=np.float32).reshape(20, 1, 4)
    converter.representative_dataset = lambda: ([row] for row in rows)
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = converter.inference_output_type = tf.int8
    (tmp_path / "m.tflite").write_bytes(converter.convert())
    found = read_signature(tmp_path / "m.tflite")
    details = tf.lite.Interpreter(str(tmp_path / "m.tflite")).get_input_details()[0]
    (spec,) = found.inputs
    assert (spec.name, spec.dtype, spec.shape) == (details["name"], "int8", (None, 4))
    assert (spec.scale, spec.zero) == pytest.approx(details["quantization"])
    assert found.quantised >= 1


@pytest.mark.parametrize("suffix", every(2, [".keras", ".h5"]))
def test_activations_have_the_shape_of_the_layer_before(tmp_path, suffix):
    inputs = keras.Input((8,))
    scores = L.Dense(7)(L.Dense(3)(inputs))
    branches = keras.Model(inputs, [L.Softmax()(L.Dropout(0.5)(scores)), L.Softmax()(inputs)])
    chain = keras.Sequential([keras.Input((8,)), L.Dense(7), L.Activation("softmax"), L.ReLU()])
    for name, model in (("branches", branches), ("chain", chain)):
        model.save(tmp_path / f"{name}{suffix}")
    shapes = [output.shape for output in read_signature(tmp_path / f"branches{suffix}").outputs]
    assert shapes == [(None, 7), ()]
    assert read_signature(tmp_path / f"chain{suffix}").outputs[0].shape == (None, 7)


def test_a_layer_that_follows_itself_is_no_loop(tmp_path):
    chain = keras.Sequential([keras.Input((8,)), L.Dense(7), L.Softmax(name="end")])
    chain.save(tmp_path / "chain.keras")
    members = entries(tmp_path / "chain.keras")
    config = json.loads(members["config.json"])
    config["config"]["layers"][-1]["inbound_nodes"] = [[["end", 0, 0, {}]]]
    write_entries(tmp_path / "m.keras", members | {"config.json": json.dumps(config)})
    assert read_signature(tmp_path / "m.keras").outputs[0].shape == ()


@pytest.mark.parametrize("suffix", every(2, [".keras", ".h5"]))
def test_keras_files_are_read_without_keras(tmp_path, suffix):
    inputs = keras.Input((8, 8, 1), name="picture")
    model = keras.Model(inputs, L.Dense(5, name="scores")(L.Flatten()(inputs)))
    model.save(tmp_path / f"m{suffix}")
    found = read_signature(tmp_path / f"m{suffix}")
    assert found.inputs == (TensorSpec("picture", "float32", (None, 8, 8, 1)),)
    assert found.outputs == (TensorSpec("scores", "float32", (None, 5), made_by="linear"),)
    assert found.operators == 2


@pytest.mark.parametrize(
    ("dtype", "shape", "kind"),
    [
        ("float32", (None, 3, 224, 224), "images"),
        ("float32", (1, 28, 28, 1), "images"),
        ("float32", (None, 43844, 1), "sound"),
        ("int64", (None, 128), "tokens"),
        ("uint8", (None, 2048), "bytes"),
        ("float32", (None, 28, 28), "tensors"),
        ("float32", (None, 20), "tensors"),
    ],
)
def test_kinds_are_guessed_by_type_and_shape(dtype, shape, kind):
    signature = Signature("onnx", (TensorSpec("x", dtype, shape),), ())
    assert kind_of_inputs(signature)[0] == kind


def test_integers_that_stand_for_real_numbers_are_no_tokens():
    spec = TensorSpec("x", "int8", (1, 40), scale=0.1)
    assert kind_of_inputs(Signature("tflite", (spec,), ()))[0] == "tensors"


def test_a_mask_is_an_input_of_its_own(tmp_path):
    names = [spec.name for spec in read_signature(masked(tmp_path / "m.onnx")).given]
    assert names == ["input_ids", "attention_mask", "factor"]


def test_a_mask_before_the_tokens_is_no_main_input():
    tokens, mask = (TensorSpec(n, "int64", (None, None)) for n in ("ids", "attention_mask"))
    picture = TensorSpec("masked_picture", "float32", (None, 3, 8, 8))
    for order, main in (((mask, tokens), tokens), ((picture, mask), picture)):
        assert Signature("onnx", order, ()).given[0] == main
    assert Signature("onnx", (mask, picture), ()).given[0] == mask, "it is not known what else"


def test_a_softmax_is_found_behind_what_only_changes_its_form(tmp_path):
    text = """(float[n,3] x) => (float[n,2] y) {
        h = MatMul (x, w)
        p = Softmax (h)
        y = Cast <to = 1> (p)
    }"""
    path = write_onnx(tmp_path / "m.onnx", text, w=WEIGHTS)
    assert read_signature(path).outputs[0].made_by == "softmax"
    network = keras.Sequential([keras.Input((4,)), L.Dense(3, activation="sigmoid")])
    network.save(tmp_path / "m.keras")
    assert read_signature(tmp_path / "m.keras").outputs[0].made_by == "sigmoid"
    converter = tf.lite.TFLiteConverter.from_keras_model(network)
    (tmp_path / "m.tflite").write_bytes(converter.convert())
    assert read_signature(tmp_path / "m.tflite").outputs[0].made_by == "sigmoid"


def test_a_long_chain_of_layers_is_followed_once(tmp_path):
    """However many outputs lie at its end."""
    count = 4000
    layers = [{"class_name": "Dense", "config": {"name": "s0", "units": 7}}]
    for number in range(1, count):
        before = [[[f"s{number - 1}", 0, 0, {}]]]
        layer = {"class_name": "Softmax", "config": {"name": f"s{number}"}}
        layers.append(layer | {"inbound_nodes": before})
    ends = [[f"s{count - 1}", 0, 0]] * count
    config = {"class_name": "Functional", "config": {"layers": layers, "output_layers": ends}}
    with h5py.File(tmp_path / "m.h5", "w", libver="latest") as file:
        file.attrs["model_config"] = json.dumps(config)
    started = time.process_time()
    found = read_signature(tmp_path / "m.h5")
    assert time.process_time() - started < 5
    assert {output.shape for output in found.outputs} == {(None, 7)}


@pytest.mark.parametrize("half", [False, True])
def test_half_precision_of_a_litert_file_is_told(tmp_path, half):
    file = LiteFile()
    tensors = {"x": (1, 3), "w": np.ones((2, 3), np.float32), "y": (1, 2)}
    file.graph(tensors, [("FULLY_CONNECTED", ["x", "w"], ["y"])], ["x"], ["y"])
    if half:
        file._model.subgraphs[0].tensors[1].type = schema.TensorType.FLOAT16
    assert read_signature(file.write(tmp_path / "a.tflite")).half is half


def test_outputs_stand_in_the_converted_models_order_whatever_the_files_is(tmp_path):
    def turn(model):
        model.subgraphs[0].outputs = model.subgraphs[0].outputs[::-1]

    given = keras.Input((6,))
    net = keras.Model(given, [L.Dense(4)(given), L.Dense(1)(given)])
    content = tf.lite.TFLiteConverter.from_keras_model(net).convert()
    rows = np.random.default_rng(0).normal(size=(3, 6)).astype(np.float32)
    for file in (content, litert_edited(content, turn)):
        (tmp_path / "m.tflite").write_bytes(file)
        runtime = open_runtime(tmp_path / "m.tflite")
        assert [output.shape[-1] for output in runtime.signature.outputs] == [4, 1]
        found = runtime.run({runtime.signature.inputs[0].name: rows})
        for mine, theirs in zip(found.values(), net(rows), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-5)


ROWS = torch.randn(6, 8, generator=torch.Generator().manual_seed(0))


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(50, 4)

    def forward(self, tokens):
        return {"logits": self.table(tokens).mean(1), "length": tokens.ne(0).sum(1)}


def saved(net, given, path, **options):
    torch.export.save(torch.export.export(net.eval(), (given,), **options), path)
    return path


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """A quantised network, and its file, which takes any number of rows."""
    layer = QuantisedLinear(nn.Linear(8, 3), 8, given=0.02, zero=128)
    net, free = nn.Sequential(layer, nn.Softmax(1)), ({0: torch.export.Dim("n")},)
    folder = tmp_path_factory.mktemp("quantised")
    return net, saved(net, ROWS, folder / "q.pt2", dynamic_shapes=free)


def test_a_quantised_program_is_read_and_gives_the_same(program):
    net, path = program
    signature = read_signature(path)
    (given,), (answer,) = signature.inputs, signature.outputs
    assert (signature.format, signature.quantised) == ("torch", 3)
    assert (given.name, given.dtype, given.shape) == ("input", "float32", (None, 8))
    assert given.calibrated == pytest.approx((-2.56, 2.54))
    assert (answer.shape, answer.made_by) == ((None, 3), "softmax")
    (found,) = open_runtime(path).run({"input": ROWS.numpy()}).values()
    np.testing.assert_allclose(found, net(ROWS).detach().numpy(), rtol=1e-6)


@pytest.mark.slow
def test_tokens_index_a_table_and_outputs_have_names(tmp_path):
    path = saved(Words(), torch.ones(2, 5, dtype=torch.int64), tmp_path / "w.pt2")
    signature = read_signature(path)
    assert (signature.inputs[0].rows, signature.inputs[0].shape) == (50, (2, 5))
    assert [spec.dtype for spec in signature.outputs] == ["float32", "int64"]
    assert signature.outputs[0].made_by == "mean"


@pytest.mark.parametrize(
    ("name", "taken"),
    [
        ("quantized_decomposed.quantize_per_tensor.default", True),
        ("quantized_decomposed.dequantize_per_token.default", True),
        ("quantized_decomposed.quantize_per_channel.default", True),
        ("quantized_decomposed.quantize_per_tensor.nothing", False),
        ("quantized_decomposed.choose_qparams.tensor", True),
        ("quantized_decomposed.fake_quant_per_channel.default", False),
        ("torchao.quantize_affine.default", True),
        ("torchao.dequantize_affine.default", True),
        ("torchao.choose_qparams_affine.default", True),
        ("torchao.da8w4_linear_cpu.default", False),
        ("torchao.swizzle_mm.default", False),
        ("torchao.qscaled_dot_product.default", False),
    ],
)
def test_of_quantised_programs_what_converts_numbers_is_taken(name, taken):
    assert only_computes(f"torch.ops.{name}") == taken


@pytest.mark.slow
def test_check_says_what_a_program_is_and_what_is_none(program, tmp_path):
    _, path = program
    told = "\n".join(describe_model(examine_model(path)))
    for part in ("PyTorch", "3 of them on integers", "takes   input", "asterism vet"):
        assert part in told
    other = tmp_path / "q.zip"
    other.write_bytes(path.read_bytes())
    with pytest.raises(UserError, match=r"suffix \.pt2"):
        examine_model(other)
