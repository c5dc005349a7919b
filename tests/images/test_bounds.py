"""Acceptance of mutants, against plain loops in Python's own integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asterism.images import (
    Images,
    acceptable_mutants,
    are_images,
    changed_values,
    differing_inputs,
    largest_change,
)


def slow_acceptable(image: Images, reference: Images) -> bool:
    a, b = image.ravel().tolist(), reference.ravel().tolist()
    l0 = sum(1 for x, y in zip(a, b, strict=True) if x != y)
    linf = max(abs(x - y) for x, y in zip(a, b, strict=True))
    return l0 <= 0.02 * len(a) or linf <= 0.30 * 255


@given(
    seed=st.integers(0, 2**32),
    changed=st.integers(0, 12),
    size=st.sampled_from([20, 60, 76, 77, 90, 255]),
    channels=st.sampled_from([1, 3]),
)
def test_acceptance_agrees_with_plain_loops(
    seed: int, changed: int, size: int, channels: int
) -> None:
    rng = np.random.default_rng(seed)
    references = rng.integers(0, 256, size=(5, 12, 13, channels), dtype=np.uint8)
    images = references.copy()
    for image in images:
        flat = image.reshape(-1)
        where = rng.choice(flat.size, size=changed, replace=False)
        moved = flat[where].astype(int) + rng.choice([-size, size], size=changed)
        flat[where] = np.clip(moved, 0, 255)
    expected = [slow_acceptable(i, r) for i, r in zip(images, references, strict=True)]
    assert acceptable_mutants(images, references).tolist() == expected


@pytest.mark.parametrize(("image", "reference"), [(3, 5), (5, 3), (0, 255), (255, 0), (250, 4)])
def test_differences_do_not_wrap_around(image: int, reference: int) -> None:
    a = np.full((1, 4, 4, 1), image, np.uint8)
    b = np.full((1, 4, 4, 1), reference, np.uint8)
    assert largest_change(a, b).tolist() == [abs(image - reference)]
    assert changed_values(a, b).tolist() == [16]


def test_limits_themselves_are_accepted() -> None:
    reference = np.zeros((1, 10, 10, 1), np.uint8)
    two, three, faint = reference.copy(), reference.copy(), reference.copy()
    two[0, 0, :2] = 255
    three[0, 0, :3] = 255
    faint[:] = 76
    assert acceptable_mutants(two, reference).all()
    assert not acceptable_mutants(three, reference).any()
    assert acceptable_mutants(faint, reference).all()
    assert not acceptable_mutants(faint + np.uint8(1), reference).any()
    assert acceptable_mutants(faint + np.uint8(1), reference, linf_share=0.31).all()
    faint[:] = 51  # a fifth of 255, exactly
    assert acceptable_mutants(faint, reference, linf_share=0.2).all()
    assert not acceptable_mutants(faint + np.uint8(1), reference, linf_share=0.2).any()


@pytest.mark.parametrize(
    ("dtype", "shape", "images"),
    [
        (np.uint8, (2, 3, 3, 1), True),
        (np.uint8, (2, 3, 3), False),
        (np.float32, (2, 3, 3, 1), False),
        (np.int8, (2, 3, 3, 1), False),
    ],
)
def test_images_are_known_by_their_type_and_axes(
    dtype: type, shape: tuple[int, ...], images: bool
) -> None:
    assert are_images(np.zeros(shape, dtype)) is images


def test_inputs_differ_where_any_value_does() -> None:
    references = np.arange(24).reshape(4, 3, 2)
    inputs = references.copy()
    inputs[1, 2, 1] += 1
    inputs[3] = 0
    assert differing_inputs(inputs, references).tolist() == [False, True, False, True]
