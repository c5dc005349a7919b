"""Every kind of inputs and every one of its operators: the contract that all share."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kinds import BOUNDS, CASES, KINDS, OPERATORS, OPTIONS, domain_of, items_of

from asterism.core.messages.errors import UserError
from asterism.core.parameters.validation import validate_names
from asterism.core.random_streams import BatchedStreams
from asterism.dflare.bounds import within_bound
from asterism.dflare.domains import DOMAINS, UNCHANGED, accept_bound, build_domain
from asterism.dflare.params import BoundParams, DomainParams, TriggerParams
from asterism.dflare.repairers import repairer_options
from set_options import section

BOUND_CASES = [(kind, *bound) for kind in KINDS for bound in BOUNDS[kind]]


def streams(count, seed=0):
    return BatchedStreams(np.arange(count, dtype=np.uint64) * 7919 + np.uint64(seed))


def mutated(domain, name, items, rows=None, seed=0):
    """The mutants of some rows of the items, each by its own stream."""
    rows = np.arange(len(items)) if rows is None else np.asarray(rows)
    number = np.full(len(rows), domain.operators.index(name))
    return domain.mutate(items[rows], number, streams(len(items), seed).of(rows))


def require_range(kind, domain, items):
    """What all items of a kind have in common."""
    if kind == "sound":
        assert np.abs(items).max() <= 1
    if kind == "tensors":
        assert (items >= domain.ranges.low.astype(items.dtype)).all()
        assert (items <= domain.ranges.high.astype(items.dtype)).all()
    if kind in ("tokens", "bytes"):
        padding = items == OPTIONS[kind]["padding"]
        assert (padding[:, 1:] >= padding[:, :-1]).all(), "padding is at the end only"
        assert not padding[:, 0].any()
    domain.prepare(items)


def test_the_kinds_are_there():
    assert set(KINDS) == set(DOMAINS) == set(OPERATORS) == set(BOUNDS)
    assert all(BOUNDS[kind][0][0] in DOMAINS[kind].measures for kind in KINDS)
    assert {m for k, m, _ in BOUND_CASES if k == "sound"} == set(DOMAINS["sound"].measures)


@pytest.mark.parametrize(("kind", "name"), CASES)
@settings(max_examples=8)
@given(seed=st.integers(0, 2**32), count=st.integers(1, 12))
def test_mutants_have_the_items_form_and_items_stay(kind, name, seed, count):
    items = items_of(kind, count, seed)
    before = items.copy()
    domain = domain_of(kind, items)
    mutants = mutated(domain, name, items, seed=seed)
    assert mutants.shape == items.shape
    assert mutants.dtype == items.dtype
    assert not np.shares_memory(mutants, items)
    assert np.array_equal(items, before)
    require_range(kind, domain_of(kind, items), mutants)
    assert np.array_equal(mutants, mutated(domain, name, items, seed=seed))


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_a_row_is_the_same_alone_and_in_any_batch(kind, name):
    items = items_of(kind, 70)
    domain = domain_of(kind, items)
    together = mutated(domain, name, items)
    for rows in ([0], [69], [5, 3], list(range(40, 57))):
        assert mutated(domain, name, items, rows).tobytes() == together[rows].tobytes()
    changed = (together != items).reshape(len(items), -1).any(axis=1)
    assert changed.mean() > 0.3
    others = mutated(domain, name, items, seed=99)
    assert name == "bilateral_blur" or not np.array_equal(others, together)


@pytest.mark.parametrize("kind", KINDS)
def test_one_call_takes_different_operators(kind):
    items = items_of(kind, 30)
    domain = domain_of(kind, items)
    numbers = np.arange(30) % len(domain.operators)
    mixed = domain.mutate(items, numbers, streams(30))
    for number, name in enumerate(domain.operators):
        rows = np.flatnonzero(numbers == number)
        assert np.array_equal(mixed[rows], mutated(domain, name, items, rows))


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_all_changes_reverted_give_the_seed_and_none_the_mutant(kind, name):
    items = items_of(kind, 10)
    domain = domain_of(kind, items)
    for mutant, item in zip(mutated(domain, name, items), items, strict=True):
        places = domain.changes(mutant, item)
        assert len(set(places.tolist())) == len(places)
        assert bool(len(places)) == (not np.array_equal(mutant, item))
        assert np.array_equal(domain.revert(mutant, item, places), item)
        assert np.array_equal(domain.revert(mutant, item, places[:0]), mutant)
        half = domain.revert(mutant, item, places[: len(places) // 2])
        require_range(kind, domain_of(kind, items), half[np.newaxis]) if kind != "tensors" else None
        assert len(domain.changes(half, item)) <= len(places)


@pytest.mark.parametrize("kind", KINDS)
def test_distances_are_zero_at_the_reference_alone(kind):
    items = items_of(kind, 8)
    domain = domain_of(kind, items)
    for name, measure in domain.measures.items():
        same = domain.distance(items, items, name)
        other = domain.distance(items[1:], items[:-1], name)
        assert same.dtype == other.dtype == np.float64
        assert same.shape == (8,)
        if measure.larger_is_closer:
            assert (same == 200).all() and (other < 100).all()
        else:
            assert (same == 0).all() and (other > 0).all()


@pytest.mark.parametrize(("kind", "measure", "limit"), BOUND_CASES)
def test_a_bound_holds_whatever_the_operators_do(kind, measure, limit):
    items = items_of(kind, 40)
    domain = domain_of(kind, items)
    rows, chosen = np.arange(40), BoundParams(measure=measure, limit=limit)
    bound = domain.bound_around(items, chosen)
    assert np.array_equal(bound.enclose(items, rows)[0], items)
    numbers = rows % len(domain.operators)

    def mutate(rows, attempt):
        own = streams(40).of(rows).below(np.full(len(rows), attempt))
        return domain.mutate(items[rows], numbers[rows], own)

    found = within_bound(bound, rows, items, mutate)
    free = within_bound(None, rows, items, mutate)
    distance = domain.distance(found, items, measure)
    beyond = domain.distance(free, items, measure)
    closer = domain.measures[measure].larger_is_closer
    assert (distance >= limit if closer else distance <= limit).all()
    assert (beyond < limit if closer else beyond > limit).sum() > 10
    inside = domain.within(free, items, measure, limit)
    assert np.array_equal(inside, beyond >= limit if closer else beyond <= limit)
    if measure in ("linf", "snr_db"):
        assert (found != items).reshape(40, -1).any(axis=1).mean() > 0.8
    alone = within_bound(
        domain.bound_around(items[[7]], chosen), rows[:1], items[[7]],
        lambda rows, attempt: mutate(rows + 7, attempt),
    )  # fmt: skip
    assert alone.tobytes() == found[[7]].tobytes()


def test_a_bound_in_another_kinds_measure_is_one_line():
    chosen = DomainParams(kind="tokens", options=OPTIONS["tokens"])
    accept_bound((chosen, None))
    accept_bound((chosen, BoundParams(measure="edits", limit=3.0)))
    with pytest.raises(UserError, match=r"tokens .*'linf'.*hamming"):
        accept_bound((chosen, BoundParams(measure="linf", limit=3.0)))
    with pytest.raises(UserError, match="edits is at least 0"):
        accept_bound((chosen, BoundParams(measure="edits", limit=-1.0)))
    sound = DomainParams(kind="sound", options=OPTIONS["sound"])
    accept_bound((sound, BoundParams(measure="snr_db", limit=-3.0)))


@pytest.mark.parametrize(
    ("kind", "options", "operators", "message"),
    [
        ("sound", {"rate": 10}, {"gain": {}}, "rate is 10"),
        ("sound", {"rate": 8000}, {"gane": {}}, "did you mean 'gain'"),
        ("sound", {"rate": 8000}, {"gain": {"low": 9.0}}, "ends at 6.0, before 9.0"),
        ("sound", {}, {"gain": {}}, "rate is missing"),
        ("tokens", OPTIONS["tokens"], {"look_alike": {}}, "changes bytes"),
        ("tokens", OPTIONS["tokens"] | {"protected": [3, 3]}, {"swap": {}}, "listed twice"),
        ("tokens", {"vocabulary": 2, "padding": 0, "protected": [1]}, {"swap": {}}, "no token"),
        ("bytes", {"padding": 0}, {"insert": {"high": 101}}, "1 to 100"),
        ("tensors", OPTIONS["tensors"], {"noise": {"low": -1.0}}, "not be below 0"),
    ],
)
def test_wrong_options_are_one_line(kind, options, operators, message):
    with pytest.raises(UserError, match=message):
        build_domain(DomainParams(kind=kind, options=options), operators)


@pytest.mark.parametrize(
    ("kind", "items", "message"),
    [
        ("images", np.zeros((2, 8, 8), np.uint8), r"uint8 \(N, H, W, C\)"),
        ("sound", np.full((2, 800), 3, np.float32), "from -1 to 1"),
        ("sound", np.zeros((2, 800), np.int16), "float32"),
        ("tokens", np.full((2, 5), 50, np.int32), "vocabulary has 50"),
        ("bytes", np.full((2, 5), 300, np.int16), "0 to 255"),
        ("bytes", np.zeros((2, 5), np.uint8), "cannot hold"),
        ("tensors", np.array([[1, np.nan]], np.float32), "finite"),
    ],
)
def test_items_of_another_kind_are_one_line(kind, items, message):
    with pytest.raises(UserError, match=message):
        domain_of(kind, items, OPERATORS[kind][:1])


def test_a_range_is_the_inputs_own_or_as_given_and_never_narrower():
    items = items_of("tensors", 9)
    learnt = domain_of("tensors", items).ranges
    assert np.array_equal(learnt.low, items.reshape(-1, 4).min(axis=0))
    given_ = DomainParams(kind="tensors", options={"low": [-99.0], "high": [99.0] * 4})
    domain = build_domain(given_, {"noise": {}})
    domain.prepare(items)
    assert (domain.ranges.width == 198).all()
    for options in ({"low": [0.0], "high": None}, {"low": None, "high": [1.0, 2.0]}):
        domain = build_domain(DomainParams(kind="tensors", options=options), {"noise": {}})
        with pytest.raises(UserError, match=r"narrower|2 values, but the inputs 4"):
            domain.prepare(items)


@pytest.mark.parametrize("kind", KINDS)
def test_children_have_half_of_each_parent(kind):
    first = items_of(kind, 60, seed=1)
    second = np.roll(first, 1, axis=0)
    domain = domain_of(kind, first)
    children = domain.crossover(first, second, np.random.default_rng(3))
    assert (children.shape, children.dtype) == (first.shape, first.dtype)
    require_range(kind, domain_of(kind, first), children)
    differ, from_second = first != second, children != first
    if kind in ("tokens", "bytes"):  # of places that both parents may change
        differ &= domain.alphabet.editable(first) & domain.alphabet.editable(second)
        assert np.array_equal(children[~differ], first[~differ])
    assert np.array_equal(children[from_second], second[from_second])
    assert from_second.sum() / differ.sum() == pytest.approx(0.5, abs=0.08)
    again = domain.crossover(first, second, np.random.default_rng(3))
    assert np.array_equal(children, again)


#: A measure in which items can be moved by a share of their difference, with a limit.
MOVED = [
    ("images", "l2", 60.0), ("images", "linf", 8.0), ("sound", "snr_db", 25.0),
    ("sound", "linf", 0.01), ("tensors", "l2", 0.05), ("tensors", "linf", 0.01),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "measure", "limit"), MOVED)
def test_what_is_too_far_away_comes_just_within_the_bound(kind, measure, limit):
    references, items = items_of(kind, 8, seed=1), items_of(kind, 8, seed=2)
    domain = domain_of(kind, np.concatenate([references, items]))
    items[0] = references[0]
    bound = domain.bound_around(references, BoundParams(measure=measure, limit=limit))
    moved, inside = bound.enclose(items, np.arange(8))
    assert moved.dtype == items.dtype and inside.all()
    assert domain.within(moved, references, measure, limit).all()
    assert np.array_equal(moved[0], references[0])
    nearest = domain.distance(moved[1:], references[1:], measure)
    slack = 0.35 if (kind, measure) == ("images", "l2") else 0.01  # grey levels are rounded down
    assert nearest == pytest.approx(limit, rel=slack)
    ahead = np.sign(moved.astype(float) - references) * np.sign(items.astype(float) - references)
    assert (ahead >= 0).all(), "towards where it was"


@pytest.mark.parametrize("kind", ["sound", "tensors"])
def test_what_is_not_a_number_lies_within_no_bound(kind):
    references, items = items_of(kind, 2), items_of(kind, 2, seed=2)
    items[1].flat[0] = np.nan
    domain, rows = domain_of(kind, references), np.arange(2)
    for measure in domain.measures:
        bound = domain.bound_around(references, BoundParams(measure=measure, limit=0.01))
        assert bound.enclose(items, rows)[1].tolist() == [True, False]
        found = within_bound(bound, rows, references, lambda rows, _: items[rows])
        assert np.array_equal(found[1], references[1])


@pytest.mark.parametrize("kind", ["images", "sound", "tensors"])
def test_a_faded_item_keeps_a_share_of_its_difference(kind):
    references, items = items_of(kind, 3, seed=1), items_of(kind, 3, seed=2)
    faded = domain_of(kind).fade(items, references, np.array([0.0, 0.25, 1.0]))
    assert faded.dtype == items.dtype
    assert np.array_equal(faded[0], references[0]) and np.array_equal(faded[2], items[2])
    difference = items[1].astype(float) - references[1]
    expected = references[1] + difference / 4
    assert np.abs(faded[1] - expected).max() <= (0.5 if kind == "images" else 1e-5)


@pytest.mark.parametrize("kind", ["tokens", "bytes"])
def test_symbols_do_not_fade(kind):
    references, items = items_of(kind, 3, seed=1), items_of(kind, 3, seed=2)
    assert np.array_equal(domain_of(kind).fade(items, references, np.zeros(3)), items)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"operators": {"pixel_chance": {}}}, "did you mean 'pixel_change'"),
        ({"operators": {"pixel_change": {"low": 300}}}, "before 300"),
        ({"bound": {"measure": "edits", "limit": 1.0}}, "no distance of images is called 'edits'"),
        ({}, None),
        ({"bound": None}, None),
    ],
)
def test_operators_and_bounds_of_a_trigger_are_those_of_images(changes, message):
    values = section("trigger") | {
        "operators": {"pixel_change": {}},
        "bound": {"measure": "linf", "limit": 8.0},
    }
    with validate_names():
        if message is None:
            TriggerParams.model_validate(values | changes)
            return
        with pytest.raises(ValueError, match=message) as error:
            TriggerParams.model_validate(values | changes)
    assert error.value.error_count() == 1, "what is wrong itself judges nothing else"


def test_repairers_take_their_own_options():
    (name, options), *_ = section("repair")["repairers"].items()
    accepted = repairer_options({name: options})
    assert accepted[name].model_dump() == options
    with pytest.raises(UserError, match="no repairer is called"):
        repairer_options({f"{name}x": options})
    with pytest.raises(UserError, match="another_option"):
        repairer_options({name: options | {"another_option": 1}})


@pytest.mark.parametrize("kind", KINDS)
def test_equal_variants_are_equal_mutants(kind):
    items, domain, count = items_of(kind, 1), domain_of(kind), 400
    operators = np.random.default_rng(0).integers(0, len(domain.operators), count)
    variants = domain.variants(items.shape[1:], operators, streams(count))
    mutants = domain.mutate(np.repeat(items, count, axis=0), operators, streams(count))
    made = {}
    for variant, mutant in zip(variants.tolist(), mutants, strict=True):
        if variant >= 0:
            assert made.setdefault(variant, mutant.tobytes()) == mutant.tobytes()
            assert (variant == UNCHANGED) == (mutant.tobytes() == items[0].tobytes())
    if kind == "images":
        assert UNCHANGED in made
        assert 0 < len(made) < (variants >= 0).sum()
        assert not (variants >= 0)[~domain.few_mutants[operators]].any()
