"""Data sets of the user's own that are no images: folders by class, and arrays."""

import cv2
import numpy as np
import pytest
from scipy.io import wavfile

from asterism.core.messages.errors import UserError
from asterism.data import DataParams, load
from asterism.data.given import infer_kind, read_inputs
from asterism.data.kinds import INPUT_KINDS, Shaping
from asterism.data.sources import load_any


def params(name, path, **changes):
    return DataParams(**{"name": name, "path": str(path), "train": None, "test": None} | changes)


# ---- folders


def texts(root, **files):
    """Files by ``part__class__name``, each with its content."""
    for name, content in files.items():
        path = root.joinpath(*name.split("__"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return root


def test_texts_by_class_are_bytes_of_the_longest_for_training(tmp_path):
    texts(
        tmp_path,
        train__b__1=b"abcd",
        train__a__2=b"x",
        train__c__3=b"yz",
        test__c__4=b"longer",
        test__a__5=b"!",
    )
    found = load_any(params("folder", tmp_path))
    assert (found.kind, found.classes) == ("bytes", 3)
    a, c = 97, 122
    assert found.train_images.tolist() == [
        [120, 0, 0, 0],
        [a, a + 1, a + 2, a + 3],
        [c - 1, c, 0, 0],
    ]
    assert found.train_labels.tolist() == [0, 1, 2]
    assert found.test_images.tolist() == [[ord("!"), 0, 0, 0], list(b"long")]
    assert found.test_labels.tolist() == [0, 2]
    assert found.test_labels.dtype == np.int64


def test_the_tests_may_be_of_one_class(tmp_path):
    texts(tmp_path, train__a__1=b"x", train__b__2=b"y", test__b__3=b"z", test__b__4=b"z")
    assert load_any(params("folder", tmp_path)).test_labels.tolist() == [1, 1]
    numbers = texts(tmp_path / "n", train__0__1=b"x", train__1__2=b"y", test__1__3=b"z")
    assert load_any(params("folder", numbers)).test_labels.tolist() == [1]


def test_classes_that_are_numbers_keep_them(tmp_path):
    files = {f"train__{n}__{n}": b"x" for n in range(11)}
    found = load_any(params("folder", texts(tmp_path, **files, test__10__a=b"y", test__2__b=b"y")))
    assert found.train_labels.tolist() == [0, 1, 10, *range(2, 10)]
    assert found.test_labels.tolist() == [10, 2]
    assert found.classes == 11


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"train__a__1": b"x"}, r"names no folder with train and test"),
        ({"test__a__1": b"x"}, r"names no folder with train and test"),
        (
            {"train__a__1": b"x", "train__b__2": b"x", "test__c__3": b"x"},
            "test has the class 'c', and train has not",
        ),
        (
            {"train__a__1": b"x", "train__b__2": b"x", "train__3": b"x", "test__a__3": b"x"},
            r"train has files outside of its classes: put each into a subfolder",
        ),
        ({"train__a__1": b"x", "test__a__3": b"x"}, "one class only"),
    ],
)
def test_folders_that_are_no_classes_are_explained(tmp_path, files, message):
    with pytest.raises(UserError, match=message) as caught:
        load_any(params("folder", texts(tmp_path, **files)))
    assert "\n" not in str(caught.value)


def test_pictures_by_class_get_the_size_of_those_for_training(tmp_path):
    for place, height in (("train/b/1", 8), ("train/a/2", 8), ("test/b/3", 16)):
        path = tmp_path / f"{place}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(path), np.full((height, 6, 3), (1, 2, 3), np.uint8))
    (tmp_path / "train/a/notes.md").write_text("left out")
    found = load(params("folder", tmp_path))
    assert (found.kind, found.classes, found.image_shape) == ("images", 2, (8, 6, 3))
    assert found.test_images.shape == (1, 8, 6, 3)
    assert found.test_images[0, 0, 0].tolist() == [3, 2, 1]
    assert found.test_labels.tolist() == [1]


def test_sounds_by_class_get_the_length_of_those_for_training(tmp_path):
    for place, length in (("train/b/1", 40), ("train/a/2", 70), ("test/a/3", 90)):
        path = tmp_path / f"{place}.wav"
        path.parent.mkdir(parents=True, exist_ok=True)
        wavfile.write(path, 8000, np.full(length, 0.5, np.float32))
    found = load_any(params("folder", tmp_path))
    assert found.kind == "sound"
    assert [np.count_nonzero(wave) for wave in found.train_images] == [70, 40]
    assert found.train_images.shape == (2, 70)
    assert found.test_images.shape == (1, 70)
    with pytest.raises(UserError, match=r"sound.* images only"):
        load(params("folder", tmp_path))


# ---- arrays


def arrays(path, inputs, **changes):
    given = {
        "train_inputs": inputs,
        "train_labels": np.array([0, 1, 0, 1]),
        "test_inputs": inputs[:2],
        "test_labels": np.array([1, 0]),
    }
    np.savez(path, **given | changes)
    return params("npz", path)


@pytest.mark.parametrize(
    ("dtype", "shape", "kind", "kept"),
    [
        (np.uint8, (4, 5), "tokens", np.int32),
        (np.int32, (4, 5), "tokens", np.int32),
        (np.uint32, (4, 5), "tokens", np.int64),
        (np.int64, (4, 5), "tokens", np.int64),
        (np.float16, (4, 5), "tensors", np.float32),
        (np.float64, (4, 5, 2), "tensors", np.float32),
    ],
)
def test_arrays_are_tokens_or_tensors_by_their_type(tmp_path, dtype, shape, kind, kept):
    inputs = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    found = load_any(arrays(tmp_path / "a.npz", inputs))
    assert found.kind == kind
    assert found.train_images.dtype == found.test_images.dtype == kept
    assert found.train_images.tolist() == inputs.tolist()
    assert found.test_images.tolist() == inputs[:2].tolist()
    assert (found.train_labels.tolist(), found.test_labels.tolist()) == ([0, 1, 0, 1], [1, 0])


@pytest.mark.parametrize(
    ("inputs", "form"),
    [
        (np.zeros((4, 5, 2), np.int32), r"int32 \(4, 5, 2\)"),
        (np.zeros(4, np.int32), r"int32 \(4,\)"),
        (np.zeros(4), r"float64 \(4,\)"),
        (np.zeros((4, 5), bool), r"bool \(4, 5\)"),
        (np.zeros((4, 0)), r"float64 \(4, 0\)"),
    ],
)
def test_arrays_of_another_form_are_told_with_it(tmp_path, inputs, form):
    message = rf"train_inputs must be token ids, .* or real numbers .*, not {form}"
    with pytest.raises(UserError, match=message):
        load_any(arrays(tmp_path / "a.npz", inputs))


def test_arrays_that_disagree_are_told_with_both_forms(tmp_path):
    inputs = np.zeros((4, 5), np.int32)
    for other, form in (
        (inputs[:2, :4], r"int32 \(2, 4\)"),
        (inputs[:2] + 0.5, r"float32 \(2, 5\)"),
    ):
        message = rf"training inputs are int32 \(4, 5\), test inputs {form}; they must agree"
        with pytest.raises(UserError, match=message):
            load_any(arrays(tmp_path / "a.npz", inputs, test_inputs=other))
    with pytest.raises(UserError, match=r"test_inputs .*NaN"):
        values = np.zeros((4, 5))
        load_any(arrays(tmp_path / "a.npz", values, test_inputs=values[:2] + np.nan))


def test_of_arrays_a_part_may_be_taken_and_a_missing_one_is_named(tmp_path):
    inputs = np.zeros((4, 5), np.int32)
    arrays(tmp_path / "a.npz", inputs)
    found = load_any(params("npz", tmp_path / "a.npz", train=3, test=1))
    assert (len(found.train_images), len(found.test_images)) == (3, 1)
    assert (len(found.train_labels), len(found.test_labels)) == (3, 1)
    np.savez(tmp_path / "b.npz", train_inputs=inputs, test_labels=[1])
    with pytest.raises(UserError, match=r"train_labels, test_inputs.* test_labels, train_inputs"):
        load_any(params("npz", tmp_path / "b.npz"))


# ---- kinds of inputs


@pytest.mark.parametrize("largest", [10**30, 10**19])
def test_a_class_is_no_number_of_any_size(tmp_path, largest):
    files = {f"{part}__{name}__1": b"x" for part in ("train", "test") for name in (0, largest)}
    texts(tmp_path, **files)
    with pytest.raises(UserError, match="18 digits"):
        load_any(params("folder", tmp_path))


def test_classes_are_counted_before_anything_is_done_by_class(tmp_path):
    many = np.arange(150_000)
    given = arrays(tmp_path / "a.npz", np.zeros((len(many), 1, 1)), train_labels=many)
    with pytest.raises(UserError, match=r"a\.npz has 150,000 classes"):
        load_any(given)


@pytest.mark.parametrize("kind", ["tokens", "tensors"])
def test_arrays_are_stacked_as_they_are_and_read_from_no_other_file(tmp_path, kind):
    rows, notes = INPUT_KINDS[kind].stack([np.array([1, 2]), np.array([3, 4])], Shaping())
    assert (rows.tolist(), notes) == ([[1, 2], [3, 4]], [])
    with pytest.raises(UserError, match=r"a\.txt.* \.npz and"):
        INPUT_KINDS[kind].read(tmp_path / "a.txt", Shaping())


def test_bytes_are_as_long_as_the_model_takes_then_as_is_wanted_then_as_the_longest():
    items = [np.frombuffer(text, np.uint8) for text in (b"abc", b"ab", b"abcd", b"a")]
    rows, notes = INPUT_KINDS["bytes"].stack(items, Shaping((3,), length=2, pad=9))
    assert rows.tolist() == [[97, 98, 99], [97, 98, 9], [97, 98, 99], [97, 9, 9]]
    assert notes == ["of 1 files the first 3 bytes are taken"]
    assert INPUT_KINDS["bytes"].stack(items, Shaping(length=2))[0].shape == (4, 2)
    assert INPUT_KINDS["bytes"].stack(items, Shaping())[0].shape == (4, 4)


def test_sound_as_long_as_the_model_takes_is_not_cut():
    items = [np.ones(n, np.float32) for n in (3, 2, 4)]
    rows, notes = INPUT_KINDS["sound"].stack(items, Shaping((None, 1, 3)))
    assert rows.tolist() == [[1, 1, 1], [1, 1, 0], [1, 1, 1]]
    assert notes == ["1 sounds were cut to 3 samples"]
    assert INPUT_KINDS["sound"].stack(items[:2], Shaping())[1] == []


@pytest.mark.parametrize(
    ("dtype", "values", "expected"),
    [
        (np.uint8, [0, 128, 192], [-1, 0, 0.5]),
        (np.int16, [-32768, 0, 16384], [-1, 0, 0.5]),
        (np.int32, [-(2**31), 0, 2**30], [-1, 0, 0.5]),
        (np.float32, [-2, 0.25, 0.5], [-1, 0.25, 0.5]),
    ],
)
def test_samples_of_any_type_lie_between_minus_one_and_one(tmp_path, dtype, values, expected):
    wavfile.write(tmp_path / "a.wav", 8000, np.array(values, dtype))
    (wave,) = INPUT_KINDS["sound"].read(tmp_path / "a.wav", Shaping(rate=8000))
    assert wave.tolist() == expected
    wavfile.write(tmp_path / "b.wav", 8000, np.array([[1, 0], [0, 0.5]], np.float32))
    (mixed,) = INPUT_KINDS["sound"].read(tmp_path / "b.wav", Shaping())
    assert mixed.tolist() == [0.5, 0.25]


@pytest.mark.parametrize("values", [[], [0.5, np.nan], [np.inf, 0]])
def test_sound_that_is_none_is_named(tmp_path, values):
    wavfile.write(tmp_path / "a.wav", 8000, np.array(values, np.float32))
    with pytest.raises(UserError, match=r"a\.wav .*not finite"):
        INPUT_KINDS["sound"].read(tmp_path / "a.wav", Shaping())


@pytest.mark.parametrize(
    ("sizes", "shape"),
    [
        ((), (4, 6, 3)),
        ((None, None, 1), (4, 6, 1)),
        ((8, None, 3), (8, 12, 3)),
        ((3, 5, 7), (5, 7, 3)),
        ((1, 5, 7), (5, 7, 1)),
        ((3, 5, 3), (3, 5, 3)),
        ((1, 5, 1), (1, 5, 1)),
        ((5, 7), (4, 6, 3)),
    ],
)
def test_the_models_sizes_say_where_its_channels_are(sizes, shape):
    image = np.full((4, 6, 3), (10, 20, 30), np.uint8)
    rows, notes = INPUT_KINDS["images"].stack([image], Shaping(sizes, fit="squeeze"))
    assert rows.shape == (1, *shape)
    assert rows.dtype == np.uint8
    grey = round(0.299 * 10 + 0.587 * 20 + 0.114 * 30)
    expected = [10, 20, 30] if shape[2] == 3 else [grey]
    assert (rows == expected).all()
    assert bool(notes) == (shape[:2] != (4, 6))


def test_a_grey_image_gets_as_many_channels_as_the_model_takes():
    image = np.arange(24, dtype=np.uint8).reshape(4, 6, 1)
    rows, _ = INPUT_KINDS["images"].stack([image], Shaping((None, None, 3)))
    assert (rows[0] == np.concatenate([image] * 3, axis=2)).all()
    taller = np.arange(24, dtype=np.uint8).reshape(4, 6, 1).repeat(2, axis=0)
    rows, notes = INPUT_KINDS["images"].stack([image, taller], Shaping((4, 6, 1), fit="squeeze"))
    assert rows.shape == (2, 4, 6, 1)
    assert (rows[0] == rows[1]).all()
    assert notes == ["1 images were resized to 4 × 6"]


def striped(height, width):
    """A red image with a green stripe along its left side, and a blue one along the right."""
    image = np.zeros((height, width, 3), np.uint8)
    image[..., 0] = 200
    image[:, : width // 8], image[:, -(width // 8) :] = (0, 200, 0), (0, 0, 200)
    return image


@pytest.mark.parametrize(
    ("sizes", "fit", "shape", "left", "right"),
    [
        ((32, 32, 3), "auto", (32, 32), "red", "red"),  # the middle
        ((32, 32, 3), "squeeze", (32, 32), "green", "blue"),
        ((32, 32, 3), "pad", (32, 32), "green", "blue"),
        ((16, 96, 3), "auto", (16, 96), "green", "black"),  # long: nothing is cut off
        ((32, None, 3), "auto", (32, 64), "green", "blue"),  # its own width
        ((16, 32, 3), "auto", (16, 32), "green", "blue"),  # of the same aspect
        ((3, 32, 32), "crop", (32, 32), "red", "red"),
    ],
)
def test_an_image_keeps_its_aspect(sizes, fit, shape, left, right):
    rows, notes = INPUT_KINDS["images"].stack([striped(64, 128)], Shaping(sizes, fit=fit))
    colours = {(200, 0, 0): "red", (0, 200, 0): "green", (0, 0, 200): "blue", (0, 0, 0): "black"}
    assert rows.shape == (1, *shape, 3)
    assert colours[tuple(rows[0, 2, 1].tolist())] == left
    assert colours[tuple(rows[0, 2, -2].tolist())] == right
    assert len(notes) == 1


@pytest.mark.parametrize("tall", [False, True])
def test_what_is_cropped_keeps_all_of_its_shorter_side(tall):
    image = np.broadcast_to(np.arange(0, 240, 4, dtype=np.uint8)[:, None, None], (60, 120, 1))
    given = image.transpose(1, 0, 2) if tall else image
    (row,), _ = INPUT_KINDS["images"].stack([given], Shaping((20, 20, 1), fit="crop"))
    across = row[0] if tall else row[:, 0]
    assert abs(across[:, 0] - np.arange(4.0, 240, 12)).max() <= 1


def test_images_at_their_own_width_are_padded_to_the_widest():
    images = [striped(64, 128), striped(32, 128)]
    rows, notes = INPUT_KINDS["images"].stack(images, Shaping((32, None, 3)))
    assert rows.shape == (2, 32, 128, 3)
    assert rows[0, 0, -1].tolist() == [0, 0, 0] and rows[1, 0, -1].tolist() == [0, 0, 200]
    assert notes == ["1 images were resized as a whole, and padded with black to 32 × 128"]


# ---- what is given


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (["a.npz", "b.png"], None),
        (["a.npy"], None),
        (["a.PNG", "b.jpeg", "c.wav"], "images"),
        (["a.WAV", "b.wav", "c.png"], "sound"),
        (["a.py", "b", "c.png"], "bytes"),
    ],
)
def test_a_kind_is_told_by_suffixes(tmp_path, names, kind):
    assert infer_kind([tmp_path / name for name in names]) == kind


def test_arrays_that_hold_no_inputs_or_other_labels_are_explained(tmp_path):
    path = tmp_path / "a.npz"
    for given in ({"z": np.zeros((2, 3))}, {"x": np.zeros(3)}, {"x": np.zeros((0, 3))}):
        np.savez(path, **given)
        with pytest.raises(UserError, match=r"a\.npz .*holds [xz] \("):
            read_inputs(path, "tensors", Shaping())
    for labels in (
        np.zeros(2, int),
        np.eye(3),
        np.full(3, 0.5),
        np.full(3, np.nan),
        np.array("abc"),
    ):
        np.savez(path, x=np.zeros((3, 4)), y=labels)
        with pytest.raises(UserError, match=r"labels are .* one integer for each of the 3"):
            read_inputs(path, "tensors", Shaping())


@pytest.mark.parametrize("labels", [[2, 1, 0], [[2], [1], [0]], [2.0, 1.0, 0.0]])
def test_labels_of_arrays_are_whole_numbers_also_in_a_column(tmp_path, labels):
    np.savez(tmp_path / "a.npz", x=np.zeros((3, 4)), y=labels)
    found = read_inputs(tmp_path / "a.npz", "tensors", Shaping()).labels
    assert found.tolist() == [2, 1, 0] and found.dtype == np.int64


def test_arrays_take_labels_of_a_file_before_their_own(tmp_path):
    items = np.zeros((3, 4, 5), np.uint8)
    np.savez(tmp_path / "a.npz", images=items, labels=np.uint8([2, 1, 0]))
    own = read_inputs(tmp_path / "a.npz", "images", Shaping())
    assert own.items.shape == (3, 4, 5, 1)
    assert (own.labels.tolist(), own.names, own.classes) == ([2, 1, 0], ("0", "1", "2"), ())
    assert own.labels.dtype == np.int64
    (tmp_path / "l.json").write_text('{"0": "b", "1": "a", "2": "b"}')
    told = read_inputs(tmp_path / "a.npz", "tensors", Shaping(), tmp_path / "l.json")
    assert (told.labels.tolist(), told.classes) == ([1, 0, 1], ("a", "b"))
    assert told.items.shape == (3, 4, 5)


def test_one_file_is_an_item_by_its_name(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"hi")
    found = read_inputs(tmp_path / "a.txt", "bytes", Shaping())
    assert (found.names, found.items.tolist(), found.labels) == (("a.txt",), [[104, 105]], None)
    with pytest.raises(UserError, match=r"a\.txt .*\.png, \.jpg, \.jpeg"):
        read_inputs(tmp_path / "a.txt", "images", Shaping())
