"""Plain files: arrays, tables, documents, and the data that users bring."""

from __future__ import annotations

import gzip
from functools import partial
from pathlib import Path

import cv2
import numpy as np
from scipy import sparse
from scipy.io import wavfile

from asterism.attacks import augmenting
from asterism.core.files.artifacts import (
    map_array,
    read_sparse,
    write_arrays,
    write_json,
    write_sparse,
    write_table,
)
from asterism.data import DataParams, load
from asterism.data.driving import AngleParams, DrivingParams, load_driving
from asterism.data.given import read_inputs
from asterism.data.kinds import Shaping
from readers.examples import Places


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


def json_files(place: Places) -> None:
    facts = {"a": 1, "b": [1.5, None, True, "ü\u2028"], "c": {"d": {"e": [[], {}]}}, "f": -0.0}
    write_json(place(0) / "facts.json", facts)
    write_json(place(1) / "facts.json", [{"name": str(i), "n": i} for i in range(20)])


def npz_files(place: Places) -> None:
    many = {"b": np.arange(7), "c": np.array("text"), "d": np.array([True, False])}
    write_arrays(place(0) / "arrays.npz", a=_rng().random((4, 3), np.float32), **many)
    structured = np.array([(1, 2.0)], dtype=[("x", "<i4"), ("y", "<f8")])
    np.savez(place(1) / "arrays.npz", allow_pickle=False, s=structured, f=np.eye(5).T[::2])


def use_mapped(path: Path) -> object:
    array = map_array(path)
    return array.shape, array.ravel()[:10].tolist() if array.size else []


def npy_files(place: Places) -> None:
    np.save(place(0) / "states.npy", _rng().random((5, 4, 3), np.float32))
    np.save(place(1) / "states.npy", np.asfortranarray(np.arange(12).reshape(3, 4)))


def use_sparse(path: Path) -> object:
    matrix = read_sparse(path)
    return matrix.sum(axis=1), matrix @ np.ones(matrix.shape[1])


def sparse_files(place: Places) -> None:
    dense = (_rng().random((6, 6)) > 0.7).astype(np.int64)
    write_sparse(place(0) / "counts.npz", sparse.csr_array(dense))
    write_sparse(place(1) / "counts.npz", sparse.csr_array((3, 3), dtype=np.float64))


def csv_files(place: Places) -> None:
    table = {
        "seed": [1, 2, 3],
        "reason": ["", 'a "quoted", one', "two\nlines"],
        "value": [0.5, float("nan"), 1e300],
        "found": [True, False, None],
    }
    write_table(place(0) / "table.csv", table)
    write_table(place(1) / "table.csv", {"n": list(range(50))})


def idx_files(place: Places) -> None:
    images = _rng().integers(0, 256, (3, 4, 4), np.uint8)
    header = b"\0\0\x08\x03" + np.array(images.shape, ">u4").tobytes()
    labels = b"\0\0\x08\x01\0\0\0\x05" + bytes(range(5))
    for number, content in enumerate((header + images.tobytes(), labels)):
        path = place(number) / "images-idx3-ubyte.gz"
        path.write_bytes(gzip.compress(content, mtime=0))


def cifar_files(place: Places) -> None:
    records = _rng().integers(0, 256, (2, 3073), np.uint8)
    records[:, 0] %= 10
    (place(0) / "data_batch_1.bin").write_bytes(records.tobytes())


def read_own_data(path: Path) -> object:
    return load(DataParams(name="npz", path=str(path), train=None, test=None)).image_shape


def own_data_files(place: Places) -> None:
    for number, shape in enumerate(((4, 4), (4, 5, 3))):
        write_arrays(
            place(number) / "images.npz",
            train_images=_rng().integers(0, 256, (6, *shape), np.uint8),
            train_labels=np.arange(6) % 3,
            test_images=_rng().integers(0, 256, (4, *shape), np.uint8),
            test_labels=np.arange(4) % 3,
        )


def _read_given(path: Path, kind: str) -> object:
    labels = path.with_suffix(".json")
    return read_inputs(path, kind, Shaping(rate=8000), labels if labels.exists() else None)


read_tensors, read_sound, read_bytes = (
    partial(_read_given, kind=kind) for kind in ("tensors", "sound", "bytes")
)


def labelled_files(place: Places) -> None:
    np.savez(place(0) / "inputs.npz", inputs=np.zeros((2, 2), np.uint8))
    (place(0) / "inputs.json").write_text("[0, 1]")


def folder_files(place: Places) -> None:
    for name in ("a.bin", "b.bin"):
        (place(0) / name).write_bytes(name.encode())


def sound_files(place: Places) -> None:
    samples = _rng().integers(-1000, 1000, (400, 2)).astype(np.int16)
    wavfile.write(place(0) / "a.wav", 8000, samples)
    wavfile.write(place(1) / "a.wav", 11025, samples[:, 0].astype(np.float32))


def read_natural(path: Path) -> object:
    return augmenting.read_natural(path, (4, 4, 1)).shape


def natural_files(place: Places) -> None:
    write_arrays(place(0) / "own.npz", images=_rng().integers(0, 256, (5, 4, 4, 1), np.uint8))


def read_driving(path: Path) -> object:
    params = DrivingParams(
        source="folder", path=str(path), table="log.csv", image_column="image",
        angle_column="angle", height=66, width=66, test_share=0.5, layer=None,
        angles=AngleParams(degrees=1.0, tolerance_degrees=5.0),
    )  # fmt: skip
    return load_driving(params, seed=0).train_images.shape


def driving_files(place: Places) -> None:
    for number, suffix in enumerate((".png", ".jpg")):
        for image in range(3):
            pixels = _rng().integers(0, 256, (10, 12, 3), np.uint8)
            cv2.imwrite(str(place(number) / f"{image}{suffix}"), pixels)
        rows = [f"{image}{suffix},{image / 10}" for image in range(3)]
        (place(number) / "log.csv").write_text("\n".join(["image,angle", *rows]) + "\n")
