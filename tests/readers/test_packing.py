"""Data of ONNX models in other files: rejected, and packed into one file."""

import os

import crafted_models as crafted
import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from asterism.core.messages.errors import UserError
from asterism.models.foreign.onnx_files import pack, read_onnx


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "given" / "m.onnx"
    path.parent.mkdir()
    return path


def test_a_packed_model_holds_the_data_and_needs_no_other_file(model, tmp_path):
    crafted.external(model)
    with pytest.raises(UserError, match="asterism pack"):
        read_onnx(model)
    pack(model, tmp_path / "whole.onnx")
    (model.parent / "data.bin").unlink()
    weights = read_onnx(tmp_path / "whole.onnx").graph.initializer[0]
    assert np.array_equal(numpy_helper.to_array(weights), np.ones((16, 3), np.float32))
    onnx.checker.check_model(tmp_path / "whole.onnx")


@pytest.mark.parametrize(
    "half", [crafted.external_by_its_entries_alone, crafted.external_by_its_location_alone]
)
def test_half_a_sign_of_another_file_is_enough(half, model):
    half(model)
    with pytest.raises(UserError, match="keeps data in other files"):
        read_onnx(model)


def test_a_model_of_one_file_stays_what_it_is(model, tmp_path):
    crafted.onnx_model(model)
    pack(model, tmp_path / "whole.onnx")
    assert onnx.load(tmp_path / "whole.onnx") == onnx.load(model)


def _link_out(model):
    crafted.external(model)
    (model.parent / "data.bin").rename(model.parent.parent / "secret.bin")
    (model.parent / "data.bin").symlink_to(model.parent.parent / "secret.bin")


def _dots(model):
    crafted.external(model, "../secret.bin")
    (model.parent / "data.bin").rename(model.parent.parent / "secret.bin")


def _absolute(model):
    crafted.external(model, str(model.parent.parent / "secret.bin"))
    (model.parent / "data.bin").rename(model.parent.parent / "secret.bin")


def _folder_that_leads_out(model):
    crafted.external(model, "inside/secret.bin")
    (model.parent / "data.bin").rename(model.parent.parent / "secret.bin")
    (model.parent / "inside").symlink_to(model.parent.parent)


def _missing(model):
    crafted.external(model, "nowhere.bin")


def _pipe(model):
    crafted.external(model)
    (model.parent / "data.bin").unlink()
    os.mkfifo(model.parent / "data.bin")


def _too_large(model):
    crafted.external(model)
    with (model.parent / "data.bin").open("r+b") as file:
        file.truncate(5 * 10**9)


def _of_another_size(model):
    crafted.external(model, length=12)


def _beyond_its_end(model):
    crafted.external(model, offset=10**9)


def _address(model):
    crafted.address_in_memory(model)


@pytest.mark.parametrize(
    "craft",
    [
        _link_out,
        _dots,
        _absolute,
        _folder_that_leads_out,
        _missing,
        _pipe,
        _too_large,
        _of_another_size,
        _beyond_its_end,
        _address,
    ],
)
def test_data_that_lie_elsewhere_or_are_not_what_is_said_are_not_packed(model, craft, tmp_path):
    craft(model)
    with pytest.raises(UserError, match=r"m\.onnx") as rejected:
        pack(model, tmp_path / "whole.onnx")
    assert "\n" not in str(rejected.value)
    assert not (tmp_path / "whole.onnx").exists()
