"""What makes a verdict doubtful is said, or stops the question."""

import numpy as np
import pytest

from asking.asked import asked
from asking.made_answers import logits, normal, rng
from asking.made_models import by_table, echo, of_brightness, pair_of, pictures
from asterism.core.messages.errors import UserError
from onnx_texts import write_onnx

pytestmark = pytest.mark.usefixtures("models_here")

LABELS = np.arange(60) % 4
SCORES = logits(LABELS)


@pytest.mark.parametrize(
    ("factor", "told"),
    [(1, ""), (1 / 255, "fill 0.4%"), (3, "lie beyond")],
)
def test_inputs_that_do_not_fit_the_quantised_range_are_named(tmp_path, factor, told):
    values = rng(0).uniform(0, 255, (60, 4)).astype(np.float32)
    pair = pair_of(tmp_path, values * np.float32(factor), y=("Softmax", [4]))
    in_8_bits(pair["compressed"])
    said = "\n".join(asked(**pair)[1])
    assert (told in said) if told else ("keeps numbers" not in said)


def in_8_bits(path):
    """A softmax of four numbers, which keeps those from 0 to 255."""
    text = """(float[n,4] x) => (float[n,4] y) {
        q = QuantizeLinear (x, scale, zero)
        r = DequantizeLinear (q, scale, zero)
        y = Softmax (r)
    }"""
    write_onnx(path, text, scale=np.float32(1), zero=np.uint8(0))


def test_labels_that_are_not_used_are_named(tmp_path):
    pair = pair_of(tmp_path, normal(60, 4), LABELS, y=("Sigmoid", [4]))
    assert any("labels are not used" in line for line in asked(**pair)[1])


def test_the_same_file_twice_is_named(tmp_path):
    pair = pair_of(tmp_path, SCORES, y=("Softmax", [4]))
    assert any("same file" in line for line in asked(**pair)[1])


@pytest.mark.parametrize(("rows", "of_bytes"), [(1000, False), (257, True)])
def test_texts_are_taken_for_bytes_by_models_of_bytes_alone(tmp_path, rows, of_bytes):
    pair = pair_of(tmp_path, SCORES) | {"inputs": tmp_path / "texts"}
    pair["inputs"].mkdir()
    for number in range(3):
        (pair["inputs"] / f"{number}.txt").write_text("a text")
    for name in ("original", "compressed"):
        by_table(pair[name], rows)
    if of_bytes:
        read, said = asked(**pair)
        assert read["vet"] == "bytes" and "by the inputs' file names" in said[2]
    else:
        with pytest.raises(UserError, match=r"0\.txt.* tokens.*--kind bytes"):
            asked(**pair)


def test_a_table_of_text_is_not_taken_for_bytes(tmp_path):
    pair = pair_of(tmp_path, SCORES, y=("Softmax", [4])) | {"inputs": tmp_path / "table.csv"}
    np.savetxt(pair["inputs"], SCORES, delimiter=",")
    with pytest.raises(UserError, match=r"table\.csv.*--kind bytes"):
        asked(**pair)
    assert asked(**pair, kind="bytes")[0]["vet"] == "bytes"


@pytest.mark.parametrize("own", ["Sigmoid", "Add"])
def test_probabilities_are_not_compared_with_logits(tmp_path, own):
    positive = (normal(60, 1) > 0)[:, 0].astype(int)
    pair = pair_of(tmp_path, 9 * normal(60, 1), positive, p=(own, [1]))
    echo(pair["compressed"], p=({"Sigmoid": "Add", "Add": "Sigmoid"}[own], [1]))
    with pytest.raises(UserError, match=r"compressed\.onnx.*probabilities"):
        asked(**pair, comparison="multi_label")


def test_where_the_largest_number_alone_counts_they_are(tmp_path):
    pair = pair_of(tmp_path, SCORES, LABELS, p=("Softmax", [4]))
    echo(pair["compressed"], p=("Add", [4]))
    assert asked(**pair)[0]["vet.comparison.kind"] == "top_label"


@pytest.mark.parametrize("random", ["original", "compressed"])
def test_a_model_that_draws_random_numbers_stops_the_question(tmp_path, random):
    pair = pair_of(tmp_path, SCORES, LABELS, logits=("Add", [4]))
    echo(pair[random], logits=("RandomNormalLike", [4]))
    with pytest.raises(UserError, match=rf"{random}\.onnx.*each time"):
        asked(**pair, comparison="top_label")


@pytest.mark.parametrize(("places", "told"), [(1, "one more"), (-1, "one less")])
def test_labels_that_are_numbered_from_another_one_are_told_so(tmp_path, places, told):
    scores = np.pad(SCORES, ((0, 0), (1, 1)), constant_values=-9)
    pair = pair_of(tmp_path, scores, LABELS + 1 - places, y=("Softmax", [6]))
    with pytest.raises(UserError, match=told):
        asked(**pair)


@pytest.mark.parametrize(("count", "told"), [(60, False), (6, True)])
def test_copies_among_the_inputs_are_told(tmp_path, count, told):
    copied = np.resize(SCORES[:count], SCORES.shape)
    said = asked(**pair_of(tmp_path, copied, LABELS, y=("Softmax", [4])))[1]
    assert any(f"only {count} of the 60" in line for line in said) == told


@pytest.mark.parametrize(
    ("weights", "bias", "told"),
    [
        ([-20.0, 20.0], [10.0, -10.0], None),  # as the original: by numbers from 0 to 1
        ([-0.1, 0.1], [12.8, -12.8], "raw"),  # numbers from 0 to 255
        ([20.0, -20.0], [-10.0, 10.0], None),  # the contrary, whatever the numbers
    ],
)
def test_a_part_of_the_preprocessing_in_the_compressed_model_is_told(tmp_path, weights, bias, told):
    images, bright = pictures()
    pair = pair_of(tmp_path, images, bright)
    of_brightness(pair["original"], [-20.0, 20.0], [10.0, -10.0])
    of_brightness(pair["compressed"], weights, bias)
    said = [line for line in asked(**pair, kind="images")[1] if "compressed.onnx answers" in line]
    assert bool(said) == (told is not None)
    assert all(f"by {told}" in line for line in said)
