"""Which elements are judged where inputs or weights are NaN, infinite or all but too large."""

import numpy as np
import pytest

from asterism.differential.adapters.backend_names import FLOAT64, OF_GRAPHS, REFERENCES
from asterism.differential.engine.tasks import Task
from asterism.differential.oracle.special_values import FiniteProbes
from asterism.differential.oracle.standard import ReferenceOutputs
from asterism.differential.params import Tolerance
from asterism.differential.reference.runs import STAND_INS, replace_special_numbers
from asterism.memo.graphs.graph import SPECIAL, Graph, WeightEdit
from asterism.memo.graphs.store import write_weights
from asterism.memo.graphs.weights import KINDS, layer_weights, special_kinds, special_kinds_in
from libraries.small_results import chained, made_result, verdict_on
from libraries.small_runs import task_of, working
from memo.small_graphs import branching, layer

NAN, INF = np.nan, np.inf
GIVEN = {"nan": [NAN, -1.0, 2.0], "infinity": [INF, -1.0, 2.0], "largest": [3e38, -2e38, 1e38]}


def decided(kind, function, actual=None, **more):
    """Which elements of a function of the inputs are judged."""
    given = np.array(GIVEN[kind])
    with np.errstate(all="ignore"):
        right, high, low = (
            function(x) for x in (given, *(replace_special_numbers(given, o) for o in STAND_INS))
        )
    allowed = np.full(right.shape, 1e-6)
    answer = None if actual is None else np.asarray(actual)
    return (
        ~FiniteProbes((kind,), [high], [low], **more).is_open(0, right, allowed, answer)
    ).tolist()


@pytest.mark.parametrize(
    ("kind", "function", "judged"),
    [
        ("nan", np.exp, [True, True, True]),
        ("nan", lambda x: np.full(3, x.sum()), [True, True, True]),
        ("nan", lambda x: np.maximum(x, 0), [True, True, True]),
        ("nan", lambda x: np.where(x > 0.5, x, 0.0), [False, True, True]),
        ("nan", lambda x: np.sort(x)[:2], [False, False]),
        ("nan", lambda x: np.array([np.argmax(x)]), [False]),
        ("nan", lambda x: x * 0, [False, True, True]),
        ("infinity", np.tanh, [True, True, True]),
        ("infinity", lambda x: x + 1, [True, True, True]),
        ("infinity", np.log1p, [True, True, True]),
        ("infinity", lambda x: x - x, [False, True, True]),
        ("infinity", lambda x: x * 0, [False, True, True]),
        ("infinity", lambda x: np.sqrt(-x), [True, True, True]),
        ("largest", lambda x: np.full(1, np.float64(np.float32(x.sum()))), [False]),
        ("largest", lambda x: np.sum(x.astype("float32"), keepdims=True) * np.float32(4), [False]),
        ("largest", np.tanh, [True, True, True]),
        ("largest", np.exp, [True, True, True]),
    ],
)
def test_what_arithmetic_decides_is_judged(kind, function, judged):
    assert decided(kind, function) == judged


def test_numbers_in_place_of_nan_are_judged_where_the_definition_says_them():
    assert decided("nan", lambda x: np.where(x > 0.5, x, 0.0), by_letter=True) == [True] * 3


def test_nan_in_place_of_an_infinity_may_come_of_another_order():
    assert decided("infinity", np.abs, [NAN, 1.0, 2.0]) == [False, True, True]
    assert decided("infinity", np.abs, [3.4e38, NAN, 2.0]) == [True, True, True]


def test_stand_ins_are_finite_and_differ_in_order():
    array = np.array([NAN, 1.0, NAN, -INF, INF])
    high, low = (replace_special_numbers(array, option) for option in STAND_INS)
    assert np.isfinite(high).all() and np.isfinite(low).all()
    assert high[0] < high[2] and low[0] > low[2] and high[1] == low[1] == 1.0
    assert high[3] == -high[4] and low[3] == -low[4] and high[4] > low[4]
    integers = np.arange(3)
    assert replace_special_numbers(integers, "probe_low") is integers


def test_of_two_kinds_of_special_numbers_both_must_decide():
    right = np.array([NAN, INF, 1.0])
    high, low = np.array([1e4, 1e30, 1.0]), np.array([-3e3, 1e25, 1.0])

    def judged(*kinds):
        return (~FiniteProbes(kinds, [high], [low]).is_open(0, right, np.full(3, 1e-6))).tolist()

    assert judged("nan") == [True, False, True]
    assert judged("infinity") == [False, True, True]
    assert judged("nan", "infinity") == [False, False, True]


def test_only_the_numbers_that_are_all_but_too_large_get_smaller():
    weights = np.array([1e30, 0.5, -2.0])
    assert replace_special_numbers(weights, "probe_high").tolist() == [1e30 * 2.0**-10, 0.5, -2.0]


def test_outputs_of_another_shape_than_the_probes_are_all_judged():
    probes = FiniteProbes(("nan",), [np.zeros(2)], [np.zeros(2)])
    assert not probes.is_open(0, np.zeros(3), np.zeros(3)).any()
    assert not probes.is_open(1, np.zeros(2), np.zeros(2)).any()


def test_there_are_no_probes_of_ordinary_inputs_nor_without_their_runs():
    names = OF_GRAPHS.probes
    outputs = {name: {"nan": [np.zeros(2)], "normal": [np.zeros(2)]} for name in names}
    outputs |= {OF_GRAPHS.right: outputs[names[0]]}

    def has_probes(kind, *left_out):
        given = {name: kinds for name, kinds in outputs.items() if name not in left_out}
        bounds = Tolerance(64, 8, 2.0**-23, 2)
        return ReferenceOutputs.of(given, kind, OF_GRAPHS, (), bounds).probes is not None

    assert has_probes("nan") and not has_probes("normal") and not has_probes("nan", names[0])


def result_of(right, high, low, wrong, warned="", kind="nan", special=()):
    """One backend is wrong, and another one and the references are right."""
    outputs = dict.fromkeys(FLOAT64, right) | dict(zip(OF_GRAPHS.probes, (high, low), strict=True))
    outputs |= {"jax:jit": right.astype("float32"), "litert:tflite": wrong.astype("float32")}
    given = {backend: [output] for backend, output in outputs.items()}
    return made_result(given, kind, warned={"litert:tflite": warned}, special=special)


def judged_on(*arrays, warned=""):
    verdict = verdict_on(branching(), result_of(*arrays, warned=warned))
    return [[(f.symptom, f.library) for f in some] for some in (verdict.findings, verdict.excluded)]


RIGHT = np.linspace(-2, 2, 8).reshape(2, 4)


def with_first(array, value):
    changed = array.copy()
    changed[0, 0] = value
    return changed


def test_a_difference_in_what_nothing_decides_stands_apart():
    probes = with_first(RIGHT, 1e4), with_first(RIGHT, -3e3)
    lost = judged_on(with_first(RIGHT, NAN), *probes, RIGHT)
    assert lost == [[("NaN/Inf mask differs", "litert")], []], "NaN must come out"
    chosen = judged_on(RIGHT, *probes, with_first(RIGHT, NAN))
    assert chosen == [[], [("special value handling", "litert")]]


def test_a_difference_that_the_library_warns_of_stands_apart():
    wrong = judged_on(RIGHT, RIGHT, RIGHT, RIGHT + 1, warned="results might differ")
    assert wrong == [[], [("stated limit", "litert")]]
    assert judged_on(RIGHT, RIGHT, RIGHT, RIGHT + 1) == [[("values differ", "litert")], []]


def test_references_that_differ_in_what_nothing_decides_agree():
    made = result_of(RIGHT, with_first(RIGHT, 1e4), with_first(RIGHT, -3e3), RIGHT)
    made.outputs[REFERENCES[1]] = {"nan": [with_first(RIGHT, 5.0)]}
    assert verdict_on(branching(), made).findings == []


PLAIN = chained((4,), layer("Dense", units=3), layer("Activation", activation="hard_shrink"))


def with_edit(seed):
    """A dense layer with one special weight, before a function that gives 0 for NaN, or NaN."""
    nodes = dict(PLAIN.nodes)
    dense = nodes[PLAIN.layers[0]]
    nodes[PLAIN.layers[0]] = type(dense)(
        dense.type, dense.config, dense.inputs, edits=(WeightEdit(SPECIAL, seed),), seed=dense.seed
    )
    return Graph(nodes)


#: An edit of each kind.
SEEDS = {
    kind: next(s for s in range(50) if special_kinds(with_edit(s)) == (kind,)) for _, kind in KINDS
}


@pytest.mark.parametrize("seed", range(12))
def test_the_kind_of_an_edit_is_that_of_the_weight_it_makes(seed):
    graph = with_edit(seed)
    variables = [("kernel", (4, 3)), ("bias", (3,))]
    arrays = layer_weights(graph.nodes[graph.layers[0]], variables, {})
    assert special_kinds_in(arrays) == special_kinds(graph) != ()
    assert special_kinds(PLAIN) == () and special_kinds_in([np.ones(2)]) == ()


def test_tasks_with_special_weights_are_probed_and_questions_are_not(tmp_path):
    graph = with_edit(SEEDS["nan"])
    assert Task(0, graph, {"normal": []}).is_probed and not Task(0, PLAIN, {"normal": []}).is_probed
    assert not Task(0, graph, {"gradient": []}).is_probed
    assert Task(0, PLAIN, {"infinity": []}).is_probed
    path = tmp_path / "weights.npz"
    write_weights(path, {"a": [("kernel", np.array([[1, np.inf]], np.float32))]})
    task = Task(0, PLAIN, {"normal": []}, weights=path)
    assert task.special == ("infinity",) and task.is_probed


def made(graph, given, special=()):
    """The references shrink NaN to 0, which the probes do not; one backend gives something else."""
    right, high, low = np.zeros((2, 3)), np.zeros((2, 3)), np.zeros((2, 3))
    high[:, 0], low[:, 0] = 1e4, -3e3
    result = result_of(right, high, low, given, kind="normal", special=special)
    verdict = verdict_on(graph, result)
    return [f.symptom for f in verdict.findings], [f.symptom for f in verdict.excluded]


def test_a_number_or_nan_where_a_weight_is_nan_is_open_and_other_elements_are_not():
    graph, nan = with_edit(SEEDS["nan"]), np.zeros((2, 3))
    nan[:, 0] = np.nan
    assert made(graph, nan) == ([], ["special value handling"])
    assert made(PLAIN, nan) == (["NaN/Inf mask differs"], [])
    assert made(PLAIN, nan, special=("nan",)) == ([], ["special value handling"])
    assert made(graph, np.ones((2, 3))) == (["values differ"], [])


@pytest.mark.slow
@pytest.mark.parametrize("kind", SEEDS)
def test_the_probes_run_with_finite_weights(kind):
    graph = with_edit(SEEDS[kind])
    task = task_of(graph, "normal")
    with working(FLOAT64) as pool:
        result = pool.run(task)
        again = pool.run(Task(1, PLAIN, task.inputs))
    assert {o.status for o in result.outcomes.values()} == {"ok"}
    high, low = (result.outputs[name]["normal"][0] for name in OF_GRAPHS.probes)
    assert np.isfinite(high).all() and np.isfinite(low).all() and (high != low).any()
    assert not set(again.outputs) & set(OF_GRAPHS.probes)
    assert verdict_on(graph, result).findings == []
