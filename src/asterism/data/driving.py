"""The user's driving data: images and a CSV of steering angles."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from asterism.core.artifacts import require_file
from asterism.core.console import progress
from asterism.core.errors import UserError
from asterism.core.files import File
from asterism.core.params import Section
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
        UserError: no such table or column, a row that is incomplete or whose angle is no number,
            or an image that is missing or damaged; the message names it.
    """
    folder = Path(params.path)
    names, angles = _read_log(folder / params.table, params)
    images = np.stack(
        [_read_image(folder / name, params) for name in progress(names, label="reading")]
    )
    order = stream(seed, "driving", "split").permutation(len(images))
    cut = min(max(1, round(len(images) * params.test_share)), len(images) - 1)
    test, train = np.sort(order[:cut]), np.sort(order[cut:])
    targets = np.asarray(angles, np.float32)
    return Driving(images[train], targets[train], images[test], targets[test])


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
        if not math.isfinite(angles[-1]):
            raise UserError(f"{path}: row {number} has no number as its angle")
    if len(rows) < 2:
        raise UserError(f"{path} needs at least two rows")
    return names, angles


def _read_cells(path: Path) -> list[list[str]]:
    """The table's lines, the columns' names first, without the spaces around cells."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = [line for line in csv.reader(file, skipinitialspace=True) if line]
    except (OSError, ValueError, csv.Error) as error:
        raise UserError(f"cannot read the table {path}: {error}") from None
    return [[cell.strip() for cell in line] for line in lines] or [[]]


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return math.nan


def _read_image(path: Path, params: DrivingParams) -> NDArray[np.uint8]:
    require_file(path, "image")  # OpenCV would warn of a missing one in a line of its own
    pixels = cv2.imread(str(path), cv2.IMREAD_COLOR)
    if pixels is None:
        raise UserError(f"{path} is no image, or is damaged")
    small = cv2.resize(pixels, (params.width, params.height), interpolation=cv2.INTER_AREA)
    return np.asarray(small[..., ::-1], np.uint8)
