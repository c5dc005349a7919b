"""Every mutator of the registry: the contract that all share, and its meaning in plain loops."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asterism.core.messages.errors import UserError
from asterism.core.random_streams import Draws, stream
from asterism.images import MUTATORS, Images, Mutator, build_mutators, concatenate_draws, take_draws

NAMES = MUTATORS.names()


def pictures(seed: int, count: int, height: int, width: int, channels: int) -> Images:
    """Random pictures with black, white and smooth areas."""
    rng = np.random.default_rng(seed)
    values = rng.integers(-100, 356, size=(count, height, width, channels))
    return np.clip(values, 0, 255).astype(np.uint8)


shapes = st.tuples(
    st.integers(1, 6), st.integers(3, 33), st.integers(3, 33), st.sampled_from([1, 3])
)


def test_the_published_mutators_are_there() -> None:
    geometry = {"translation", "scale", "shear", "rotation"}
    blurs = {"average_blur", "gaussian_blur", "median_blur", "bilateral_blur"}
    noises = {"gaussian_noise", "salt_and_pepper_noise", "multiplicative_noise"}
    pixel_level = noises | {"pixel_change"}
    published = geometry | blurs | {"contrast", "brightness"} | pixel_level
    assert published <= set(NAMES)
    assert published <= set(TOLERANCE), "each has its slow twin"
    assert {name for name in published if MUTATORS[name].pixel_level} == pixel_level


@pytest.mark.parametrize("name", NAMES)
@given(shape=shapes, seed=st.integers(0, 2**32))
def test_mutants_have_the_images_form_and_originals_stay(
    name: str, shape: tuple[int, int, int, int], seed: int
) -> None:
    mutator = MUTATORS[name]()
    images = pictures(seed, *shape)
    before = images.copy()
    draws = mutator.draw(stream(seed, name), shape)
    mutants = mutator.apply(images, draws)
    assert mutants.shape == shape
    assert mutants.dtype == np.uint8
    assert mutants.flags.c_contiguous
    assert np.array_equal(images, before)
    assert not np.shares_memory(mutants, images)
    assert all(len(values) == len(images) for values in draws.values())


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=15)
@given(shape=shapes, seed=st.integers(0, 2**32))
def test_an_image_mutates_alike_alone_and_in_a_batch(
    name: str, shape: tuple[int, int, int, int], seed: int
) -> None:
    mutator = MUTATORS[name]()
    images = pictures(seed, *shape)
    own = [mutator.draw(stream(seed, name, i), (1, *shape[1:])) for i in range(len(images))]
    draws = concatenate_draws(own)
    together = mutator.apply(images, draws)
    for i in range(len(images)):
        assert np.array_equal(together[i : i + 1], mutator.apply(images[i : i + 1], own[i]))
    rows = np.arange(len(images))[::-1]
    assert np.array_equal(mutator.apply(images[rows], take_draws(draws, rows)), together[rows])
    assert len(mutator.apply(images[:0], take_draws(draws, np.arange(0)))) == 0


@pytest.mark.parametrize("name", NAMES)
def test_the_same_stream_draws_the_same_mutants(name: str) -> None:
    mutator = MUTATORS[name]()
    images = pictures(0, 50, 28, 28, 1)
    draws, again, others = (mutator.draw(stream(n, name), images.shape) for n in (7, 7, 8))
    first, second, other = (mutator.apply(images, d) for d in (draws, again, others))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, images)
    random = any(not np.array_equal(values, others[key]) for key, values in draws.items())
    assert random != np.array_equal(first, other)


# The mutators once more, value by value: ``slow_<name>``, and an entry in ``TOLERANCE``.


def sample(image: Images, y: float, x: float, channel: int) -> float:
    """Bilinear, black outside."""
    height, width = image.shape[:2]
    total = 0.0
    for row in (math.floor(y), math.floor(y) + 1):
        for column in (math.floor(x), math.floor(x) + 1):
            if 0 <= row < height and 0 <= column < width:
                weight = (1 - abs(y - row)) * (1 - abs(x - column))
                total += weight * int(image[row, column, channel])
    return total


def slow_affine(image: Images, source: Callable[[float, float], tuple[float, float]]) -> Images:
    """``source(right, down)`` from the centre gives where the value comes from."""
    height, width, channels = image.shape
    result = np.zeros(image.shape)
    for y in range(height):
        for x in range(width):
            right, down = source(x - (width - 1) / 2, y - (height - 1) / 2)
            for c in range(channels):
                result[y, x, c] = sample(image, down + (height - 1) / 2, right + (width - 1) / 2, c)
    return result


def slow_translation(image: Images, d: Draws) -> Images:
    return slow_affine(image, lambda x, y: (x - d["right"], y - d["down"]))


def slow_scale(image: Images, d: Draws) -> Images:
    return slow_affine(image, lambda x, y: (x / d["factor"], y / d["factor"]))


def slow_shear(image: Images, d: Draws) -> Images:
    return slow_affine(image, lambda x, y: (x - d["factor"] * y, y))


def slow_rotation(image: Images, d: Draws) -> Images:
    # Counter-clockwise as one sees it: what comes to the top was at the right.
    a = math.radians(int(d["degrees"]))
    return slow_affine(
        image,
        lambda x, y: (x * math.cos(a) - y * math.sin(a), x * math.sin(a) + y * math.cos(a)),
    )


def clip(value: float) -> int:
    return int(min(max(round(value), 0), 255))


def each_value(image: Images, change: Callable[[tuple[int, ...], int], float]) -> Images:
    result = np.zeros_like(image)
    for index in np.ndindex(*image.shape):
        result[index] = clip(change(index, int(image[index])))
    return result


def slow_contrast(image: Images, d: Draws) -> Images:
    return each_value(image, lambda _, v: v * float(d["factor"]))


def slow_brightness(image: Images, d: Draws) -> Images:
    return each_value(image, lambda _, v: v + int(d["levels"]))


def slow_gaussian_noise(image: Images, d: Draws) -> Images:
    return each_value(image, lambda i, v: v + float(d["noise"][i]))


def slow_multiplicative_noise(image: Images, d: Draws) -> Images:
    return each_value(image, lambda i, v: v * float(d["factors"][i]))


def slow_salt_and_pepper_noise(image: Images, d: Draws) -> Images:
    return each_value(image, lambda i, v: 255 if d["salt"][i] else 0 if d["pepper"][i] else v)


def slow_pixel_change(image: Images, d: Draws) -> Images:
    result = image.copy()
    for k in range(int(d["count"])):
        y, x = divmod(int(d["positions"][k]), image.shape[1])
        result[y, x] = d["values"][k]
    return result


def mirrored(index: int, size: int) -> int:
    """…2 1 0 1 2…: the edge is not repeated."""
    while not 0 <= index < size:
        index = -index if index < 0 else 2 * (size - 1) - index
    return index


def neighbours(
    image: Images, y: int, x: int, c: int, size: int, edge: Callable[[int, int], int]
) -> list[list[int]]:
    reach = size // 2
    height, width = image.shape[:2]
    return [
        [
            int(image[edge(y + i - reach, height), edge(x + j - reach, width), c])
            for j in range(size)
        ]
        for i in range(size)
    ]


def slow_average_blur(image: Images, d: Draws) -> Images:
    n = int(d["size"])
    return each_value(image, lambda i, _: float(np.sum(neighbours(image, *i, n, mirrored))) / n**2)


def slow_gaussian_blur(image: Images, d: Draws) -> Images:
    n = int(d["size"])
    # OpenCV's fixed kernels for these sizes.
    kernel = {
        3: [1 / 4, 1 / 2, 1 / 4],
        5: [1 / 16, 4 / 16, 6 / 16, 4 / 16, 1 / 16],
        7: [0.03125, 0.109375, 0.21875, 0.28125, 0.21875, 0.109375, 0.03125],
    }[n]
    weights = np.outer(kernel, kernel)
    return each_value(
        image, lambda i, _: float(np.sum(weights * neighbours(image, *i, n, mirrored)))
    )


def slow_median_blur(image: Images, d: Draws) -> Images:
    n = int(d["size"])

    def repeated(index: int, size: int) -> int:
        return min(max(index, 0), size - 1)

    return each_value(image, lambda i, _: float(np.median(neighbours(image, *i, n, repeated))))


def slow_bilateral_blur(image: Images, _: Draws) -> Images:
    result = np.zeros_like(image)
    height, width, channels = image.shape
    for y in range(height):
        for x in range(width):
            total, weight_sum = np.zeros(channels), 0.0
            centre = image[y, x].astype(int)
            for i in range(-4, 5):
                for j in range(-4, 5):
                    if i * i + j * j > 16:
                        continue
                    value = image[mirrored(y + i, height), mirrored(x + j, width)].astype(int)
                    apart = int(np.abs(value - centre).sum())
                    weight = math.exp(-(apart**2) / (2 * 75**2) - (i * i + j * j) / (2 * 75**2))
                    total += weight * value
                    weight_sum += weight
            result[y, x] = [clip(v / weight_sum) for v in total]
    return result


#: How far OpenCV's fixed-point arithmetic may stray: it rounds a source position to 1/32 pixel
#: in each direction (255/32 levels), and sums of weights by at most one level.
TOLERANCE = {
    "translation": 0, "scale": 17, "shear": 9, "rotation": 17, "average_blur": 1,
    "gaussian_blur": 1, "median_blur": 0, "bilateral_blur": 1, "contrast": 0, "brightness": 0,
    "pixel_change": 0, "gaussian_noise": 0, "salt_and_pepper_noise": 0, "multiplicative_noise": 0,
}  # fmt: skip


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("name", TOLERANCE)
def test_mutator_agrees_with_plain_loops(name: str, channels: int) -> None:
    mutator = MUTATORS[name]()
    slow = globals()[f"slow_{name}"]
    images = pictures(3, 12, 11, 14, channels)
    draws = mutator.draw(stream(3, name, channels), images.shape)
    fast = mutator.apply(images, draws)
    for i, image in enumerate(images):
        expected = slow(image, {key: values[i] for key, values in draws.items()})
        error = np.abs(fast[i].astype(float) - expected)
        assert error.max() <= TOLERANCE[name] + 0.5 * (name in ("scale", "shear", "rotation"))
        assert error.mean() <= 2


# Ranges.


def spread(name: str, key: str, count: int = 4000) -> tuple[float, float]:
    values = MUTATORS[name]().draw(stream(0, "spread"), (count, 28, 28, 1))[key]
    return float(values.min()), float(values.max())


@pytest.mark.parametrize(
    ("name", "key", "low", "high", "slack"),
    [
        ("translation", "right", -3, 2, 0),
        ("translation", "down", -3, 2, 0),
        ("scale", "factor", 0.8, 1.0, 0.01),
        ("shear", "factor", -0.5, 0.4, 0.01),
        ("rotation", "degrees", -30, 29, 0),
        ("contrast", "factor", 0.6, 1.1, 0.01),
        ("brightness", "levels", -20, 19, 0),
        ("average_blur", "size", 3, 5, 0),
        ("gaussian_blur", "size", 3, 7, 0),
        ("median_blur", "size", 3, 5, 0),
        ("pixel_change", "count", 1, 9, 0),
        ("pixel_change", "values", 0, 255, 0),
        ("pixel_change", "positions", 0, 783, 0),
    ],
)
def test_draws_fill_the_published_range(
    name: str, key: str, low: float, high: float, slack: float
) -> None:
    smallest, largest = spread(name, key)
    assert low <= smallest <= low + slack
    assert high - slack <= largest <= high


@pytest.mark.parametrize("shape", [(28, 28, 1), (9, 70, 1), (12, 11, 3)])
@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_blurs_are_opencvs_of_each_image_however_many_lie_side_by_side(
    count: int, shape: tuple[int, int, int]
) -> None:
    images = stream(4).integers(0, 256, (count, *shape), dtype=np.uint8)
    filters: dict[str, Callable[[Images, int], Any]] = {
        "average_blur": lambda image, size: cv2.blur(image, (size, size)),
        "gaussian_blur": lambda image, size: cv2.GaussianBlur(image, (size, size), 0),
        "median_blur": cv2.medianBlur,
    }
    for name, single in filters.items():
        sizes = np.resize([3, 5, 1, 5, 7], count)
        mutants = MUTATORS[name](sizes=(1, 3, 5, 7)).apply(images, {"size": sizes})
        for image, size, mutant in zip(images, sizes.tolist(), mutants, strict=True):
            assert np.array_equal(single(image, size).reshape(shape), mutant), (name, size)


@given(low=st.integers(1, 9), extra=st.integers(0, 5), seed=st.integers(0, 2**32))
def test_changed_pixels_are_distinct_and_uniform_in_every_prefix(
    low: int, extra: int, seed: int
) -> None:
    mutator = MUTATORS["pixel_change"](low=low, high=low + extra)
    draws = mutator.draw(stream(seed), (40, 4, 4, 1))
    assert all(len(set(row)) == low + extra for row in draws["positions"].tolist())
    assert draws["positions"].min() >= 0 and draws["positions"].max() < 16


def test_first_changed_pixel_is_uniform() -> None:
    draws = MUTATORS["pixel_change"](low=9, high=9).draw(stream(5), (32000, 4, 4, 1))
    for column in (0, 8):
        counts = np.bincount(draws["positions"][:, column], minlength=16)
        assert np.all(np.abs(counts - 2000) < 6 * math.sqrt(2000))


@pytest.mark.parametrize(
    ("name", "key", "drawn", "expected"),
    [("gaussian_noise", "noise", 10.7, 4), ("multiplicative_noise", "factors", 1.5, 119)],
)
def test_noise_wraps_around_where_it_is_told_to(name, key, drawn, expected) -> None:
    """As a cast to uint8 does it: the whole part, modulo 256."""
    images = np.full((1, 2, 2, 1), 250, np.uint8)
    draws = {key: np.full(images.shape, drawn, np.float32)}
    assert (MUTATORS[name]().apply(images, draws) == 255).all()
    assert (MUTATORS[name](wrap=True).apply(images, draws) == expected).all()


@given(deviation=st.floats(0.5, 20), seed=st.integers(0, 2**32))
def test_gaussian_noise_has_the_asked_deviation(deviation: float, seed: int) -> None:
    draws = MUTATORS["gaussian_noise"](low=deviation, high=deviation).draw(
        stream(seed), (8, 40, 40, 1)
    )
    assert float(draws["noise"].std()) == pytest.approx(deviation, rel=0.06)


def test_factors_have_the_asked_mean() -> None:
    shifting = MUTATORS["multiplicative_noise"](low=0.1, high=0.1, mean_low=0.5, mean_high=1.5)
    means = shifting.draw(stream(0), (400, 20, 20, 1))["factors"].mean(axis=(1, 2, 3))
    assert means.min() == pytest.approx(0.5, abs=0.03)
    assert means.max() == pytest.approx(1.5, abs=0.03)
    assert means.mean() == pytest.approx(1.0, abs=0.06)
    with pytest.raises(ValueError, match="before"):
        MUTATORS["multiplicative_noise"](mean_low=1.5, mean_high=0.5)


def test_images_too_small_for_a_range_are_told_before_anything_is_drawn() -> None:
    assert MUTATORS["pixel_change"](low=16, high=40).misfit((4, 4, 1)) == ""
    assert "low is 17" in MUTATORS["pixel_change"](low=17, high=40).misfit((4, 4, 1))


def test_at_most_all_pixels_of_an_image_change() -> None:
    black = np.zeros((300, 2, 3, 1), np.uint8)
    mutator = MUTATORS["pixel_change"](low=5, high=100)
    draws = mutator.draw(stream(0), black.shape)
    assert set(draws["count"].tolist()) == {5, 6}
    assert (np.sort(draws["positions"], axis=1) == np.arange(6)).all()
    changed = (mutator.apply(black, draws) != 0).sum(axis=(1, 2, 3))
    assert (changed <= draws["count"]).all() and changed.max() == 6


def test_what_fits_every_image_says_so() -> None:
    assert {MUTATORS[name]().misfit((1, 1, 1)) for name in set(NAMES) - {"pixel_change"}} == {""}


@pytest.mark.parametrize(
    ("name", "options", "strength"),
    [
        ("gaussian_noise", {"low": 1, "high": 50}, lambda d: d["noise"].std(axis=(1, 2, 3))),
        ("multiplicative_noise", {"high": 0.5}, lambda d: d["factors"].std(axis=(1, 2, 3))),
        ("salt_and_pepper_noise", {"high": 0.9}, lambda d: d["salt"].mean(axis=(1, 2, 3))),
    ],
)
def test_each_image_has_a_strength_of_its_own(
    name: str, options: dict[str, float], strength: Callable[[Draws], np.ndarray]
) -> None:
    found = strength(MUTATORS[name](**options).draw(stream(2), (50, 40, 40, 1)))
    assert found.max() > 5 * found.min()
    assert len(np.unique(np.round(found, 2))) > 20


def test_salt_and_pepper_come_in_equal_shares() -> None:
    draws = MUTATORS["salt_and_pepper_noise"](low=0.1, high=0.1).draw(stream(0), (100, 28, 28, 1))
    assert draws["salt"].mean() == pytest.approx(0.05, abs=0.005)
    assert draws["pepper"].mean() == pytest.approx(0.05, abs=0.005)
    assert not np.any(draws["salt"] & draws["pepper"])


# Building from configuration.


def test_mutators_from_configuration() -> None:
    built = build_mutators(
        {"translation": {"low": -1, "high": 1}, "median_blur": {"sizes": [1, 3]}}
    )
    assert list(built) == ["translation", "median_blur"]
    assert isinstance(built["translation"], Mutator)
    assert built["median_blur"].draw(stream(0), (50, 5, 5, 1))["size"].max() == 3
    assert build_mutators({"bilateral_blur": {"diameter": 1}})["bilateral_blur"].diameter == 1
    assert repr(built["translation"]) == "Translation(low=-1, high=1)"


@pytest.mark.parametrize(
    ("ranges", "told"),
    [
        ({"translatoin": {}}, "did you mean 'translation'"),
        ({"translation": {"lo": 1}}, "known: low, high"),
        *(
            ({name: {"low": 0.75, "high": 0.5}}, "ends at 0.5, before 0.75")
            for name in (
                *("scale", "shear", "contrast", "gaussian_noise", "multiplicative_noise"),
                "salt_and_pepper_noise",
            )
        ),
        *(
            ({name: {"low": 3, "high": 1}}, "ends at 1, before 3")
            for name in ("translation", "rotation", "brightness", "pixel_change")
        ),
        ({"translation": {"low": "x"}}, "translation.low is 'x'"),
        ({"scale": {"low": 0}}, "above 0"),
        ({"median_blur": {"sizes": [2]}}, "odd"),
        ({"median_blur": {"sizes": [3, 2]}}, "odd"),
        ({"gaussian_blur": {"sizes": []}}, "at least one kernel size"),
        ({"average_blur": {"sizes": [0]}}, "at least 1"),
        *(({"bilateral_blur": {"diameter": n}}, "odd and at least 1") for n in (-1, 0, 2, 4)),
        ({"pixel_change": {"low": 0}}, "at least 1 pixel"),
        ({"salt_and_pepper_noise": {"high": 1.5}}, r"[0, 1]"),
        ({"contrast": {"low": -1}}, "not be below 0"),
    ],
)
def test_impossible_configuration_is_one_clear_line(
    ranges: dict[str, dict[str, object]], told: str
) -> None:
    with pytest.raises(UserError) as error:
        build_mutators(ranges)
    assert told in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", sorted(MUTATORS))
def test_mutants_come_again_where_a_mutator_says_so(name: str) -> None:
    """So many mutants of one picture that those of a coarse mutator have to repeat."""
    count = 1000
    image = np.random.default_rng(0).integers(0, 256, (1, 40, 40, 1), dtype=np.uint8)
    mutator = MUTATORS[name]()
    images = np.repeat(image, count, axis=0)
    mutants = mutator.apply(images, mutator.draw(stream(1, name), images.shape))
    different = len({mutant.tobytes() for mutant in mutants})
    assert different < count / 5 if mutator.few_mutants else different > count / 5


#: Mutators with few mutants whose ranges hold a draw that changes nothing.
CAN_LEAVE = {
    "average_blur",
    "brightness",
    "gaussian_blur",
    "median_blur",
    "rotation",
    "translation",
}


@pytest.mark.parametrize("name", sorted(MUTATORS))
def test_what_is_told_to_leave_an_image_as_it_is_does_so(name: str) -> None:
    """And of mutators with few mutants nothing else does, on a picture without symmetries."""
    count = 400
    image = np.random.default_rng(0).integers(0, 256, (1, 9, 9, 1), dtype=np.uint8)
    sizes = {"sizes": [1, 3]} if hasattr(MUTATORS[name](), "sizes") else {}
    mutator = build_mutators({name: sizes})[name]
    images = np.repeat(image, count, axis=0)
    draws = mutator.draw(stream(1, name), images.shape)
    same = (mutator.apply(images, draws) == images).all(axis=(1, 2, 3))
    told = np.broadcast_to(mutator.unchanged(draws), count)
    assert not (told & ~same).any()
    if mutator.few_mutants:
        np.testing.assert_array_equal(told, same)
        assert told.any() == (name in CAN_LEAVE)


PHOTOGRAPHS = [(3, 224, 224, 3), (1, 1024, 1024, 1), (70, 190, 200, 1)]
TALL = [(70, height, 3, 1) for height in (509, 510, 2000)]


@pytest.mark.parametrize("shape", PHOTOGRAPHS + TALL)
@pytest.mark.parametrize("name", NAMES)
def test_photographs_are_mutated_as_one_by_one(name: str, shape: tuple[int, int, int, int]) -> None:
    """OpenCV addresses fewer than 32,767 rows and columns; batches of photographs have more."""
    images = pictures(0, *shape)
    (mutator,) = build_mutators({name: {}}).values()
    draws = mutator.draw(stream(0, name), shape)
    mutants = mutator.apply(images, draws)
    assert mutants.shape == shape and (mutants != images).any()
    for row in np.unique([0, min(63, shape[0] - 1), shape[0] - 1])[:, np.newaxis]:
        assert np.array_equal(mutator.apply(images[row], take_draws(draws, row)), mutants[row])
