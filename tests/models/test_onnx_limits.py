"""What an ONNX file declares is counted in bytes, whatever the type of its elements."""

import onnx
import pytest
from onnx import TensorProto, helper

from asterism.core.messages.errors import UserError
from asterism.models.foreign.onnx_files import read_onnx

#: Bytes of one element, from ONNX's own description of its types.
WIDTHS = {
    TensorProto.BOOL: 1,
    TensorProto.UINT8: 1,
    TensorProto.FLOAT16: 2,
    TensorProto.FLOAT: 4,
    TensorProto.INT64: 8,
    TensorProto.DOUBLE: 8,
    TensorProto.COMPLEX128: 16,
}


def write(path, kind, elements, *, constant):
    """A model that declares a constant, or a value between its nodes, of so many elements."""
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", [value], [value])
    if constant:
        graph.initializer.add(name="c", data_type=kind, dims=[elements])
    else:
        graph.value_info.append(helper.make_tensor_value_info("c", kind, [elements]))
    path.write_bytes(helper.make_model(graph).SerializeToString())
    return path


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize(("kind", "width"), WIDTHS.items(), ids=map(str, WIDTHS))
def test_the_limit_is_met_by_the_byte(kind, width, constant, tmp_path, monkeypatch):
    monkeypatch.setenv("ASTERISM_LIMITS_MODEL_MB" if constant else "ASTERISM_LIMITS_ARRAY_MB", "1")
    most = 10**6 // width
    path = write(tmp_path / "m.onnx", kind, most, constant=constant)
    assert isinstance(read_onnx(path), onnx.ModelProto)
    write(path, kind, most + 1, constant=constant)
    with pytest.raises(UserError, match=r"m\.onnx declares .* 1 MB"):
        read_onnx(path)
