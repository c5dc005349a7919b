"""The smallest part of a model that shows a change, with libraries whose faults are known."""

import numpy as np
import onnx
import pytest
from made_up_changes import made_change
from made_up_pool import PAIR, PERTURBED, pool
from onnx import TensorProto, helper
from small_files import chain, onnx_model

from asterism.comparing.blaming import FaultLocaliser, ModelPart
from asterism.comparing.cases import UNCHANGED, judge_upgrade
from asterism.comparing.judging import run_subject
from asterism.differential.adapters.backend_names import OF_ONNX
from asterism.differential.subjects.onnx_file import make_subject
from asterism.models.onnx_graphs import node_inputs
from libraries.small_results import JUDGE

X = np.array([[-2, -0.5, 0.25, 3], [1, 2, -3, 4]], np.float32)


def together_only(kinds):
    return ("Softplus",) if "Sqrt" in kinds else ()


def change_in(workers, subject, inputs):
    result = run_subject(workers, subject, {"normal": inputs}, [PAIR.old, PAIR.new])
    return judge_upgrade(subject, result, PAIR, "normal", JUDGE)


def blamed(model, workers, steps=100, inputs=(X,)):
    """The part that is found; the tasks of the search alone remain."""
    subject = make_subject("m", model, 4, {})
    change = change_in(workers, subject, list(inputs))
    assert change.kind not in UNCHANGED
    workers.done.clear()
    return FaultLocaliser(workers, JUDGE, change, subject, list(inputs)).smallest(steps)


def test_a_wrong_node_is_found_at_once_with_what_reaches_it():
    workers = pool(lambda kinds: ("Softplus",))
    part = blamed(chain("Abs", "Sqrt", "Softplus", "Neg"), workers)
    assert part.layers == ["Softplus node2"]
    assert (part.nodes, part.finished) == (4, True)
    (given,) = part.inputs
    assert given.dtype == np.float32
    np.testing.assert_allclose(given, np.sqrt(np.abs(X)), rtol=1e-6)
    (spec,) = part.subject.inputs
    assert (spec.name, spec.shape, spec.dtype) == ("v1", (2, 4), "float32")
    assert part.subject.outputs == ["v2"]
    assert part.case.kind == "now right" and part.case.old.symptom == "values differ"
    assert set(part.result.outputs) >= {PAIR.old, PAIR.new, OF_ONNX.right}
    assert len(workers.done) == 2  # every tensor, and the part


def test_a_fault_of_the_new_version_is_found():
    part = blamed(chain("Abs", "Exp", "Neg"), pool(lambda kinds: ("Exp",), faulty=PAIR.new))
    assert part.case.kind == "now wrong" and part.layers == ["Exp node1"]


@pytest.mark.parametrize("pair", [("Abs", "Exp"), ("Exp", "Neg"), ("Neg", "Relu"), ("Abs", "Relu")])
def test_a_failure_is_halved(pair):
    """Nodes that fail together, wherever they are; those between them go where they can."""
    workers = pool(fails=lambda kinds: "no" if set(pair) <= set(kinds) else "", faulty=PAIR.new)
    part = blamed(chain("Abs", "Exp", "Neg", "Relu"), workers)
    assert part.case.kind == "no longer runs"
    assert [name.split()[0] for name in part.layers] == list(pair)
    assert part.finished


def test_another_failure_is_another_change():
    def fails(kinds):
        return "first" if "Exp" in kinds and "Abs" in kinds else ""

    assert len(blamed(chain("Abs", "Exp"), pool(fails=fails)).layers) == 2


def test_nodes_that_are_wrong_together_only_stay_together():
    part = blamed(chain("Abs", "Sqrt", "Softplus", "Neg"), pool(together_only))
    assert part.layers == ["Sqrt node1", "Softplus node2"] and part.finished


@pytest.mark.parametrize(("steps", "layers"), [(0, 4), (1, 4), (2, 3)])
def test_no_more_parts_are_tried_than_asked(steps, layers):
    """The first step is the suspect alone, the second the suspect and all before it."""
    workers = pool(together_only)
    part = blamed(chain("Abs", "Sqrt", "Softplus", "Neg"), workers, steps)
    assert (len(part.layers), part.finished) == (layers, False)
    # Every tensor, the parts, and the whole model where none of them shows it.
    assert len(workers.done) == 1 + steps + (layers == 4)
    assert part.case.kind == "now right"
    assert PAIR.old in part.result.outcomes


def test_without_a_reference_the_other_configuration_says_what_reaches_a_part():
    workers = pool(lambda kinds: ("Softplus",), without=(OF_ONNX.right,))
    part = blamed(chain("Abs", "Softplus", "Neg"), workers)
    assert part.case.kind == "differs" and part.layers == ["Softplus node1"]
    np.testing.assert_array_equal(part.inputs[0], np.abs(X))


def test_where_nothing_says_what_reaches_a_part_the_whole_model_is_to_blame():
    workers = pool(lambda kinds: ("Softplus",), without=(OF_ONNX.right,))
    run = workers.run

    def no_values(task):
        result = run(task)
        if len(onnx.load_model_from_string(task.graph.content).graph.output) > 1:
            result.outputs.clear()
        return result

    model = chain("Abs", "Softplus")
    change = change_in(workers, make_subject("m", model, 4, {}), [X])
    workers.run = no_values
    part = FaultLocaliser(workers, JUDGE, change, make_subject("m", model, 4, {}), [X]).smallest(
        100
    )
    assert part.case.kind == "differs"
    assert (len(part.layers), part.finished) == (2, True)
    assert len(workers.done) == 3  # it was judged, every tensor was asked for, and it ran again
    assert part.inputs[0] is X
    assert part.result.distributions == ("normal",)


def test_the_first_wrong_node_is_the_suspect():
    """Not one that passes wrong values on, or makes them large."""
    nodes = [
        ("Neg", ["x"], ["a"], {}),
        ("Softplus", ["a"], ["b"], {}),
        ("Mul", ["b", "k"], ["c"], {}),
        ("Add", ["c", "x"], ["y"], {}),
    ]
    model = onnx_model(nodes, [("x", ("n", 4))], ["y"], {"k": np.float32([1000])})
    workers = pool(lambda kinds: ("Softplus",))
    part = blamed(model, workers)
    assert part.layers == ["Softplus node1"] and len(workers.done) == 2
    np.testing.assert_allclose(part.inputs[0], -X)


def test_what_is_near_is_tried_first():
    workers = pool(lambda kinds: ("Softplus",) if "Abs" in kinds else ())
    nodes = [
        ("Abs", ["x"], ["a"], {}),
        ("Neg", ["x"], ["other"], {}),
        ("Sqrt", ["a"], ["b"], {}),
        ("Softplus", ["b"], ["c"], {}),
        ("Add", ["c", "other"], ["y"], {}),
    ]
    part = blamed(onnx_model(nodes, [("x", ("n", 4))], ["y"]), workers)
    # Alone, with all that it depends on, and that without each.
    assert [label.split()[0] for label in part.layers] == ["Abs", "Softplus"]
    assert len(workers.done) == 1 + 5


def test_a_part_is_a_model_of_its_own():
    nodes = [
        ("Mul", ["x", "w"], ["a"], {}),
        ("Softplus", ["a"], ["b"], {}),
        ("Add", ["b", "c"], ["d"], {}),
        ("Add", ["d", "a"], ["y"], {}),
    ]
    weights = {"w": np.float32([2]), "c": np.float32([1])}
    subject = make_subject("m", onnx_model(nodes, [("x", ("n", 4))], ["y"], weights), 4, {})
    values = dict.fromkeys("xabcdy", X)
    alone, arrays = subject.part([0, 1], values.get)
    graph = alone.model.graph
    assert [node.name for node in graph.node] == ["node0", "node1"]
    assert [constant.name for constant in graph.initializer] == ["w"]
    assert alone.outputs == ["a", "b"]  # others read both
    assert [spec.name for spec in alone.inputs] == ["x"]
    np.testing.assert_array_equal(arrays[0], X)
    alone, arrays = subject.part([2, 3], values.get)
    assert [spec.name for spec in alone.inputs] == ["b", "a"] and len(arrays) == 2
    assert [constant.name for constant in alone.model.graph.initializer] == ["c"]
    assert alone.outputs == ["y"]
    kinds = {value.type.tensor_type.elem_type for value in alone.model.graph.input}
    assert kinds == {TensorProto.FLOAT}
    del values["a"]
    assert subject.part([2, 3], values.get) is None  # an input of it is not known
    assert subject.part([0], values.get) is None  # its output is not


@pytest.mark.parametrize("kind", [np.float16, np.int64, np.float32])
def test_values_have_the_types_that_the_model_computes_in(kind):
    to = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    nodes = [
        ("Cast", ["x"], ["h"], {"to": to}),
        ("Neg", ["h"], ["g"], {}),
        ("Cast", ["g"], ["f"], {"to": TensorProto.FLOAT}),
        ("Softplus", ["f"], ["y"], {}),
    ]
    model = onnx_model(nodes, [("x", ("n", 4))], ["y"])
    together = pool(fails=lambda kinds: "no" if {"Neg", "Softplus"} <= set(kinds) else "")
    part = blamed(model, together)
    assert part.layers == ["Neg node1", "Softplus node3"]
    assert [array.dtype for array in part.inputs] == [kind, np.float32]


def test_types_inside_of_a_model_follow():
    nodes = [("Cast", ["x"], ["h"], {"to": TensorProto.FLOAT16}), ("Neg", ["h"], ["n"], {})]
    model = onnx_model(nodes, [("x", (2, 4))], [])
    assert make_subject("m", model, 4, {}).kinds() == {
        "x": np.float32,
        "h": np.float16,
        "n": np.float16,
    }
    broken = onnx_model([("Add", ["x", "z"], ["y"], {})], [("x", (2, 4)), ("z", (3, 9))], ["y"])
    broken.opset_import[0].version = -1
    assert make_subject("m", broken, 4, {}).kinds()["z"] == np.float32


def test_shapes_are_fixed_in_a_copy():
    model = chain("Relu")
    model.graph.value_info.append(helper.make_tensor_value_info("v0", TensorProto.FLOAT, None))
    subject = make_subject("m", model, 4, {})
    before = model.SerializeToString()
    fixed = subject.fixed([np.ones((7, 4), np.float32)])
    assert model.SerializeToString() == before
    assert fixed.name == "m" and fixed.inputs[0].shape == (7, 4)
    assert fixed.inputs[0].dtype == "float32" and not fixed.model.graph.value_info
    (value,) = fixed.model.graph.input
    assert [d.dim_value for d in value.type.tensor_type.shape.dim] == [7, 4]


def test_only_the_inputs_own_shapes_are_fixed():
    nodes = [("Add", ["x", "w"], ["y"], {})]
    inputs = [("w", (1,)), ("x", ("n", 4))]
    model = onnx_model(nodes, inputs, ["y"], {"w": np.float32([1])})
    fixed = make_subject("m", model, 4, {}).fixed([X]).model.graph.input
    sizes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in fixed}
    assert sizes == {"w": [1], "x": [2, 4]}


def test_graphs_inside_of_nodes_read_too():
    inner = helper.make_node("Neg", ["inside"], ["r"])
    value = helper.make_tensor_value_info("r", TensorProto.FLOAT, None)
    branch = helper.make_graph([inner], "branch", [], [value])
    node = helper.make_node("If", ["c", ""], ["y"], then_branch=branch, else_branch=branch)
    assert list(node_inputs(node)) == ["c", "inside", "inside"]
    assert list(node_inputs(helper.make_node("Elu", ["x"], ["y"], alpha=1.0))) == ["x"]


@pytest.mark.parametrize(
    ("found", "wanted", "alike"),
    [
        (("now runs", {"message": "one"}), ("now runs", {"message": "two"}), True),
        (("now runs", {"exception": "B"}), ("now runs", {"exception": "A"}), False),
        (("now runs", {"old": "hang"}), ("now runs", {}), False),
        (("neither runs", {}), ("now runs", {}), False),
        (("now wrong", {}), ("now wrong", {"excess": 9.0}), True),
        (("now wrong", {"new": "wrong shape"}), ("now wrong", {}), False),
        (("now right", {}), ("now wrong", {}), False),
        (("both wrong", {"new": "wrong shape"}), ("both wrong", {}), False),
        (("both wrong", {"old": "wrong shape"}), ("both wrong", {}), False),
    ],
)
def test_changes_alike(found, wanted, alike):
    one, other = (made_change(kind, **facts) for kind, facts in (found, wanted))
    assert other.is_like(one) == alike


ROWS = np.array([[1, 2, 3, 4], [-1, -2, -3, -4]], np.float32)


def part_of(kind, workers=None, **facts):
    subject = make_subject("m", chain("Exp"), 4, {})
    workers = workers or pool()
    result = run_subject(workers, subject, {"normal": [ROWS]}, [PAIR.old, PAIR.new])
    change = made_change(kind, **facts)
    return ModelPart(subject, [ROWS], change, result, 1, finished=True)


def written(part, folder):
    """The text of the script of a part, and the arrays beside it."""
    path = part.write_script(folder, "A title", JUDGE)
    return path, dict(np.load(path.parent / "arrays.npz"))


def test_values_are_expected_as_the_reference_has_them(tmp_path):
    part = part_of("now wrong")
    moved = part.result.outputs[PERTURBED]["normal"]
    right = part.right(JUDGE)
    np.testing.assert_allclose(right.expected[0], np.exp(ROWS.astype(np.float64)))
    assert right.dtypes == ["float32"]
    assert (right.allowed[0] > 0).all() and (right.allowed[0] < 0.01).all()
    moved[0] = moved[0] + 1.0  # what rounding moves is tolerated
    assert (part.right(JUDGE).allowed[0] > 7.9).all()
    path, arrays = written(part, tmp_path)
    compile(text := path.read_text(), "repro.py", "exec")
    assert "A title" in text and "asterism" not in text and len(text.splitlines()) <= 25
    assert (path.parent / "model.onnx").read_bytes() == part.subject.content
    np.testing.assert_array_equal(arrays["input0"], ROWS)
    np.testing.assert_array_equal(arrays["expected0"], right.expected[0])


def test_the_other_version_is_the_referee_without_a_reference():
    part = part_of("differs", pool(without=(OF_ONNX.right,)))
    part.result.outputs[PERTURBED]["normal"][0] += 1.0
    right = part.right(JUDGE)
    np.testing.assert_array_equal(right.expected[0], part.result.outputs[PAIR.new]["normal"][0])
    assert (right.allowed[0] < 0.01).all()


def test_nothing_is_expected_of_a_failure(tmp_path, monkeypatch):
    place = "asterism.differential.report.program_text.versions_of"
    monkeypatch.setattr(place, lambda library: {"onnxruntime": "0.1"})
    part = part_of("now runs", pool(fails=lambda kinds: "no"), exception="Broken", message="no")
    assert part.right(JUDGE) is None
    path, arrays = written(part, tmp_path)
    assert list(arrays) == ["input0"] and "expected: it runs" in path.read_text()
