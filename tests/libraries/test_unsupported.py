"""What is unsupported, counted by layer type."""

from asterism.differential.oracle.unsupported import names_in, unsupported_table
from libraries.small_results import chained
from memo.small_graphs import convolutional, layer, recurrent

DENSE = chained((3,), layer("Dense", units=2))
GRAPHS = [recurrent(), recurrent(), DENSE, convolutional()]


def task(model, backend="mxnet@1.9.1:tf2onnx", status="ok", message=""):
    return {
        "index": model,
        "outcomes": [{"backend": backend, "status": status, "message": message}],
    }


def rows(tasks):
    table = unsupported_table(GRAPHS, tasks)
    return [tuple(row) for row in zip(*table.values(), strict=True)]


def test_a_type_is_counted_once_for_each_model_that_holds_it():
    said = "LSTM: KeyError('LSTM'): not supported"
    found = rows(
        [
            task(0, status="unsupported", message=said),
            task(0, status="unsupported", message=said),  # with other inputs
            task(1, status="unsupported", message="TopK: ValueError('k'): not supported"),
            task(2),
            task(3),
        ]
    )
    # Dense is in both models that are unsupported, but it ran in two others: it comes last.
    assert found == [
        ("mxnet@1.9.1:tf2onnx", "LSTM", 2, 0, "LSTM 1, TopK 1"),
        ("mxnet@1.9.1:tf2onnx", "Dense", 2, 2, "LSTM 1, TopK 1"),
    ]


def test_backends_are_counted_apart_and_only_what_is_unsupported_has_rows():
    found = rows(
        [
            task(0, "jax:jit"),
            task(0, "litert:tflite", "crash"),
            task(0, "tf2onnx", "blocked"),
            task(2, "openvino_keras:predict", "unsupported", "it is not implemented"),
        ]
    )
    assert found == [("openvino_keras:predict", "Dense", 1, 0, "")]
    assert rows([task(0), task(3)]) == []


def test_a_model_that_runs_with_some_inputs_only_counts_in_both_columns():
    found = rows([task(2), task(2, status="unsupported", message="no items: not supported")])
    assert found == [("mxnet@1.9.1:tf2onnx", "Dense", 1, 1, "")]


def test_names_are_read_in_the_messages_of_libraries():
    first = GRAPHS[0].layers[0]
    assert names_in(f"Exception encountered when calling n{first}_lstm: no", GRAPHS[0]) == ["LSTM"]
    assert names_in("Converting op `aten::lstm` and aten::lstm", DENSE) == ["aten::lstm"]
    assert names_in("Operator 'GridSample' is not supported", DENSE) == ["GridSample"]
    assert names_in("ValueError: axis is not supported", DENSE) == []
    assert names_in("n11_lstm is not there", DENSE) == []
