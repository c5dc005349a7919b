"""Parameters of layers: what they take, how they are counted and drawn; small parts of reading."""

import numpy as np
import pytest

from asterism.core.messages.errors import UserError
from asterism.memo.generating.operator import OPERATORS
from asterism.memo.graphs import keras_read
from asterism.memo.graphs.coverage import elements_of
from asterism.memo.universe.layers import dense, reshaping
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
from asterism.memo.universe.tensors import InvalidLayerError, Tensor
from memo.test_operators_one_by_one import Chosen, chain


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


class TestEquations:
    """Dense layers by an equation."""

    @pytest.mark.parametrize(
        ("equation", "kind"),
        [
            ("ab,bz->az", "rank 2, kernel of 2 axes, output of 2"),
            ("abc,cyz->abyz", "rank 3, kernel of 3 axes, output of 4"),
        ],
    )
    def test_they_are_known_by_their_axes(self, equation, kind):
        assert dense._equation_kind(equation) == kind
        assert dense._is_equation(equation) and dense._is_equation(equation.replace(",", ", "))

    @pytest.mark.parametrize("value", ["ab->az", "ab,b->", "a1,1z->az", 7, "a" * 9 + ",a->a"])
    def test_others_are_none(self, value):
        assert not dense._is_equation(value)

    def test_new_axes_have_one_size_and_a_bias_lies_on_the_last(self):
        config = {"equation": "abc,cyz->abyz", "new_axis": 4, "bias_axes": "last", "dtype": "x"}
        inputs = [Tensor((5, 6))]
        assert dense._einsum(config, inputs) == (5, 4, 4)
        theirs = dense._einsum_arguments(config, inputs)
        assert theirs == {
            **{"equation": "abc,cyz->abyz", "output_shape": [5, 4, 4], "bias_axes": "z"},
            "dtype": "x",
        }
        assert dense._einsum_read(theirs) == config
        plain = dense._einsum_arguments({"equation": "ab,bz->az"}, [Tensor((5,))])
        assert plain == {"equation": "ab,bz->az", "output_shape": [3], "bias_axes": None}
        assert dense._einsum_read(plain | {"output_shape": 3}) == {
            **{"equation": "ab,bz->az", "new_axis": 3, "bias_axes": "none"}
        }
        kept = {"equation": "abc,cb->ab", "output_shape": [5], "bias_axes": None}
        assert dense._einsum_read(kept)["new_axis"] == 1
        with pytest.raises(InvalidLayerError, match="several sizes"):
            dense._einsum_read(theirs | {"output_shape": [5, 4, 3]})
        with pytest.raises(InvalidLayerError, match="not only the last"):
            dense._einsum_read(theirs | {"bias_axes": "yz"})
        with pytest.raises(InvalidLayerError, match="every axis of the input"):
            dense._einsum(config, [Tensor((5,))])

    @pytest.mark.parametrize(
        ("rank", "drawn"),
        [
            (2, {"ab,bz->az"}),
            (3, {"abc,cz->abz", "abc,cyz->abyz"}),
            (4, {"abcd,dz->abcz", "abcd,dyz->abcyz"}),
            (5, {"abcde,ez->abcdz"}),
        ],
    )
    def test_they_are_drawn_for_any_rank(self, rank, drawn):
        inputs = [Tensor((2,) * (rank - 1))]
        assert {dense._draw_equation(rng(n), inputs) for n in range(30)} == drawn


class TestBorders:
    """Amounts that are cropped or padded."""

    TWO, ONE = reshaping._border("cropping", 2), reshaping._border("padding", 1)

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


def test_targets_and_permutations_are_drawn_for_the_input():
    inputs = [Tensor((4, 6))]
    targets = [reshaping._draw_target(rng(n), inputs) for n in range(60)]
    assert {len(target) for target in targets} == {1, 2, 3, 4}
    assert 8 <= sum(-1 in target for target in targets) <= 30
    for target in targets:
        assert np.prod([v for v in target if v > 0]) in {
            24 // v for v in range(1, 25) if 24 % v == 0
        }
        assert reshaping._reshaped({"target_shape": target}, inputs)
    dims = {tuple(reshaping._draw_dims(rng(n), inputs)) for n in range(20)}
    assert dims == {(1, 2), (2, 1)}
    kinds = {(1, 2, 3): "identity", (3, 2, 1): "reversal", (2, 1, 3): "other"}
    assert {dims: reshaping._permutation_kind(list(dims)) for dims in kinds} == kinds


class TestReadingKeras:
    """Small parts of reading a configuration of Keras'."""

    def test_a_layer_has_one_output(self):
        made = {("a", 0): [7], ("a", 1): [8]}
        assert keras_read._made(made, ("a", 1, 0)) == 8
        with pytest.raises(UserError, match="a second output of the layer 'a' is read"):
            keras_read._made(made, ("a", 0, 1))

    def test_references_come_alone_or_in_lists(self):
        assert keras_read._references(["a", 0, 0]) == [["a", 0, 0]]
        assert keras_read._references([["a", 0, 0], ["b", 1, 0]]) == [["a", 0, 0], ["b", 1, 0]]
        assert keras_read._references([]) == []
        assert keras_read._reference(["a", "1", 2]) == ("a", 1, 2)

    @pytest.mark.parametrize(
        ("value", "off"),
        [(None, True), (False, True), ([None, [False]], True), (0, False), ([None, 1], False)],
    )
    def test_an_argument_may_ask_for_nothing(self, value, off):
        assert keras_read._is_off(value) is off

    def test_tensors_are_found_in_any_nesting(self):
        tagged = {"class_name": "__keras_tensor__", "config": {"keras_history": ["a", 0, 1]}}
        value = [tagged, [["b", 1, 0, {}], {"class_name": "other"}], "text", None]
        assert list(keras_read._tensors(value)) == [("a", 0, 1), ("b", 1, 0)]

    def test_a_name_is_the_layer_s_or_its_configuration_s(self):
        assert keras_read._name({"name": "a", "config": {"name": "b"}}) == "a"
        assert keras_read._name({"name": None, "config": {"name": "b"}}) == "b"

    @pytest.mark.parametrize(
        ("kind", "read", "unlisted"),
        [("Functional", 2, 2), ("Functional", 0, 0), ("Sequential", 1, 1), ("Dense", 5, 0)],
    )
    def test_a_model_inside_has_calls_that_are_not_listed(self, kind, read, unlisted):
        layer = {"class_name": kind, "config": {"name": "m"}, "inbound_nodes": [None]}
        references = [("m", read, 0), ("other", 9, 0)]
        assert keras_read._unlisted(layer, references) == unlisted


def test_guided_a_dtype_that_nobody_has_covered_comes_first():
    graph = chain("Dense", "ReLU")
    offered = []
    for number in range(30):
        guided = Chosen(number=number, guided=True)
        guided.coverage.update(
            elements_of(graph.change(1, config={"units": 4, "dtype": "float16"}))
        )
        assert ("ReLU", 2, "float16") in guided.coverage.inputs
        OPERATORS["MDtype"].mutate(graph, guided)
        offered.append(guided.offered[0])
    new = [(1, "float64"), (0, "float16"), (0, "float64")]
    assert all(set(new) <= set(candidates) for candidates in offered)
    covered = sum((1, "float16") in candidates for candidates in offered)
    assert 0 < covered < 12, "one draw in ten takes it nevertheless"
