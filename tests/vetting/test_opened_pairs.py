"""Opening a pair and measuring it: what is read, what both models are asked, what is left."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper
from scipy.io import wavfile
from small_vetting import by_runtime, digit_params, vet_params, with_files

from asking.made_models import echo, rows_of
from asterism.asking.question import resolve_question
from asterism.asking.request import VetRequest
from asterism.core.messages.errors import UserError
from asterism.data.given import GivenInputs
from asterism.dflare.pair import PairedOutputs
from asterism.models.signatures.signature import Signature, TensorSpec
from asterism.vetting.measurement import measure_opened
from asterism.vetting.opening import (
    VettingSession,
    draw_inputs,
    open_alternative,
    open_vetted,
    read_given,
)
from models.onnx_networks import linear, masked, value
from onnx_texts import write_onnx
from places import ROOT

RNG = np.random.default_rng(0)
ITEMS = RNG.normal(0, 1, (30, 4)).astype(np.float32)
WEIGHTS = RNG.normal(0, 1, (4, 3)).astype(np.float32)
TOP_LABEL = {"kind": "top_label", "options": {}}
TOLERANCE = {"kind": "tolerance", "options": {"absolute": 0.3, "relative": 0.3}}
EMBEDDING = {"kind": "embedding", "options": {"tolerance": 2.0, "nearest": True}}


def parts():
    """Differences of the linear pair's outputs, each as a share of its tolerance, by hand."""
    f, g = ITEMS.astype(np.float64) @ WEIGHTS, ITEMS @ np.rint(WEIGHTS)
    return (np.abs(f - g) / (0.3 + 0.3 * np.abs(f))).max(axis=1)


pytestmark = pytest.mark.usefixtures("models_here")


@pytest.fixture
def pair(tmp_path):
    """Parameters of a linear pair with coarse weights, by changes."""
    linear(tmp_path / "f.onnx", WEIGHTS)
    linear(tmp_path / "g.onnx", np.rint(WEIGHTS))
    np.savez(tmp_path / "inputs.npz", inputs=ITEMS)

    def params(kind="tensors", **changes):
        files = {"original": "f.onnx", "compressed": "g.onnx", "inputs": "inputs.npz"}
        paths = {name: str(tmp_path / file) for name, file in files.items()}
        return vet_params(kind, **paths | {"comparison": TOLERANCE} | changes)

    return params


def test_a_real_pair_is_measured_as_by_hand(digits, tmp_path):
    params = digit_params(digits, limit=100, confidence=0.9, changes__inputs=12)
    found = with_files(measure_opened, params, 3, tmp_path / "measured")
    facts = json.loads((tmp_path / "measured/inputs.json").read_text())
    rows = np.array([int(name) for name in facts["names"]])
    assert len(set(rows)) == 100
    given = np.load(digits / "inputs.npz")
    f, g = (
        by_runtime(digits / name, x=given["inputs"][rows])
        for name in ("original.onnx", "damaged.onnx")
    )
    ours, theirs, right = f.argmax(axis=1), g.argmax(axis=1), given["labels"][rows]
    left = np.load(tmp_path / "measured/answers.npz")
    assert sorted(left) == ["deviates", "f", "g", "labels"]
    assert left["f"] == pytest.approx(f, abs=1e-5) and left["g"] == pytest.approx(g, abs=1e-5)
    assert (left["deviates"] == (ours != theirs)).all() and (left["labels"] == right).all()
    agreement = found["agreement"]
    assert agreement["differ"]["count"] == (ours != theirs).sum() > 5
    assert [share["count"] for share in agreement["accuracy"]] == [
        (ours == right).sum(),
        (theirs == right).sum(),
    ]
    assert set(agreement["classes"]) == {str(label) for label in set(right.tolist())}
    apart = np.abs(f.max(axis=1) - g.max(axis=1))
    assert agreement["distance"]["largest"] == pytest.approx(apart.max(), abs=1e-5)
    assert [(flips["strength"], flips["bound"]) for flips in found["flips"]] == [
        *((name, "") for name in ("slight", "moderate", "strong")),
        *(("strong", f"linf {limit}") for limit in ("0.01", "0.03", "0.1")),
    ]
    assert all(flips["share"]["total"] == 12 for flips in found["flips"])
    facts.pop("names")
    assert facts == {
        "kind": "tensors",
        "items": 100,
        "item_shape": [64],
        "outputs": {"y": [10]},
        "classes": [],
        "notes": {
            "inputs": ["100 of 797 inputs were drawn at random"],
            "original.onnx": [],
            "damaged.onnx": [],
        },
    }
    assert with_files(measure_opened, params, 3, tmp_path / "again") == found


def test_outputs_that_are_no_scores_are_measured_by_their_distance(pair, tmp_path):
    found = with_files(measure_opened, pair(changes__inputs=0), 0, tmp_path / "measured")
    agreement = found["agreement"]
    assert agreement["differ"]["count"] == (parts() > 1).sum()
    assert agreement["distance"]["largest"] == pytest.approx(parts().max(), rel=1e-4)
    assert (agreement["classes"], agreement["divergence"], found["flips"]) == ({}, {}, [])
    assert sorted(np.load(tmp_path / "measured/answers.npz")) == ["deviates", "f", "g"]


def test_flips_are_measured_on_inputs_that_both_answer_alike(pair, tmp_path):
    agreed = int((parts() <= 1).sum())
    assert 0 < agreed < 30
    found = with_files(measure_opened, pair(), 0, tmp_path / "measured")
    assert {flips["share"]["total"] for flips in found["flips"]} == {agreed}


def test_images_are_fed_as_the_model_stores_them(pair, tmp_path):
    images = RNG.integers(0, 256, (9, 4, 5, 3), dtype=np.uint8)
    np.savez(tmp_path / "inputs.npz", images=images, labels=np.arange(9) % 3)
    weights = RNG.normal(0, 3, (60, 3)).astype(np.float32)
    text = """(float[n,3,4,5] x) => (float[n,3] y) {
        flat = Flatten (x)
        z = MatMul (flat, w)
        y = Softmax (z)
    }"""
    write_onnx(tmp_path / "f.onnx", text, w=weights)
    write_onnx(tmp_path / "g.onnx", text, w=np.rint(weights / 4) * 4)
    unit = {"scale": 1 / 255, "mean": [0.0], "std": [1.0]}
    params = pair("images", comparison=TOP_LABEL, feeding__preprocessing=unit)
    stored = np.ascontiguousarray(images.transpose(0, 3, 1, 2), np.float32) / 255
    with open_vetted(params, 0) as vetted:
        assert vetted.inputs.kind == "images"
        answers = vetted.answers
        assert answers.f == pytest.approx(by_runtime(tmp_path / "f.onnx", x=stored), abs=1e-4)
        assert answers.g == pytest.approx(by_runtime(tmp_path / "g.onnx", x=stored), abs=1e-4)
        different = answers.f.argmax(axis=1) != answers.g.argmax(axis=1)
        assert (vetted.deviates == different).all()
        assert (vetted.inputs.labels == np.arange(9) % 3).all()


def test_a_domain_is_ready_for_the_given_inputs(pair):
    with open_vetted(pair(), 0) as vetted:
        domain = vetted.domain({"scale": {"low": 1.0, "high": 1.0}})
    assert list(domain.operators) == ["scale"]
    assert (domain.ranges.low == ITEMS.min(axis=0)).all()
    assert (domain.ranges.high == ITEMS.max(axis=0)).all()


def test_another_compressed_model_beside_the_same_original(pair, tmp_path):
    linear(tmp_path / "h.onnx", WEIGHTS * 2)
    with open_vetted(pair(), 0) as vetted, open_alternative(vetted, tmp_path / "h.onnx") as other:
        assert other.original is vetted.original and other.inputs is vetted.inputs
        assert (other.answers.f == vetted.answers.f).all()
        assert other.answers.g == pytest.approx(ITEMS @ WEIGHTS * 2, abs=1e-4)
        assert set(vetted.notes) == {"inputs", "f.onnx", "g.onnx"}
        assert set(other.notes) == {"inputs", "f.onnx", "h.onnx"}
        assert (vetted.shapes, other.shapes) == ({"y": (3,)}, {"y": (3,)})
    linear(tmp_path / "two.onnx", WEIGHTS[:, :2])
    with (
        open_vetted(pair(), 0) as vetted,
        pytest.raises(UserError, match=r"f\.onnx answers .*3.*but two\.onnx .*2.*feeding\.outputs"),
        open_alternative(vetted, tmp_path / "two.onnx"),
    ):
        pass


def two_outputs(path):
    """Rows in three frames of two scores, and their sum."""
    text = """(float[n,4] x) => (float[n,2,2] frames, float[n,1] sum) {
        frames = Reshape (x, shape)
        sum = ReduceSum <keepdims=1> (x, axis)
    }"""
    return write_onnx(path, text, shape=np.array([-1, 2, 2]), axis=np.array([1]))


def test_one_output_keeps_its_shape_and_several_are_one_row(pair, tmp_path):
    for name in ("f.onnx", "g.onnx"):
        two_outputs(tmp_path / name)
    frames = {"kind": "frame_scores", "options": {"threshold": 0.5, "share": 0.0}}
    with open_vetted(pair(comparison=frames, feeding__outputs=["frames"]), 0) as vetted:
        assert vetted.shapes == {"frames": (2, 2)} and vetted.answers.f.shape == (30, 4)
    with open_vetted(pair(), 0) as vetted:
        assert vetted.shapes == {"frames": (2, 2), "sum": (1,)}
        wanted = np.concatenate([ITEMS, ITEMS.sum(axis=1, keepdims=True)], axis=1)
        assert vetted.answers.f == pytest.approx(wanted, abs=1e-5)
    with (
        pytest.raises(UserError, match="top_label compares one output, and there are frames, sum"),
        open_vetted(pair(comparison=TOP_LABEL), 0),
    ):
        pass


def test_embeddings_are_compared_by_the_nearest_of_the_given_inputs(pair, tmp_path):
    linear(tmp_path / "f.onnx", np.eye(4, dtype=np.float32))
    linear(tmp_path / "g.onnx", np.diag([1, 1, 0, 0]).astype(np.float32))
    with open_vetted(pair(comparison=EMBEDDING), 0) as vetted:
        assert not vetted.deviates.any(), "each is nearest to itself in both"
        # Nearest to item 1 for the original; for the compressed one to item 0.
        mixed = np.concatenate([ITEMS[0, :2], 100 * ITEMS[1, 2:]])[np.newaxis]
        answers = vetted.pair.ask(mixed)
        assert vetted.comparison.deviates(answers.f, answers.g).all()


def test_inputs_agree_where_both_models_answer_them_alike(pair):
    f = np.array([[1, 2], [np.nan, 2], [1, 2], [1, -np.inf]], np.float32)
    g = np.array([[1, 2], [1, 2], [np.inf, 2], [1, 2]], np.float32)
    with open_vetted(pair(), 0) as vetted:
        other = VettingSession(**vars(vetted) | {"answers": PairedOutputs(f, g, {})})
    assert other.agreed.tolist() == [0, 3]


@pytest.mark.parametrize("limit", [None, 30, 40])
def test_all_inputs_are_taken_where_no_fewer_are_wanted(limit):
    given = GivenInputs(ITEMS, None, (), tuple("a" * 30), (), kind="tensors")
    assert draw_inputs(given, limit, 0) is given


@pytest.mark.parametrize("label", [3, -1, 10**15])
def test_a_label_that_no_model_can_answer_is_named(pair, tmp_path, label):
    labels = np.zeros(len(ITEMS), np.int64)
    labels[4] = label
    np.savez(tmp_path / "inputs.npz", inputs=ITEMS, labels=labels)
    with (
        pytest.raises(UserError, match=f"the label {label}, and the models tell 3 classes apart"),
        open_vetted(pair(comparison=TOP_LABEL), 0),
    ):
        pass


@pytest.mark.parametrize("perm", [(0, 2, 3, 1), (0, 3, 1, 2)])
def test_maps_in_two_layouts_are_compared_with_their_channels_moved(tmp_path, perm):
    maps = RNG.normal(0, 1, (30, 3, 4, 5)).astype(np.float32)
    np.savez(tmp_path / "inputs.npz", inputs=rows_of(maps))
    echo(tmp_path / "f.onnx", y=("Add", maps.shape[1:]))
    model = onnx.load(echo(tmp_path / "g.onnx", y=("Add", maps.shape[1:])))
    model.graph.node[-1].output[0] = "as it was"
    model.graph.node.append(helper.make_node("Transpose", ["as it was"], ["y"], perm=perm))
    shape = ["n", *np.transpose(maps, perm).shape[1:]]
    model.graph.output[0].CopyFrom(value("y", shape))
    onnx.save(model, tmp_path / "g.onnx")
    names = ("original", "compressed", "inputs")
    files = dict(
        zip(names, (tmp_path / n for n in ("f.onnx", "g.onnx", "inputs.npz")), strict=True)
    )
    params = resolve_question(VetRequest(**files, comparison="label_map"), ROOT / "conf").params
    with open_vetted(params, 0) as vetted:
        assert set(vetted.compressed.form.moved) == {"y"} and not vetted.deviates.any()
        assert any("channels moved" in note for note in vetted.notes["g.onnx"])
        assert (vetted.answers.g == rows_of(maps)).all()


def test_drawn_inputs_keep_their_labels_and_names_and_a_larger_limit_adds_to_them():
    given = GivenInputs(
        ITEMS, np.arange(30), ("b", "c"), tuple(range(30)), ("a note",), kind="tensors"
    )
    found = draw_inputs(given, 12, 0)
    rows = found.labels
    assert len(set(rows)) == 12 and found.names == tuple(rows.tolist())
    assert draw_inputs(given, 20, 0).labels[:12].tolist() == rows.tolist()
    assert (found.items == ITEMS[rows]).all() and found.kind == "tensors"
    assert found.classes == ("b", "c")
    assert found.notes == ("a note", "12 of 30 inputs were drawn at random")
    assert (draw_inputs(given, 12, 0).labels == rows).all()
    assert (draw_inputs(given, 12, 1).labels != rows).any()
    assert draw_inputs(replace(given, labels=None), 12, 0).labels is None


def test_constants_belong_to_an_input_of_either_model(pair, tmp_path):
    tokens = RNG.integers(1, 9, (5, 6))
    np.savez(tmp_path / "inputs.npz", inputs=tokens)
    masked(tmp_path / "f.onnx")
    text = """(int64[n,6] input_ids) => (float[n,1] y) {
        c = Cast <to=1> (input_ids)
        y = ReduceSum <keepdims=1> (c, axis)
    }"""
    write_onnx(tmp_path / "g.onnx", text, axis=np.array([1]))
    tokens_of = {"vocabulary": 10, "padding": 0, "protected": []}
    operators = {"swap": {"low": 1, "high": 1}}

    def params(name):
        constants = [{"input": name, "value": 3.0}]
        domain = {"kind": "tokens", "options": tokens_of}
        changes = {"inputs": 0, "strengths": {"a": operators}, "bounds": [], "slight": "a"}
        return pair(
            "tokens",
            feeding__constants=constants,
            domain=domain,
            changes=changes,
            search__operators=operators,
            search__bound=None,
        )

    with open_vetted(params("factor"), 0) as vetted:
        assert (vetted.answers.f[:, 0] == 3 * tokens.sum(axis=1)).all()
        assert (vetted.answers.g[:, 0] == tokens.sum(axis=1)).all()
    with (
        pytest.raises(UserError, match=r"no input of the models is called 'factr'.*'factor'"),
        open_vetted(params("factr"), 0),
    ):
        pass


def signature(*shapes, **facts):
    specs = tuple(TensorSpec(name, "float32", s) for name, s in zip("xz", shapes, strict=False))
    return Signature("onnx", specs, (TensorSpec("y", "float32", (None, 1)),), **facts)


@pytest.mark.parametrize(
    ("model", "changes", "length"),
    [
        (signature((None, None)), {}, 800),
        (signature((None, 300)), {}, 300),
        (signature((None, None)), {"length": 500}, 500),
        (signature((None, None)), {"domain__options__rate": 4000}, 400),
        (signature((None, 300), variables=True), {}, 800),  # a stream takes any number
        (signature((None, 300), (None, 200)), {}, 300),
        (signature((None, 300), (None, 200)), {"feeding__input": "z"}, 200),
        (signature((None, 300), (None, 200)), {"feeding__input": "other"}, 300),
        (signature((None, 1), (None, 200), states=(("x", "y"),)), {}, 800),
    ],
)
def test_inputs_are_read_in_the_form_that_the_model_takes(tmp_path, model, changes, length):
    for name in ("a/1.wav", "b/1.wav"):
        (tmp_path / "in" / name).parent.mkdir(parents=True)
        wavfile.write(tmp_path / "in" / name, 8000, np.zeros(800, np.int16))
    (tmp_path / "labels.json").write_text('{"a/1.wav": 5, "b/1.wav": 7}')
    usual = {"domain__options": {"rate": 8000}, "inputs": str(tmp_path / "in")}
    found = read_given(vet_params("sound", **usual | changes), model)
    assert (found.kind, found.items.shape) == ("sound", (2, length))
    assert (found.labels.tolist(), found.classes) == ([0, 1], ("a", "b"))
    told = read_given(
        vet_params("sound", **usual | changes, labels=str(tmp_path / "labels.json")), model
    )
    assert told.labels.tolist() == [5, 7]


def test_the_original_says_how_long_inputs_are(pair, tmp_path):
    (tmp_path / "in").mkdir()
    wave = RNG.integers(-9999, 9999, 800).astype(np.int16)
    wavfile.write(tmp_path / "in/1.wav", 8000, wave)
    for name, length in (("f.onnx", 300), ("g.onnx", "t")):
        largest = "y = ReduceMax <axes=[1], keepdims=1> (x)"
        write_onnx(tmp_path / name, f"(float[n,{length}] x) => (float[n,1] y) {{ {largest} }}")
    params = pair("sound", inputs=str(tmp_path / "in"), domain__options={"rate": 8000})
    with open_vetted(params, 0) as vetted:
        assert vetted.inputs.items.shape == (1, 300)
        largest = wave[:300].max() / 2**15
        assert vetted.answers.f[0, 0] == vetted.answers.g[0, 0] == pytest.approx(largest)


def test_short_inputs_are_filled_up_as_the_model_is_fed(tmp_path):
    (tmp_path / "a.bin").write_bytes(b"\x01\x02")
    (tmp_path / "b.bin").write_bytes(b"\x01")
    params = vet_params("bytes", inputs=str(tmp_path), feeding__pad=9)
    assert read_given(params, signature((None, None))).items.tolist() == [[1, 2], [1, 9]]


def found(path, least):
    """A detector of numbers: a row for each of an item's that is larger."""
    text = """(float[1,4] x) => (float[rows,1] y) {
        larger = Greater (x, least)
        places = NonZero (larger)
        turned = Transpose (places)
        values = GatherND (x, turned)
        y = Unsqueeze (values, one)
    }"""
    return write_onnx(path, text, least=np.float32(least), one=np.array([1]))


@pytest.mark.parametrize("least", [1e9, 0.5])
def test_models_that_find_other_numbers_of_rows_are_compared(tmp_path, pair, least):
    """One finds none at all, so that nothing tells how many it may find."""
    models = {"original": found(tmp_path / "all.onnx", -1e9)}
    models["compressed"] = found(tmp_path / "few.onnx", least)
    params = pair(**{name: str(path) for name, path in models.items()})
    with open_vetted(params, 0) as vetted:
        assert vetted.answers.f.shape == vetted.answers.g.shape
        rows = vetted.answers.f.shape[1]
        with open_alternative(vetted, Path(params.compressed)) as other:
            assert other.answers.g.shape[1] == rows
