"""Files as subjects: free sizes, integers below a table's rows, a user's own inputs."""

import numpy as np
import onnx
import pytest
from small_files import chain, onnx_model, table

from asterism.core.messages.errors import UserError
from asterism.versions.model_files import DISTRIBUTIONS
from asterism.versions.subjects import (
    parse_shapes,
    read_inputs,
    read_subject,
    subject_of,
)


def test_free_sizes_are_given_one():
    model = onnx_model([("Relu", ["x"], ["y"], {})], [("x", ("batch", "time", 4))], ["y"])
    assert subject_of("m", model, 9, {}).inputs[0].shape == (2, 9, 4)
    assert subject_of("m", model, 9, {"x": (1, 30, 4)}).inputs[0].shape == (1, 30, 4)


@pytest.mark.parametrize(
    ("shapes", "said"),
    [
        ({"x": (2, 3)}, r"m: the input 'x' has the shape \?,4"),
        ({"x": (2, 4, 1)}, r"m: the input 'x' has the shape \?,4"),
        ({"z": (2, 4)}, r"m has no input 'z' \(it has: x\)"),
    ],
)
def test_a_shape_must_fit(shapes, said):
    with pytest.raises(UserError, match=said):
        subject_of("m", chain("Relu"), 9, shapes)


def test_shapes_on_the_command_line():
    assert parse_shapes(["x=2,3", "a=b=1"]) == {"x": (2, 3), "a=b": (1,)}
    for wrong in ("x", "x=", "x=2,a", "x=0", "x=2,-1"):
        with pytest.raises(UserError, match="should be like NAME=2,16,4"):
            parse_shapes([wrong])


def test_integers_stay_below_the_rows_of_the_table_that_they_index():
    (drawn,) = subject_of("m", table(rows=3), 9, {}).draw(0, "normal")
    assert drawn.dtype == np.int64 and drawn.shape == (2, 5)
    assert set(np.unique(drawn)) <= {0, 1, 2} and drawn.max() == 2


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_what_is_drawn_is_the_same_every_time(distribution):
    subject = subject_of("m", chain("Relu", shape=("batch", 400)), 9, {})
    (one,), (other,) = (subject.draw(3, distribution) for _ in range(2))
    np.testing.assert_array_equal(one, other)
    assert one.dtype == np.float32
    assert np.isnan(one).sum(1).tolist() == [int(distribution == "nan")] * 2
    assert np.isinf(one).sum(1).tolist() == [int(distribution == "infinity")] * 2
    assert (np.nanmax(np.abs(one)) > 8) == (distribution in ("wide", "infinity"))


def test_a_file_is_read_within_limits(tmp_path):
    onnx.save(chain("Relu"), tmp_path / "m.onnx")
    assert read_subject(tmp_path / "m.onnx", 9, {}).name == "m"
    (tmp_path / "bad.onnx").write_bytes(b"no model")
    for name, said in (("m.keras", "is no .onnx file"), ("bad.onnx", "is no ONNX model")):
        with pytest.raises(UserError, match=said):
            read_subject(tmp_path / name, 9, {})


def test_own_inputs_are_checked(tmp_path):
    subject, path = subject_of("m", chain("Relu"), 9, {}), tmp_path / "in.npz"
    np.savez(path, x=np.ones((7, 4), np.float32))
    assert read_inputs(path, subject)[0].shape == (7, 4)
    np.savez(path, x=np.ones((7, 4)))
    with pytest.raises(UserError, match="x is float64 of rank 2, and m takes float32 of rank 2"):
        read_inputs(path, subject)
    np.savez(path, z=np.ones((7, 4)))
    with pytest.raises(UserError, match="has no array 'x'"):
        read_inputs(path, subject)
