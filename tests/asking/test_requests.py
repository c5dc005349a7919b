"""What the command line asks for becomes overrides that Hydra reads: files, kinds, constants."""

import wave

import numpy as np
import pytest
from onnx import TensorProto, helper
from PIL import Image

from asking.asked import CONF, asked, composed
from asking.made_models import by_table
from asterism.asking.question import resolve_question
from asterism.asking.request import VetRequest
from asterism.core.messages.errors import UserError
from models.onnx_networks import constant, linear, save, streaming, value

pytestmark = pytest.mark.usefixtures("models_here")

FLOATS, BYTES, TOKENS = TensorProto.FLOAT, TensorProto.UINT8, TensorProto.INT64


def network(path, shape=("n", 8), dtype=FLOATS, more=()):
    """A network that takes this, and gives the sum of each row."""
    axes = constant("axes", np.arange(1, len(shape)))
    nodes = [
        helper.make_node("Cast", ["x"], ["real"], to=FLOATS),
        helper.make_node("ReduceSum", ["real", "axes"], ["y"], keepdims=0),
    ]
    inputs = [value("x", list(shape), dtype)] + [value(name, [2], FLOATS) for name in more]
    return save(path, nodes, inputs, [value("y", [shape[0]])], [axes])


@pytest.fixture
def pair(tmp_path):
    """An original, a compressed model, and arrays without labels."""
    weights = np.ones((8, 3), np.float32)
    np.savez(tmp_path / "inputs.npz", inputs=np.zeros((2, 8), np.float32))
    return {
        "original": linear(tmp_path / "big.onnx", weights),
        "compressed": linear(tmp_path / "small.onnx", weights),
        "inputs": tmp_path / "inputs.npz",
        "comparison": "tolerance",
    }


def test_files_are_named_by_their_whole_paths(pair, tmp_path, monkeypatch):
    (tmp_path / "labels.json").write_text("[0, 1]")
    monkeypatch.chdir(tmp_path)
    files = {name: path for name, path in pair.items() if name != "comparison"}
    short = pair | {name: path.relative_to(tmp_path) for name, path in files.items()}
    read, _ = asked(**short)
    assert [read[f"vet.{name}"] for name in files] == [str(path) for path in files.values()]
    assert "vet.labels" not in read
    labels = (tmp_path / "labels.json").relative_to(tmp_path)
    assert asked(**short, labels=labels)[0]["vet.labels"] == str(tmp_path / "labels.json")


@pytest.mark.parametrize("text", ["a\\b'\\\\'${c}\\${d}\\", 'a\\\\${b}\\c= "é,[:'])
def test_names_may_have_any_characters(pair, text):
    network(pair["original"], more=[text])
    network(pair["compressed"])
    read, _ = asked(**pair, constants=[f"{text}=2"])
    assert read["vet.feeding.constants"] == [{"input": text, "value": 2.0}]


def test_composed_parameters_hold_names_as_they_are(pair, tmp_path):
    folder = tmp_path / "it's \\${a}, a\\b\\"
    folder.mkdir()
    pair["compressed"] = pair["compressed"].rename(folder / "\\'${b}.onnx")
    network(pair["original"], more=["sr"])
    network(pair["compressed"])
    options = {"absolute": 0.5, "relative": 0.25}
    found = composed(**pair, options=options, constants=["sr=8000"])
    assert found["compressed"] == str(folder / "\\'${b}.onnx")
    assert found["comparison"] == {"kind": "tolerance", "options": options}
    assert found["feeding"]["constants"] == [{"input": "sr", "value": 8000.0}]
    assert found["domain"]["kind"] == "tensors"


def test_further_overrides_come_last(pair):
    overrides = resolve_question(
        VetRequest(**pair, overrides=["seed=3", "vet.limit=9"]), CONF
    ).overrides
    assert overrides[0] == "vet=tensors" and overrides[-2:] == ["seed=3", "vet.limit=9"]


def test_both_models_are_said_by_what_they_take_and_give(pair, tmp_path):
    pair["compressed"] = streaming(tmp_path / "stream.onnx")
    network(pair["original"], ("n", "t"), more=["gain"])
    _, said = asked(**pair, constants=["gain=1"], overrides=["vet.feeding.step=4"])
    assert said[:2] == [
        "big.onnx: takes x float32 (?, ?), gain float32 (2); gives y float32 (?)",
        "stream.onnx: takes x float32 (?, 4); gives y float32 (?, 1)",
    ], "a carried state is neither given nor an answer"


@pytest.mark.parametrize(
    ("one", "other", "fit"),
    [
        (("n", 8), ("n", 8), True),
        ((1, 8), (4, 8), True),  # sizes of a batch
        (("n", 8), ("n", "t"), True),
        (("n", None, 4), ("n", 6, 4), True),
        (("n", 8), ("n", 9), False),
        (("n", 6, 4), ("n", 6, 5), False),
        (("n", 8), ("n", 8, 1), False),
        (("n", 3, 8, 8), ("n", 8, 8, 3), True),  # images may be stored either way
        (("n", 8), ("n", 1, 8, 8), False),
    ],
)
def test_main_inputs_have_to_fit_together(pair, one, other, fit):
    network(pair["original"], one)
    network(pair["compressed"], other)
    if not fit:
        with pytest.raises(UserError, match=r"big\.onnx takes x .*small\.onnx takes x .*no\s+pair"):
            asked(**pair)
        return
    images = len(one) == 4
    sizes = [size if isinstance(size, int) else 8 for size in other[1:]]
    items = np.zeros((2, 8, 8, 3), np.uint8) if images else np.zeros((2, *sizes), np.float32)
    np.savez(pair["inputs"], inputs=items)
    assert asked(**pair, kind="images" if images else "tensors")[0]


FILES = {
    "i.npz": lambda path, dtype: np.savez(path, inputs=np.zeros((2, 8), dtype)),
    "pictures.npz": lambda path, dtype: np.savez(path, inputs=np.zeros((2, 8, 8, 3), np.uint8)),
    "first.npz": lambda path, dtype: np.savez(path, inputs=np.zeros((2, 3, 8, 8), np.uint8)),
    "real.npy": lambda path, dtype: np.save(path, np.zeros((2, 3, 8, 8), dtype)),
    "i.png": lambda path, dtype: Image.new("RGB", (8, 8)).save(path),
    "i.exe": lambda path, dtype: path.write_bytes(b"MZ" + bytes(20)),
}


def sound(path, _):
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16000)
        file.writeframes(bytes(16))


FILES["i.wav"] = sound


@pytest.mark.parametrize(
    ("name", "shape", "dtype", "request_", "kind", "told"),
    [
        ("i.npz", ("n", 8), FLOATS, {}, "tensors", "takes real numbers of 1 axes (another: --"),
        ("i.npz", ("n", 8), TOKENS, {}, "tokens", "takes rows of integers (another: --kind)"),
        ("pictures.npz", ("n", 3, 8, 8), FLOATS, {}, "images", "channels (another: --kind)"),
        ("first.npz", ("n", 3, 8, 8), FLOATS, {}, "images", "channels (another: --kind)"),
        ("real.npy", ("n", 3, 8, 8), FLOATS, {}, "tensors", "no bytes, as pictures are"),
        ("i.wav", ("n", 8), FLOATS, {}, "sound", "by the inputs' file names (another: --kind)"),
        ("i.png", ("n", 3, 8, 8), FLOATS, {}, "images", "by the inputs' file names (another: -"),
        ("i.exe", ("n", 8), FLOATS, {"kind": "bytes"}, "bytes", "as was asked"),
    ],
)
def test_the_kind_is_asked_for_or_told_by_files_or_by_the_model(
    pair, tmp_path, name, shape, dtype, request_, kind, told
):
    for model in (pair["original"], pair["compressed"]):
        network(model, shape, dtype)
    pair["inputs"] = tmp_path / "given" / name
    pair["inputs"].parent.mkdir()
    FILES[name](pair["inputs"], np.int64 if dtype == TOKENS else np.float32)
    read, said = asked(**pair, **request_)
    assert read["vet"] == kind
    assert said[2].startswith(f"kind {kind}") and told in said[2]


@pytest.mark.parametrize(
    ("key", "text"),
    [("kind", "kind of inputs"), ("preprocessing", "preprocessing"), ("comparison", "comparison")],
)
def test_an_unknown_name_is_one_line(pair, key, text):
    for model in (pair["original"], pair["compressed"]):
        network(model, ("n", 3, 8, 8))
    FILES["pictures.npz"](pair["inputs"], None)
    with pytest.raises(UserError, match=f"no {text} is called 'unti'"):
        asked(**pair | {"kind": "images"} | {key: "unti"})


def test_constants_are_names_and_numbers(pair):
    assert "vet.feeding.constants" not in asked(**pair)[0]
    for model in (pair["original"], pair["compressed"]):
        network(model, more=["sr", "a=b"])
    read, _ = asked(**pair, constants=["sr=16000", "a=b=-0.5"])
    assert read["vet.feeding.constants"] == [
        {"input": "sr", "value": 16000.0},
        {"input": "a=b", "value": -0.5},
    ]
    with pytest.raises(UserError, match=r"sr .* has no value"):
        asked(**pair)
    for wrong in ("sr", "sr=", "sr=many"):
        with pytest.raises(
            UserError, match=f"--constant '{wrong}': give NAME=NUMBER, or NAME=mask,"
        ):
            asked(**pair, constants=[wrong])


def texts(rows, pad, length=8):
    items = np.random.default_rng(0).integers(5, rows, (20, length))
    items[:, 0], items[:, 4:] = 2, pad
    return items


@pytest.mark.parametrize("pad", [0, 3])
def test_texts_and_the_file_tell_of_tokens(pair, tmp_path, pad):
    for path in (pair["original"], pair["compressed"]):
        by_table(path, 50)
    np.savez(pair["inputs"], inputs=texts(40, pad, length=6))
    found = composed(**pair)
    assert found["feeding"]["pad"] == pad
    assert found["domain"]["options"] == {"vocabulary": 50, "padding": pad, "protected": [2]}
    own = composed(**pair, overrides=["vet.feeding.pad=7", "vet.domain.options.vocabulary=60"])
    assert own["feeding"]["pad"] == own["domain"]["options"]["padding"] == 7
    assert own["domain"]["options"]["vocabulary"] == 60


def test_bytes_may_be_an_array_of_bytes(pair):
    for path in (pair["original"], pair["compressed"]):
        network(path, ("n", 8), TOKENS)
    items = np.random.default_rng(0).integers(0, 256, (20, 8)).astype(np.uint8)
    np.savez(pair["inputs"], inputs=items)
    assert composed(**pair, kind="bytes")["domain"]["kind"] == "bytes"


def test_a_file_that_tells_no_vocabulary_leaves_it_to_the_texts(pair):
    for path in (pair["original"], pair["compressed"]):
        network(path, ("n", 8), TOKENS)
    items = texts(40, 0)
    np.savez(pair["inputs"], inputs=items)
    assert composed(**pair)["domain"]["options"]["vocabulary"] == items.max() + 1
