"""PyTorch models compiled as one graph: a program for each shape, and the same answers."""

from dataclasses import replace

import numpy as np
import pytest

from asterism.differential.adapters.backend_names import REFERENCES
from asterism.differential.adapters.code import BackendCode, Prepared
from asterism.differential.adapters.probes import RESIZED
from asterism.differential.backends.pytorch import COMPILED_GRAPHS
from libraries.small_results import chained, verdict_on
from libraries.small_runs import task_of, working
from memo.small_graphs import layer

WHOLE = (*COMPILED_GRAPHS, "aot_inductor")
GRAPH = chained(
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
        result = pool.run(task_of(GRAPH, "normal", RESIZED))
        gradient = pool.run(task_of(GRAPH, "gradient"))
    assert {outcome.status for outcome in result.outcomes.values()} == {"ok"}
    without = {b for b, outcome in gradient.outcomes.items() if outcome.status == "unsupported"}
    assert without == {"numpy:float64", "pytorch:aot_inductor"}
    assert {o.status for b, o in gradient.outcomes.items() if b not in without} == {"ok"}
    for ran in (result, gradient):
        assert verdict_on(GRAPH, ran).findings == []
