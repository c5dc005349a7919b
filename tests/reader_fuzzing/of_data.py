"""Readers of plain files: arrays, tables, documents, and the data that users bring."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from reader_fuzzing.table import Reader, register


def place(folder: Path, number: int) -> Path:
    """The folder of a seed example, made."""
    place = folder / str(number)
    place.mkdir(parents=True, exist_ok=True)
    return place


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


def _read_json(path: Path) -> object:
    from asterism.core.files.artifacts import read_json

    return read_json(path)


def _json_seeds(folder: Path) -> None:
    from asterism.core.files.artifacts import write_json

    facts = {"a": 1, "b": [1.5, None, True, "ü\u2028"], "c": {"d": {"e": [[], {}]}}, "f": -0.0}
    write_json(place(folder, 0) / "facts.json", facts)
    write_json(place(folder, 1) / "facts.json", [{"name": str(i), "n": i} for i in range(20)])


register(Reader("json", "data", "facts.json", _read_json, _json_seeds, 10, fresh="json"))


def _read_arrays(path: Path) -> object:
    from asterism.core.files.artifacts import read_arrays

    return {name: (array.shape, array.dtype) for name, array in read_arrays(path).items()}


def _arrays_seeds(folder: Path) -> None:
    from asterism.core.files.artifacts import write_arrays

    rng = _rng()
    write_arrays(
        place(folder, 0) / "arrays.npz",
        a=rng.random((4, 3), np.float32),
        b=np.arange(7),
        c=np.array("text"),
        d=np.array([True, False]),
    )
    structured = np.array([(1, 2.0)], dtype=[("x", "<i4"), ("y", "<f8")])
    np.savez(place(folder, 1) / "arrays.npz", allow_pickle=False, s=structured, f=np.eye(5).T[::2])


register(Reader("npz", "data", "arrays.npz", _read_arrays, _arrays_seeds, 15, fresh="npz"))


def _map_array(path: Path) -> object:
    from asterism.core.files.artifacts import map_array

    array = map_array(path)
    return array.shape, array.ravel()[:10].tolist() if array.size else []


def _npy_seeds(folder: Path) -> None:
    np.save(place(folder, 0) / "states.npy", _rng().random((5, 4, 3), np.float32))
    np.save(place(folder, 1) / "states.npy", np.asfortranarray(np.arange(12).reshape(3, 4)))


register(Reader("npy", "data", "states.npy", _map_array, _npy_seeds))


def _read_sparse(path: Path) -> object:
    from asterism.core.files.artifacts import read_sparse

    matrix = read_sparse(path)
    return matrix.sum(axis=1), matrix @ np.ones(matrix.shape[1])


def _sparse_seeds(folder: Path) -> None:
    from scipy import sparse

    from asterism.core.files.artifacts import write_sparse

    dense = (_rng().random((6, 6)) > 0.7).astype(np.int64)
    write_sparse(place(folder, 0) / "counts.npz", sparse.csr_array(dense))
    write_sparse(place(folder, 1) / "counts.npz", sparse.csr_array((3, 3), dtype=np.float64))


register(Reader("sparse", "data", "counts.npz", _read_sparse, _sparse_seeds))


def _read_table(path: Path) -> object:
    from asterism.core.files.artifacts import read_table

    return read_table(path).to_dicts()


def _table_seeds(folder: Path) -> None:
    from asterism.core.files.artifacts import write_table

    table = {
        "seed": [1, 2, 3],
        "reason": ["", 'a "quoted", one', "two\nlines"],
        "value": [0.5, float("nan"), 1e300],
        "found": [True, False, None],
    }
    write_table(place(folder, 0) / "table.csv", table)
    write_table(place(folder, 1) / "table.csv", {"n": list(range(50))})


register(Reader("csv", "data", "table.csv", _read_table, _table_seeds, fresh="csv"))


def _read_idx(path: Path) -> object:
    from asterism.data.sources.idx import read_idx

    return read_idx(path).shape


def _idx_seeds(folder: Path) -> None:
    images = _rng().integers(0, 256, (3, 4, 4), np.uint8)
    header = b"\0\0\x08\x03" + np.array(images.shape, ">u4").tobytes()
    content = gzip.compress(header + images.tobytes(), mtime=0)
    (place(folder, 0) / "images-idx3-ubyte.gz").write_bytes(content)
    labels = b"\0\0\x08\x01\0\0\0\x05" + bytes(range(5))
    (place(folder, 1) / "images-idx3-ubyte.gz").write_bytes(gzip.compress(labels, mtime=0))


register(Reader("idx", "data", "images-idx3-ubyte.gz", _read_idx, _idx_seeds, 5))


def _read_cifar(path: Path) -> object:
    from asterism.data.sources.cifar10 import read_batch

    images, labels = read_batch(path)
    return images.shape, labels


def _cifar_seeds(folder: Path) -> None:
    records = _rng().integers(0, 256, (2, 3073), np.uint8)
    records[:, 0] %= 10
    (place(folder, 0) / "data_batch_1.bin").write_bytes(records.tobytes())


register(Reader("cifar10", "data", "data_batch_1.bin", _read_cifar, _cifar_seeds, 3))


def _read_own_data(path: Path) -> object:
    from asterism.data import DataParams, load

    data = load(DataParams(name="npz", path=str(path), train=None, test=None))
    return data.classes, data.image_shape


def _own_data_seeds(folder: Path) -> None:
    from asterism.core.files.artifacts import write_arrays

    rng = _rng()
    for number, shape in enumerate(((4, 4), (4, 5, 3))):
        write_arrays(
            place(folder, number) / "images.npz",
            train_images=rng.integers(0, 256, (6, *shape), np.uint8),
            train_labels=np.arange(6) % 3,
            test_images=rng.integers(0, 256, (4, *shape), np.uint8),
            test_labels=np.arange(4) % 3,
        )


register(Reader("data=npz", "data", "images.npz", _read_own_data, _own_data_seeds))


def _read_given(kind: str):
    def read(path: Path) -> object:
        from asterism.data.given.kind import Shaping
        from asterism.data.given.reading import read_inputs

        return read_inputs(path, kind, Shaping(rate=8000)).items.shape

    return read


def _sound_seeds(folder: Path) -> None:
    from scipy.io import wavfile

    samples = _rng().integers(-1000, 1000, (400, 2)).astype(np.int16)
    wavfile.write(place(folder, 0) / "a.wav", 8000, samples)
    wavfile.write(place(folder, 1) / "a.wav", 11025, samples[:, 0].astype(np.float32))


register(Reader("inputs .npy", "data", "states.npy", _read_given("tensors"), _npy_seeds, 4))
register(Reader("inputs .wav", "data", "a.wav", _read_given("sound"), _sound_seeds, 4))


def _read_natural(path: Path) -> object:
    from asterism.attacks.natural import read_natural

    return read_natural(path, (4, 4, 1)).shape


def _natural_seeds(folder: Path) -> None:
    from asterism.core.files.artifacts import write_arrays

    images = _rng().integers(0, 256, (5, 4, 4, 1), np.uint8)
    write_arrays(place(folder, 0) / "own.npz", images=images)


register(Reader("own images", "data", "own.npz", _read_natural, _natural_seeds, 4))


def _read_driving(path: Path) -> object:
    from asterism.data.driving import AngleParams, DrivingParams, load_driving

    params = DrivingParams(
        source="folder",
        path=str(path),
        table="log.csv",
        image_column="image",
        angle_column="angle",
        height=66,
        width=66,
        test_share=0.5,
        layer=None,
        angles=AngleParams(degrees=1.0, tolerance_degrees=5.0),
    )
    return load_driving(params, seed=0).train_images.shape


def _driving_seeds(folder: Path) -> None:
    import cv2

    rng = _rng()
    for number, suffix in enumerate((".png", ".jpg")):
        here = place(folder, number)
        for image in range(3):
            pixels = rng.integers(0, 256, (10, 12, 3), np.uint8)
            cv2.imwrite(str(here / f"{image}{suffix}"), pixels)
        rows = [f"{image}{suffix},{image / 10}" for image in range(3)]
        (here / "log.csv").write_text("\n".join(["image,angle", *rows]) + "\n")


register(Reader("driving", "data", ".", _read_driving, _driving_seeds, 15))
