"""CIFAR-10, from its binary version (the Python version is pickle)."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.artifacts import replacing, require_file
from asterism.core.files.limits import read_within
from asterism.core.files.locks import hold_lock
from asterism.core.messages.errors import UserError
from asterism.core.settings import machine
from asterism.data.dataset import SOURCES, Dataset
from asterism.data.fetch import download, fetch
from asterism.data.params import DataParams

_FOLDER = "cifar-10-batches-bin"
_ARCHIVE = "cifar-10-binary.tar.gz"
_ARCHIVE_SHA256 = "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"
_URL = f"https://www.cs.toronto.edu/~kriz/{_ARCHIVE}"
_BATCH = 10_000
_TRAIN = {
    "data_batch_1.bin": "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
    "data_batch_2.bin": "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
    "data_batch_3.bin": "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
    "data_batch_4.bin": "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
    "data_batch_5.bin": "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
}
_TEST = {"test_batch.bin": "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"}


@SOURCES.register("cifar10")
def cifar10(params: DataParams) -> Dataset:
    """Krizhevsky's photographs: 50,000 and 10,000 images of 32×32×3.

    ``data.train`` decides how many of the five training files are needed.
    """
    needed = len(_TRAIN) if params.train is None else -(-params.train // _BATCH)
    train_images, train_labels = _read(dict(list(_TRAIN.items())[:needed]))
    test_images, test_labels = _read(_TEST)
    return Dataset(train_images, train_labels, test_images, test_labels, classes=10)


@SOURCES.register("cifar10_swapped")
def cifar10_swapped(params: DataParams) -> Dataset:
    """CIFAR-10, training and test images in each other's place.

    ``data.test`` decides how many of the five training files are needed.
    """
    return cifar10(params.model_copy(update={"train": params.test})).swapped()


def _read(files: dict[str, str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    batches = [read_batch(_locate(name, checksum)) for name, checksum in files.items()]
    images, labels = zip(*batches, strict=True)
    return np.concatenate(images), np.concatenate(labels)


def _locate(name: str, checksum: str) -> Path:
    path = machine.data_root() / _FOLDER / name
    if not path.exists():
        try:
            _unpack(path)
        except (UserError, OSError, tarfile.TarError) as error:
            raise UserError(f"{path} is missing, and {error}") from None
    return fetch(_FOLDER, name, _URL, checksum)


def _unpack(path: Path) -> None:
    """Put a file of the archive at its place, whole, whatever other stages do meanwhile."""
    root = path.parents[1]
    with hold_lock(root / ".cifar10.lock"):
        if path.exists():
            return
        archive = download(root, _ARCHIVE, _URL, _ARCHIVE_SHA256)
        with tarfile.open(archive) as files, replacing(path) as temporary:
            content = files.extractfile(f"{_FOLDER}/{path.name}")
            assert content is not None, "the archive is the published one"
            with content, temporary.open("wb") as target:
                shutil.copyfileobj(content, target)


def read_batch(path: Path) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Images ``(N, 32, 32, 3)`` and labels of one file: a label byte, then the three planes.

    Raises:
        UserError: there is no such file, it is too large, or its size is no multiple of a record's.
    """
    require_file(path, "file of CIFAR-10")
    content = np.frombuffer(read_within(path, "limits.array_mb"), np.uint8)
    if content.size == 0 or content.size % 3073:
        raise UserError(f"{path} is truncated: records of CIFAR-10 have 3,073 bytes")
    records = content.reshape(-1, 3073)
    images = records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(images), records[:, 0].astype(np.int64)
