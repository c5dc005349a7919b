"""Models in another form, a second length, and inputs whose memory is written over."""

from dataclasses import replace

import keras
import numpy as np
import pytest

from asterism.core.files.records import record_from
from asterism.differential.adapters.backend_names import FLOAT64
from asterism.differential.adapters.code import BackendCode, Prepared, overwritten
from asterism.differential.adapters.library import LIBRARIES
from asterism.differential.adapters.questions import FORMS, LENGTHENED, OVERWRITTEN, SPLIT, has_form
from asterism.differential.engine.inputs import compared_nodes
from asterism.differential.engine.tasks import ExecutionOutcome, Task
from asterism.differential.oracle.finding import Finding
from libraries import faulty_copies  # noqa: F401  (registers them)
from libraries.small_results import chained, made_result, verdict_on
from libraries.small_runs import task_of, worker_environment, working
from memo.small_graphs import layer

STEPS = chained((6, 3), layer("Conv1D", filters=4, kernel_size=[3]))
FLAT = chained((3,), layer("Activation", activation="relu"))
BACKENDS = ("tensorflow:graph", "pytorch:eager", "onnxruntime:tf2onnx")
#: The copy that each kind of inputs is to find, alone.
FAULTS = {
    LENGTHENED: "ort_with_stale_lengths:tf2onnx",
    SPLIT: "ort_with_faulty_joins:tf2onnx",
    OVERWRITTEN: "ort_with_one_buffer:tf2onnx",
}


def test_a_model_has_a_form_where_it_has_what_is_changed():
    assert all(has_form(STEPS, form) and not has_form(FLAT, form) for form in FORMS)
    assert all(compared_nodes(STEPS, [kind]) == list(STEPS.outputs) for kind in FAULTS)
    assert compared_nodes(FLAT, [SPLIT]) == compared_nodes(FLAT, [LENGTHENED]) == []
    assert Task(0, STEPS, {SPLIT: []}).form == SPLIT and Task(0, STEPS, {"normal": []}).form == ""


@pytest.mark.slow
def test_each_kind_finds_its_fault_and_blames_no_sound_backend():
    environment = worker_environment("libraries.faulty_copies")
    backends = (*FLOAT64, *BACKENDS, *FAULTS.values())
    with working(backends, environment=environment) as pool:
        for kind in ("normal", *FAULTS):
            result = pool.run(task_of(STEPS, kind))
            assert {o.status for o in result.outcomes.values()} == {"ok"}, kind
            found = {f.backends for f in verdict_on(STEPS, result).findings}
            assert found == ({(FAULTS[kind],)} if kind in FAULTS else set()), kind


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "said"),
    [("lambda x, training: x", "True"), ("lambda x, training: x.T.contiguous().T", r"\[1, 2\]")],
)
def test_compiled_outputs_lie_in_memory_as_eager_ones(wrong, said):
    library, inputs = LIBRARIES["pytorch"](), [np.ones((2, 3), np.float32)]
    names = {"keras": keras, "model": lambda x, training: x + 0}
    for function, fails in (("model", False), (wrong, True)):
        code = replace(library.code("compile"), prepare=f"function = {function}")
        compiled = Prepared(code, names, "compile")
        if not fails:
            (right,) = library.run(compiled, inputs, OVERWRITTEN)
            assert right.tolist() == np.ones((2, 3)).tolist()
            continue
        with pytest.raises(ArithmeticError, match=said) as raised:
            library.run(compiled, inputs, OVERWRITTEN)
        assert type(raised.value).__name__ == "WrongBuffersError"


@pytest.mark.slow
def test_jax_works_on_a_copy_of_the_inputs_however_they_are_aligned():
    memory = np.zeros(192, np.uint8)
    start = -memory.ctypes.data % 64
    given = memory[start : start + 64].view(np.float32)
    library = LIBRARIES["jax"]()
    names = {"keras": keras, "model": lambda x, training: x}
    prepared = Prepared(library.code("eager").given(1), names, "eager")
    (output,) = library.run(prepared, [given])
    given[...] = 1
    assert output.tolist() == [0] * 16


def test_wrong_buffers_are_a_symptom_of_their_own():
    wrong = ("pytorch:compile", "run", "error", "__main__.WrongBuffersError")
    given = {"pytorch:compile": ExecutionOutcome(0, *wrong), "jax:jit": []}
    (found,) = verdict_on(STEPS, made_result(given, OVERWRITTEN)).findings
    assert (found.symptom, found.library) == ("wrong buffers", "pytorch")
    assert record_from(Finding, found.to_json()) == found


@pytest.mark.parametrize(("library", "option"), [("tensorflow", "xla"), ("onnxruntime", "tf2onnx")])
def test_the_inputs_are_written_over_before_the_outputs_are_read(library, option):
    plugin = LIBRARIES[library]()
    text = plugin.overwritten(option)
    assert plugin.code(option).call.splitlines()[0] in text
    prepared = Prepared(BackendCode(call="outputs = inputs"), {})
    (output,) = prepared.run([np.zeros(2)], overwritten("outputs = inputs"))
    assert output.tolist() == [1, 1]
