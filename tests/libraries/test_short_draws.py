"""Short scripts of training steps in which a layer draws: few lines, and the numbers of workers."""

import numpy as np
import pytest

from asterism.core.workers.worker import Limits
from asterism.libraries.adapters.backends import library_of
from asterism.libraries.judging.finding import Finding
from asterism.libraries.reporting.confirming import exit_status
from asterism.libraries.reporting.numbers import literal_numbers
from asterism.libraries.reporting.python_text import compiles
from asterism.libraries.reporting.reproducer import script_of
from asterism.libraries.reporting.short_draws import draws_code
from asterism.libraries.reporting.short_script import short_script
from asterism.libraries.running.inputs import sample_inputs
from asterism.libraries.running.tasks import LayerDescription, Task
from asterism.libraries.running.worker_pool import WorkerPool
from asterism.libraries.triage.triage import UniqueFinding
from asterism.memo.graphs.graph import sequential
from asterism.memo.universe.tensors import Tensor
from memo.small_graphs import layer

#: By type, the shape of the inputs and the parameters.
DRAWING = {
    "Dropout": ((4, 3), {"rate": 0.3}),
    "AlphaDropout": ((4, 3), {"rate": 0.3}),
    "GaussianDropout": ((4, 3), {"rate": 0.3}),
    "GaussianNoise": ((4, 3), {"stddev": 0.5}),
    "SpatialDropout1D": ((4, 3), {"rate": 0.3}),
    "SpatialDropout2D": ((2, 3, 4), {"rate": 0.3}),
    "SpatialDropout3D": ((2, 2, 2, 4), {"rate": 0.3}),
}
ASKED = (
    "tensorflow:eager",
    "tensorflow:graph",
    "tensorflow:keras_file",
    "pytorch:eager",
    "pytorch:compile",
    "pytorch:compile_dynamic",
    "jax:eager",
    "jax:jit",
)
RUN = [
    *((kind, backend) for kind in DRAWING for backend in ("tensorflow:graph", "jax:jit")),
    *((kind, "pytorch:eager") for kind in DRAWING),
    ("Dropout", "tensorflow:keras_file"),
    ("Dropout", "pytorch:compile_dynamic"),
    ("GaussianNoise", "jax:eager"),
]


def graph_of(kind):
    """A model of a layer with weights and of one that draws."""
    shape, config = DRAWING[kind]
    return sequential(Tensor(shape), [layer("Dense", units=4), layer(kind, **config)])


def unique(kind, backend):
    finding = Finding(0, "values differ", "run", library_of(backend), (backend,), ("training",))
    return UniqueFinding("a | b", finding, graph_of(kind), None, {0}, 4)


@pytest.mark.parametrize("backend", ASKED)
@pytest.mark.parametrize("kind", DRAWING)
def test_two_layers_take_few_lines(kind, backend):
    found, (shape, config) = unique(kind, backend), DRAWING[kind]
    weights = [("kernel", (shape[-1], 4)), ("bias", (4,))]
    layers = {1: LayerDescription({"units": 4}, weights), 2: LayerDescription(config, [])}
    inputs = sample_inputs(found.graph, 0, 0, "training")
    text = short_script(found, layers, literal_numbers(found.graph, {}, layers, inputs), [], [])
    assert text is not None and compiles(text)
    lines = [line for line in text.splitlines() if line.strip()]
    assert len(lines) <= 25, len(lines)
    assert all(len(line) <= 120 for line in lines if "np.array(" not in line and '"""' not in line)


def test_several_draws_have_no_short_lines():
    drop = layer("Dropout", rate=0.2)
    assert draws_code("jax", sequential(Tensor((3,)), [drop, drop])) is None
    recurrent = sequential(Tensor((4, 3)), [layer("GRU", units=2, dropout=0.2)])
    assert draws_code("jax", recurrent) is None
    assert draws_code("openvino", sequential(Tensor((3,)), [drop])) is None


@pytest.fixture(scope="module")
def worker_pool():
    with WorkerPool(("pytorch:float64",), Limits(300.0, 3000)) as made:
        assert made.start() == {}
        yield made


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "backend"), RUN)
def test_a_check_runs_the_short_script_and_decides(worker_pool, kind, backend, tmp_path):
    found = unique(kind, backend)
    inputs = sample_inputs(found.graph, 0, 0, "training")
    layers = worker_pool.described(found.graph)
    known = literal_numbers(found.graph, {}, layers, inputs)
    task = Task(0, found.graph, {"training": inputs}, backends=("pytorch:float64",))
    right = worker_pool.run(task).outputs["pytorch:float64"]["training"]
    allowed = [np.full(array.shape, 1e-5) for array in right]
    for status, off in ((0, 0.0), *(((1, 0.1),) if backend == "jax:jit" else ())):
        expected = [array + off for array in right]
        text = short_script(found, layers, known, expected, right)
        (tmp_path / "repro.py").write_text(text)
        check = script_of(found, {}, layers, [], expected, allowed, runs="repro.py")
        (tmp_path / "check.py").write_text(check)
        assert exit_status(tmp_path / "check.py") == status
