"""Repairing pairs whose two files take pictures in other layouts, or batches of other sizes."""

from functools import cache

import numpy as np
import onnx
import pytest
from onnx import helper
from small_vetting import by_runtime, vet_params, with_files
from truths import pairs

from asterism.core.messages.errors import UserError
from asterism.core.settings.yaml_files import read_yaml
from asterism.vetting.onnx_pairs import open_as_onnx
from asterism.vetting.opening import open_vetted
from asterism.vetting.repairing import repair_opened
from places import ROOT

pytestmark = pytest.mark.usefixtures("models_here")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A function that makes a model with channels first, its damaged version, and pictures."""

    @cache
    def make(answer):
        folder = tmp_path_factory.mktemp("given")
        return folder, pairs.make(folder, pairs.Asked(answer, "images", "qdq", "scale"), 5, 0)

    return make


@pytest.fixture(scope="module")
def alike(made, tmp_path_factory):
    """A function that repairs the pair as it is made."""

    @cache
    def repair(answer):
        folder = tmp_path_factory.mktemp("alike")
        return repaired(written(made(answer), folder, same, same), folder)

    return repair


def last(value, name):
    """Its description with channels last."""
    batch, channels, height, width = (
        size.dim_value or size.dim_param for size in value.type.tensor_type.shape.dim
    )
    return helper.make_tensor_value_info(name, 1, [batch, height, width, channels])


def channels_last(model):
    """The same model behind a node that turns pictures with channels last."""
    (picture,) = model.graph.input
    model.graph.node.insert(
        0, helper.make_node("Transpose", ["turned"], [picture.name], "turn", perm=[0, 3, 1, 2])
    )
    picture.CopyFrom(last(picture, "turned"))
    return model


def maps_last(model):
    """The same model before a node that gives maps with channels last, by the same name."""
    (made,) = model.graph.output
    for node in model.graph.node:
        node.output[:] = ["before" if name == made.name else name for name in node.output]
    model.graph.node.append(
        helper.make_node("Transpose", ["before"], [made.name], "back", perm=[0, 2, 3, 1])
    )
    made.CopyFrom(last(made, made.name))
    return model


def all_last(model):
    """Pictures and maps with channels last."""
    return channels_last(maps_last(model))


def of_batch(size):
    """Changes the number of items that a model takes at a time; 0 for any."""

    def changed(model):
        for value in (*model.graph.input, *model.graph.output):
            batch = value.type.tensor_type.shape.dim[0]
            batch.Clear()
            if size:
                batch.dim_value = size
        return model

    return changed


def same(model):
    """A model as it is."""
    return model


def written(given, folder, *changes):
    """Parameters of the pair with both models changed."""
    source, truth = given
    paths = [folder / truth[name] for name in ("original", "compressed")]
    for change, path in zip(changes, paths, strict=True):
        onnx.save(change(of_batch(0)(onnx.load(source / path.name))), path)
    comparison = {"kind": "top_label", "options": {}}
    if truth["kind"] == "label map":
        axis = 2 if changes[0] in (maps_last, all_last) else 0
        comparison = {"kind": "label_map", "options": {"axis": axis}}
    return vet_params(
        "images",
        original=str(paths[0]),
        compressed=str(paths[1]),
        inputs=str(source / truth["inputs"]),
        comparison=comparison,
        feeding__preprocessing=read_yaml(
            ROOT / f"conf/preprocessing/{truth['preprocessing']}.yaml"
        ),
        search__seeds=4,
        search__queries=8,
        changes__inputs=4,
        repair__inputs=16,
        repair__evaluations=4,
        repair__float_share=0.5,
    )


def repaired(params, folder):
    np.savez(folder / "none.npz", items=np.zeros((0, 32, 32, 3), np.uint8))
    return with_files(repair_opened, params, 0, folder / "none.npz", folder / "repaired")


@pytest.mark.parametrize(
    ("answer", "original", "compressed"),
    [
        ("logits", same, channels_last),
        ("logits", channels_last, same),
        ("logits", of_batch(2), channels_last),
        ("logits", channels_last, of_batch(3)),
        ("logits", of_batch(1), of_batch(1)),
        ("label map", same, maps_last),
        ("label map", all_last, same),
        ("label map", maps_last, channels_last),
    ],
)
def test_such_a_pair_is_repaired_as_one_of_like_files(
    made, alike, tmp_path, answer, original, compressed
):
    expected = alike(answer)
    found = repaired(written(made(answer), tmp_path, original, compressed), tmp_path)
    assert expected["gone"] > 0 and expected["blamed"][0]["node"] == made(answer)[1]["node"]
    assert found["blamed"][0] == expected["blamed"][0]
    for name in ("gone", "deviating_inputs", "gone_held_out"):
        assert found[name] == expected[name]


def test_a_repaired_file_takes_pictures_as_the_compressed_one(made, tmp_path):
    repaired(written(made("logits"), tmp_path, same, channels_last), tmp_path)
    pictures = np.random.default_rng(0).random((3, 32, 32, 3), np.float32)
    assert by_runtime(tmp_path / "repaired/repaired.onnx", turned=pictures).shape == (3, 4)


def test_two_fixed_batches_are_no_pair_to_exchange_nodes(made, tmp_path):
    params = written(made("logits"), tmp_path, of_batch(2), of_batch(3))
    refused = pytest.raises(UserError, match="take 2 and 3 items at a time")
    with open_vetted(params, 0) as vetted, open_as_onnx(vetted) as pair, refused:
        pair.runs(vetted.inputs.items)
