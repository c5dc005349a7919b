"""Driving logs and drawn roads, and the pictures in them."""

import os
import struct

import cv2
import numpy as np
import pytest

from asterism.config import Params, compose
from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import validate
from asterism.core.settings.yaml_files import parse_yaml
from asterism.data.driving import DrivingParams, draw_roads, load_driving
from asterism.data.pictures import read_image_size, read_picture
from places import ROOT


def read(folder, **changes):
    given = {
        "source": "folder",
        "path": str(folder),
        "table": "log.csv",
        "image_column": "image",
        "angle_column": "angle",
        "height": 66,
        "width": 68,
        "test_share": 0.5,
        "layer": None,
        "angles": {"degrees": 25.0, "tolerance_degrees": 1.0},
    }
    return load_driving(DrivingParams(**given | changes), 0)


ROWS = "image,angle\n0.png,0.5\n1.png,-1\n2.png,2e-1\n3.png,0\n"
QUOTED = 'note, "image", "angle"\n' + "".join(
    f'"a, b", "{name}", "{angle}"\n' for name, angle in (r.split(",") for r in ROWS.split()[1:])
)
ANGLES = [0.5, -1, 0.2, 0]


@pytest.fixture
def drive(tmp_path):
    """A folder of four images and their table."""
    folder = tmp_path / "drive"
    folder.mkdir()
    (folder / "log.csv").write_text(ROWS)
    for number in range(4):
        picture = np.full((70, 80, 3), (number, 100, 200), np.uint8)
        cv2.imwrite(str(folder / f"{number}.png"), picture)
    return folder


@pytest.mark.parametrize(
    "table",
    [
        ROWS,
        "\ufeff" + ROWS,
        ROWS.replace("\n", "\r\n\r\n"),
        ROWS.replace(",", " ,  "),
        QUOTED,
    ],
)
def test_tables_are_read_as_spreadsheets_write_them(drive, table):
    """Images are resized, and keep their angles."""
    (drive / "log.csv").write_text(table)
    found = read(drive)
    assert found.train_images.shape == found.test_images.shape == (2, 66, 68, 3)
    assert found.test_images.dtype == np.uint8
    images = np.concatenate([found.train_images, found.test_images])
    angles = np.concatenate([found.train_angles, found.test_angles])
    assert angles.dtype == np.float32
    numbers = [int(image[0, 0, 2]) for image in images]
    assert sorted(numbers) == [0, 1, 2, 3]
    for image, angle, number in zip(images, angles, numbers, strict=True):
        assert (image == (200, 100, number)).all()
        assert angle == np.float32(ANGLES[number])


@pytest.mark.parametrize(("share", "tests"), [(0.01, 1), (0.25, 1), (0.5, 2), (0.99, 3)])
def test_both_parts_have_a_row(drive, share, tests):
    found = read(drive, test_share=share)
    assert (len(found.train_angles), len(found.test_angles)) == (4 - tests, tests)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("", r"has no column 'image' \(its columns: none\)"),
        ("image,steer\n0.png,1\n", r"has no column 'angle' \(its columns: image, steer\)"),
        ("image,angle\n0.png,1\n1.png\n", "row 2 has 1 cells, but there are 2 columns"),
        ("image,angle\n0.png,1\n,1\n", "row 2 names no image"),
        ("image,angle\n0.png,x\n1.png,1\n", "row 1 has no number as its angle"),
        ("image,angle\n0.png,inf\n1.png,1\n", "row 1 has no number as its angle"),
        ("image,angle\n0.png,\n1.png,1\n", "row 1 has no number as its angle"),
        ("image,angle\n0.png,1\n", "needs at least two rows"),
        ("image,angle\n0.png,1\n9.png,1\n", r"there is no image .*9\.png"),
        (b"image,\xff\n", "cannot read the table"),
        (None, "cannot read the table"),
    ],
)
def test_a_table_that_is_not_whole_is_explained(drive, table, message):
    (drive / "log.csv").unlink()
    if table is not None:
        (drive / "log.csv").write_bytes(table if isinstance(table, bytes) else table.encode())
    with pytest.raises(UserError, match=message) as caught:
        read(drive)
    assert "\n" not in str(caught.value)


def test_a_damaged_image_is_named(drive, capfd):
    (drive / "2.png").write_bytes(b"x")
    with pytest.raises(UserError, match=r"2\.png.*PNG.*JPEG.*damaged"):
        read(drive)
    assert "WARN" not in capfd.readouterr().err  # as OpenCV does


def test_an_image_outside_of_the_folder_is_rejected(drive):
    """A stage depends on the folder, so nothing would know of changes outside."""
    (drive / "2.png").rename(drive.parent / "secret.png")
    table = drive / "log.csv"
    table.write_text(table.read_text().replace("\n2.png", "\n../secret.png"))
    with pytest.raises(UserError, match=r"\.\./secret\.png.*which is not in"):
        read(drive)


def test_the_table_itself_lies_in_the_folder(drive):
    (drive / "log.csv").rename(drive.parent / "table.csv")
    for name in ("../table.csv", str(drive.parent / "table.csv")):
        with pytest.raises(UserError, match=r"driving\.table .* not in"):
            read(drive, table=name)


def test_a_link_inside_the_folder_is_followed(drive):
    (drive / "2.png").rename(drive / "two.png")
    (drive / "2.png").symlink_to("two.png")
    assert len(read(drive).train_images) == 2


def test_a_pipe_is_no_image(drive):
    (drive / "2.png").unlink()
    os.mkfifo(drive / "2.png")
    with pytest.raises(UserError, match=r"no image .*2\.png"):
        read(drive)


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


@pytest.mark.parametrize("suffix", [".png", ".jpg"])
@pytest.mark.parametrize("shape", [(3, 200, 3), (300, 7)])
def test_a_picture_declares_its_size(suffix, shape):
    content = cv2.imencode(suffix, np.zeros(shape, np.uint8))[1].tobytes()
    assert read_image_size(content) == shape[:2]


def frame(height, width, marker=0xC0):
    body = struct.pack(">BHHB", 8, height, width, 1) + bytes(3)
    return bytes([0xFF, marker]) + struct.pack(">H", 2 + len(body)) + body


@pytest.mark.parametrize(
    "between", [b"", b"\xff", b"\xff\xff\xff", b"\xff\xd0", b"\xff\xfe\x00\x04ab"]
)
def test_the_largest_frame_counts_whatever_lies_between(between):
    small, large = frame(4, 6), frame(40, 5, 0xC2)
    for frames in (small + between + large, large + between + small):
        assert read_image_size(b"\xff\xd8" + between + frames + b"\xff\xda") == (40, 5)
    hidden = b"\xff\xd8" + small + b"\xff\xda" + large
    assert read_image_size(hidden) == (4, 6)
    assert read_image_size(b"\xff\xd8" + frame(40, 5, 0xC4)) is None
    assert read_image_size(b"GIF89a") is None


def test_a_picture_is_rejected_by_the_size_that_it_declares(tmp_path, monkeypatch):
    monkeypatch.setenv("ASTERISM_LIMITS_IMAGE_MB", "1")
    path = tmp_path / "large.png"
    cv2.imwrite(str(path), np.zeros((600, 600, 3), np.uint8))
    with pytest.raises(UserError, match=r"large\.png declares"):
        read_picture(path)
