"""Scripts of findings: the text that a worker runs, in few lines, and what it decides."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from onnx import TensorProto, helper, numpy_helper

from asterism.differential.adapters.library import GIVEN, LIBRARIES
from asterism.differential.adapters.questions import (
    GRADIENT,
    HESSIAN,
    OVERWRITTEN,
    QUESTIONS,
    RESIZED,
    TRAINING,
    WEIGHT_GRADIENT,
)
from asterism.differential.engine.inputs import random_training, sample_inputs
from asterism.differential.engine.tasks import LayerDescription, Task
from asterism.differential.oracle.finding import INTERNAL_ERROR, SILENT_ACCEPTANCE
from asterism.differential.oracle.standard import ReferenceOutputs
from asterism.differential.params import Tolerance
from asterism.differential.report.confirming import describe_death, exit_statuses
from asterism.differential.report.decisions import ExpectedOutputs, ScriptDecision, compare_outputs
from asterism.differential.report.model_text import onnx_reference, onnx_text, renumber_names
from asterism.differential.report.numbers import (
    ONES,
    RAMP,
    FilledNumbers,
    literal_numbers,
    simple_array,
)
from asterism.differential.report.program_text import (
    Runner,
    ScriptProgram,
    keras_program,
    onnx_program,
)
from asterism.differential.report.script_writer import eager_reference
from asterism.differential.shrinking.reproduction import with_dtype
from asterism.differential.shrinking.unique_finding import UniqueFinding
from asterism.memo.universe.tensors import INTEGER
from libraries.small_results import chained, made_finding
from libraries.small_runs import differentiating, python
from memo.small_graphs import layer
from thinning import every

GRAPH = chained(
    (3,),
    layer("Dense", units=2, activation="tanh", kernel_regularizer="l2"),
    layer("Dense", units=2, activation="sigmoid", bias_constraint="non_neg"),
)
VARIABLES = (("kernel", (3, 2)), ("bias", (2,))), (("kernel", (2, 2)), ("bias", (2,)))
LAYERS = {
    i: LayerDescription({"units": 2}, list(variables)) for i, variables in enumerate(VARIABLES, 1)
}
#: No converter, or one of this project's: other tests register more.
OURS = (None, "keras_onnx", "tf2onnx", "tflite")
BACKENDS = [
    f"{name}:{option}"
    for name in (
        *("tensorflow", "pytorch", "jax", "numpy", "openvino_keras", "onnxruntime", "openvino"),
        *("litert", "onnx2torch", "onnx2pytorch"),
    )
    for option in LIBRARIES[name].all_options()
    if not option.startswith(("perturbed", "probe", GIVEN))
    and LIBRARIES[name]().source(option) in OURS
]
#: What is exported has no weights to ask for; of single items, each would be trained alone.
NOT_ASKED = [
    *((f"jax:{o}", q) for o in ("vmap", "vmap_of_gradient") for q in TRAINING),
    *((b, q) for b in ("tensorflow:saved_model", "jax:export", "pytorch:aot_inductor")
      for q in QUESTIONS),
    *((f"pytorch:{o}", q) for o in ("compile_graph", "compile_dynamic_graph", "export")
      for q in (WEIGHT_GRADIENT, *TRAINING)),
]  # fmt: skip


def lines_of(text):
    return [line for line in text.splitlines() if line.strip()]


def script(backend, kind="normal", graph=GRAPH, layers=LAYERS, right=None, numbers=None):
    """The text of a script, and of a wrong result where nothing else is given."""
    runner = Runner.of([backend])
    known = numbers or literal_numbers(graph, {}, layers, sample_inputs(graph, 0, 0, kind))
    program = keras_program(runner, graph, kind, layers, known)
    some = right or ExpectedOutputs([np.zeros(3)], [np.ones(3, np.float32)], [np.full(3, 1e-6)])
    return program.script("a | b", "x 1", compare_outputs(some))


@pytest.mark.parametrize("backend", BACKENDS)
def test_two_layers_take_few_lines_in_every_backend(backend):
    simple = FilledNumbers(
        (simple_array(ONES, (2, 3), "float32"),),
        {
            i: tuple(simple_array(RAMP, s, "float32") for _, s in LAYERS[i].variables)
            for i in LAYERS
        },
    )
    library, option = backend.split(":")
    for kind, most in (("normal", 22), (RESIZED, 27), (OVERWRITTEN, 42)):
        text = script(backend, kind, numbers=simple)
        compile(text, backend, "exec")
        assert "asterism" not in text
        # Beside the model and the library stands a converter where there is a file.
        more = 13 if LIBRARIES[library]().source(option) else 6 if "pytorch" in library else 0
        assert len(lines_of(text)) <= most + more, text


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("backend", differentiating(BACKENDS))
def test_every_answer_is_a_script_or_none(backend, question):
    if (backend, question) in NOT_ASKED:
        with pytest.raises(NotImplementedError, match="is not supported"):
            script(backend, question)
        return
    text = script(backend, question)
    compile(text, backend, "exec")
    assert len(lines_of(text)) <= 52


def test_the_worker_has_the_lines_of_the_script(tmp_path):
    for backend in BACKENDS:
        library, option = backend.split(":")
        code = LIBRARIES[library]().code(option).given(1)
        text = script(backend)
        assert code.call in text and code.prepare in text
        assert all(line in text for line in code.imports)


#: What says what is right.
POOL = ("pytorch:float64",)
#: Each question in each library, other options that build models otherwise, and other inputs.
RUN = (
    *((f"{library}:eager", q) for library in ("tensorflow", "pytorch", "jax") for q in QUESTIONS),
    *((f"{library}:float64", "training") for library in ("tensorflow", "pytorch", "jax")),
    ("tensorflow:keras_file", "training_adam"),
    ("tensorflow:xla", "weight_gradient"),
    ("jax:jit", "training"),
    ("pytorch:compile_graph", GRADIENT),
    *(("jax:vmap_of_gradient", question) for question in (GRADIENT, WEIGHT_GRADIENT, HESSIAN)),
    *(("jax:jit", kind) for kind in (RESIZED, OVERWRITTEN, "split")),
    ("tensorflow:saved_model", "normal"),
    ("pytorch:export", RESIZED),
    ("openvino:tf2onnx", "split"),
    ("onnxruntime:keras_onnx_optimised", RESIZED),
    ("litert:tflite", "normal"),
)
#: Layers that draw random numbers in training, and where a script is to draw those of workers.
DRAWN = chained(
    (4, 3), layer("Dense", units=4), layer("Dropout", rate=0.3), layer("GaussianNoise", stddev=0.5)
)
ON_DRAWN = ("tensorflow:graph", "pytorch:compile", "jax:jit")
#: Where wrong numbers are given too.
SHOWN = ("jax:jit", "pytorch:eager", "litert:tflite", *ON_DRAWN)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("backend", "kind", "graph"),
    [*((*case, GRAPH) for case in RUN), *((backend, "training", DRAWN) for backend in ON_DRAWN)],
)
def test_a_script_decides(worker_pool, backend, kind, graph, tmp_path):
    assert random_training(graph, (kind,)) == (graph is DRAWN)
    inputs = sample_inputs(graph, 0, 0, kind)
    layers = worker_pool.described(graph)
    known = literal_numbers(graph, {}, layers, inputs)
    result = worker_pool.run(Task(0, graph, {kind: inputs}, backends=("pytorch:float64",)))
    expected = result.outputs["pytorch:float64"][kind]
    if backend.endswith("float64"):  # as the writer of scripts has it of a reference
        graph = with_dtype(GRAPH, "float64")
        layers = worker_pool.described(graph)
        known = literal_numbers(graph, {}, layers, [i.astype(np.float64) for i in inputs])
    for status, off in ((0, 0.0), *(((1, 0.1),) if backend in SHOWN else ())):
        right = ExpectedOutputs(
            [e + off for e in expected], expected, [np.full(e.shape, 1e-5) for e in expected]
        )
        text = script(backend, kind, graph, layers, right, known)
        (tmp_path / "repro.py").write_text(text)
        assert exit_statuses(tmp_path / "repro.py", 1) == (status,), text


def test_jax_is_told_of_float64_before_a_model_is_built():
    text = script("jax:float64")
    assert text.index("JAX_ENABLE_X64='1'") < text.index("import keras")


def test_integers_are_given_to_what_is_asked_for_derivatives_by_weights():
    graph = chained((3,), layer("Embedding", input_dim=9, output_dim=2), dtype=INTEGER)
    known = {1: LayerDescription({"input_dim": 9, "output_dim": 2}, [("embeddings", (9, 2))])}
    compile(script("pytorch:eager", "weight_gradient", graph, known), "x", "exec")


# ---- what a script decides


NUMBERS = st.sampled_from([0.0, 1.0, -1.0, 1.000001, 1.1, -3e38, 3e38, np.inf, -np.inf, np.nan])


@given(
    arrays.arrays(np.float64, (2, 2), elements=NUMBERS),
    arrays.arrays(np.float64, (2, 2), elements=NUMBERS),
    st.sampled_from([0.0, 1e-3]),
)
def test_a_script_sees_the_differences_that_the_oracle_sees(reference, other, spread):
    tolerance = Tolerance(64, 8, 2.0**-23, 2)
    reference = reference.astype(np.float32).astype(np.float64)
    output = other.astype(np.float32)
    moved = {"float32": [[reference + spread]]}
    standard = ReferenceOutputs({"right": [reference]}, ["float32"], tolerance, [reference], moved)
    found = standard.off([output])
    right = ExpectedOutputs([reference], [output], standard.allowed(), ["float32"])
    text = ScriptProgram((), ()).script("t", "v", compare_outputs(right))
    with pytest.raises(SystemExit) as ended:
        exec(text, {"outputs": [output]})
    judged = np.abs(reference[np.isfinite(reference)]) <= np.finfo(np.float32).max / 4
    if judged.all():  # what is nearly too large is no library's to decide
        assert ended.value.code == int(found is not None)


@pytest.mark.parametrize(
    ("actual", "status"),
    [
        (np.zeros((4, 5), np.float32), 0),
        (np.zeros((5, 4), np.float32), 1),
        (np.zeros((4, 5)), 1),
        (np.where(np.arange(20).reshape(4, 5) == 13, 7, 0).astype(np.float32), 1),
    ],
)
def test_shapes_dtypes_and_the_worst_of_many_values_are_compared(actual, status, capsys):
    right = ExpectedOutputs([np.zeros((4, 5))], [actual], [np.full((4, 5), 1e-6)], ["float32"])
    text = ScriptProgram((), ()).script("t", "v", compare_outputs(right))
    for given_, ends in ((actual, status), (np.zeros((4, 5), np.float32), 0)):
        with pytest.raises(SystemExit) as ended:
            exec(text, {"outputs": [given_]})
        assert ended.value.code == ends
    assert "expected" in capsys.readouterr().out


def failure(symptom, exception="", message=""):
    return made_finding(symptom, exception=exception, message=message)


def status_of(finding, step, folder):
    """How a script of a failure ends that does this."""
    program = ScriptProgram(("import os, time",), (step,))
    decision = ScriptDecision("it runs", finding=finding)
    (folder / "repro.py").write_text(program.script("t", "v", decision))
    (status,) = exit_statuses(folder / "repro.py", 1, death=describe_death(finding))
    return status


@pytest.mark.parametrize(
    ("finding", "ends"),
    every(
        3,
        [
            (
                failure("error", "a.ValueError", "the size must not be 3"),
                {
                    "raise ValueError('the size must not be 4')": 1,
                    "raise ValueError('another')": 2,
                    "raise TypeError('the size must not be 3')": 2,
                    "import no_such_module": 2,
                },
            ),
            (failure("crash", "SIGABRT"), {"os.abort()": 1, "import no_such_module": 2}),
            (failure("crash", "exit status 3"), {"os._exit(3)": 1, "os._exit(4)": 4}),
            (failure("memory"), {"raise MemoryError": 1, "np.ones(2**34)": 1, "os.abort()": 2}),
            (
                failure(SILENT_ACCEPTANCE),
                {"pass": 1, "raise ValueError('no')": 0, "raise ImportError('none')": 2},
            ),
            (
                failure(INTERNAL_ERROR, "IndexError", "out of range"),
                {
                    "raise IndexError('out of range')": 1,
                    "raise ValueError('the axis must be smaller')": 0,
                    "raise ImportError('none')": 2,
                },
            ),
        ],
    ),
)
def test_the_recorded_end_is_the_bug_and_another_says_nothing(finding, ends, tmp_path):
    for step, status in ({"pass": 0} | ends).items():
        assert status_of(finding, step, tmp_path) == status, step


# ---- what a script computes itself


def test_an_eager_run_says_what_is_right_where_it_agrees():
    finding = made_finding(backend="onnxruntime:tf2onnx", agreeing=("tensorflow:eager",))
    found = UniqueFinding("s", finding, GRAPH, None, {0}, 1)
    assert "model(inputs[0], training=False)" in eager_reference(found, Runner.of(finding.backends))
    for other in (
        replace(finding, agreeing=("jax:eager",)),
        replace(finding, distributions=(GRADIENT,)),
        replace(finding, symptom="error"),
    ):
        assert not eager_reference(replace(found, finding=other), Runner.of(other.backends))


def exported(*nodes, weights=()):
    """A small ONNX file."""
    sides = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ("N", 3)) for n in "xz"]
    graph = helper.make_graph(nodes, "g", sides[:1], sides[1:], list(weights))
    opsets = [helper.make_opsetid("", 18)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()


def test_a_runtime_s_script_is_the_text_of_the_model_and_computes_what_is_right(tmp_path):
    weight = numpy_helper.from_array(np.eye(3, dtype=np.float32) * 2, "w/kernel:0")
    content = exported(
        helper.make_node("MatMul", ["x", "w/kernel:0"], ["y"], name="long/name"),
        helper.make_node("Relu", ["y"], ["z"]),
        weights=[weight],
    )
    text = onnx_text(content)
    assert text is not None and "long/name" not in text
    inputs = (simple_array(ONES, (2, 3), "float32"),)
    expected = np.full((2, 3), 2.0)
    right = ExpectedOutputs([expected], [expected.astype(np.float32)], [np.full((2, 3), 1e-6)])
    program = onnx_program(Runner.of(["onnxruntime:tf2onnx"]), text, "normal", inputs)
    reference = onnx_reference(text, inputs, right)
    assert "ReferenceEvaluator" in reference
    written = program.script("s", "v", compare_outputs(right, reference))
    assert "import keras" not in written and len(lines_of(written)) <= 32
    (tmp_path / "repro.py").write_text(written)
    done = python("repro.py", folder=tmp_path)
    assert (done.returncode, done.stdout.count("[2. 2. 2.]")) == (0, 4)
    wrong = replace(right, expected=[expected + 1])
    assert onnx_reference(text, inputs, wrong) == onnx_reference(text, inputs, None) == ""


#: A name that could end a text, bytes that ONNX cannot print, and a long model.
NOT_WRITTEN = [
    *([["x", name, "z"], {}] for name in ('a"""', "a\\b", "☃")),
    [["x", "z"], {"mode": b"\x82"}],
    [["x", *(f"n{i}" for i in range(60)), "z"], {}],
]


@pytest.mark.parametrize(("names", "attributes"), NOT_WRITTEN)
def test_what_would_be_no_text_gets_no_native_script(names, attributes):
    nodes = [helper.make_node("Relu", [a], [b], **attributes) for a, b in itertools.pairwise(names)]
    assert onnx_text(exported(*nodes)) is None


def test_what_a_converter_has_counted_before_is_not_in_the_text():
    texts = [f"new_shape__{n} = Add (a__{n + 3}, x) b_c__{n}:0" for n in (9, 6083)]
    assert {renumber_names(text) for text in texts} == {"new_shape__0 = Add (a__1, x) b_c__0:0"}
