"""The user's driving data: images and a CSV of steering angles."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.core.artifacts import read_table
from asterism.core.console import progress
from asterism.core.errors import UserError
from asterism.core.params import File, Section
from asterism.core.streams import stream


class AngleParams(Section):
    """What a steering angle means."""

    degrees: float = Field(gt=0, description="degrees in one unit of the angles: 25 for ±1 = ±25°")
    tolerance_degrees: float = Field(
        gt=0, description="an attack that moves the angle by more than this succeeds"
    )


class DrivingParams(Section):
    """Where driving data lie, and how they are read."""

    source: Literal["none", "folder"] = Field(description="none: the regression is left out")
    path: File = Field(description="folder with the CSV and the images")
    table: str = Field(description="name of the CSV in it")
    image_column: str = Field(description="column of the images' paths, relative to the folder")
    angle_column: str = Field(description="column of the steering angles")
    height: int = Field(ge=66, description="images are resized to this height")
    width: int = Field(ge=66, description="images are resized to this width")
    test_share: float = Field(gt=0, lt=1, description="share of the rows kept for tests")
    layer: str | int | None = Field(
        description="subject layer of the regressor by name or index; null: the last hidden one"
    )
    angles: AngleParams


@dataclass(frozen=True)
class Driving:
    """Images with steering angles, parted at random.

    Attributes:
        train_images: uint8 ``(N, H, W, 3)``, RGB.
        train_angles: float32 ``(N,)``, in the CSV's unit.
        test_images: uint8 ``(M, H, W, 3)``.
        test_angles: float32 ``(M,)``.
    """

    train_images: NDArray[np.uint8]
    train_angles: NDArray[np.float32]
    test_images: NDArray[np.uint8]
    test_angles: NDArray[np.float32]


def load_driving(params: DrivingParams, seed: int) -> Driving:
    """Read the folder that the parameters name.

    Raises:
        UserError: no such table or column, an angle that is no number, or an image that is
            missing or damaged; the message names it.
    """
    folder = Path(params.path)
    table = read_table(folder / params.table)
    for column in (params.image_column, params.angle_column):
        if column not in table.columns:
            raise UserError(
                f"{folder / params.table} has no column {column!r} (its columns: "
                f"{', '.join(table.columns)})"
            )
    angles = table[params.angle_column].cast(float, strict=False).to_numpy()
    if not np.isfinite(angles).all():
        row = int(np.flatnonzero(~np.isfinite(angles))[0])
        raise UserError(f"{folder / params.table}: row {row + 1} has no number as its angle")
    if len(angles) < 2:
        raise UserError(f"{folder / params.table} needs at least two rows")
    names = table[params.image_column].to_list()
    images = np.stack(
        [_read(folder / str(name).strip(), params) for name in progress(names, label="reading")]
    )
    order = stream(seed, "driving", "split").permutation(len(images))
    cut = min(max(1, round(len(images) * params.test_share)), len(images) - 1)
    test, train = np.sort(order[:cut]), np.sort(order[cut:])
    targets = angles.astype(np.float32)
    return Driving(images[train], targets[train], images[test], targets[test])


def _read(path: Path, params: DrivingParams) -> NDArray[np.uint8]:
    pixels = cv2.imread(str(path), cv2.IMREAD_COLOR)
    if pixels is None:
        raise UserError(f"{path} is missing or no image")
    small = cv2.resize(pixels, (params.width, params.height), interpolation=cv2.INTER_AREA)
    return np.asarray(small[..., ::-1], np.uint8)
