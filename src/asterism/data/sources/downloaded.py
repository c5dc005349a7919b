"""MNIST and Fashion-MNIST from the original idx files, CIFAR-10 from its binary version.

(CIFAR-10's Python version is pickle.) The published files are taken from the user's folder, else
they are downloaded; they are checked either way.
"""

from __future__ import annotations

import gzip
import math
import shutil
import tarfile
import zlib
from pathlib import Path

import numpy as np
import pooch
import requests
from numpy.typing import NDArray

from asterism.core.files.artifacts import replacing, require_file
from asterism.core.files.limits import (
    read_within_limit,
    require_file_within_limit,
    require_size_within_limit,
)
from asterism.core.files.locks import hold_lock
from asterism.core.messages.console import progress
from asterism.core.messages.errors import UserError, reading
from asterism.core.settings import machine
from asterism.data.sources import SOURCES, DataParams, Dataset

_RETRIES = 3


def fetch(folder: str, name: str, url: str, sha256: str) -> Path:
    """The local path of a published file whose content is known.

    Args:
        folder: folder below ``data.root`` in which the file lies or is put.
        name: the file's name there.
        url: where to download it when it is not there.
        sha256: checksum of its content.

    Raises:
        UserError: the file there is not the published one, or cannot be downloaded. A download
            that fails or does not match leaves nothing behind.
    """
    root = machine.data_root() / folder
    path = root / name
    if path.exists():
        if pooch.file_hash(str(path)) != sha256:
            raise UserError(
                f"{path} is damaged or another file (its SHA-256 is not the published one): "
                "remove it, and it is downloaded again"
            )
        return path
    return download(root, name, url, sha256)


def download(root: Path, name: str, url: str, sha256: str) -> Path:
    """Download a file into ``root``, with retries, a progress bar and a check of its content."""
    store = pooch.create(
        path=root,
        base_url="",
        registry={name: f"sha256:{sha256}"},
        urls={name: url},
        retry_if_failed=_RETRIES,
    )
    bar = progress(total=1, label=name, unit="B")  # pooch sets the total
    pooch.get_logger().setLevel("ERROR")
    try:
        root.mkdir(parents=True, exist_ok=True)
        store.fetch(name, downloader=pooch.HTTPDownloader(progressbar=bar, timeout=30))
    except (requests.RequestException, OSError, ValueError) as error:
        reason = "its SHA-256 is wrong" if isinstance(error, ValueError) else _reason(error)
        raise UserError(
            f"cannot download {url}: {reason}; get {name} by other means and put it into {root} "
            "(data.root in machine.yaml names the folder of data sets)"
        ) from None
    finally:
        bar.close()
    return root / name


def _reason(error: Exception) -> str:
    if isinstance(error, requests.ConnectionError):
        return "no connection"
    return str(error) or type(error).__name__


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
    require_file_within_limit(path, "limits.array_mb")
    try:
        with gzip.open(path) as file:
            head = file.read(4)
            if len(head) < 4 or head[:3] != b"\x00\x00\x08":
                raise UserError(f"{path} is no idx file of unsigned bytes")
            sizes = np.frombuffer(file.read(4 * head[3]), dtype=">u4")
            shape = tuple(int(size) for size in sizes)
            values = math.prod(shape)
            require_size_within_limit(values, "limits.array_mb", f"{path} declares an array")
            content = file.read(values + 1)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise UserError(f"{path} is no whole gzip file ({error}): get it again") from None
    if len(shape) != head[3] or len(content) != values:
        raise UserError(f"{path} is truncated: it declares {shape} values and holds fewer or more")
    with reading(str(path)):  # NumPy has a most number of axes
        return np.frombuffer(content, np.uint8).reshape(shape)


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
    content = np.frombuffer(read_within_limit(path, "limits.array_mb"), np.uint8)
    if content.size == 0 or content.size % 3073:
        raise UserError(f"{path} is truncated: records of CIFAR-10 have 3,073 bytes")
    records = content.reshape(-1, 3073)
    images = records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(images), records[:, 0].astype(np.int64)
