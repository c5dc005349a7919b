"""Drawn roads: the picture tells the angle, and the same seed draws the same pictures."""

import numpy as np
import pytest

from asterism.config import Params, compose
from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import validate
from asterism.core.settings.yaml_files import parse_yaml
from asterism.data.driving import draw_roads, load_driving
from places import ROOT


def drawn(count=40, seed=0):
    return draw_roads(count, 66, 80, np.random.default_rng(seed))


def settings(*overrides):
    text = compose(ROOT / "conf", ["driving=road", *overrides])
    return validate(Params, parse_yaml(text, "params")).driving


def test_pictures_and_angles_have_the_form_of_driving_data():
    images, angles = drawn()
    assert images.shape == (40, 66, 80, 3)
    assert (images.dtype, angles.dtype) == (np.uint8, np.float32)
    assert np.abs(angles).max() <= 1
    assert len(np.unique(angles)) == 40


def test_the_same_seed_draws_the_same_roads():
    for first, second, other in zip(drawn(), drawn(), drawn(seed=1), strict=True):
        assert np.array_equal(first, second)
        assert not np.array_equal(first, other)


def test_the_far_end_of_the_road_lies_where_the_angle_says():
    images, angles = drawn(100)
    # Grass is the only thing on the ground that is much greener than red.
    green = images[:, 26:30, :, 1].astype(int) - images[:, 26:30, :, 0]
    road = (green.mean(axis=1) < 20).astype(float)
    middle = (road * np.arange(80)).sum(axis=1) / road.sum(axis=1)
    assert np.corrcoef(middle, angles)[0, 1] > 0.9


def test_roads_are_parted_like_a_folders_images():
    few = settings("driving.images=20", "driving.height=66", "driving.width=70")
    found, again = load_driving(few, 3), load_driving(few, 3)
    assert found.train_images.shape == (16, 66, 70, 3)
    assert found.test_images.shape == (4, 66, 70, 3)
    assert np.array_equal(found.test_angles, again.test_angles)


@pytest.mark.parametrize("overrides", [["driving.images=null"], ["driving.source=none"]])
def test_only_roads_are_counted(overrides):
    with pytest.raises(UserError, match=r"images .*source road"):
        settings(*overrides)


def test_more_roads_than_fit_are_told(monkeypatch):
    monkeypatch.setenv("ASTERISM_LIMITS_ARRAY_MB", "1")
    with pytest.raises(UserError, match=r"driving.images .*driving.height .*driving.width"):
        load_driving(settings(), 0)
