"""Hostile text in each string of an ONNX file: no library makes source of it."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from asterism.core.messages.errors import UserError
from asterism.differential.adapters.library import LIBRARIES
from asterism.differential.adapters.model_under_test import ModelUnderTest
from asterism.differential.subjects.onnx_file import read_subject
from asterism.localisation.reading import open_pair
from asterism.models.classifiers.classifier import open_classifier, probe_images
from asterism.models.keras_models.preprocessing import PreprocessingParams
from asterism.models.recurrent import open_rnn
from asterism.models.runtimes.runtime import open_runtime
from asterism.models.signatures.reading import read_signature
from hostile_text import TEXTS, watched

#: Libraries that run files of ONNX in this process.
RUNNING = ("onnx2torch", "onnx2pytorch", "openvino", "onnxruntime", "onnx_reference")


def model():
    """A classifier with a string in every kind of place that ONNX has."""
    rng = np.random.default_rng(0)
    floats = TensorProto.FLOAT
    branch = helper.make_graph(
        [helper.make_node("Neg", ["r"], ["b"], name="neg")],
        "branch",
        [],
        [helper.make_tensor_value_info("b", floats, None)],
    )
    nodes = [
        helper.make_node("Conv", ["images", "kernel"], ["c"], name="conv", auto_pad="VALID"),
        helper.make_node("Relu", ["c"], ["r"], name="relu", doc_string="d"),
        helper.make_node(
            "Constant", [], ["yes"], value=numpy_helper.from_array(np.array(True), "t")
        ),
        helper.make_node("If", ["yes"], ["i"], then_branch=branch, else_branch=branch),
        helper.make_node("Twice", ["i"], ["w"], name="call", domain="local", by=1.0),
        helper.make_node("Flatten", ["w"], ["f"], axis=1),
        helper.make_node("Einsum", ["f", "dense"], ["outputs"], equation="ij,jk->ik"),
    ]
    graph = helper.make_graph(
        nodes,
        "model",
        [helper.make_tensor_value_info("images", floats, ["N", 1, 8, 8], "d")],
        [helper.make_tensor_value_info("outputs", floats, ["N", 4])],
        [
            numpy_helper.from_array(rng.normal(size=(4, 1, 3, 3)).astype(np.float32), "kernel"),
            numpy_helper.from_array(rng.normal(size=(144, 4)).astype(np.float32), "dense"),
        ],
        value_info=[helper.make_tensor_value_info("f", floats, ["N", 144])],
    )
    graph.quantization_annotation.add(tensor_name="f").quant_parameter_tensor_names.add(
        key="SCALE_TENSOR", value="dense"
    )
    function = helper.make_function(
        "local",
        "Twice",
        ["x"],
        ["y"],
        [helper.make_node("Add", ["x", "x"], ["y"], name="add")],
        [helper.make_opsetid("", 17)],
        ["by"],
    )
    made = helper.make_model(
        graph,
        functions=[function],
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("local", 1)],
        ir_version=9,
        producer_name="p",
    )
    made.metadata_props.add(key="k", value="v")
    onnx.checker.check_model(made)
    return made


def plain():
    """A classifier that every library runs."""
    rng = np.random.default_rng(0)
    nodes = [
        helper.make_node("Conv", ["images", "kernel"], ["c"], name="conv"),
        helper.make_node("Relu", ["c"], ["r"], name="relu"),
        helper.make_node("Flatten", ["r"], ["f"], name="flatten"),
        helper.make_node("Gemm", ["f", "dense"], ["outputs"], name="gemm"),
    ]
    arrays = {"kernel": (4, 1, 3, 3), "dense": (144, 4)}
    graph = helper.make_graph(
        nodes,
        "plain",
        [helper.make_tensor_value_info("images", TensorProto.FLOAT, ["N", 1, 8, 8])],
        [helper.make_tensor_value_info("outputs", TensorProto.FLOAT, ["N", 4])],
        [
            numpy_helper.from_array(rng.normal(size=shape).astype(np.float32), name)
            for name, shape in arrays.items()
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def recurrent():
    """A network of one LSTM."""
    rng = np.random.default_rng(0)
    floats = TensorProto.FLOAT
    arrays = {"w": (1, 20, 4), "r": (1, 20, 5), "dense": (5, 3)}
    graph = helper.make_graph(
        [
            helper.make_node("Transpose", ["images"], ["t"], perm=[1, 0, 2]),
            helper.make_node("LSTM", ["t", "w", "r"], ["y", "last"], name="cell", hidden_size=5),
            helper.make_node("Squeeze", ["last", "zero"], ["s"]),
            helper.make_node("MatMul", ["s", "dense"], ["outputs"]),
        ],
        "rnn",
        [helper.make_tensor_value_info("images", floats, ["N", 8, 4])],
        [helper.make_tensor_value_info("outputs", floats, ["N", 3])],
        [
            *(
                numpy_helper.from_array(rng.normal(size=shape).astype(np.float32), name)
                for name, shape in arrays.items()
            ),
            numpy_helper.from_array(np.array([0], np.int64), "zero"),
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def places(message, path=()):
    """Where a message has a string: the fields and numbers that lead there, and the string."""
    for field, value in message.ListFields():
        many = list(value) if field.is_repeated else [value]
        for number, one in enumerate(many):
            here = (*path, (field.name, number if field.is_repeated else None))
            if field.message_type is not None:
                yield from places(one, here)
            elif field.type == field.TYPE_STRING or (field.name in ("s", "strings")):
                yield here, one


def replaced(message, text, old):
    """A model with a text in place of a string wherever that stands: names stay references."""
    copy = type(message)()
    copy.CopyFrom(message)
    for path, value in list(places(message)):
        if value == old:
            part = copy
            for name, number in path[:-1]:
                part = getattr(part, name) if number is None else getattr(part, name)[number]
            name, number = path[-1]
            new = text.encode() if isinstance(value, bytes) else text
            if number is None:
                setattr(part, name, new)
            else:
                getattr(part, name)[number] = new
    return copy


def use(path, folder, running):
    """Everything that is done with a file; nothing but an error of one line is raised."""

    def tried(what, *arguments):
        try:
            return what(*arguments)
        except UserError:
            return None

    def compiled(library, under_test, option, inputs):
        try:
            library.run(library.compile(under_test, option), inputs)
        except SyntaxError:
            raise
        except Exception:  # whatever a library says of a model that it cannot run
            pass

    tried(read_signature, path)
    tried(open_runtime, path)
    classifier = tried(open_classifier, path, PreprocessingParams(scale=1, mean=[0], std=[1]))
    if classifier is not None:
        classifier.predict(probe_images(classifier.input_shape))
    tried(open_rnn, path, None)
    tried(open_pair, path, path)
    subject = tried(read_subject, path, 4, {})
    if subject is None:
        return
    inputs = subject.draw(0, "normal")
    for number, part in enumerate((subject, subject.fixed(inputs), subject.exposing()[0])):
        at = folder / str(number)
        at.mkdir(exist_ok=True)
        for name in running:
            library = LIBRARIES[name]()
            library.start()
            option = library.all_options()[0]
            under_test = ModelUnderTest(at, None, None, batch=2)
            library.path(under_test, option).write_bytes(part.content)
            compiled(library, under_test, option, inputs)


STRINGS = {
    f"{kind.__name__} {old!r}": (kind, old)
    for kind in (plain, model, recurrent)
    for old in dict.fromkeys(value for _, value in places(kind()))
}


@pytest.mark.parametrize("where", [*STRINGS][:14:2])
def test_no_text_of_a_file_becomes_source(where, tmp_path):
    kind, old = STRINGS[where]
    path = tmp_path / "m.onnx"
    path.write_bytes(replaced(kind(), TEXTS[0], old).SerializeToString())
    with watched() as seen:
        use(path, tmp_path, RUNNING[:1])
    assert seen == []


@pytest.mark.slow
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("where", STRINGS)
def test_no_text_of_any_kind_becomes_source_in_any_library(where, text, tmp_path):
    kind, old = STRINGS[where]
    path = tmp_path / "m.onnx"
    path.write_bytes(replaced(kind(), text, old).SerializeToString())
    with watched() as seen:
        use(path, tmp_path, RUNNING)
    assert seen == []
