"""Driving data: the user's images with a CSV of steering angles, or drawn roads."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

import cv2
import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from asterism.core.files.limits import (
    read_within_limit,
    require_few_values,
    require_size_within_limit,
)
from asterism.core.files.user_files import File, resolve_inside
from asterism.core.messages.console import progress
from asterism.core.messages.errors import UserError, reading
from asterism.core.parameters.params import ParameterSection
from asterism.core.random_streams import stream
from asterism.data.pictures import read_picture

#: Grey levels of grass, road and line as RGB, before light and noise.
_GRASS, _ROAD, _LINE = (70, 120, 60), (95, 95, 100), (235, 235, 225)

_SKY = (140, 175, 215)
#: The horizon's row as a share of the height.
_HORIZON = 0.35


class AngleParams(ParameterSection):
    """What a steering angle means."""

    degrees: float = Field(gt=0, description="degrees in one unit of the angles: 25 for ±1 = ±25°")
    tolerance_degrees: float = Field(
        gt=0, description="an attack that moves the angle by more than this succeeds"
    )


class DrivingParams(ParameterSection):
    """Where driving data lie, and how they are read."""

    source: Literal["none", "folder", "road"] = Field(
        description="none: the regression is left out; road: pictures drawn here"
    )
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
    images: int | None = Field(default=None, ge=2, description="pictures that road draws")

    @model_validator(mode="after")
    def _only_roads_are_counted(self) -> Self:
        if (self.source == "road") != (self.images is not None):
            raise ValueError("images is for the source road, which needs it")
        return self


@dataclass(frozen=True)
class DrivingImages:
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


def load_driving(params: DrivingParams, seed: int) -> DrivingImages:
    """Read the folder that the parameters name, or draw roads.

    Raises:
        UserError: no such table or column, a row that is incomplete or whose angle is no number,
            a path that leads out of the folder, an image that is missing, damaged, too large or
            neither PNG nor JPEG; the message names it.
    """
    if params.images is not None:
        _require_room(params.images, "driving.images", params)
        rng = stream(seed, "driving", "road")
        images, targets = draw_roads(params.images, params.height, params.width, rng)
    else:
        images, targets = _read_folder(params)
    order = stream(seed, "driving", "split").permutation(len(images))
    cut = min(max(1, round(len(images) * params.test_share)), len(images) - 1)
    test, train = np.sort(order[:cut]), np.sort(order[cut:])
    return DrivingImages(images[train], targets[train], images[test], targets[test])


def _read_folder(params: DrivingParams) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    folder = Path(params.path)
    table = resolve_inside(folder, params.table, "driving.table")
    names, angles = _read_log(table, params)
    _require_room(len(names), str(table), params)
    paths = [resolve_inside(folder, name, str(table)) for name in names]
    images = np.stack([_read_image(path, params) for path in progress(paths, label="reading")])
    return images, np.asarray(angles, np.float32)


def _require_room(count: int, asked_by: str, params: DrivingParams) -> None:
    require_size_within_limit(
        count * params.height * params.width * 3,
        "limits.array_mb",
        f"{asked_by} and driving.height and driving.width ask for images",
    )


def _read_log(path: Path, params: DrivingParams) -> tuple[list[str], list[float]]:
    """Paths and angles, row by row."""
    columns, *rows = _read_cells(path)
    for column in (params.image_column, params.angle_column):
        if column not in columns:
            raise UserError(
                f"{path} has no column {column!r} (its columns: {', '.join(columns) or 'none'})"
            )
    names, angles = [], []
    for number, cells in enumerate(rows, start=1):
        if len(cells) != len(columns):
            raise UserError(
                f"{path}: row {number} has {len(cells)} cells, but there are {len(columns)} columns"
            )
        row = dict(zip(columns, cells, strict=True))
        if not row[params.image_column]:
            raise UserError(f"{path}: row {number} names no image")
        names.append(row[params.image_column])
        angles.append(_number(row[params.angle_column]))
        if not abs(angles[-1]) <= np.finfo(np.float32).max:
            raise UserError(f"{path}: row {number} has no number as its angle, or one too large")
    if len(rows) < 2:
        raise UserError(f"{path} needs at least two rows")
    return names, angles


def _read_cells(path: Path) -> list[list[str]]:
    """The table's lines, the columns' names first, without the spaces around cells."""
    with reading(f"the table {path}"):
        text = read_within_limit(path, "limits.text_mb").decode("utf-8-sig")
        rows, cells = text.count("\n"), text.count("\n") + text.count(",")
        require_few_values(0, 2 * rows, 2 * cells, str(path))  # once more without spaces
        lines = [line for line in csv.reader(io.StringIO(text, ""), skipinitialspace=True) if line]
    return [[cell.strip() for cell in line] for line in lines] or [[]]


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return math.nan


def _read_image(path: Path, params: DrivingParams) -> NDArray[np.uint8]:
    size = (params.width, params.height)
    small = cv2.resize(read_picture(path), size, interpolation=cv2.INTER_AREA)
    return np.asarray(small, np.uint8)


def draw_roads(
    count: int, height: int, width: int, rng: np.random.Generator
) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Pictures of roads as a camera in the car sees them.

    The angle decides the bend. Where the car stands on the road, how bright it is, and the noise of
    the camera are drawn too, and say nothing about the angle.

    Args:
        count: of the pictures.
        height: in pixels.
        width: in pixels.
        rng: draws everything.

    Returns:
        uint8 ``(count, height, width, 3)``, RGB, and float32 angles ``(count,)`` from -1 (left) to
        1 (right).
    """
    angles = rng.uniform(-1, 1, count)
    beside = rng.uniform(-0.15, 0.15, count)
    light = rng.uniform(0.6, 1.3, count)
    first = round(_HORIZON * height)
    near = (np.arange(first, height) - first + 1) / (height - first)  # 1 in front of the car
    far = 1 - near
    middle = 0.5 + np.outer(beside, near) + 0.45 * np.outer(angles, far**2)
    across = (np.arange(width) + 0.5) / width
    apart = np.abs(across - middle[:, :, np.newaxis])  # (count, rows, width)
    half = (0.03 + 0.35 * near)[:, np.newaxis]
    images = np.empty((count, height, width, 3), np.float32)
    images[:] = _SKY
    ground = images[:, first:]
    ground[:] = _GRASS
    ground[apart < half] = _ROAD
    ground[(apart > 0.86 * half) & (apart < half)] = _LINE
    ground[apart < 0.04 * half] = _LINE
    images *= light[:, np.newaxis, np.newaxis, np.newaxis]
    images += rng.normal(0, 8, images.shape).astype(np.float32)
    return np.clip(np.rint(images), 0, 255).astype(np.uint8), angles.astype(np.float32)
