"""Names of backends, taken apart as they were put together; and what single backends do."""

from dataclasses import replace

import numpy as np
import pytest

from asterism.core.messages.errors import UserError
from asterism.differential.adapters.backend_names import (
    FLOAT64,
    REFERENCES,
    check_backends,
    converter_of,
    find_coarse_perturbed_runs,
    float64_runs,
    is_backend,
    library_of,
    option_of,
    reads_given_files,
    select_under_test,
)
from asterism.differential.adapters.code import BackendCode, Prepared
from asterism.differential.adapters.library import CONVERTERS, LIBRARIES
from asterism.differential.adapters.questions import RESIZED
from asterism.differential.backends.pytorch import COMPILED_GRAPHS
from asterism.differential.engine.tasks import Task
from asterism.memo.graphs.graph import Node
from asterism.memo.graphs.store import write_weights
from libraries.small_results import chained, verdict_on
from libraries.small_runs import task_of, working
from memo.small_graphs import layer

ALL = [(name, option) for name in LIBRARIES for option in LIBRARIES[name].all_options()]
GIVEN = [f"{name}:{option}" for name, option in ALL if reads_given_files(f"{name}:{option}")]
BACKENDS = [one for one in ALL if select_under_test([":".join(one)]) and ":".join(one) not in GIVEN]


@pytest.mark.parametrize(("library", "option"), BACKENDS)
def test_every_librarys_backends_are_known(library, option):
    backend = f"{library}:{option}"
    check_backends([backend])
    assert (library_of(backend), option_of(backend)) == (library, option)
    source = converter_of(backend)
    # A library that has no Keras of its own reads a file, and the others build.
    assert (source in CONVERTERS) == (LIBRARIES[library].keras_backend is None)


@pytest.mark.parametrize("backend", GIVEN)
def test_backends_of_given_files_run_no_generated_models(backend):
    assert is_backend(backend) and converter_of(backend) is None
    assert bool(select_under_test([backend])) == (backend not in float64_runs())
    with pytest.raises(UserError, match="has no backend"):
        check_backends([backend])


def test_a_converters_step_belongs_to_the_converter():
    assert library_of("tf2onnx") == "tf2onnx" and option_of("tf2onnx") == ""


def test_references_are_not_under_test():
    for backend in FLOAT64:
        with pytest.raises(UserError) as error:
            check_backends([backend])
        said, known = str(error.value).split("known:")
        assert repr(option_of(backend)) in said and option_of(backend) not in known
    assert select_under_test(("jax:jit", *FLOAT64, "litert:tflite")) == ["jax:jit", "litert:tflite"]


@pytest.mark.parametrize(
    ("backend", "said"),
    [
        ("tensorflow:fast", "tensorflow has no backend 'fast'"),
        ("tensorflow", "tensorflow has no backend ''"),
        ("tensorflow:egaer", "did you mean 'eager'"),
        ("tensorflw:eager", "did you mean 'tensorflow'"),
    ],
)
def test_other_backends_are_rejected(backend, said):
    with pytest.raises(UserError, match=said):
        check_backends(["pytorch:eager", backend])


WHOLE = (*COMPILED_GRAPHS, "aot_inductor")
RECURRENT = chained(
    (4, 3),
    layer("LSTM", units=2, return_sequences=True),
    layer("Conv1D", filters=2, kernel_size=[2]),
)


@pytest.mark.parametrize(
    ("serves", "batches", "times"), [("any", 5, 1), ("shapes", 5, 6), ("batches", 5, 4)]
)
def test_a_model_is_prepared_once_for_the_inputs_that_it_serves(serves, batches, times):
    made = []
    code = BackendCode(
        (), "made.append([x.shape for x in inputs])", "outputs = [x + 1 for x in inputs]"
    )
    prepared = Prepared(replace(code, serves=serves), {"made": made})
    for batch in (2, batches, 1, 0, 3, 2):
        (output,) = prepared.run([np.ones((batch, 3))])
        assert output.shape == (batch, 3) and (output == 2).all()
    prepared.run([np.ones((2, 4))])
    assert len(made) == times


@pytest.mark.slow
def test_recurrent_layers_and_other_batches_give_what_eager_runs_give():
    backends = ("pytorch:eager", *(f"pytorch:{option}" for option in WHOLE))
    with working((*REFERENCES, *backends)) as pool:
        result = pool.run(task_of(RECURRENT, "normal", RESIZED))
        gradient = pool.run(task_of(RECURRENT, "gradient"))
    assert {outcome.status for outcome in result.outcomes.values()} == {"ok"}
    without = {b for b, outcome in gradient.outcomes.items() if outcome.status == "unsupported"}
    assert without == {"numpy:float64", "pytorch:aot_inductor"}
    assert {o.status for b, o in gradient.outcomes.items() if b not in without} == {"ok"}
    for ran in (result, gradient):
        assert verdict_on(RECURRENT, ran).findings == []


HINTED = ("openvino:tf2onnx_bf16", "openvino:tf2onnx_f16")


def dense(activation):
    return chained((1,), layer("Dense", units=1, activation=activation))


@pytest.fixture(scope="module")
def hinted_pool(tmp_path_factory):
    weights = tmp_path_factory.mktemp("weights") / "weights.npz"
    write_weights(weights, {})
    with working(("pytorch:eager", *HINTED, *FLOAT64), weights=weights) as made:
        yield made


def ran_on(hinted_pool, graph, numbers):
    return hinted_pool.run(Task(0, graph, {"normal": [np.float32(numbers)[:, None]]}))


@pytest.mark.slow
def test_a_jump_that_rounding_crosses_is_no_bug_and_a_wrong_value_beside_it_is(hinted_pool):
    bias, slope = np.diff(
        ran_on(hinted_pool, dense("linear"), [0, 1]).outputs["pytorch:float64"]["normal"][0][:, 0],
        prepend=0,
    )
    wanted = np.append(np.linspace(-0.5004, -0.5001, 5), [-2.0, 2.0])  # hard_shrink jumps at -0.5
    graph = dense("hard_shrink")
    result = ran_on(hinted_pool, graph, (wanted - bias) / slope)
    for backend in HINTED:
        assert 0 in result.outputs[backend]["normal"][0][:5], "some cross the jump"
    verdict = verdict_on(graph, result)
    assert verdict.findings == [] and verdict.agreed == 3
    fine = {b: o for b, o in result.outputs.items() if b not in find_coarse_perturbed_runs()}
    assert verdict_on(graph, replace(result, outputs=fine)).findings, "it shows nowhere else"
    result.outputs[HINTED[0]]["normal"][0][-1] = 4.0
    (found,) = verdict_on(graph, result).findings
    assert (found.symptom, found.backends) == ("values differ", HINTED[:1])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "backends", "asked"),
    [
        ("float32", ("pytorch:eager",), set()),
        ("float32", HINTED, {"bfloat16"}),
        ("float16", ("pytorch:eager",), {"float16"}),
    ],
)
def test_coarse_rounding_is_measured_only_where_something_rounds_so(
    hinted_pool, dtype, backends, asked
):
    relu = Node("ReLU", {"dtype": dtype}, seed=0)
    graph = chained((4,), lambda _: relu, dtype=dtype)
    inputs = {"normal": [np.ones((1, 4), dtype)]}
    result = hinted_pool.run(Task(0, graph, inputs, backends=(*backends, *FLOAT64)))
    ran = [run for run in find_coarse_perturbed_runs() if run in result.outputs]
    assert {find_coarse_perturbed_runs()[run] for run in ran} == asked and len(ran) == 2 * len(
        asked
    )


#: TensorFlow pools no float64 in three axes.
WIDE = chained(
    (2, 2, 2, 1), lambda _: Node("MaxPooling3D", {"pool_size": [2, 2, 2], "dtype": "float64"})
)


@pytest.mark.slow
def test_a_message_holds_no_line_of_this_project():
    with working(("tensorflow:graph",)) as pool:
        said = pool.run(task_of(WIDE, "normal")).outcomes["tensorflow:graph"]
    assert said.status in ("error", "unsupported") and said.exception == "TypeError"
    assert said.message.startswith("Exception encountered when calling MaxPooling3D.call()")
