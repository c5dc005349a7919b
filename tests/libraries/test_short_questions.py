"""Short scripts of derivatives and steps of training: what they compute, and how long they are."""

from dataclasses import replace

import numpy as np
import pytest

from asterism.core.workers.worker import Limits
from asterism.libraries.adapters.backends import library_of
from asterism.libraries.adapters.questions import (
    BY_LAYER,
    GRADIENT,
    HESSIAN,
    QUESTIONS,
    TRAINING,
    WEIGHT_GRADIENT,
)
from asterism.libraries.judging.finding import ODD_REFERENCE, Finding
from asterism.libraries.reporting.confirming import exit_status
from asterism.libraries.reporting.numbers import literal_numbers
from asterism.libraries.reporting.python_text import compiles
from asterism.libraries.reporting.reproducer import script_of
from asterism.libraries.reporting.script_writer import _as_it_is_run
from asterism.libraries.reporting.short_script import short_script
from asterism.libraries.running.inputs import sample_inputs
from asterism.libraries.running.tasks import LayerDescription, Task
from asterism.libraries.running.worker_pool import WorkerPool
from asterism.libraries.triage.triage import UniqueFinding
from asterism.memo.graphs.graph import sequential
from asterism.memo.universe.tensors import INTEGER, Tensor
from memo.small_graphs import layer

GRAPH = sequential(
    Tensor((3,)),
    [
        layer("Dense", units=2, activation="tanh", kernel_regularizer="l2"),
        layer("Dense", units=2, activation="sigmoid", bias_constraint="non_neg"),
    ],
)
VARIABLES = (("kernel", (3, 2)), ("bias", (2,))), (("kernel", (2, 2)), ("bias", (2,)))
LAYERS = {
    i: LayerDescription({"units": 2}, list(variables)) for i, variables in enumerate(VARIABLES, 1)
}
ASKED = (
    "tensorflow:eager",
    "tensorflow:graph",
    "tensorflow:xla",
    "tensorflow:float64",
    "tensorflow:keras_file",
    "tensorflow:h5_file",
    "pytorch:eager",
    "pytorch:compile",
    "pytorch:float64",
    "pytorch:keras_file",
    "jax:eager",
    "jax:jit",
    "jax:float64",
    "jax:vmap",
    "jax:vmap_of_gradient",
    "pytorch:compile_dynamic",
    "pytorch:compile_graph",
    "pytorch:compile_dynamic_graph",
    "pytorch:export",
)
#: What is exported has no weights to ask for.
EXPORTED = ("pytorch:compile_graph", "pytorch:compile_dynamic_graph", "pytorch:export")
#: What no single items can be asked, since each of them would be trained alone.
NOT_ASKED = [
    *((f"jax:{o}", q) for o in ("vmap", "vmap_of_gradient") for q in TRAINING),
    *((backend, question) for backend in EXPORTED for question in BY_LAYER),
]
#: Each question in each library, and the other options that build models otherwise.
RUN = (
    *((f"{library}:eager", q) for library in ("tensorflow", "pytorch", "jax") for q in QUESTIONS),
    *((backend, "training") for backend in ASKED if backend.endswith(("float64", ":graph"))),
    *((f"{library}:keras_file", "training_adam") for library in ("tensorflow", "pytorch")),
    ("tensorflow:xla", "weight_gradient"),
    ("tensorflow:h5_file", "gradient"),
    ("jax:jit", "weight_gradient"),
    ("jax:float64", "hessian"),
    *(
        (f"jax:{option}", question)
        for option in ("vmap", "vmap_of_gradient")
        for question in (GRADIENT, WEIGHT_GRADIENT, HESSIAN)
    ),
    *(("pytorch:compile_dynamic", question) for question in TRAINING),
    *((backend, GRADIENT) for backend in EXPORTED),
)
#: Where wrong numbers are given too.
SHOWN = (
    "pytorch:compile_dynamic_graph",
    "jax:eager",
    "jax:vmap",
    "jax:vmap_of_gradient",
    "pytorch:compile_dynamic",
)


def unique(backend, question, graph=GRAPH):
    finding = Finding(0, "values differ", "run", library_of(backend), (backend,), (question,))
    return UniqueFinding("a | b", finding, graph, None, {0}, 4)


def written(backend, question, graph=GRAPH, layers=None):
    inputs = sample_inputs(graph, 0, 0, question)
    known = literal_numbers(graph, {}, layers or LAYERS, inputs)
    some = [np.zeros(3), np.zeros(2)]
    return short_script(unique(backend, question, graph), layers or LAYERS, known, some, some)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("backend", ASKED)
def test_two_layers_take_few_lines(backend, question):
    text = written(backend, question)
    if (backend, question) in NOT_ASKED:
        assert text is None
        return
    assert text is not None and compiles(text)
    lines = [line for line in text.splitlines() if line.strip()]
    assert len(lines) <= 25, len(lines)
    assert all(len(line) <= 120 for line in lines if "np.array(" not in line and '"""' not in line)


def test_what_has_no_short_script_gets_the_whole_one():
    drop = layer("Dropout", rate=0.2)
    drawn = sequential(Tensor((3,)), [layer("Dense", units=2), drop, drop])
    assert written("jax:jit", "training", drawn) is None
    assert written("jax:jit", "weight_gradient", drawn) is not None
    assert written("jax:export", "gradient") is None
    mixed = sequential(Tensor((3,), INTEGER), [layer("Embedding", input_dim=9, output_dim=2)])
    known = {1: LayerDescription({"input_dim": 9, "output_dim": 2}, [("embeddings", (9, 2))])}
    assert written("pytorch:eager", "gradient", mixed, known) is None
    assert written("pytorch:eager", "weight_gradient", mixed, known) is not None


@pytest.fixture(scope="module")
def worker_pool():
    with WorkerPool(("pytorch:float64",), Limits(300.0, 3000)) as made:
        assert made.start() == {}
        yield made


@pytest.mark.slow
@pytest.mark.parametrize(("backend", "question"), RUN)
def test_a_check_runs_the_short_script_and_decides(worker_pool, backend, question, tmp_path):
    inputs = sample_inputs(GRAPH, 0, 0, question)
    layers = worker_pool.described(GRAPH)
    known = literal_numbers(GRAPH, {}, layers, inputs)
    result = worker_pool.run(Task(0, GRAPH, {question: inputs}, backends=("pytorch:float64",)))
    right = result.outputs["pytorch:float64"][question]
    found = unique(backend, question)
    if backend.endswith("float64"):  # as the writer of scripts has it of a reference
        found = replace(found, finding=replace(found.finding, symptom=ODD_REFERENCE))
        found, known = _as_it_is_run(found, known)
        layers = worker_pool.described(found.graph)
    allowed = [np.full(array.shape, 1e-5) for array in right]
    # Whatever is compared shows that wrong numbers are seen, so one library is enough for that.
    for status, off in ((0, 0.0), *(((1, 0.1),) if backend in SHOWN else ())):
        expected = [array + off for array in right]
        text = short_script(found, layers, known, expected, right)
        (tmp_path / "repro.py").write_text(text)
        check = script_of(found, {}, layers, [], expected, allowed, runs="repro.py")
        (tmp_path / "check.py").write_text(check)
        assert exit_status(tmp_path / "check.py") == status
