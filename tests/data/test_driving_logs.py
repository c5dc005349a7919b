"""Driving logs: tables of images and steering angles."""

import os

import cv2
import numpy as np
import pytest

from asterism.core.messages.errors import UserError
from asterism.data.driving import DrivingParams, load_driving


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


def _secret(drive):
    """An image outside of the folder."""
    path = drive.parent / "secret.png"
    cv2.imwrite(str(path), np.zeros((70, 90, 3), np.uint8))
    return path


def _link(drive):
    (drive / "link.png").symlink_to(_secret(drive))
    return "link.png"


def _folder_link(drive):
    _secret(drive)
    (drive / "out").symlink_to(drive.parent)
    return "out/secret.png"


def _circle(drive):
    (drive / "circle.png").symlink_to(drive / "circle.png")
    return "circle.png"


@pytest.mark.parametrize(
    "lead_out",
    [
        lambda drive: str(_secret(drive)),
        lambda drive: f"../{_secret(drive).name}",
        lambda drive: f"../drive/../{_secret(drive).name}",
        lambda drive: "../drive/2.png",
        lambda drive: r"C:\secret.png",
        _link,
        _folder_link,
        _circle,
    ],
)
def test_a_path_that_leads_out_of_the_folder_is_rejected(drive, lead_out):
    """A stage depends on the folder, so nothing would know of changes outside."""
    name = lead_out(drive)
    table = drive / "log.csv"
    table.write_text(table.read_text().replace("\n2.png", f"\n{name}"))
    with pytest.raises(UserError, match="which is not in") as rejected:
        read(drive)
    assert name in str(rejected.value).replace("\\\\", "\\")


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
