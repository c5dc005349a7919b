"""Texts that others wrote, in scripts and in reports: they are shown, and never run."""

import ast
import json
import re
from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from asterism.core.files.artifacts import write_json
from asterism.core.files.records import record_from
from asterism.core.messages.errors import UserError
from asterism.core.messages.escaping import printable
from asterism.differential.engine.tasks import ExecutionOutcome, LayerDescription
from asterism.differential.oracle.finding import (
    FAILURES,
    EarlierModel,
    Finding,
    defect_signature,
    read_findings,
)
from asterism.differential.report.decisions import ExpectedOutputs, ScriptDecision, compare_outputs
from asterism.differential.report.numbers import literal_numbers
from asterism.differential.report.program_text import Runner, keras_program
from asterism.differential.report.texts import (
    call_source,
    code_block,
    in_docstring,
    inline_code,
    inline_text,
    literal_source,
    table_cell,
)
from asterism.differential.report.writing import report_text
from asterism.differential.shrinking.unique_finding import UniqueFinding
from asterism.memo.graphs.graph import Graph, Node
from libraries.small_results import chained, made_finding
from memo.small_graphs import layer
from terminal_text import HOSTILE, tame

GRAPH = chained((2,), layer("Dense", units=2))
INPUTS = [np.zeros((2, 2), np.float32)]
SIGNS = ['"""', "'''", '"', "'", "\\", "\n", "\r", "\u2028", "\x00", "\x1b", "#", "{", "}", "```"]
SIGNS += ["$(id)", "<b>", "|", "`", ")", "import os", "\ud800", "\N{SNOWMAN}", "STEPS", "LIVES"]
#: Texts that would be code, or end what they stand in, were they written as they are.
TEXTS = st.lists(st.sampled_from(SIGNS) | st.text(max_size=3), max_size=8).map("".join)


class Masked(ast.NodeTransformer):
    """Every constant as the same one, and lists of constants alike, however many they are."""

    def visit_Constant(self, node):
        return ast.Constant(0)

    def visit_UnaryOp(self, node):
        return self.visit(node.operand)

    def visit_List(self, node):
        self.generic_visit(node)
        constant = all(isinstance(e, ast.Constant) for e in node.elts)
        return ast.Constant(0) if constant else node


def structure(script):
    """What a script does, whatever its constants are."""
    return ast.dump(Masked().visit(ast.parse(script)))


def script(graph=GRAPH, layers=None, values=False, versions="1", **facts):
    """The script of a finding with these facts."""
    symptom = facts.pop("symptom", "values differ" if values else "error")
    known = {"exception": "ValueError", "message": "some words", "frame": "a.py:f"}
    finding = made_finding(symptom, **known | facts)
    name = f"{versions} {defect_signature(finding, versions)}"
    known = layers or {}
    numbers = literal_numbers(graph, {}, known, INPUTS)
    program = keras_program(Runner.of(("jax:jit",)), graph, "normal", known, numbers)
    zeros = [np.zeros((2, 2))]
    right = ExpectedOutputs(zeros, [np.ones((2, 2), np.float32)], zeros)
    decision = compare_outputs(right) if values else ScriptDecision("it runs", finding=finding)
    return program.script(name, versions, decision)


@pytest.mark.parametrize("values", [False, True])
@given(exception=TEXTS, message=TEXTS, frame=TEXTS, name=TEXTS)
def test_no_text_of_a_finding_is_more_than_a_constant(values, exception, message, frame, name):
    if exception.startswith(("SIG", "exit status")):
        exception = f"x{exception}"
    made = script(values=values, versions=name, exception=exception, message=message, frame=frame)
    assert structure(made.encode()) == structure(script(values=values))


@given(st.dictionaries(TEXTS, TEXTS | st.lists(TEXTS, max_size=2), max_size=3), TEXTS)
def test_arguments_and_variables_of_a_layer_are_constants(arguments, variable):
    texts = {f"-{name}": value for name, value in arguments.items()}  # no name of Python's
    layers = {1: LayerDescription({"units": 2, **texts}, [(variable, (2, 2))])}
    harmless = {
        1: LayerDescription({"units": 2, **dict.fromkeys(texts, "x")}, [("kernel", (2, 2))])
    }
    made = script(layers=layers)
    assert structure(made.encode()) == structure(script(layers=harmless))


@given(st.dictionaries(TEXTS, st.none() | TEXTS | st.integers() | st.booleans(), max_size=4))
def test_a_call_is_made_with_what_it_is_given(arguments):
    told = {}
    exec(call_source("told.update", arguments).encode(), {"told": told})
    assert told == arguments


@given(TEXTS)
def test_a_docstring_says_what_it_is_given(text):
    assert ast.literal_eval(f'"""{in_docstring(text)}"""') == text
    assert in_docstring("as it is (a=1), 'so'") == "as it is (a=1), 'so'"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), np.float32, {1: print}])
def test_only_literals_are_written(value):
    with pytest.raises(ValueError):
        literal_source(value)


def test_a_layer_in_a_script_is_a_declared_one():
    graph = Graph({0: GRAPH.nodes[0], 1: GRAPH.nodes[1]}, GRAPH.tensors)
    odd = replace(graph.nodes[1], type="Dense()or print(1)or keras.layers.Dense")
    odd_graph = Graph({0: graph.nodes[0], 1: odd}, graph.tensors)
    with pytest.raises(KeyError):
        script(odd_graph, {1: LayerDescription({"units": 2}, [])})
    with pytest.raises(ValueError):
        script(
            Graph(
                {0: Node("InputLayer", {"shape": [print], "dtype": "x"}), 1: graph.nodes[1]},
                graph.tensors,
            ),
            {1: LayerDescription({"units": 2}, [])},
        )


FINDING = made_finding(
    "error",
    agreeing=("tensorflow:eager", "tf2onnx"),
    exception="jaxlib.Error",
    frame="jax/a.py:<lambda>",
    message="a message",
    before=(EarlierModel(0, ("nan", "wide")),),
)
STRANGE = {
    "symptom": "../../x",
    "stage": "anywhere",
    "severity": "high",
    "library": "../x",
    "backends": ["jax:jit", "jax:import os"],
    "agreeing": ["os:system"],
    "distributions": ["normal", "../x"],
    "exception": "exit status x",
    "frame": "a.py\nimport os",
    "message": "a" * 100_000,
    "model": 7,
    "excess": "1",
    "d_mad": float("inf"),
    "more": 1,
    "before": [{"model": 7, "distributions": ["nan"]}],
}


@pytest.mark.parametrize(
    ("field", "value"),
    [*STRANGE.items(), ("before", [{"model": 0, "distributions": ["odd"]}])],
)
def test_a_finding_of_what_there_is_not_is_rejected(field, value, tmp_path):
    path = tmp_path / "findings.json"
    write_json(path, [FINDING.to_json()])
    assert read_findings(path, 1) == [FINDING]
    path.write_text(json.dumps([{**FINDING.to_json(), field: value}]))
    with pytest.raises(UserError, match="finding 0") as error:
        read_findings(path, 1)
    assert str(path) in str(error.value) and len(str(error.value)) < 1000


def test_ends_of_processes_are_read(tmp_path):
    for symptom in FAILURES:
        for exception in ("", "SIGSEGV", "exit status 3", "exit status -6", "a.b.<locals>.C"):
            one = replace(FINDING, symptom=symptom, exception=exception)
            assert record_from(Finding, one.to_json()) == one


@pytest.mark.parametrize(
    ("field", "value"),
    [("status", "fine"), ("stage", "x"), ("model", "0"), ("message", ["x"]), ("__class__", 1)],
)
def test_an_outcome_of_what_there_is_not_is_rejected(field, value):
    outcome = ExecutionOutcome(0, "jax:jit", "run", "error", "a.B", "words", "a.py:f")
    assert record_from(ExecutionOutcome, asdict(outcome)) == outcome
    with pytest.raises(UserError):
        record_from(ExecutionOutcome, {**asdict(outcome), field: value})


@given(TEXTS)
@example(" ")
@example("a  b")
def test_no_text_ends_its_code_inreport_text(text):
    words = printable(" ".join(text.split()))
    for made in (inline_code(text), table_cell(text).replace("\\|", "|")):
        assert "\n" not in made
        if made != words:
            fence = re.match("`+", made).group()
            inside = made[len(fence) : -len(fence)]
            assert made.endswith(fence) and inside.strip() == words
            assert fence not in re.findall("`+", inside)
    lines = code_block(text, "python").split("\n")
    fence = lines[0].removesuffix("python")
    assert lines[-1] == fence and fence not in "\n".join(lines[1:-1])
    assert not {"<", "`", "[", "|", "\n"} & set(inline_text(text)) or inline_text(text).startswith(
        "`"
    )


def test_ordinary_texts_stay_as_they_are_inreport_text():
    for text in ("Conv2D(padding=same, use_bias=False)", "https://example.org/a?b=1#c", "2.21.0"):
        assert inline_text(text) == text


def test_a_report_shows_what_others_wrote_as_text(tmp_path):
    attack = "x```\n</code><script>alert(1)</script>\n```\n# A heading `now` | \ud800"
    finding = replace(FINDING, message=attack, exception="a.<script>``")
    (tmp_path / "repro.py").write_text('"""```\n<img src=x onerror=alert(1)>"""\n')
    found = UniqueFinding(f"s {attack}", finding, GRAPH, None, {0}, 1, {f"|{attack}": attack})
    found.confirmed, found.known = (2, 2, 2), attack
    text = report_text(found, tmp_path)
    fence, outside = "", []
    for line in text.splitlines():
        start = re.fullmatch("(`{3,})[^`]*", line)
        if start and not fence:
            fence = start.group(1)
        elif fence and line == fence:
            fence = ""
        elif not fence:
            outside.append(line)
    assert not fence, "every block ends"
    plain = re.sub(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", "", "\n".join(outside))
    assert "<" not in plain and "`" not in plain
    assert [line for line in outside if line.startswith("# ")] == outside[:1]
    assert tame(inline_text(HOSTILE) + table_cell(HOSTILE) + inline_code(HOSTILE)) and tame(
        code_block(HOSTILE[:40], "")
    )
