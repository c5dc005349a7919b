"""Sizes of pictures by their headers alone, and the limit that holds for them."""

import struct

import cv2
import numpy as np
import pytest

from asterism.core.messages.errors import UserError
from asterism.data.pictures import read_picture, size_of_image


@pytest.mark.parametrize("suffix", [".png", ".jpg"])
@pytest.mark.parametrize("shape", [(3, 200, 3), (300, 7)])
def test_a_picture_declares_its_size(suffix, shape):
    content = cv2.imencode(suffix, np.zeros(shape, np.uint8))[1].tobytes()
    assert size_of_image(content) == shape[:2]


def frame(height, width, marker=0xC0):
    body = struct.pack(">BHHB", 8, height, width, 1) + bytes(3)
    return bytes([0xFF, marker]) + struct.pack(">H", 2 + len(body)) + body


@pytest.mark.parametrize(
    "between", [b"", b"\xff", b"\xff\xff\xff", b"\xff\xd0", b"\xff\xfe\x00\x04ab"]
)
def test_the_largest_frame_counts_whatever_lies_between(between):
    small, large = frame(4, 6), frame(40, 5, 0xC2)
    for frames in (small + between + large, large + between + small):
        assert size_of_image(b"\xff\xd8" + between + frames + b"\xff\xda") == (40, 5)
    hidden = b"\xff\xd8" + small + b"\xff\xda" + large
    assert size_of_image(hidden) == (4, 6)
    assert size_of_image(b"\xff\xd8" + frame(40, 5, 0xC4)) is None
    assert size_of_image(b"GIF89a") is None


def test_a_picture_is_rejected_by_the_size_that_it_declares(tmp_path, monkeypatch):
    monkeypatch.setenv("ASTERISM_LIMITS_IMAGE_MB", "1")
    path = tmp_path / "large.png"
    cv2.imwrite(str(path), np.zeros((600, 600, 3), np.uint8))
    with pytest.raises(UserError, match=r"large\.png declares"):
        read_picture(path)
