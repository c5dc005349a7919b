"""Driving logs: tables of images and steering angles."""

import cv2
import numpy as np
import pytest

from asterism.core.messages.errors import UserError
from asterism.data.driving import DrivingParams, _read_log, load_driving


def driving(folder, table, **changes):
    (folder / "log.csv").write_text(table)
    for number in range(4):
        picture = np.full((70, 80, 3), (number, 100, 200), np.uint8)
        cv2.imwrite(str(folder / f"{number}.png"), picture)
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
def test_tables_are_read_as_spreadsheets_write_them(tmp_path, table):
    (tmp_path / "log.csv").write_text(table)
    columns = DrivingParams.model_construct(image_column="image", angle_column="angle")
    assert _read_log(tmp_path / "log.csv", columns) == ([f"{n}.png" for n in range(4)], ANGLES)


def test_images_are_resized_and_keep_their_angles(tmp_path):
    found = driving(tmp_path, ROWS)
    assert found.train_images.shape == found.test_images.shape == (2, 66, 68, 3)
    images = np.concatenate([found.train_images, found.test_images])
    angles = np.concatenate([found.train_angles, found.test_angles])
    assert angles.dtype == np.float32
    for image, angle in zip(images, angles, strict=True):
        number = int(image[0, 0, 2])
        assert (image == (200, 100, number)).all()
        assert angle == np.float32(ANGLES[number])


@pytest.mark.parametrize(("share", "tests"), [(0.01, 1), (0.25, 1), (0.5, 2), (0.99, 3)])
def test_both_parts_have_a_row(tmp_path, share, tests):
    found = driving(tmp_path, ROWS, test_share=share)
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
        ("image,angle\n0.png,1\n", "needs at least two rows"),
        ("image,angle\n0.png,1\n../x.png,1\n", r"log\.csv"),
    ],
)
def test_a_table_that_is_not_whole_is_explained(tmp_path, table, message):
    with pytest.raises(UserError, match=message) as caught:
        driving(tmp_path, table)
    assert "\n" not in str(caught.value)
