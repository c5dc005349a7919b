import numpy as np
import pytest
import twins
from hypothesis import given
from hypothesis import strategies as st

from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import validate
from asterism.deepstellar.model import abstraction
from asterism.deepstellar.model.abstraction import Abstraction, PrincipalComponents
from asterism.deepstellar.model.trace_model import CodeIndex
from asterism.deepstellar.params import AbstractionParams


def random_states(seed, shape=(30, 6, 5)):
    rng = np.random.default_rng(seed)
    return np.tanh(rng.normal(size=shape).cumsum(axis=1) * rng.uniform(0.2, 2, shape[-1])).astype(
        np.float32
    )


def grid(k=2, m=4, bits=8, n_step=2):
    return AbstractionParams(k=k, m=m, bits=bits, n_step=n_step)


def test_states_of_another_network_are_rejected_in_one_line():
    states = random_states(1)
    abstraction, _ = Abstraction.fit(states, grid())
    with pytest.raises(UserError, match=r"5 numbers.* 4: `dvc repro"):
        abstraction.encode(states[..., :4])


@pytest.mark.parametrize("block", [7, 64, 10_000])
def test_components_are_exact_whatever_the_block(monkeypatch, block):
    monkeypatch.setattr(abstraction, "BLOCK_ROWS", block)
    rows = random_states(1).reshape(-1, 5) + 1000  # a mean that would cancel digits
    pca = PrincipalComponents.fit(rows, 3)
    assert np.allclose(pca.components, twins.principal_components(rows, 3), atol=1e-6)
    assert np.allclose(pca.mean, rows.astype(np.float64).mean(axis=0))
    assert 0 < pca.explained.sum() <= 1
    assert np.all(np.diff(pca.explained) <= 0)
    coordinates = pca.project(rows)
    assert np.allclose(coordinates, (rows - pca.mean) @ pca.components.T, atol=1e-9)
    assert np.array_equal(pca.project(rows, in_threads=True), coordinates)
    assert pca.project(rows[:0]).shape == (0, 3)


@given(st.integers(0, 1000), st.integers(1, 4), st.integers(1, 9))
def test_cells_are_those_of_the_definition(seed, k, m):
    states = random_states(seed)
    abstraction, codes = Abstraction.fit(states, grid(k=k, m=m))
    rows = states.reshape(-1, 5)
    expected = twins.cells(
        rows,
        abstraction.pca.mean,
        abstraction.pca.components,
        abstraction.lower,
        abstraction.upper,
        m,
    )
    found = abstraction.cells(codes.ravel())
    assert [tuple(c) for c in found.tolist()] == expected
    assert found.min() == 0
    assert found.max(axis=0).tolist() == [m] * k
    assert np.array_equal(abstraction.encode(states), codes)


@given(st.integers(0, 1000), st.permutations(range(30)), st.integers(1, 30))
def test_codes_do_not_depend_on_order_or_batch_size(seed, order, batch):
    states = random_states(seed)
    abstraction, codes = Abstraction.fit(states, grid())
    shuffled = states[order]
    pieces = [abstraction.encode(shuffled[i : i + batch]) for i in range(0, 30, batch)]
    assert np.array_equal(np.concatenate(pieces), codes[order])


def test_states_far_outside_have_cells_of_their_own_up_to_the_margin():
    states = random_states(2)
    abstraction, codes = Abstraction.fit(states, grid(bits=4, n_step=2))
    far = abstraction.cells(abstraction.encode(states * 1000))
    assert far.min() == -abstraction.margin
    assert far.max() == 2**4 - 1 - abstraction.margin
    assert abstraction.margin > 2
    near = abstraction.cells(abstraction.encode(states * 1.2))
    assert ((near < 0) | (near > 4)).any()
    assert codes.min() >= 0


@pytest.mark.parametrize(("m", "bits"), [(4, 4), (5, 4), (1, 3), (9, 8), (250, 9)])
def test_a_code_has_as_many_cells_below_the_grid_as_above_or_one_fewer(m, bits):
    states = random_states(2)
    abstraction, _ = Abstraction.fit(states, grid(k=1, m=m, bits=bits, n_step=1))
    everything = set(abstraction.cells(np.arange(2**bits)).ravel().tolist())
    assert everything == set(range(min(everything), max(everything) + 1))
    below, above = -min(everything), max(everything) - m  # profiled states have cells 0 to m
    assert above - below in (0, 1)
    assert below + m + 1 + above == 2**bits
    extremes = abstraction.cells(abstraction.encode(np.concatenate([states, -states]) * 10**6))
    assert (extremes.min(), extremes.max()) == (-below, m + above)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"k": 8, "bits": 8}, "bits=8 does not go with k=8, .* it should be 4 to 7"),
        ({"m": 250, "n_step": 4, "bits": 8}, "bits=8 does not go with .* it should be 9 to 31"),
        ({"k": 1, "bits": 63}, "it should be 4 to 62"),
        ({"k": 64, "bits": 2}, "need 64 times 4 bits, and a state's code has 63: lower k$"),
        ({"k": 3, "m": 10**11}, "need 3 times 37 bits, and a state's code has 63: lower k or m"),
        ({"m": 10**20}, "lower k or m"),
    ],
)
def test_grids_that_cannot_be(changes, message):
    with pytest.raises(UserError, match=message) as error:
        validate(AbstractionParams, {"k": 2, "m": 4, "bits": 8, "n_step": 2} | changes)
    assert "\n" not in str(error.value)


def test_more_components_than_dimensions():
    with pytest.raises(UserError, match="more than the 5 dimensions"):
        Abstraction.fit(random_states(0), grid(k=6))


@pytest.mark.parametrize("grid", [grid(k=9, m=3, bits=7, n_step=1), grid(k=1, bits=62)])
def test_the_widest_codes_fit(grid):
    states = random_states(0, (20, 4, 9))
    abstraction, codes = Abstraction.fit(states, grid)
    assert codes.min() >= 0
    assert abstraction.cells(codes).min() == 0


def test_constant_states_have_one_cell():
    abstraction, codes = Abstraction.fit(np.ones((3, 4, 5), np.float32), grid())
    assert len(np.unique(codes)) == 1
    assert np.array_equal(abstraction.encode(np.ones((1, 4, 5), np.float32)), codes[:1])


@given(st.integers(0, 1000), st.floats(-100, 100), st.integers(1, 30), st.integers(1, 9))
def test_rounding_noise_makes_no_states(seed, offset, batch, m):
    line = random_states(seed, (30, 6, 1)) + np.float32(offset)
    states = line * np.array([1, -1, 2, 0.5, 4], np.float32)  # exact products: one direction only
    abstraction, codes = Abstraction.fit(states, grid(k=4, m=m))
    cells = abstraction.cells(codes)
    assert (cells[..., 1:] == 0).all()
    assert cells[..., 0].max() == m
    pieces = [abstraction.encode(states[i : i + batch]) for i in range(0, 30, batch)]
    assert np.array_equal(np.concatenate(pieces), codes)


def test_an_abstraction_is_stored_whole(tmp_path):
    states = random_states(3)
    abstraction, codes = Abstraction.fit(states, grid())
    abstraction.save(tmp_path / "a.npz")
    assert np.array_equal(Abstraction.load(tmp_path / "a.npz").encode(states), codes)


@given(
    st.sets(st.integers(-(2**62), 2**62), max_size=20),
    st.lists(st.integers(-(2**62), 2**62), max_size=20),
)
def test_positions_of_codes(known, asked):
    codes = sorted(known)
    index = CodeIndex(np.array(codes, np.int64))
    asked = [*asked, *codes]
    expected = [codes.index(c) if c in known else -1 for c in asked]
    assert index.positions(np.array(asked, np.int64)).tolist() == expected


@given(st.sets(st.integers(0, 50), min_size=1), st.lists(st.integers(-5, 60)))
def test_positions_of_codes_close_together(known, asked):
    test_positions_of_codes.hypothesis.inner_test(known, asked)
