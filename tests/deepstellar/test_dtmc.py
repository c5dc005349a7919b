import itertools

import numpy as np
import pytest
import twins
from hypothesis import given
from hypothesis import strategies as st
from test_abstraction import grid, random_states

from asterism.deepstellar.criteria import (
    TRACE_CRITERIA,
    build_trace_criteria,
    criteria_in_order,
    measure_criteria,
)
from asterism.deepstellar.measurement import (
    choose_references,
    compute_jaccard,
    detection_roc,
    item_codes,
    similarity_to_class,
)
from asterism.deepstellar.model.markov_chain import write_model_checker_files
from asterism.deepstellar.model.trace_model import Dtmc, TraceModel, find_boundary_codes

CLASSES = 3


def build(seed, **changes):
    states = random_states(seed)
    labels = np.random.default_rng(seed).integers(0, CLASSES, len(states))
    model = TraceModel.fit(states, labels, CLASSES, grid(**changes))
    return model, model.abstraction.encode(states), labels


def as_cells(model, codes):
    return [[tuple(c) for c in trace] for trace in model.abstraction.cells(codes).tolist()]


@given(st.integers(0, 1000), st.integers(1, 3), st.integers(1, 6))
def test_counts_are_those_of_the_definition(seed, k, m):
    model, codes, labels = build(seed, k=k, m=m)
    dtmc = model.dtmc
    states, transitions, initial = twins.count(codes.tolist())
    assert dict(zip(dtmc.codes.tolist(), dtmc.visits.tolist(), strict=True)) == states
    counts = dtmc.counts.tocoo()
    rows, columns = counts.coords
    found = {
        (int(dtmc.codes[a]), int(dtmc.codes[b])): int(n)
        for a, b, n in zip(rows, columns, counts.data, strict=True)
    }
    assert found == transitions
    assert {
        int(dtmc.codes[i]): int(dtmc.initial[i]) for i in np.flatnonzero(dtmc.initial)
    } == initial
    assert np.allclose(dtmc.probabilities.sum(axis=1), 1)
    for label in range(CLASSES):
        visits, _, _ = twins.count(codes[labels == label].tolist())
        assert dtmc.class_visits[:, label].sum() == sum(visits.values())


@given(st.integers(0, 1000), st.integers(1, 3), st.integers(1, 4))
def test_the_boundary_is_that_of_the_definition(seed, k, n_step):
    model, codes, _ = build(seed, k=k, n_step=n_step)
    visited = {cell for trace in as_cells(model, codes) for cell in trace}
    expected = twins.boundary(visited, n_step, k)
    found = find_boundary_codes(model.abstraction, model.dtmc.codes, n_step)
    assert np.all(np.diff(found) > 0)
    assert {tuple(c) for c in model.abstraction.cells(found).tolist()} == expected


@given(st.integers(0, 1000), st.floats(0.5, 1.5))
def test_coverage_is_that_of_the_definition(seed, scale):
    model, codes, _ = build(seed)
    tested = model.abstraction.encode(random_states(seed + 1) * np.float32(scale))
    profiled_cells = as_cells(model, codes)
    edge = twins.boundary({c for trace in profiled_cells for c in trace}, 2, 2)
    expected = twins.coverage(profiled_cells, as_cells(model, tested), edge)
    assert measure_criteria(model, tested) == pytest.approx(expected)


@given(st.integers(0, 1000), st.permutations(range(30)), st.integers(1, 30))
def test_coverage_grows_and_depends_neither_on_order_nor_on_batches(seed, order, batch):
    model, _, _ = build(seed)
    tested = model.abstraction.encode(random_states(seed + 1))
    whole = measure_criteria(model, tested)
    for name, coverage in build_trace_criteria(model, TRACE_CRITERIA).items():
        before = 0.0
        for start in range(0, 30, batch):
            coverage.update(tested[order][start : start + batch])
            assert coverage.value() >= before
            before = coverage.value()
        assert before == whole[name]


@pytest.mark.parametrize("name", TRACE_CRITERIA.names())
def test_a_fork_goes_on_alone(name):
    model, _, _ = build(3)
    tested = model.abstraction.encode(random_states(4))
    first = build_trace_criteria(model, [name])[name]
    first.update(tested[:3])
    before = first.value()
    second = first.fork()
    assert second.value() == before
    second.update(tested)
    assert first.value() == before < second.value() == measure_criteria(model, tested)[name]


def test_reports_show_the_criteria_in_the_papers_order():
    assert criteria_in_order() == [
        "basic_state",
        "weighted_state",
        "n_step_state_boundary",
        "basic_transition",
        "weighted_transition",
    ]


@given(st.integers(0, 1000), st.integers(1, 4), st.integers(1, 12))
def test_the_profiled_inputs_cover_everything_but_the_boundary(seed, k, m):
    model, codes, _ = build(seed, k=k, m=m)
    values = measure_criteria(model, codes)
    assert values.pop("n_step_state_boundary") == 0
    assert set(values.values()) == {1.0}


def test_a_model_is_stored_whole(tmp_path):
    model, codes, _ = build(5)
    model.save(tmp_path)
    loaded = TraceModel.load(tmp_path)
    assert measure_criteria(loaded, codes) == measure_criteria(model, codes)
    assert (loaded.dtmc.counts != model.dtmc.counts).nnz == 0
    assert np.array_equal(loaded.dtmc.initial, model.dtmc.initial)


def test_a_chain_that_ends_loops_there():
    dtmc = Dtmc.fit(np.array([[1, 2], [1, 5]]), np.array([0, 1]), 2)
    assert dtmc.probabilities.toarray().tolist() == [[0, 0.5, 0.5], [0, 1, 0], [0, 0, 1]]


def test_single_steps_have_no_transitions():
    dtmc = Dtmc.fit(np.array([[1], [4]]), np.array([0, 1]), 2)
    assert dtmc.counts.nnz == 0
    assert dtmc.transitions(dtmc.states(np.array([[1], [4]]))).shape == (2, 0)


def test_storm_reads_the_chain_and_agrees_about_it(tmp_path):
    stormpy = pytest.importorskip("stormpy")
    model, _, _ = build(7)
    write_model_checker_files(model.abstraction, model.dtmc, tmp_path)
    chain = stormpy.build_model_from_explicit(
        str(tmp_path / "storm" / "dtmc.tra"), str(tmp_path / "storm" / "dtmc.lab")
    )
    assert chain.nr_states == len(model.dtmc.codes) + 1
    starts = np.count_nonzero(model.dtmc.initial)
    assert chain.nr_transitions == model.dtmc.probabilities.nnz + starts
    assert list(chain.initial_states) == [0]
    majority = model.dtmc.class_visits.argmax(axis=1)
    for label in range(CLASSES):
        states = chain.labeling.get_states(f"class_{label}")
        assert list(states) == (np.flatnonzero(majority == label) + 1).tolist()
    (formula,) = stormpy.parse_properties('P=? [X "class_1"]')
    result = stormpy.model_checking(chain, formula).get_value(0)
    first = model.dtmc.initial / model.dtmc.initial.sum()
    assert result == pytest.approx(first[majority == 1].sum())


def test_prism_files_tell_the_same(tmp_path):
    model, _, _ = build(7)
    write_model_checker_files(model.abstraction, model.dtmc, tmp_path)
    header, *lines = (tmp_path / "prism" / "dtmc.tra").read_text().splitlines()
    states, transitions = map(int, header.split())
    assert len(lines) == transitions
    outgoing = [0.0] * states
    for line in lines:
        source, _, chance = line.split()
        outgoing[int(source)] += float(chance)
    assert outgoing == pytest.approx([1] * states)
    assert lines == (tmp_path / "storm" / "dtmc.tra").read_text().splitlines()[1:]
    names, *cells = (tmp_path / "prism" / "dtmc.sta").read_text().splitlines()
    assert names == "(started,c0,c1)"
    own = [tuple(cell) for cell in model.abstraction.cells(model.dtmc.codes).tolist()]
    assert cells == [
        "0:(0,0,0)",
        *(f"{number + 1}:(1,{a},{b})" for number, (a, b) in enumerate(own)),
    ]
    assert len(cells) == states
    assert len((tmp_path / "prism" / "dtmc.lab").read_text().splitlines()) == states + 1


# ---- similarity --------------------------------------------------------------------------------


@given(st.integers(0, 1000), st.sampled_from(["state", "transition"]))
def test_similarity_is_the_jaccard_index(seed, items):
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, 4, (5, 6)), rng.integers(0, 4, (7, 6))
    found = compute_jaccard(item_codes(first, items), item_codes(second, items))
    for i, j in itertools.product(range(5), range(7)):
        a, b = first[i].tolist(), second[j].tolist()
        if items == "transition":
            a, b = list(itertools.pairwise(a)), list(itertools.pairwise(b))
        assert found[i, j] == pytest.approx(twins.jaccard(a, b))


def test_similarity_is_to_the_predicted_class():
    references = np.array([[1, 1], [2, 2], [2, 3]])
    similarity = similarity_to_class(
        np.array([[2, 2], [2, 2], [9, 9]]),
        np.array([1, 0, 4]),
        references,
        np.array([0, 1, 1]),
        "state",
    )
    assert similarity.tolist() == [0.75, 0, 0]


def test_references_are_drawn_from_each_class():
    labels = np.array([0, 1, 0, 1, 0, 2])
    chosen = choose_references(labels, 2, np.random.default_rng(0))
    assert np.bincount(labels[chosen]).tolist() == [2, 2, 1]
    assert len(set(chosen.tolist())) == 5


def test_detection_finds_what_is_unlike():
    area, curve = detection_roc(np.array([0.9, 0.8]), np.array([0.1, 0.2, 0.3]))
    assert area == 1
    assert curve[0].tolist() == [0, 0]
    assert curve[-1].tolist() == [1, 1]
    assert detection_roc(np.array([0.5]), np.array([0.5]))[0] == 0.5
