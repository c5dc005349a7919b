"""Lineages and acceptance, checked mutant by mutant in plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from worlds import digits, params

from asterism.core.random_streams import stream
from asterism.deepstellar.fuzzing.mutants import Lineages, MutantMaker, Mutation
from asterism.images import Mutator, acceptable_mutants, build_mutators


def fresh(count: int) -> Lineages:
    images = digits()[0][np.arange(count) % 600]
    return Lineages(images, images, np.zeros(count, np.bool_))


def of_images(mutators: dict[str, Mutator]) -> Mutation:
    return Mutation(mutators, acceptable_mutants)


def close(image: Any, reference: Any, l0_share: float, linf_share: float) -> bool:
    pairs = list(zip(image.ravel().tolist(), reference.ravel().tolist(), strict=True))
    changed = sum(a != b for a, b in pairs)
    most = max(abs(a - b) for a, b in pairs)
    return changed <= l0_share * len(pairs) or most <= linf_share * 255


def test_generations_follow_the_published_rules() -> None:
    # Brightness always by 9 levels, so that a transformed reference is known.
    mutators = build_mutators(
        {
            "brightness": {"low": 9, "high": 9},
            "pixel_change": {"low": 1, "high": 4},
            "gaussian_noise": {"low": 5, "high": 60},
            "salt_and_pepper_noise": {"low": 0.01, "high": 0.2},
        }
    )
    maker = MutantMaker(of_images(mutators), {}, attempts=3, l0_share=0.05, linf_share=0.3)
    parents = fresh(200)
    seeds = parents.images
    roots = np.arange(200)
    rejected = 0
    for generation in range(6):
        offspring = maker.make(parents, stream(0, "test", generation))
        rejected += len(parents) - len(offspring.parents)
        assert np.all(np.diff(offspring.parents) > 0)
        for k, parent in enumerate(offspring.parents.tolist()):
            name = maker.names[offspring.mutators[k]]
            image, reference = offspring.lineages.images[k], offspring.lineages.references[k]
            before = parents.only(np.array([parent]))
            assert not np.array_equal(image, before.images[0])
            if name == "brightness":
                assert not before.transformed[0]
                assert offspring.lineages.transformed[k]
                expected = np.minimum(before.images[0].astype(int) + 9, 255)
                assert np.array_equal(image, expected)
            else:
                assert np.array_equal(reference, before.references[0])
                assert offspring.lineages.transformed[k] == before.transformed[0]
                assert close(image, reference, 0.05, 0.3)
            seed = seeds[roots[parent]].astype(int)
            transformed = offspring.lineages.transformed[k]
            assert np.array_equal(reference, np.minimum(seed + 9, 255) if transformed else seed)
        roots = roots[offspring.parents]
        parents = offspring.lineages
    assert parents.transformed.all() or parents.transformed.mean() > 0.6
    assert rejected > 0


def test_parents_stay_as_they_are() -> None:
    parents = fresh(50)
    before = parents.images.copy()
    MutantMaker.configured(params(), before).make(parents, stream(0))
    assert np.array_equal(parents.images, before)
    assert not parents.transformed.any()


def test_weights_are_relative_frequencies() -> None:
    mutators = build_mutators({"rotation": {}, "shear": {}, "pixel_change": {}, "contrast": {}})
    maker = MutantMaker(of_images(mutators), {"rotation": 3, "contrast": 0}, 1, 1.0, 1.0)
    offspring = maker.make(fresh(4000), stream(1))
    counts = np.bincount(offspring.mutators, minlength=4) / 4000
    np.testing.assert_allclose(counts, [3 / 5, 1 / 5, 1 / 5, 0], atol=0.05)


def test_lineages_that_may_not_change_any_more_have_no_mutants() -> None:
    maker = MutantMaker(of_images(build_mutators({"rotation": {}})), {}, 3, 0.02, 0.3)
    parents = fresh(10)
    spent = Lineages(parents.images, parents.references, np.arange(10) < 6)
    assert set(maker.make(spent, stream(0)).parents) <= {6, 7, 8, 9}


def test_impossible_weights() -> None:
    with pytest.raises(ValidationError, match="'blur', but mutators"):
        params(weights={"blur": 1})
    with pytest.raises(ValidationError, match="none may be below 0"):
        params(weights={"rotation": -1})
    with pytest.raises(ValidationError, match="0 for all mutators"):
        params(mutators={"rotation": {}}, weights={"rotation": 0})
