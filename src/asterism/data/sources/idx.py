"""MNIST and Fashion-MNIST, from the original idx files."""

from __future__ import annotations

import gzip
import math
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.artifacts import require_file
from asterism.core.files.limits import require_room, require_size
from asterism.core.messages.errors import UserError, reading
from asterism.data.dataset import SOURCES, Dataset
from asterism.data.fetch import fetch
from asterism.data.params import DataParams

_FILES = {
    "train_images": "train-images-idx3-ubyte.gz",
    "train_labels": "train-labels-idx1-ubyte.gz",
    "test_images": "t10k-images-idx3-ubyte.gz",
    "test_labels": "t10k-labels-idx1-ubyte.gz",
}

_MNIST = {
    "train_images": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "train_labels": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "test_images": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "test_labels": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
}

_FASHION_MNIST = {
    "train_images": "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
    "train_labels": "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
    "test_images": "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
    "test_labels": "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
}


@SOURCES.register("mnist")
def mnist(_params: DataParams) -> Dataset:
    """LeCun's handwritten digits: 60,000 and 10,000 images of 28×28×1."""
    return _load("mnist", "https://ossci-datasets.s3.amazonaws.com/mnist", _MNIST)


@SOURCES.register("mnist_swapped")
def mnist_swapped(params: DataParams) -> Dataset:
    """MNIST, training and test images in each other's place."""
    return mnist(params).swapped()


@SOURCES.register("fashion_mnist")
def fashion_mnist(_params: DataParams) -> Dataset:
    """Zalando's article images, in MNIST's form."""
    url = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com"
    return _load("fashion-mnist", url, _FASHION_MNIST)


def _load(folder: str, url: str, checksums: dict[str, str]) -> Dataset:
    arrays = {
        part: read_idx(fetch(folder, name, f"{url}/{name}", checksums[part]))
        for part, name in _FILES.items()
    }
    return Dataset(
        train_images=arrays["train_images"][..., np.newaxis],
        train_labels=arrays["train_labels"].astype(np.int64),
        test_images=arrays["test_images"][..., np.newaxis],
        test_labels=arrays["test_labels"].astype(np.int64),
        classes=10,
    )


def read_idx(path: Path) -> NDArray[np.uint8]:
    """The array in a gzipped idx file of unsigned bytes.

    Raises:
        UserError: the file is truncated, of another format, or too large.
    """
    require_file(path, "idx file")
    require_size(path, "limits.array_mb")
    try:
        with gzip.open(path) as file:
            head = file.read(4)
            if len(head) < 4 or head[:3] != b"\x00\x00\x08":
                raise UserError(f"{path} is no idx file of unsigned bytes")
            sizes = np.frombuffer(file.read(4 * head[3]), dtype=">u4")
            shape = tuple(int(size) for size in sizes)
            values = math.prod(shape)
            require_room(values, "limits.array_mb", f"{path} declares an array")
            content = file.read(values + 1)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise UserError(f"{path} is no whole gzip file ({error}): get it again") from None
    if len(shape) != head[3] or len(content) != values:
        raise UserError(f"{path} is truncated: it declares {shape} values and holds fewer or more")
    with reading(str(path)):  # NumPy has a most number of axes
        return np.frombuffer(content, np.uint8).reshape(shape)
