"""Parameters of layers: what they take, how they are counted and drawn."""

import numpy as np
import pytest

from asterism.memo.universe.layers import universe
from asterism.memo.universe.parameters import (
    LARGEST,
    Choice,
    Number,
    ShapeDependentParameter,
    Sizes,
    are_whole,
    is_number,
    is_whole,
)


def rng(number=0):
    return np.random.default_rng(number)


@pytest.mark.parametrize(
    ("value", "low", "whole", "number"),
    [
        *((0, 0, True, True), (-1, 0, False, True), (True, 0, False, False), (1.5, 0, False, True)),
        *((LARGEST, 0, True, True), (LARGEST + 1, 0, False, False), ("1", 0, False, False)),
        *((float("nan"), 0, False, False), (float("inf"), 0, False, False), (3, 3, True, True)),
    ],
)
def test_numbers_are_whole_or_finite(value, low, whole, number):
    assert is_whole(value, low) is whole
    assert is_number(value) is number
    assert are_whole([value], low) is whole and are_whole((1000, value), low) is whole
    assert not are_whole(value, low)
    assert are_whole([]) is True


WORDS = Choice("padding", "valid", ("valid", "same"), ("causal",))
SWITCH = Choice("use_bias", True, (True, False))
MIXED = Choice("shared_axes", "none", ("none", [1], [1, 2]))
AXIS = Choice("axis", -1, (-1, 1, 2))
LIMIT = Choice("max_value", "none", ("none", 0.5, 6.0))
NAMED = Choice("activation", "linear", lambda: ("linear", "relu"))


@pytest.mark.parametrize(
    ("choice", "taken", "rejected"),
    [
        (WORDS, ["valid", "same", "causal"], ["full", 1, 1.0, True, [1], None]),
        (SWITCH, [True, False], ["True", 1, 0.0, [1]]),
        (MIXED, ["none", [1], [3, 4], 2], ["other", [1.5], 0.5, True]),
        (AXIS, [-1, 7, [1, 2]], ["-1", 0.5, [0.5], False]),
        (LIMIT, ["none", 0.5, 7.25, 3, [1]], ["x", [0.5], float("inf"), True]),
        (
            NAMED,
            ["relu", "hard_silu", "x9"],
            ["Relu", "9x", "a b", "", 1, None, ["relu"], "a" * 65],
        ),
    ],
)
def test_a_choice_takes_its_words_and_where_numbers_are_listed_any(choice, taken, rejected):
    assert [value for value in taken if not choice.accepts(value)] == []
    assert [value for value in rejected if choice.accepts(value)] == []


def test_a_choice_counts_and_draws_what_it_lists():
    assert NAMED.options == ("linear", "relu") and NAMED.values == ("linear", "relu")
    assert MIXED.options == ("none", "[1]", "[1, 2]")
    assert (MIXED.labels([1, 2]), MIXED.labels([2]), WORDS.labels("causal")) == (
        ("[1, 2]",),
        (),
        (),
    )
    assert MIXED.draw(rng(), [], "[1]") == [1]
    assert {WORDS.draw(rng(n), [], "causal") for n in range(20)} == {"valid", "same"}
    assert {WORDS.draw(rng(n), []) for n in range(20)} == {"valid", "same"}


UNITS = Number("units", 4, 1, 20)
FEW = Number("groups", 1, 1, 3)
SLOPE = Number("slope", 0.0, 0.0, 1.0, integer=False)
CHANNELS = Number("mean", 0.0, -1.0, 1.0, integer=False, channels=True)
FROM_2 = Number("size", 4, 2, 8)


@pytest.mark.parametrize(
    ("number", "options", "labels"),
    [
        (UNITS, 5, {1: 0, 4: 0, 5: 1, 8: 1, 9: 2, 16: 3, 17: 4, 20: 4}),
        (FEW, 3, {1: 0, 2: 1, 3: 2}),
        (SLOPE, 5, {0.0: 0, 0.19: 0, 0.2: 1, 0.99: 4, 1.0: 4}),
        (FROM_2, 5, {2: 0, 3: 0, 4: 1, 8: 4}),
        (CHANNELS, 5, {-1.0: 0, 0.0: 2, 1.0: 4}),
    ],
)
def test_a_number_is_counted_in_bins_of_equal_width(number, options, labels):
    assert number.options == tuple(f"bin{n}" for n in range(options))
    for value, place in labels.items():
        assert number.labels(value) == (f"bin{place}",)
    for value in (number.low - 1, number.high + 1, True, "1", None):
        assert number.labels(value) == ()


@pytest.mark.parametrize(
    ("number", "taken", "rejected"),
    [
        (UNITS, [1, 5000], [0, -1, 2.5, True, "4", [4]]),
        (FROM_2, [1, 2], [0]),
        (Number("groups", 1, -1, 8), [-1, 0, 99], [-2]),
        (SLOPE, [-3.5, 2, 9.0], [float("nan"), True, "x", [0.5]]),
        (CHANNELS, [0.5, [0.5, 1], (), [-2]], [["x"], None]),
    ],
)
def test_a_number_of_a_model_that_is_read_may_lie_above_the_range(number, taken, rejected):
    assert [value for value in taken if not number.accepts(value)] == []
    assert [value for value in rejected if number.accepts(value)] == []


@pytest.mark.parametrize("number", [UNITS, FEW, SLOPE, CHANNELS, FROM_2])
def test_a_number_is_drawn_from_the_wanted_bin(number):
    for option in number.options:
        drawn = {number.draw(rng(n), [], option) for n in range(12)}
        assert {number.labels(value) for value in drawn} == {(option,)}
        assert all(number.low <= value <= number.high for value in drawn)
    every = {number.draw(rng(n), []) for n in range(150)}
    assert {label for value in every for label in number.labels(value)} == set(number.options)
    assert all(isinstance(value, int) for value in every) is number.integer


KERNEL = Sizes("kernel_size", [3, 3], 2, 1, 5)
STRIDES = Sizes("strides", [1, 1, 1], 3, 1, 3, equal=True)


def test_sizes_have_a_number_for_each_axis_and_cover_the_bin_of_each():
    assert KERNEL.options == tuple(f"bin{n}" for n in range(5))
    assert KERNEL.labels([5, 1]) == ("bin0", "bin4")
    assert KERNEL.labels(2) == ("bin1",) and KERNEL.labels([2, 2]) == ("bin1",)
    assert KERNEL.labels([2, 6]) == KERNEL.labels("2") == ()
    assert [v for v in (1, 9, [1, 7], (2, 2)) if not KERNEL.accepts(v)] == []
    assert [v for v in (0, [1], [1, 0], [1, 1, 1], "1", 1.0) if KERNEL.accepts(v)] == []
    drawn = [KERNEL.draw(rng(n), [], "bin3") for n in range(60)]
    assert {first for first, _ in drawn} == {4}
    alike = sum(first == second for first, second in drawn)
    assert 35 <= alike <= 55, "in a third of the draws each is on its own"
    assert all(len(set(STRIDES.draw(rng(n), []))) == 1 for n in range(20))
    assert all(len(STRIDES.draw(rng(n), [])) == 3 for n in range(20))


def test_a_value_that_depends_on_the_shape_is_drawn_until_it_is_wanted():
    drawn = []

    def draw(rng, inputs):
        drawn.append(len(drawn))
        return drawn[-1]

    parameter = ShapeDependentParameter(
        "x", None, ("even", "odd"), lambda v: ("even", "odd")[v % 2], draw, is_whole
    )
    assert parameter.options == ("even", "odd")
    assert parameter.draw(rng(), [], "odd") == 1
    assert parameter.draw(rng(), [], "even") == 2
    assert parameter.draw(rng(), []) == 3 and parameter.draw(rng(), [], "none") == 4
    stubborn = ShapeDependentParameter("x", None, ("a", "b"), lambda _: "a", draw, is_whole)
    before = len(drawn)
    stubborn.draw(rng(), [], "b")
    assert len(drawn) - before == 5, "one draw and four more tries"
    assert (parameter.labels(3), parameter.labels("x"), parameter.accepts(3)) == (
        ("odd",),
        (),
        True,
    )
    assert not parameter.accepts("x")


@pytest.mark.parametrize(
    ("layer", "name", "value", "kind"),
    [
        ("Reshape", "target_shape", [4, 6], "2 axes"),
        ("Reshape", "target_shape", [4, -1, 2], "3 axes, one open"),
        ("Permute", "dims", [1, 2, 3], "identity"),
        ("Permute", "dims", [3, 2, 1], "reversal"),
        ("Permute", "dims", [2, 1, 3], "other"),
        ("EinsumDense", "equation", "abc,cd->abd", "rank 3, kernel of 2 axes, output of 3"),
        ("EinsumDense", "equation", "abc,cde->abde", "rank 3, kernel of 3 axes, output of 4"),
    ],
)
def test_a_value_that_depends_on_the_shape_is_counted_by_kind(layer, name, value, kind):
    assert universe()[layer].known[name].labels(value) == (kind,)


class TestBorders:
    """Amounts that are cropped or padded."""

    TWO = universe()["Cropping2D"].known["cropping"]
    ONE = universe()["ZeroPadding1D"].known["padding"]

    @pytest.mark.parametrize(
        ("value", "kind"),
        [
            *((0, "none"), (2, "even"), ([1, 2], "even"), ([[0, 0], [0, 0]], "none")),
            *(([[1, 1], [2, 2]], "even"), ([[1, 1], [0, 2]], "uneven")),
        ],
    )
    def test_they_are_counted_by_kind(self, value, kind):
        assert self.TWO.labels(value) == (kind,)
        assert self.TWO.accepts(value)

    def test_along_one_axis_two_numbers_lie_before_and_after(self):
        assert self.ONE.labels([1, 2]) == ("uneven",) and self.ONE.labels([2, 2]) == ("even",)
        assert [v for v in (0, 3, [1], [1, 2]) if not self.ONE.accepts(v)] == []
        assert [v for v in (-1, [-1, 0], [1, 2, 3], "1", [[1, 2]]) if self.ONE.accepts(v)] == []

    @pytest.mark.parametrize("value", [-1, [1], [1, 2, 3], [[1, 2]], [[1, 2, 3], 1], [1, -1], "ab"])
    def test_others_are_rejected(self, value):
        assert not self.TWO.accepts(value)

    @pytest.mark.parametrize("border", [TWO, ONE])
    def test_all_kinds_are_drawn(self, border):
        drawn = [border.draw(rng(n), []) for n in range(60)]
        assert {border.labels(value)[0] for value in drawn} == {"none", "even", "uneven"}
        assert all(border.accepts(value) for value in drawn)
        numbers = {int(v) for value in drawn for v in np.ravel(value)}
        assert numbers == {0, 1, 2}
        assert border.default == ([1, 1] if border is self.ONE else [[1, 1], [1, 1]])
