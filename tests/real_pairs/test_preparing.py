"""Making a pair ready, from a wheel with a small model to files that can be vetted."""

import hashlib
import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from real_pairs.entry import InputRecipe, RealPair
from real_pairs.inputs import InputMaker, MadeInputs
from real_pairs.making import Maker
from real_pairs.preparing import make_inputs, prepare
from small_wheels import packaged, put_wheel

from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import ParameterSection
from asterism.core.parameters.registry import Registry
from asterism.core.randomness.random_streams import stream
from places import ROOT
from real_pairs import preparing

pytestmark = pytest.mark.slow  # of a benchmark

CALLS = []


class Numbered(InputMaker):
    """Pictures of one grey each, numbered from the first; the labels are 100 more."""

    class Options(ParameterSection):
        labelled: bool

    @staticmethod
    def make(count, options, rng, find):
        CALLS.append((count, float(rng.random()), find))
        items = np.zeros((count, 4, 4, 3), np.uint8) + np.arange(count)[:, None, None, None]
        return MadeInputs(
            items.astype(np.uint8), np.arange(count) + 100 if options.labelled else None
        )


class Marked(Maker):
    """Another text at the end of the model's description, which calibration may decide."""

    class Options(ParameterSection):
        text: str
        calibrated: bool = False

    @staticmethod
    def make(source, target, options, material):
        model = onnx.load(source)
        model.doc_string += options.text
        if options.calibrated:
            feeds = material.calibration()
            assert [feed["x"].shape for feed in feeds] == [(1, 3, 4, 4)] * len(feeds)
            assert all(feed["gain"].tolist() == [2.0] for feed in feeds)
            model.doc_string += str(
                [round(float(feed["x"].max() * 127.5 + 127.5)) for feed in feeds]
            )
        onnx.save(model, target)


class Renamed(Marked):
    """The same, in files of another suffix."""

    suffix = ".onnx"


@pytest.fixture
def makers(monkeypatch):
    """The makers above, and no others."""
    CALLS.clear()
    inputs = Registry("maker of inputs", "real_pairs.inputs")
    inputs.register("numbered")(Numbered)
    making = Registry("maker of model files", "real_pairs.making")
    making.register("marked")(Marked)
    making.register("renamed")(Renamed)
    monkeypatch.setattr(preparing, "INPUT_MAKERS", inputs)
    monkeypatch.setattr(preparing, "MAKERS", making)


def classifier():
    """A model of two labels, for pictures of 4 by 4, whose answers are times ``gain``."""
    weights = np.random.default_rng(0).normal(size=(2, 3, 1, 1)).astype(np.float32)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("GlobalAveragePool", ["c"], ["p"]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("Mul", ["f", "gain"], ["y"]),
    ]
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 4, 4]),
        helper.make_tensor_value_info("gain", TensorProto.FLOAT, [1]),
    ]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 2])]
    graph = helper.make_graph(
        nodes, "net", inputs, outputs, [numpy_helper.from_array(weights, "w")]
    )
    sets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=sets, ir_version=8).SerializeToString()


def pair_of(file, original=(), compressed=(), labelled=True):
    """A pair whose files begin with one file, and are made by these steps."""
    return RealPair.model_validate(
        {
            "title": "a small classifier",
            "compression": "none",
            "note": "",
            "not_vetted": None,
            "original": {"file": file.model_dump(), "steps": list(original)},
            "compressed": {"file": None, "steps": list(compressed)},
            "inputs": {
                "make": "numbered",
                "count": 5,
                "calibration": 3,
                "options": {"labelled": labelled},
            },
            "vet": {
                "kind": "images",
                "comparison": {"kind": "tolerance", "options": {"absolute": 0.25, "relative": 0.5}},
                "preprocessing": "symmetric",
                "constants": ["gain=2.0"],
                "overrides": ["vet.search.seeds=7"],
            },
        }
    )


def step(make, text, **options):
    return {"make": make, "options": {"text": text} | options}


def told(path):
    return onnx.load(path).doc_string


def test_a_pair_is_made_once_and_made_anew_where_it_is_another(monkeypatch, makers):
    put_wheel(monkeypatch, {"small/model.onnx": classifier()})
    file = packaged("small/model.onnx", classifier())
    compressed = [step("marked", "b"), step("renamed", "c", calibrated=True)]
    pair = pair_of(file, [step("marked", "a")], compressed)
    ready = prepare("small", pair, ROOT / "conf")

    vet = ready.params
    original, made, inputs = map(Path, (vet.original, vet.compressed, vet.inputs))
    assert (original.name, made.name) == ("small.onnx", "small-compressed.onnx")
    assert told(original) == "a"
    # The last three pictures, as the original takes them, one at a time.
    assert told(made) == "abc[5, 6, 7]"
    with np.load(inputs) as arrays:
        assert arrays["inputs"].max(axis=(1, 2, 3)).tolist() == [0, 1, 2, 3, 4]
        assert arrays["labels"].tolist() == [100, 101, 102, 103, 104]
    assert {path.name for path in inputs.parent.iterdir()} == {
        "small.onnx", "small-compressed.onnx", "inputs.npz", "made.json", "digests.json"
    }  # fmt: skip
    assert (vet.domain.kind, vet.comparison.kind) == ("images", "tolerance")
    assert vet.comparison.options == {"absolute": 0.25, "relative": 0.5}
    assert vet.search.seeds == 7
    assert vet.feeding.preprocessing.mean == [1.0]
    assert [(c.input, c.value) for c in vet.feeding.constants] == [("gain", 2.0)]
    assert any("small-compressed.onnx: takes" in line for line in ready.said)
    assert "vet=images" in ready.overrides

    monkeypatch.setattr(preparing, "vet_params", lambda conf, overrides: vet)
    assert prepare("small", pair, ROOT / "conf").params == ready.params
    assert len(CALLS) == 1
    other = pair_of(file, [step("marked", "d")], compressed, labelled=False)
    prepare("small", other, ROOT / "conf")
    assert (told(original), told(made), len(CALLS)) == ("d", "dbc[5, 6, 7]", 2)
    with np.load(inputs) as arrays:
        assert list(arrays) == ["inputs"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda made: (made / "small.onnx").write_bytes(b"another"),
        lambda made: (made / "made.json").write_text("{}"),
        lambda made: change_files(made, "../../../secret"),
        lambda made: change_files(made, "/etc/passwd"),
        lambda made: (made / "link").symlink_to("/dev/zero"),
    ],
)
def test_a_made_pair_that_is_not_whole_is_made_again(monkeypatch, makers, state_root, damage):
    put_wheel(monkeypatch, {"small/model.onnx": classifier()})
    pair = pair_of(packaged("small/model.onnx", classifier()))
    monkeypatch.setattr(
        preparing, "vet_overrides", lambda request, conf: ([str(request.original)], [])
    )
    monkeypatch.setattr(preparing, "vet_params", lambda conf, overrides: None)
    before = prepare("small", pair, ROOT / "conf")
    damage(state_root / "pairs/made/small")
    assert prepare("small", pair, ROOT / "conf") == before
    assert len(CALLS) == 2


def change_files(made, name):
    facts = json.loads((made / "made.json").read_text())
    facts["files"][0] = name
    content = json.dumps(facts).encode()
    (made / "made.json").write_bytes(content)
    digests = json.loads((made / "digests.json").read_text())
    digests["made.json"] = hashlib.sha256(content).hexdigest()
    (made / "digests.json").write_text(json.dumps(digests))


def test_what_a_pair_is_made_of_decides_whether_it_is_made_anew(monkeypatch, makers):
    files = {"small/model.onnx": classifier()}
    put_wheel(monkeypatch, files)
    pair = pair_of(packaged("small/model.onnx", classifier()))
    monkeypatch.setattr(preparing, "vet_overrides", lambda request, conf: ([], []))
    monkeypatch.setattr(preparing, "vet_params", lambda conf, overrides: None)

    def calls():
        prepare("small", pair, ROOT / "conf")
        return len(CALLS)

    assert (calls(), calls()) == (1, 1)
    put_wheel(monkeypatch, files | {"small/other": b""})
    assert (calls(), calls()) == (2, 2), "another wheel"
    known = preparing.version
    monkeypatch.setattr(preparing, "version", lambda name: known(name) + "+1")
    assert (calls(), calls()) == (3, 3), "other libraries"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"make": "marke"}, "no maker of model files is called 'marke'; did you mean 'marked'?"),
        ({"options": {"txt": "a"}}, "options of marked: "),
        ({"options": {"text": "a", "calibrated": True}}, "cannot be made of its own inputs"),
    ],
)
def test_what_cannot_be_made_names_the_pair_and_leaves_nothing(
    monkeypatch, makers, changes, message
):
    path = put_wheel(monkeypatch, {"small/model.onnx": classifier()})
    file = packaged("small/model.onnx", classifier())
    pair = pair_of(file, [step("marked", "a") | changes])
    with pytest.raises((UserError, ValueError), match=message) as error:
        prepare("small", pair, ROOT / "conf")
    assert not (path.parents[1] / "made/small").exists()
    if isinstance(error.value, UserError):
        assert str(error.value).startswith("pair small: ")


def test_inputs_for_calibration_are_made_with_the_others(makers):
    recipe = InputRecipe(make="numbered", count=4, calibration=2, options={"labelled": True})

    def find(file):
        return file

    made = make_inputs("small", recipe, find)
    assert len(made.items) == len(made.labels) == 6
    make_inputs("other", recipe, find)
    drawn = float(stream(0, "pairs", "small").random())
    assert CALLS[0] == (6, drawn, find)
    assert CALLS[1][1] != drawn, "each pair has random numbers of its own"
