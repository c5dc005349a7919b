"""Derivatives and steps of training: what they are, and faults of them that outputs do not show."""

import sys

import keras
import numpy as np
import pytest

from asterism.differential.adapters.backend_names import OF_GRAPHS
from asterism.differential.adapters.code import Prepared
from asterism.differential.adapters.library import LIBRARIES
from asterism.differential.adapters.questions import (
    HESSIAN,
    QUESTIONS,
    RESIZED,
    WEIGHT_GRADIENT,
    restoring_weights,
)
from asterism.differential.engine.inputs import compared_nodes, random_layers, sample_inputs
from asterism.differential.engine.tasks import Task
from libraries.small_results import chained, verdict_on
from libraries.small_runs import cotangent, differentiating, task_of, worker_environment, working
from memo.small_graphs import layer
from places import ROOT

sys.path.append(str(ROOT / "benchmarks"))
import seeding.copies  # noqa: F401  (registers them)
from seeding.layer_faults import LAYER_FAULTS

while str(ROOT / "benchmarks") in sys.path:  # where a file is called as a package of the tests
    sys.path.remove(str(ROOT / "benchmarks"))

REFERENCES = differentiating((*OF_GRAPHS.references, *OF_GRAPHS.perturbed["float32"]))
SOUND = ("tensorflow:eager", "pytorch:eager", "jax:vmap_of_gradient")
FAULTS = {name: f for name, f in LAYER_FAULTS.items() if f.shown_by in (*QUESTIONS, RESIZED)}
POOL = (*REFERENCES, *SOUND, *(f"seeded_pytorch:{name}" for name in FAULTS))
ENVIRONMENT = worker_environment("seeding.copies", "benchmarks")
GRAPH = chained((3,), layer("Dense", units=2, activation="tanh"), layer("BatchNormalization"))
DROPPED = chained((3,), layer("Dense", units=2), layer("Dropout"))


def asked(worker_pool, graph, question, *backends):
    wanted = (*REFERENCES, *SOUND, *backends)
    return worker_pool.run(task_of(graph, question, backends=wanted))


def test_a_question_that_fails_leaves_a_model_its_weights():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(2)])
    before = model.get_weights()
    with pytest.raises(ZeroDivisionError), restoring_weights(model):
        model.set_weights([weights + 1 for weights in before])
        raise ZeroDivisionError
    for was, weights in zip(before, model.get_weights(), strict=True):
        assert (was == weights).all()


@pytest.mark.slow
def test_second_derivatives_are_differences_of_first_ones(worker_pool):
    result = asked(worker_pool, GRAPH, HESSIAN)
    assert verdict_on(GRAPH, result).findings == []
    (inputs,) = sample_inputs(GRAPH, 0, 0, HESSIAN)
    step, along = 1e-3, cotangent(inputs.shape)
    first = []
    for sign in (1, -1):
        moved = (inputs.astype(np.float64) + sign * step * along).astype(np.float32)
        task = Task(0, GRAPH, {"gradient": [moved]}, backends=("pytorch:float64",))
        first.append(worker_pool.run(task).outputs["pytorch:float64"]["gradient"][0])
    expected = (first[0] - first[1]) / (2 * step)
    for backend in SOUND:
        (found,) = result.outputs[backend][HESSIAN]
        np.testing.assert_allclose(found, expected, rtol=5e-3, atol=5e-4)


@pytest.mark.slow
def test_a_step_of_training_is_the_gradients_and_everything_has_its_weights_back(worker_pool):
    graph = chained((3,), layer("Dense", units=2))
    before = asked(worker_pool, graph, "gradient")
    trained = asked(worker_pool, graph, "training")
    assert verdict_on(graph, trained).findings == []
    (x,) = sample_inputs(graph, 0, 0, "training")
    run = worker_pool.run(Task(0, graph, {"normal": [x]}))
    y = run.outputs["pytorch:float64"]["normal"][0]
    error = y - cotangent(y.shape)
    loss, weights = trained.outputs["pytorch:float64"]["training"]
    assert loss == pytest.approx((error**2).mean())
    gradient = np.concatenate([(x.T @ error).ravel(), error.sum(0)]) * 2 / error.size
    rate, momentum = 0.125, 0.5
    start = weights + rate * (1 + momentum) * gradient
    kernel, bias = start[:6].reshape(3, 2), start[6:]
    np.testing.assert_allclose(x @ kernel + bias, y, rtol=1e-5, atol=1e-6)
    again = asked(worker_pool, graph, "gradient")
    for backend in (*REFERENCES, *SOUND):
        (one,), (other,) = (r.outputs[backend]["gradient"] for r in (before, again))
        assert one.tobytes() == other.tobytes()


@pytest.mark.slow
def test_what_activities_add_to_the_loss_is_part_of_a_traced_step():
    graph = chained((3,), layer("ActivityRegularization", l1=0.5), layer("ReLU"))
    traced = ("tensorflow:graph", "tensorflow:xla")
    with working((*REFERENCES, *traced)) as pool:
        result = pool.run(task_of(graph, "training"))
    assert {outcome.status for outcome in result.outcomes.values()} == {"ok"}
    assert verdict_on(graph, result).findings == []
    (x,) = sample_inputs(graph, 0, 0, "training")
    added = keras.layers.ActivityRegularization(l1=0.5)
    model = keras.Sequential([keras.Input((3,)), added, keras.layers.ReLU()])
    for option in ("eager", "graph", "xla"):
        library = LIBRARIES["tensorflow"]()
        names = {"keras": keras, "model": model, "layers": list(model.layers)}
        prepared = Prepared(library.code(option).given(1), names, option)
        loss = library.run(prepared, [x], "training")[0]
        assert loss == pytest.approx(result.outputs["pytorch:float64"]["training"][0], rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_that_outputs_do_not_show_is_found(worker_pool, name):
    fault, copy = FAULTS[name], f"seeded_pytorch:{name}"
    graph = fault.graph()
    plain = asked(worker_pool, graph, "normal", copy)
    assert verdict_on(graph, plain).findings == []
    result = asked(worker_pool, graph, fault.shown_by, copy)
    (finding,) = verdict_on(graph, result).findings
    assert (finding.backends, finding.distributions) == ((copy,), (fault.shown_by,))


def test_layers_that_draw_random_numbers_in_training_are_known_and_asked():
    assert random_layers(DROPPED) == ["Dropout"] and random_layers(GRAPH) == []
    still = chained((3,), layer("Dropout", rate=0.0), layer("GaussianNoise", stddev=0))
    assert random_layers(still) == []
    drawn = chained((3, 2), layer("LSTM", units=2, recurrent_dropout=0.2))
    assert random_layers(drawn) == ["LSTM"]
    assert compared_nodes(DROPPED, ("training",)) == [DROPPED.outputs[0], *DROPPED.layers]
    assert compared_nodes(GRAPH, ("training_adam",)) == [GRAPH.outputs[0], *GRAPH.layers]
    assert compared_nodes(DROPPED, (WEIGHT_GRADIENT,)) == list(DROPPED.layers)
    assert compared_nodes(GRAPH, (HESSIAN,)) == list(GRAPH.inputs)
