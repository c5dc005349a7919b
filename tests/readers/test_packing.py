"""Data of ONNX models in other files: rejected, and packed into one file."""

import os

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from asterism.core.messages.errors import UserError
from asterism.models.foreign.onnx_files import pack_onnx, read_onnx
from readers import onnx_models
from readers.crafted_networks import by_entries_alone, by_location_alone, external


def written(folder, edit=external, **facts):
    """A model whose first weights are in ``data.bin`` beside it, or said to be."""
    model = onnx_models.plain()
    folder.mkdir()
    data = edit(model, **facts) or b""
    (folder / "data.bin").write_bytes(data)
    (folder / "m.onnx").write_bytes(model.SerializeToString())
    return folder / "m.onnx"


def test_a_packed_model_holds_the_data_and_needs_no_other_file(tmp_path):
    path = written(tmp_path / "given")
    with pytest.raises(UserError, match="asterism pack"):
        read_onnx(path)
    pack_onnx(path, tmp_path / "whole.onnx")
    (path.parent / "data.bin").unlink()
    weights = read_onnx(tmp_path / "whole.onnx").graph.initializer[0]
    right = numpy_helper.to_array(onnx_models.plain().graph.initializer[0])
    assert np.array_equal(numpy_helper.to_array(weights), right)
    onnx.checker.check_model(tmp_path / "whole.onnx")


@pytest.mark.parametrize("half", [by_entries_alone, by_location_alone])
def test_half_a_sign_of_another_file_is_enough(half, tmp_path):
    with pytest.raises(UserError, match="other files"):
        read_onnx(written(tmp_path / "given", half))


def test_a_model_of_one_file_stays_what_it_is(tmp_path):
    onnx.save(onnx_models.plain(), tmp_path / "m.onnx")
    pack_onnx(tmp_path / "m.onnx", tmp_path / "whole.onnx")
    assert onnx.load(tmp_path / "whole.onnx") == onnx.load(tmp_path / "m.onnx")


def _outside(data):
    data.rename(data.parent.parent / "secret.bin")


def _by_a_link(data):
    _outside(data)
    data.symlink_to("../secret.bin")


def _by_a_folder(data):
    _outside(data)
    (data.parent / "inside").symlink_to("..")


def _by_its_size(data):
    os.truncate(data, 5 * 10**9)


def _by_a_pipe(data):
    data.unlink()
    os.mkfifo(data)


@pytest.mark.parametrize(
    ("facts", "change"),
    [
        ({}, _by_a_link),
        ({}, _by_a_pipe),
        ({}, _by_its_size),
        ({"location": "../secret.bin"}, _outside),
        ({"location": "{folder}/secret.bin"}, _outside),
        ({"location": "inside/secret.bin"}, _by_a_folder),
        ({"location": "nowhere.bin"}, None),
        ({"location": "*/_ORT_MEM_ADDR_/*", "offset": 4096}, None),
        ({"length": 12}, None),
        ({"offset": 10**9}, None),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_data_that_lie_elsewhere_or_are_not_what_is_said_are_not_packed(facts, change, tmp_path):
    told = {k: v.format(folder=tmp_path) if isinstance(v, str) else v for k, v in facts.items()}
    path = written(tmp_path / "given", **told)
    if change is not None:
        change(path.parent / "data.bin")
    with pytest.raises(UserError, match=r"m\.onnx") as rejected:
        pack_onnx(path, tmp_path / "whole.onnx")
    assert "\n" not in str(rejected.value)
    assert not (tmp_path / "whole.onnx").exists()
