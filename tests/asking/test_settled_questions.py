"""A command line becomes overrides, settled by a look at the original, or a question."""

import json

import numpy as np
import onnx
import pytest

from asking.asked import CONF, asked, composed
from asking.made_answers import logits, normal, spoken
from asking.made_models import echo, of_brightness, pair_of, pictures, rows_of
from asterism.asking.question import resolve_question
from asterism.asking.request import VetRequest
from asterism.core.messages.errors import UserError
from asterism.dflare.comparisons import COMPARISONS
from asterism.models.tensor_models import subjects
from asterism.models.tensor_models.model import FileModel
from asterism.vetting.opening import open_vetted

pytestmark = pytest.mark.usefixtures("models_here")

LABELS = np.arange(60) % 4
SCORES = logits(LABELS)


def pair_of_pictures(folder, labelled=True, dtype="float", **how):
    """Two equal models that tell bright pictures from dark ones, and pictures."""
    names = ("original", "compressed")
    models = {n: of_brightness(folder / f"{n}.onnx", **how, dtype=dtype) for n in names}
    images, bright = pictures()
    np.savez(folder / "pictures.npz", inputs=images, **({"labels": bright} if labelled else {}))
    return models | {"inputs": folder / "pictures.npz", "kind": "images"}


#: Bright is above 128 of 255, by the numbers that a preprocessing leads to.
UNIT = {"weights": [-20.0, 20.0], "bias": [10.0, -10.0]}
SYMMETRIC = {"weights": [-20.0, 20.0], "bias": [0.0, 0.0]}
GREY_LEVELS = {"weights": [-0.1, 0.1], "bias": [12.8, -12.8]}


def line_of_comparison(said):
    """The line that says how outputs are compared."""
    (line,) = [line for line in said if line.startswith("outputs are compared")]
    return line


def test_what_is_settled_is_said_with_its_reason(tmp_path):
    read, said = asked(**pair_of(tmp_path, SCORES, y=("Softmax", [4])))
    assert read["vet"] == "tensors" and read["vet.comparison.kind"] == "top_label"
    told = line_of_comparison(said)
    assert "y comes from a softmax" in told and "--comparison" in told
    assert read["vet.settled"] == said[2:] and "vet.feeding.preprocessing" not in read


@pytest.mark.parametrize(("answered", "told"), [([2], True), ([2, 3], False)])
def test_an_original_that_gives_one_class_to_all_inputs_is_told(tmp_path, answered, told):
    scores = 9 * np.eye(4, dtype=np.float32)[np.resize(answered, 60)] + normal(60, 4)
    _, said = asked(**pair_of(tmp_path, scores, y=("Softmax", [4])))
    assert any("class 2 " in line for line in said) == told


def test_numbers_that_may_mean_anything_are_asked_for(tmp_path):
    pair = pair_of(tmp_path, normal(60, 3), output=("Add", [3]))
    with pytest.raises(UserError, match=r"output .*--comparison: top_label"):
        asked(**pair)
    read, said = asked(**pair, comparison="regression")
    assert read["vet.comparison.kind"] == "regression" and "as was asked" in line_of_comparison(
        said
    )


def test_labels_tell_what_nothing_else_does(tmp_path):
    pair = pair_of(tmp_path, SCORES, LABELS, output=("Add", [4]))
    read, said = asked(**pair)
    assert read["vet.comparison.kind"] == "top_label" and "is the label" in line_of_comparison(said)


def test_labels_at_chance_stop_the_question(tmp_path):
    wrong = np.random.default_rng(0).permutation(LABELS)
    pair = pair_of(tmp_path, SCORES, wrong, y=("Softmax", [4]))
    with pytest.raises(UserError) as raised:
        asked(**pair)
    text = str(raised.value)
    assert "by chance" in text and "\n" not in text
    assert all(flag in text for flag in ("--labels", "--preprocessing", "--comparison"))


def test_the_folders_that_number_labels_are_named(tmp_path):
    pair = pair_of(tmp_path, SCORES, y=("Softmax", [4]))
    names = [f"{['cats', 'dogs', 'fish', 'owls'][(3 * label) % 4]}" for label in LABELS[::-1]]
    (tmp_path / "labels.json").write_text(json.dumps(names))
    with pytest.raises(UserError, match=r"by chance|folders"):
        asked(**pair, labels=tmp_path / "labels.json")


def test_labels_that_the_model_cannot_answer_stop_the_question(tmp_path):
    pair = pair_of(tmp_path, SCORES, LABELS + 3, y=("Softmax", [4]))
    with pytest.raises(UserError, match=r"label 6, and the models tell 4 classes apart"):
        asked(**pair)


#: Numbers of which :data:`SCORES` are the logarithms; 0 has minus infinity and -1 NaN.
POWERS = np.exp(SCORES)


@pytest.mark.parametrize("value", [0, -1])
def test_an_original_that_answers_nothing_stops_the_question(tmp_path, value):
    silent = POWERS.copy()
    silent[:40, 2] = value
    pair = pair_of(tmp_path, silent, y=("Log", [4]))
    with pytest.raises(UserError, match="itself gives no finite answer to 40 of 60"):
        asked(**pair, comparison="top_label")


def test_few_inputs_without_an_answer_do_not(tmp_path):
    some = POWERS.copy()
    some[:5, 2] = -1
    read, _ = asked(**pair_of(tmp_path, some, LABELS, logits=("Log", [4])))
    assert read["vet.comparison.kind"] == "top_label"


def test_scores_that_are_masked_everywhere_are_answers(tmp_path):
    masked = POWERS.copy()
    masked[:, 3] = 0
    read, _ = asked(**pair_of(tmp_path, masked, LABELS % 3, logits=("Log", [4])))
    assert read["vet.comparison.kind"] == "top_label"


def test_an_original_that_does_not_see_its_inputs_stops_the_question(tmp_path):
    inputs = np.concatenate([np.ones((60, 4)), normal(60, 4)], 1).astype(np.float32)
    pair = pair_of(tmp_path, inputs, y=("Softmax", [4]))
    echo(pair["original"], y=("Softmax", [4]))
    np.savez(pair["inputs"], inputs=np.ones((60, 4), np.float32))
    assert asked(**pair)[0], "the inputs are the same, and so may be the answers"
    for name in ("original", "compressed"):
        pair[name] = echo(pair[name], y=("Softmax", [4]), z=("Softmax", [4]))
    np.savez(pair["inputs"], inputs=inputs)
    with pytest.raises(UserError, match="the same answer to all 60 inputs"):
        asked(**pair, overrides=["vet.feeding.outputs=[y]"])


WORKS = {
    "top_label": (SCORES, [4], {}),
    "multi_label": (SCORES, [4], {"thresholds": [0.0]}),
    "regression": (normal(60, 3), [3], {}),
    "tolerance": (normal(60, 3), [3], {}),
    "embedding": (normal(60, 3), [3], {}),
    "label_map": (normal(60, 3, 5, 4), [3, 5, 4], {"axis": 0}),
    "frame_scores": (normal(60, 5, 4), [5, 4], {"threshold": None}),
    "sequence": (spoken(), [20, 5], {"decoding": "ctc", "blank": 0, "scores": "logits"}),
    "boxes": (normal(60, 9, 6), [9, 6], {"rows": "first"}),
    "token_distribution": (normal(60, 5, 7), [5, 7], {}),
}


def test_each_comparison_is_tried():
    assert {*WORKS, "together"} == set(COMPARISONS)


@pytest.mark.parametrize("name", WORKS)
def test_a_comparison_works_by_its_name_alone(tmp_path, name):
    answers, shape, options = WORKS[name]
    found = composed(**pair_of(tmp_path, rows_of(answers), output=("Add", shape)), comparison=name)
    assert found["comparison"] == {"kind": name, "options": options}


SEVERAL = {"probabilities": ("Softmax", [4]), "amount": ("Add", [1])}
BOTH = rows_of(SCORES, normal(60, 1, scale=50))


@pytest.mark.parametrize("wanted", [None, "together"])
def test_several_outputs_are_compared_each_by_itself(tmp_path, wanted):
    pair = pair_of(tmp_path, BOTH, LABELS, **SEVERAL)
    found = composed(**pair, comparison=wanted)["comparison"]
    assert found["kind"] == "together"
    parts = found["options"]["outputs"]
    assert [(part["output"], part["kind"], part["shape"]) for part in parts] == [
        ("probabilities", "top_label", [4]),
        ("amount", "regression", [1]),
    ]


def test_one_comparison_of_several_outputs_takes_the_one_that_it_fits(tmp_path):
    pair = pair_of(tmp_path, BOTH, **SEVERAL)
    for wanted, name in (("top_label", "probabilities"), ("regression", "amount")):
        read, said = asked(**pair, comparison=wanted)
        assert read["vet.feeding.outputs"] == [name]
        assert f"compared are the outputs {name}" in said


def test_of_outputs_that_a_comparison_could_take_the_usual_shape_is_chosen(tmp_path):
    steps = {"steps": ("Add", [5, 6]), "whole": ("Add", [6])}
    for outputs in (steps, dict(reversed(steps.items()))):
        read, _ = asked(**pair_of(tmp_path, normal(60, 36), **outputs), comparison="embedding")
        assert read["vet.feeding.outputs"] == ["whole"]


def test_models_that_were_looked_at_are_closed(tmp_path, monkeypatch):
    opened, closed = [], []

    class Watched(FileModel):
        def __init__(self, *given, **options):
            super().__init__(*given, **options)
            opened.append(self.name)

        def close(self):
            super().close()
            closed.append(self.name)

    monkeypatch.setattr(subjects, "IsolatedFileModel", Watched)
    asked(**pair_of_pictures(tmp_path, last="Softmax", **UNIT))
    assert set(opened) == {"original.onnx", "compressed.onnx"}
    assert sorted(opened) == sorted(closed)


def test_labels_of_one_of_several_outputs_are_held_against_it(tmp_path):
    wrong = np.random.default_rng(0).permutation(LABELS)
    with pytest.raises(UserError, match="by chance"):
        asked(**pair_of(tmp_path, BOTH, wrong, **SEVERAL))


def test_an_output_that_the_compressed_model_lacks_is_said(tmp_path):
    pair = pair_of(tmp_path, rows_of(SCORES, LABELS), scores=("Softmax", [4]), label=("Cast", [1]))
    assert asked(**pair)[0]["vet.feeding.outputs"] == ["scores", "label"]
    echo(pair["compressed"], scores=("Softmax", [4]), other=("Cast", [1]))
    with pytest.raises(UserError, match=r"compressed\.onnx has no output label .*--comparison"):
        asked(**pair)
    assert asked(**pair, comparison="top_label")[0]["vet.comparison.kind"] == "top_label"


@pytest.mark.parametrize(
    ("own", "name"), [(UNIT, "unit"), (SYMMETRIC, "symmetric"), (GREY_LEVELS, "raw")]
)
def test_preprocessing_is_found_by_what_the_original_gets_right(tmp_path, own, name):
    pair = pair_of_pictures(tmp_path, **own)
    found = composed(**pair)
    assert found["feeding"]["preprocessing"] == preprocessing(name)
    assert found["feeding"]["channels"] == "rgb"
    tried = {(one["name"], one["channels"]): one["accuracy"] for one in found["tried"]}
    assert len(tried) == 10 and tried[name, "rgb"] >= max(tried.values()) - 0.02


def preprocessing(name):
    import yaml

    return yaml.safe_load((CONF / f"preprocessing/{name}.yaml").read_text())


SYMMETRIC_BY_HAND = "{scale: 0.00784313725490196, mean: [1.0], std: [1.0]}"


def test_a_flag_and_an_override_win_over_what_is_found(tmp_path):
    pair = pair_of_pictures(tmp_path, labelled=False, **SYMMETRIC)
    read, said = asked(**pair, preprocessing="imagenet")
    assert read["vet.feeding.preprocessing"] == preprocessing("imagenet")
    assert any("preprocessing imagenet: as was asked" in line for line in said)
    found = composed(**pair, overrides=[f"vet.feeding.preprocessing={SYMMETRIC_BY_HAND}"])
    assert found["feeding"]["preprocessing"] == preprocessing("symmetric")
    own = ["vet.comparison.kind=regression", "+vet.comparison.options.tolerance=0.5"]
    found = composed(**pair, overrides=own)
    assert found["comparison"] == {"kind": "regression", "options": {"tolerance": 0.5}}


def test_bytes_need_no_preprocessing(tmp_path):
    pair = pair_of_pictures(tmp_path, dtype="uint8", **GREY_LEVELS)
    read, said = asked(**pair)
    assert "vet.feeding.preprocessing" not in read
    assert any("the model takes bytes" in line for line in said)


def test_the_whole_question_can_be_asked_again(tmp_path):
    pair = pair_of_pictures(tmp_path, last="Identity", **UNIT)
    asking = {
        "comparison": "regression",
        "options": {"tolerance": 0.25, "common": True},
        "preprocessing": "unit",
        "overrides": ["seed=3", "vet.confidence=0.9"],
    }
    words = VetRequest(**pair, **asking).words()
    flags = dict(zip(words[::2], words[1::2], strict=True))
    again = {
        "kind": flags["--kind"],
        "comparison": flags["--comparison"],
        "preprocessing": flags["--preprocessing"],
        "overrides": [
            word for flag, word in zip(words[::2], words[1::2], strict=True) if flag == "-S"
        ],
    }
    first, second = composed(**pair, **asking), composed(**pair | again)
    assert first.pop("asked") == words
    second.pop("asked")
    assert first == second
    assert first["comparison"]["options"] == asking["options"] and first["confidence"] == 0.9


def test_constants_are_repeated():
    files = dict.fromkeys(("original", "compressed", "inputs"), None)
    words = VetRequest(**files, constants=["sr=8000", "g=1"], overrides=["seed=2"]).words()
    assert words == ["--constant", "sr=8000", "--constant", "g=1", "-S", "seed=2"]


@pytest.mark.parametrize(
    ("overrides", "key", "settled"),
    [
        (["vet.feeding.pad=1"], "vet.feeding.pad", True),
        (["+vet.comparison.options.blank=1"], "vet.comparison", True),
        (["~vet.comparison.options"], "vet.comparison", True),
        (["vet.feeding.padding=1"], "vet.feeding.pad", False),
        (["vet.feeding.preprocessing.scale=1"], "vet.feeding.preprocessing", True),
        ([], "vet.comparison", False),
    ],
)
def test_an_override_settles_what_it_names(overrides, key, settled):
    files = dict.fromkeys(("original", "compressed", "inputs"), None)
    assert VetRequest(**files, overrides=overrides).settles(key) == settled


@pytest.mark.parametrize(("shape", "fit"), [([3], False), ([2, 2], False), ([4, 1], True)])
def test_answers_of_other_sizes_are_no_pair(tmp_path, shape, fit):
    inputs = rows_of(SCORES, normal(60, 2))
    pair = pair_of(tmp_path, inputs, y=("Softmax", [4]), rest=("Identity", [2]))
    rest = ("Identity", [6 - int(np.prod(shape))])
    echo(pair["compressed"], y=("Identity", shape), rest=rest)
    asking = pair | {"overrides": ["vet.feeding.outputs=[y]"]}
    if fit:
        assert asked(**asking)[0]["vet.comparison.kind"] == "top_label"
        return
    with pytest.raises(UserError, match=r"y \(4\).*y \(.*no pair"):
        asked(**asking)


def test_the_compressed_model_is_opened_before_anything_runs(tmp_path):
    pair = pair_of(tmp_path, SCORES, y=("Softmax", [4]))
    echo(pair["compressed"], other=("Softmax", [4]))
    only = {"overrides": ["vet.feeding.outputs=[y]"]}
    assert asked(**pair)[0] and asked(**pair, **only)[0]["vet.matching"] == [
        {"original": "y", "compressed": "other"}
    ]
    echo(pair["compressed"], other=("Softmax", [3]), more=("Softmax", [1]))
    with pytest.raises(UserError, match="no output y"):
        asked(**pair, **only)


def turned(path, names):
    """A model's outputs in the other order, by new names."""
    model = onnx.load(path)
    for node in model.graph.node:
        node.output[:] = [names.get(name, name) for name in node.output]
    outputs = [*model.graph.output][::-1]
    del model.graph.output[:]
    model.graph.output.extend(outputs)
    for output in model.graph.output:
        output.name = names.get(output.name, output.name)
    onnx.save(model, path)


HEADS = {"colour": ("Softmax", [4]), "form": ("Softmax", [4]), "size": ("Softmax", [3])}


@pytest.mark.parametrize("names", [{}, {"colour": "a", "form": "b", "size": "c"}])
def test_outputs_in_another_order_are_matched_by_names_or_else_by_sizes_and_values(tmp_path, names):
    answers = rows_of(SCORES, logits(LABELS[::-1]), SCORES[:, :3])
    pair = pair_of(tmp_path, answers, **HEADS)
    turned(pair["compressed"], names)
    found = resolve_question(VetRequest(**pair, comparison="together"), CONF)
    matching = {pair.original: pair.compressed for pair in found.params.matching}
    assert matching == names
    with open_vetted(found.params, 0) as vetted:
        assert not vetted.deviates.any() and list(vetted.shapes) == list(HEADS)
        assert np.array_equal(vetted.answers.f, vetted.answers.g)


def test_outputs_of_other_names_in_the_same_order_stay_in_it(tmp_path):
    pair = pair_of(tmp_path, rows_of(SCORES, SCORES), **{k: HEADS[k] for k in ("colour", "form")})
    echo(pair["compressed"], a=("Softmax", [4]), b=("Softmax", [4]))
    assert resolve_question(VetRequest(**pair), CONF).params.matching == []
    some = VetRequest(**pair, overrides=["vet.feeding.outputs=[form]"])
    assert resolve_question(some, CONF).params.counterpart("form") in "ab", (
        "the answers of both are equal"
    )
