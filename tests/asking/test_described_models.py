"""What is said of a model file and of inputs, and what each lane can do with a model."""

import shlex
from pathlib import Path

import numpy as np
import pytest
import yaml

from asterism.asking.lanes import find_lane_support
from asterism.asking.model_description import (
    ModelDescription,
    describe_inputs,
    describe_model,
    examine_model,
    inputs_as_json,
    model_as_json,
)
from asterism.config import compose
from asterism.core.messages.errors import UserError
from asterism.core.settings.yaml_files import flatten_mapping
from asterism.models.signatures.reading import read_signature
from asterism.models.signatures.signature import Signature, TensorSpec
from models.onnx_networks import quantised, streaming
from places import ROOT

FILE = Path("m.onnx")
IMAGE, SEQUENCE = (None, 28, 28, 1), (None, 28, 8)
VET, PAIR, COVERAGE, FUZZ, SEED = (
    "vet a compressed version",
    "search a pair of image classifiers",
    "importance-driven coverage",
    "fuzz a recurrent network",
    "seed for testing libraries",
)


def floats(name, shape):
    return TensorSpec(name, "float32", shape)


def signature(*inputs, format="keras", output=(None, 10), states=(), **facts):
    """A model whose first input is called x; its output may be missing."""
    specs = tuple(floats(name, shape) for name, shape in zip("xhz", inputs, strict=False))
    outputs = () if output is None else (floats("y", output),)
    return Signature(format, specs, outputs, states, **facts)


@pytest.mark.parametrize(
    ("model", "possible"),
    [
        (signature(IMAGE), {VET, PAIR, COVERAGE, SEED}),
        (signature(IMAGE, output=None), {VET, PAIR, COVERAGE, SEED}),
        (signature(IMAGE, output=()), {VET, PAIR, COVERAGE, SEED}),
        (signature(IMAGE, output=(None, 4, 10)), {VET, SEED}),
        (signature((1, 3, None, 28), output=(1, 10)), {VET, SEED}),
        (signature(IMAGE, IMAGE), {VET, SEED}),
        (signature(IMAGE, format="onnx"), {VET, PAIR}),
        (signature(IMAGE, format="tflite"), {VET, PAIR}),
        (signature(SEQUENCE), {VET, SEED}),
        (signature(SEQUENCE, recurrent=True), {VET, FUZZ, SEED}),
        (signature((None, None, 8), recurrent=True), {VET, FUZZ, SEED}),
        (signature((None, 8), recurrent=True), {VET, FUZZ, SEED}),
        (signature(SEQUENCE, SEQUENCE, recurrent=True), {VET, SEED}),
        (signature(SEQUENCE, format="onnx", recurrent=True), {VET, FUZZ}),
        (signature(SEQUENCE, format="tflite"), {VET}),
        (signature((None, 8)), {VET, SEED}),
        (signature((4, 8), (4, None)), {VET, SEED}),
        (signature((1, 8), format="onnx", states=(("x", "y"),)), set()),
        (signature((1, 8), format="keras", states=(("x", "y"),)), {SEED}),
        (signature((1, 8), SEQUENCE, format="onnx", states=(("x", "y"),)), {VET}),
        (signature(format="onnx"), set()),
    ],
)
def test_which_lanes_can_use_a_model(model, possible):
    found = find_lane_support(FILE, model)
    assert [use.lane for use in found] == [VET, PAIR, COVERAGE, FUZZ, SEED]
    assert {use.lane for use in found if use.possible} == possible


def told(model):
    return {use.lane: use.how for use in find_lane_support(FILE, model)}


def test_a_lane_that_can_use_a_model_is_told_by_its_overrides():
    assert told(signature(IMAGE)) == {
        VET: "asterism vet m.onnx COMPRESSED --inputs FILE_OR_FOLDER",
        PAIR: "pair=file pairs.file.original=m.onnx pairs.file.compressed=COMPRESSED",
        COVERAGE: "classifier=file classifier.path=m.onnx",
        FUZZ: "it takes no sequences: vectors (batch, steps, features), such as the rows of "
        "images, or numbers (batch, steps), such as token ids",
        SEED: "reduce.user_model=m.onnx",
    }
    free = told(signature((4, None), (4, 2), (None, None)))[SEED]
    assert free == "reduce.user_model=m.onnx 'reduce.user_input_shape={m:{x:[SIZE],z:[SIZE]}}'"


def test_sizes_are_not_given_under_a_name_that_no_override_holds():
    (seed,) = (
        use
        for use in find_lane_support(Path("it's.keras"), signature((4, None)))
        if use.lane == SEED
    )
    assert not seed.possible and "rename it" in seed.how


@pytest.mark.parametrize(
    ("model", "lanes"),
    [
        (signature(IMAGE), {PAIR, COVERAGE, SEED}),
        (signature(SEQUENCE, (None, None), recurrent=True), {SEED}),
        (signature(SEQUENCE, format="onnx", recurrent=True), {FUZZ}),
    ],
)
@pytest.mark.parametrize("file", [FILE, Path("it's, {new}=$x/m.onnx")])
def test_the_overrides_that_are_told_compose(model, lanes, file):
    used = {
        use.lane: use.how
        for use in find_lane_support(file, model)
        if use.possible and use.lane != VET
    }
    assert used.keys() == lanes
    for how in used.values():
        composed = compose(ROOT / "conf", shlex.split(how.replace("SIZE", "4")))
        assert str(file) in [value for _, value in flatten_mapping(yaml.safe_load(composed))]


@pytest.mark.parametrize(
    ("model", "lane", "why"),
    [
        (signature(format="onnx"), VET, "it has no input but its own state"),
        (signature(IMAGE, IMAGE), PAIR, "it has 2 inputs, an image classifier has one; vet it"),
        (signature(IMAGE, IMAGE), COVERAGE, "it has 2 inputs, an image classifier has one"),
        (signature(SEQUENCE), PAIR, "it takes no images: x takes real numbers of 2 axes; vet it"),
        (signature((None, 3, None, None)), COVERAGE, "its images have a free size"),
        (signature(IMAGE, output=(None, 4, 10)), PAIR, "its first output is no row of scores; vet"),
        (signature(IMAGE, format="tflite"), COVERAGE, "activations are recorded by the layers"),
        (signature(IMAGE, format="onnx"), COVERAGE, "the stages read Keras files; asterism.judge"),
        (
            signature(SEQUENCE, format="tflite"),
            FUZZ,
            "states are read from Keras, ONNX and .pt2 files",
        ),
        (signature(SEQUENCE), FUZZ, "it has no recurrent layer"),
        (signature(IMAGE, format="tflite"), SEED, "seeds are rebuilt from the layers of a Keras"),
    ],
)
def test_a_lane_that_cannot_says_why(model, lane, why):
    assert told(model)[lane].startswith(why)


def lines_of(model, **facts):
    return describe_model(ModelDescription(FILE, model, **facts))


@pytest.mark.parametrize(
    ("model", "line"),
    [
        (signature(IMAGE, operators=5), "m.onnx: Keras, 5 layers"),
        (signature(IMAGE, format="onnx", operators=9), "m.onnx: ONNX, 9 operators"),
        (
            signature(IMAGE, format="tflite", operators=9, quantised=4),
            "m.onnx: LiteRT (TensorFlow Lite), 9 operators, 4 of them on integers",
        ),
        (
            signature(IMAGE, format="onnx", half=True, variables=True),
            "m.onnx: ONNX, 0 operators, weights of half precision, "
            "streaming: it carries state from call to call",
        ),
    ],
)
def test_the_first_line_says_the_format_and_how_it_is_compressed(model, line):
    assert lines_of(model)[0] == line


def test_a_model_that_keeps_its_state_inside_says_so():
    kept = "  state   kept inside the model between calls"
    assert kept in lines_of(signature(SEQUENCE, variables=True))
    assert kept not in lines_of(signature(SEQUENCE))


def test_a_model_that_cannot_be_opened_or_has_other_files_says_so():
    shut = lines_of(signature(IMAGE), fault="it needs Gate")
    assert shut[-1] == "  no      it cannot be opened: it needs Gate"
    assert not any("yes" in line for line in shut)
    facts = model_as_json(ModelDescription(FILE, signature(IMAGE), fault="it needs Gate"))
    assert facts["fault"] == "it needs Gate"
    assert {(use["possible"], use["how"]) for use in facts["uses"]} == {(False, "it needs Gate")}
    apart = ModelDescription(FILE, signature(IMAGE, format="onnx"), packed=True)
    assert any(line.startswith("  data    also in other files") for line in describe_model(apart))
    assert {use.lane for use in apart.uses if use.possible} == {VET}
    assert "asterism pack m.onnx" in next(use.how for use in apart.uses if use.lane == PAIR)


def test_a_streaming_file_is_described_with_its_state(tmp_path):
    model = streaming(tmp_path / "s.onnx")
    assert describe_model(examine_model(model))[:5] == [
        f"{model}: ONNX, 4 operators, streaming: it carries state from call to call",
        "  takes   x float32 (?, 4)",
        "  takes   state_in float32 (?, 1)  state, in the next call state_out",
        "  gives   y float32 (?, 1)",
        "  kind    tensors: x takes real numbers of 1 axes (another: --kind)",
    ]
    facts = model_as_json(examine_model(model))
    assert (facts["file"], facts["format"], facts["operators"]) == (str(model), "onnx", 4)
    assert facts["takes"] == [
        {"name": "x", "dtype": "float32", "shape": [None, 4]},
        {"name": "state_in", "dtype": "float32", "shape": [None, 1]},
    ]
    assert [one["name"] for one in facts["gives"]] == ["y"]
    assert facts["states"] == {"state_in": "state_out"} and facts["state_inside"] is False
    assert facts["kind"]["name"] == "tensors" and "real numbers" in facts["kind"]["because"]
    first = facts["uses"][0]
    assert (first["lane"], first["possible"]) == (VET, True)


def test_a_quantised_file_is_described_with_what_can_be_done(tmp_path):
    model = quantised(tmp_path / "q.onnx", np.ones((4, 2), np.float32))
    lines = describe_model(examine_model(model))
    assert lines[0] == f"{model}: ONNX, 2 operators, 1 of them on integers"
    assert lines[-5:] == [
        f"  {'yes' if use.possible else 'no '}     {use.lane}: {use.how}"
        for use in find_lane_support(model, read_signature(model))
    ]
    assert "  yes     vet a compressed version: " in lines[-5]
    assert "  no      importance-driven coverage: " in lines[-3]


def test_inputs_are_described_by_kind_and_classes(tmp_path):
    folder = tmp_path / "inputs"
    for name in ("a/1.wav", "a/2.wav", "b/1.wav", "notes.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    named = "4 files in 2 subfolders, taken for classes, kind sound"
    assert describe_inputs(folder) == f"{folder}: {named}"
    facts = {"path": str(folder), "files": 4, "kind": "sound", "classes": ["a", "b"]}
    assert inputs_as_json(folder) == facts
    assert describe_inputs(folder / "a") == f"{folder / 'a'}: 2 files, kind sound"
    one = folder / "b/1.wav"
    assert describe_inputs(one) == f"{one}: 1 file, kind sound"
    for name in ("x.npz", "x.npy"):
        (tmp_path / name).touch()
        assert describe_inputs(tmp_path / name) == (
            f"{tmp_path / name}: arrays of NumPy (.npz, .npy), whose kind the model tells"
        )
        assert inputs_as_json(tmp_path / name)["kind"] is None
    with pytest.raises(UserError, match="there is no file or folder"):
        describe_inputs(tmp_path / "none")
