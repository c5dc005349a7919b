"""Inputs that a user gives: folders of images, sound and files, arrays, labels."""

import io
import json
import time

import cv2
import numpy as np
import pytest
from scipy.io import wavfile

from asterism.core.messages.errors import UserError
from asterism.data.given import infer_kind, list_input_files, read_inputs
from asterism.data.kinds import INPUT_KINDS, Shaping

RNG = np.random.default_rng(0)


def pictures(folder, sizes=((4, 6),) * 4):
    for number, (height, width) in enumerate(sizes):
        path = folder / f"{'ab'[number % 2]}/{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(path), np.full((height, width, 3), (number, 50, 200), np.uint8))
    return folder


def test_folders_of_images_are_classes_and_keep_their_colours(tmp_path):
    found = read_inputs(pictures(tmp_path), "images", Shaping((None, None, 3)))
    assert found.items.shape == (4, 4, 6, 3) and found.items.dtype == np.uint8
    assert found.items[0, 0, 0].tolist() == [200, 50, 0], "red first"
    assert found.names == ("a/0.png", "a/2.png", "b/1.png", "b/3.png")
    assert found.labels.tolist() == [0, 0, 1, 1] and found.classes == ("a", "b")


def test_images_of_several_sizes_need_a_model_of_one(tmp_path):
    folder = pictures(tmp_path, ((4, 6), (5, 6)))
    with pytest.raises(UserError, match=r"2 sizes \(4 × 6, 5 × 6"):
        read_inputs(folder, "images", Shaping((None, None, 3)))


def test_sound_is_resampled_mixed_down_and_made_one_length(tmp_path):
    beep = np.sin(np.arange(8000) / 8000 * 2 * np.pi * 440)
    stereo = np.stack([beep, 0 * beep], axis=1)
    wavfile.write(tmp_path / "a.wav", 8000, (stereo * 32000).astype(np.int16))
    wavfile.write(tmp_path / "b.wav", 16000, beep[:4000].astype(np.float32))
    found = read_inputs(tmp_path, "sound", Shaping(rate=16000, length=12000))
    assert found.items.shape == (2, 12000) and found.items.dtype == np.float32
    twin = 0.5 * 32000 / 32768 * np.sin(np.arange(12000) / 16000 * 2 * np.pi * 440)
    assert np.abs(found.items[0] - twin)[200:-200].max() < 0.01
    assert found.items[1, :4000] == pytest.approx(beep[:4000], abs=1e-6)
    assert not found.items[1, 4000:].any()
    assert found.notes == ("1 sounds were cut to 12000 samples",)


def test_what_resampling_overshoots_is_cut_to_full_scale(tmp_path):
    square = np.sign(np.sin(np.arange(4000) / 8000 * 2 * np.pi * 100)).astype(np.float32)
    wavfile.write(tmp_path / "a.wav", 8000, square)
    found = read_inputs(tmp_path, "sound", Shaping(rate=16000)).items
    assert np.abs(found).max() == 1.0
    assert (np.abs(found) == 1.0).sum() > 100


def test_arrays_bring_their_labels(tmp_path):
    items, labels = RNG.random((5, 3)), np.array([0, 1, 2, 1, 0])
    np.savez(tmp_path / "a.npz", x=items, y=labels)
    found = read_inputs(tmp_path / "a.npz", "tensors", Shaping())
    assert np.array_equal(found.items, items) and np.array_equal(found.labels, labels)
    np.save(tmp_path / "b.npy", items)
    assert np.array_equal(read_inputs(tmp_path / "b.npy", "tensors", Shaping()).items, items)


BY_NAME = {"a/0.png": 3, "b/1.png": 1, "b/3.png": 0, "a/2.png": 1}
PETS = ["cat", "dog", "dog", "cat"]


def json_of(labels):
    return json.dumps(labels).encode()


def csv_of(labels):
    return b"file,label\r\n" + b"".join(f'"{n}", {x}\n'.encode() for n, x in labels.items())


def npy(labels):
    file = io.BytesIO()
    np.save(file, np.array(labels))
    return file.getvalue()


@pytest.mark.parametrize(
    ("file", "told", "less", "labels", "classes"),
    [
        ("by_name.json", json_of(BY_NAME), json_of({"a/0.png": 3}), [3, 1, 1, 0], ()),
        ("list.json", json_of(PETS), json_of(PETS[:-1]), [0, 1, 1, 0], ("cat", "dog")),
        ("by_name.csv", csv_of(BY_NAME), csv_of({"a/0.png": 3}), [3, 1, 1, 0], ()),
        (
            "list.csv",
            b"label\n" + "\n".join(PETS).encode(),
            b"cat\ndog",
            [0, 1, 1, 0],
            ("cat", "dog"),
        ),
        ("list.txt", b"3\r\n1\r\n1\r\n0\r\n", b"3\n1", [3, 1, 1, 0], ()),
        ("list.npy", npy([3, 1, 1, 0]), npy([3, 1]), [3, 1, 1, 0], ()),
    ],
)
def test_labels_come_from_a_file(tmp_path, file, told, less, labels, classes):
    path = tmp_path / file
    path.write_bytes(told)
    found = read_inputs(pictures(tmp_path / "p"), "images", Shaping(), path)
    assert found.labels.tolist() == labels and found.classes == classes
    path.write_bytes(less)
    with pytest.raises(UserError, match=f"{file}.* 4 inputs"):
        read_inputs(tmp_path / "p", "images", Shaping(), path)


def of_arrays(folder, dtype):
    def make(labels):
        path = folder / "a.npz"
        given = {"inputs": np.zeros((len(labels), 1)), "labels": np.array(labels, dtype)}
        np.savez(path, **given)
        return read_inputs(path, "tensors", Shaping())

    return make


def of_a_file(folder, as_text):
    def make(labels):
        np.save(folder / "a.npy", np.zeros((len(labels), 1)))
        told = [str(label) for label in labels] if as_text else labels
        (folder / "labels.json").write_text(json.dumps(told))
        return read_inputs(folder / "a.npy", "tensors", Shaping(), folder / "labels.json")

    return make


def of_folders(folder):
    def make(labels):
        for label in set(labels):
            (folder / f"in/{label}").mkdir(parents=True)
            (folder / f"in/{label}/file").write_bytes(b"x")
        return read_inputs(folder / "in", "bytes", Shaping())

    return make


@pytest.mark.parametrize(
    ("make", "labels"),
    [
        (lambda f: of_arrays(f, np.uint64), [0, 2**63 + 1]),
        (lambda f: of_arrays(f, np.int64), [0, -(2**63)]),
        (lambda f: of_arrays(f, np.int32), range(150_000)),
        (lambda f: of_a_file(f, as_text=False), [0, 10**30]),
        (lambda f: of_a_file(f, as_text=False), [0, -(10**30)]),
        (lambda f: of_a_file(f, as_text=False), list(range(150_000))),
        (lambda f: of_a_file(f, as_text=True), [0, 10**30]),
        (lambda f: of_a_file(f, as_text=True), [f"c{i}" for i in range(150_000)]),
        (of_folders, [0, 10**30]),
        (of_folders, ["1", "9" * 200]),
    ],
)
def test_labels_are_counted_before_anything_is_done_by_class(tmp_path, make, labels):
    """What a loop over classes takes grows with their square."""
    began = time.process_time()
    with pytest.raises(UserError, match=r"18 digits|150,000 classes"):
        make(tmp_path)(labels)
    assert time.process_time() - began < 30


def test_kinds_are_known_by_most_files(tmp_path):
    pictures(tmp_path)
    (tmp_path / "notes.txt").write_text("x")
    assert infer_kind(list_input_files(tmp_path)) == "images"
    found = read_inputs(tmp_path, "images", Shaping())
    assert any("1 files" in note and "left out" in note for note in found.notes)


@pytest.mark.parametrize("kind", sorted(INPUT_KINDS))
def test_what_is_damaged_or_missing_is_one_line(tmp_path, kind):
    with pytest.raises(UserError, match="no file or folder"):
        read_inputs(tmp_path / "none", kind, Shaping())
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="holds no files"):
        read_inputs(tmp_path / "empty", kind, Shaping())
    for suffix in (".png", ".wav", ".npz", ".npy"):
        (tmp_path / f"x{suffix}").write_bytes(b"nothing")
        if kind == "bytes" and suffix in (".png", ".wav"):
            continue
        with pytest.raises(UserError) as caught:
            read_inputs(tmp_path / f"x{suffix}", kind, Shaping())
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("shown", "hidden", "labels"),
    [
        (["a/1.txt", "a/deeper/2.txt", "b/3.txt"], [], [0, 0, 1]),
        (["a/1.txt", "b/2.txt"], ["a/.1.txt", ".checkpoints/1.txt", "b/.x/y/2.txt"], [0, 1]),
        (["4.txt", "a/1.txt", "b/3.txt"], [], None),  # one beside the folders
        (["all/1.txt", "all/deeper/2.txt"], [], None),  # one folder
    ],
)
def test_folders_are_classes_wherever_the_files_lie_in_them(tmp_path, shown, hidden, labels):
    for place in (*shown, *hidden):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text("some text")
    found = read_inputs(tmp_path, "bytes", Shaping())
    assert found.names == tuple(shown)
    assert (None if found.labels is None else found.labels.tolist()) == labels
    assert found.classes == (() if labels is None else ("a", "b"))
