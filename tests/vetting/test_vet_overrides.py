"""What the command line asks for becomes overrides that Hydra reads, and guesses that are said."""

import numpy as np
import pytest
import yaml
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf
from onnx import TensorProto, helper

from asterism.asking.question import vet_overrides
from asterism.asking.request import VetRequest
from asterism.config import compose
from asterism.core.messages.errors import UserError
from models.onnx_networks import constant, linear, save, streaming, value
from places import ROOT

CONF = ROOT / "conf"
GRAMMAR = OverridesParser.create()
FLOATS, BYTES, TOKENS = TensorProto.FLOAT, TensorProto.UINT8, TensorProto.INT64


def network(path, shape=("n", 8), dtype=FLOATS, last="Identity", axes=2, more=()):
    """A network whose first output has so many axes and comes from this operator."""
    sizes = [2, 3, 4][:axes]
    nodes = [
        helper.make_node("ConstantOfShape", ["k"], ["z"]),
        helper.make_node(last, ["z"], ["y"]),
    ]
    inputs = [value("x", list(shape), dtype)] + [value(name, [2], FLOATS) for name in more]
    return save(
        path, nodes, inputs, [value("y", sizes)], [constant("k", np.array(sizes, np.int64))]
    )


@pytest.fixture
def pair(tmp_path):
    """An original, a compressed model, and arrays without labels."""
    weights = np.ones((8, 3), np.float32)
    np.savez(tmp_path / "inputs.npz", inputs=np.zeros((2, 8), np.float32))
    return {
        "original": linear(tmp_path / "big.onnx", weights),
        "compressed": linear(tmp_path / "small.onnx", weights),
        "inputs": tmp_path / "inputs.npz",
    }


def asked(**request):
    """The overrides as Hydra reads them, by key, and what is said."""
    overrides, said = vet_overrides(VetRequest(**request), CONF)
    read = {}
    for text in overrides:
        override = GRAMMAR.parse_override(text)
        if override.is_delete():
            read["~" + override.key_or_group] = None
            continue
        whole = OmegaConf.create({"value": override.value()})
        key = "+" * override.is_add() + override.key_or_group
        read[key] = OmegaConf.to_container(whole, resolve=True)["value"]
    return read, said


def test_files_are_named_by_their_whole_paths(pair, tmp_path, monkeypatch):
    (tmp_path / "labels.json").write_text("[0, 1]")
    monkeypatch.chdir(tmp_path)
    short = {name: path.relative_to(tmp_path) for name, path in pair.items()}
    read, _ = asked(**short)
    assert [read[f"vet.{name}"] for name in pair] == [str(path) for path in pair.values()]
    assert "vet.labels" not in read
    labels = (tmp_path / "labels.json").relative_to(tmp_path)
    assert asked(**short, labels=labels)[0]["vet.labels"] == str(tmp_path / "labels.json")


TEXTS = st.text(st.sampled_from("\\'${} \"a=,[:é"), max_size=8)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)
@given(TEXTS)
@example("a\\b'\\\\'${c}\\${d}\\")
@example("a\\\\${b}\\c=")
def test_texts_may_have_any_characters(pair, text):
    options = {"one": text, "some": [1, {"inner": text}, None], "other": {"on": True, "x": 1e-7}}
    read, _ = asked(**pair, comparison="tolerance", options=options, constants=[f"{text}=2"])
    assert read["+vet.comparison.options"] == options
    assert read["vet.feeding.constants"] == [{"input": text, "value": 2.0}]


def test_composed_parameters_hold_names_as_they_are(pair, tmp_path):
    folder = tmp_path / "it's \\${a}, a\\b\\"
    folder.mkdir()
    pair["compressed"] = pair["compressed"].rename(folder / "\\'${b}.onnx")
    options = {"absolute": 0.5, "relative": 0.25}
    request = VetRequest(**pair, comparison="tolerance", options=options, constants=["sr=8000"])
    found = yaml.safe_load(compose(CONF, vet_overrides(request, CONF)[0]))["vet"]
    assert found["compressed"] == str(folder / "\\'${b}.onnx")
    assert found["comparison"] == {"kind": "tolerance", "options": options}
    assert found["feeding"]["constants"] == [{"input": "sr", "value": 8000.0}]
    assert found["domain"]["kind"] == "tensors"


def test_further_overrides_come_last(pair):
    overrides, _ = vet_overrides(VetRequest(**pair, overrides=["seed=3", "vet=sound"]), CONF)
    assert overrides[0] == "vet=tensors" and overrides[-2:] == ["seed=3", "vet=sound"]


def test_both_models_are_said_by_what_they_take_and_give(pair, tmp_path):
    pair["compressed"] = streaming(tmp_path / "stream.onnx")
    network(pair["original"], (1, "t"), more=["gain"])
    _, said = asked(**pair)
    assert said[:2] == [
        "big.onnx: takes x float32 (1, ?), gain float32 (2); gives y float32 (2, 3)",
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
    if fit:
        assert len(asked(**pair, kind="tensors")[1]) == 4
    else:
        with pytest.raises(UserError, match=r"big\.onnx takes x .*small\.onnx takes x .*no\s+pair"):
            asked(**pair)


@pytest.mark.parametrize(
    ("name", "shape", "dtype", "request_", "kind", "told"),
    [
        ("i.npz", ("n", 8), FLOATS, {}, "tensors", "takes real numbers of 1 axes (another: --"),
        ("i.npz", ("n", 8), TOKENS, {}, "tokens", "takes rows of integers (another: --kind)"),
        ("i.npz", ("n", 3, 8, 8), FLOATS, {}, "images", "channels (another: --kind)"),
        ("i.wav", ("n", 8), FLOATS, {}, "sound", "by the inputs' file names (another: --kind)"),
        ("i.png", ("n", 8), FLOATS, {}, "images", "by the inputs' file names (another: --kind)"),
        ("i.exe", ("n", 8), FLOATS, {}, "bytes", "by the inputs' file names (another: --kind)"),
        ("i.wav", ("n", 8), TOKENS, {"kind": "bytes"}, "bytes", "as was asked"),
    ],
)
def test_the_kind_is_asked_for_or_told_by_files_or_by_the_model(
    pair, tmp_path, name, shape, dtype, request_, kind, told
):
    for model in (pair["original"], pair["compressed"]):
        network(model, shape, dtype)
    pair["inputs"] = pair["inputs"].rename(tmp_path / name)
    read, said = asked(**pair, **request_)
    assert read["vet"] == kind
    assert said[2].startswith(f"kind {kind}") and told in said[2]


def test_an_unknown_kind_or_preprocessing_is_one_line(pair):
    for key, text in (("kind", "kind of inputs"), ("preprocessing", "preprocessing")):
        given = {"kind": "images"} | {key: "unti"}
        with pytest.raises(UserError, match=f"no {text} is called 'unti'"):
            asked(**pair, **given)


LABELS = {"labels": np.array([0, 1])}
USUAL = {"tensors": "tolerance", "tokens": "top_label", "images": "top_label"}


@pytest.mark.parametrize(
    ("kind", "last", "axes", "labels", "wanted", "chosen", "told"),
    [
        ("tensors", "Identity", 2, False, None, "tolerance", "usual for tensors"),
        ("tensors", "Softmax", 2, False, None, "top_label", "y comes from a softmax"),
        ("tensors", "Sigmoid", 2, False, None, "multi_label", "y comes from a sigmoid"),
        ("tensors", "Sigmoid", 3, False, None, "frame_scores", "scores of frames"),
        ("tensors", "Identity", 2, True, None, "top_label", "the inputs have labels"),
        ("tensors", "Softmax", 2, False, "embedding", "embedding", "as was asked"),
        ("tensors", "Softmax", 2, False, "tolerance", "tolerance", "as was asked"),
        ("images", "Softmax", 2, False, None, "top_label", "y comes from a softmax"),
        ("images", "Identity", 2, False, None, "top_label", "usual for images"),
        ("images", "Sigmoid", 2, False, None, "multi_label", "y comes from a sigmoid"),
    ],
)
def test_the_comparison_is_asked_for_or_told_by_the_outputs(
    pair, kind, last, axes, labels, wanted, chosen, told
):
    for model in (pair["original"], pair["compressed"]):
        network(model, last=last, axes=axes)
    if labels:
        np.savez(pair["inputs"], inputs=np.zeros((2, 8), np.float32), **LABELS)
    read, said = asked(**pair, kind=kind, comparison=wanted)
    assert read["vet.comparison.kind"] == chosen
    assert said[3].startswith(f"outputs are compared by {chosen}: ") and told in said[3]
    assert said[3].endswith("(another: --comparison)") == (wanted is None)
    own = {key: value for key, value in read.items() if "comparison.options" in key}
    if chosen == USUAL[kind]:
        assert own == {}, "the configuration's own options are kept"
    else:
        assert own == {"~vet.comparison.options": None, "+vet.comparison.options": {}}


@pytest.mark.parametrize("wanted", ["tolerance", "embedding"])
def test_options_of_a_comparison_take_the_place_of_the_usual_ones(pair, wanted):
    read, _ = asked(**pair, comparison=wanted, options={"a": 1})
    assert "~vet.comparison.options" in read and read["+vet.comparison.options"] == {"a": 1}
    assert asked(**pair, comparison=wanted, options={})[0]["+vet.comparison.options"] == {}


@pytest.mark.parametrize(
    ("dtype", "wanted", "chosen", "told"),
    [
        (FLOATS, None, "unit", "grey levels divided by 255 (another: --preprocessing)"),
        (FLOATS, "imagenet", "imagenet", "as was asked"),
        (BYTES, None, None, "the model takes bytes (another: --preprocessing)"),
        (BYTES, "raw", "raw", "as was asked"),
    ],
)
def test_preprocessing_of_images(pair, dtype, wanted, chosen, told):
    for model in (pair["original"], pair["compressed"]):
        network(model, ("n", 3, 8, 8), dtype)
    read, said = asked(**pair, preprocessing=wanted)
    assert told in said[4] and said[4].startswith(
        f"preprocessing {chosen}: " if chosen else "no preprocessing: "
    )
    if chosen:
        file = yaml.safe_load((CONF / f"preprocessing/{chosen}.yaml").read_text())
        assert read["vet.feeding.preprocessing"] == file
    else:
        assert "vet.feeding.preprocessing" not in read


def test_only_images_are_preprocessed(pair):
    read, said = asked(**pair)
    assert len(said) == 4 and "vet.feeding.preprocessing" not in read


def test_constants_are_names_and_numbers(pair):
    assert "vet.feeding.constants" not in asked(**pair)[0]
    read, _ = asked(**pair, constants=["sr=16000", "a=b=-0.5"])
    assert read["vet.feeding.constants"] == [
        {"input": "sr", "value": 16000.0},
        {"input": "a=b", "value": -0.5},
    ]
    for wrong in ("sr", "sr=", "sr=many"):
        with pytest.raises(UserError, match=f"--constant '{wrong}': give NAME=NUMBER"):
            asked(**pair, constants=[wrong])
