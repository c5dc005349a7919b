"""What triage asks while it shrinks and varies, with answers that are made up."""

import pytest

from asterism.libraries.ablation import ablate
from asterism.libraries.bench import Result
from asterism.libraries.oracle import Finding
from asterism.libraries.outcomes import Outcome
from asterism.libraries.params import JudgeParams, TriageParams
from asterism.libraries.routes import REFERENCES
from asterism.libraries.showing import Showing
from asterism.libraries.triage import Triage
from asterism.memo.graph import chain
from asterism.memo.tensors import Tensor
from memo.small_graphs import layer

JUDGE = JudgeParams(ulps=64, conditioning=8)
PARAMS = TriageParams(max_unique=5, max_steps=50, hang_seconds=10, known_issues="conf/no_file")
GRAPH = chain(Tensor((4,)), [layer("ReLU"), layer("Dense", units=4), layer("LeakyReLU")])


def types(graph):
    return [graph.nodes[i].type for i in graph.layers]


class TwoDefects:
    """In the whole model LeakyReLU is wrong; in every smaller one that has it, ReLU is."""

    def finding(self, graph, finding, **_):
        return finding if self.wrong(graph) else None

    def wrong(self, graph):
        kinds = types(graph)
        if kinds == types(GRAPH):
            return "LeakyReLU"
        return "ReLU" if "ReLU" in kinds else None

    def layer(self, _, graph):
        return next(i for i in graph.layers if graph.nodes[i].type == self.wrong(graph))


def test_a_model_with_another_layer_at_fault_is_no_smaller_one(monkeypatch):
    triage = Triage(None, JUDGE, PARAMS, 0)
    defects = TwoDefects()
    monkeypatch.setattr(triage, "_show", defects)
    monkeypatch.setattr(triage, "_suspect", defects.layer)
    finding = Finding(0, "values differ", "run", "jax", ("jax:jit",), ("normal",))
    found = triage._shrunk(finding, GRAPH, GRAPH.layers[2])
    assert types(found.graph) == types(GRAPH)
    assert found.signature == "values differ | jax | LeakyReLU()"


class OldOpsetsOnly:
    """A finding that shows where a converter writes an old version of its format."""

    def finding(self, graph, finding, *, opset=None):
        return finding if opset is not None and opset < 15 else None

    def everywhere(self, graph, finding, batch):
        return set(), Result(0, outcomes={"jax:jit": Outcome(0, "jax:jit", "run", "ok")})


@pytest.mark.parametrize(
    ("routes", "expected"),
    [
        (("onnxruntime:tf2onnx_optimised",), {"tf2onnx": {13: "shows", 15: "gone", 17: "gone"}}),
        (("keras_onnx",), {"keras_onnx": {15: "gone", 17: "gone", 18: "gone"}}),
        (("litert:tflite", "jax:jit"), {}),
    ],
)
def test_opsets_are_varied_where_the_format_has_some(routes, expected):
    finding = Finding(0, "values differ", "run", "x", routes, ("normal",))
    answers = ablate(OldOpsetsOnly(), GRAPH, finding, ["normal"], ("jax:jit", *REFERENCES))
    found = {what: answer for what, answer in answers.items() if "opset" in what}
    assert found == {f"{c} opset {v}": a for c, many in expected.items() for v, a in many.items()}
    assert answers["jax:jit"] == "ok" and not set(REFERENCES) & set(answers)


class Everything:
    """A bench where every route works."""

    def usable(self, wanted=None):
        return wanted or (
            "jax:eager",
            "openvino:tf2onnx",
            "pytorch:eager",
            "tensorflow:xla",
            *REFERENCES,
            "onnxruntime:keras_onnx",
            "onnxruntime:tf2onnx",
        )


def test_blaming_a_converter_is_asked_of_all_that_it_takes():
    finding = Finding(
        0,
        "values differ",
        "run",
        "tf2onnx",
        ("onnxruntime:tf2onnx", "openvino:tf2onnx"),
        ("normal",),
        ("jax:eager", "onnxruntime:keras_onnx", "pytorch:eager", "tensorflow:xla"),
    )
    routes = Showing(Everything(), JUDGE, 0, 10)._routes(finding)
    assert {*finding.routes, "onnxruntime:keras_onnx", "tensorflow:xla"} <= set(routes)
