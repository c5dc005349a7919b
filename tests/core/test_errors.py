"""What of a library's message is told."""

import pytest

from asterism.core.messages.errors import UserError, extract_reason, reading

TOO_SMALL = "Computed output size would be zero or negative."
KERAS = f"""Exception encountered when calling Functional.call().

Exception encountered when calling MaxPooling2D.call().

\x1b[1m{TOO_SMALL}\x1b[0m

Arguments received by MaxPooling2D.call():
  • args=('<KerasTensor shape=(None, 1, 1, 12)>',)"""
PYTORCH = """Failed deserializing node Node(target='torch.ops.aten.linear.default')
 Original exception Traceback (most recent call last):
  File "torch/_export/serde/serialize.py", line 2101, in deserialize_graph
    self.deserialize_node(serialized_node, target)
KeyError: 'nowhere'
"""
ONNX_RUNTIME = (
    "[ONNXRuntimeError] : 10 : INVALID_GRAPH : Load model from model.onnx failed:This is an "
    "invalid model. In Node, " + '("images": tensor(float)) ' * 20 + ", Error No Op registered for "
    "ScaleAndTranslate with domain_version of 15"
)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (KERAS, TOO_SMALL),
        (PYTORCH, "KeyError: 'nowhere'"),
        ("What is wrong.\n\nAnd what to do.", "What is wrong."),
        ("\n  \n", ""),
        ("", ""),
    ],
)
def test_the_line_that_says_why_is_told(said, told):
    assert extract_reason(said) == told


def test_of_a_long_line_both_ends_are_told_in_whole_words():
    told = extract_reason(ONNX_RUNTIME)
    begin, end = told.split(" … ")
    assert ONNX_RUNTIME.startswith(f"{begin} ") and ONNX_RUNTIME.endswith(f" {end}")
    assert begin.startswith("[ONNXRuntimeError] : 10 : INVALID_GRAPH")
    assert end.endswith("Error No Op registered for ScaleAndTranslate with domain_version of 15")
    assert 150 < len(told) <= 203


def test_a_message_that_quotes_a_file_stays_short_and_keeps_its_beginning_and_end():
    """A file's content may be of any length, and a line for people may not."""
    told = str(UserError(f"/data/a.csv has no column x, only {'y' * 100_000}: add one"))
    assert len(told) < 2100 and told.startswith("/data/a.csv has no") and told.endswith(": add one")


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (MemoryError(), "there is not enough memory for it"),
        (RecursionError(), "it is nested too deeply"),
        (RuntimeError("a library's own"), "a library's own"),
    ],
)
def test_whatever_a_file_makes_a_library_raise_is_one_line(error, why):
    with pytest.raises(UserError, match=f"cannot read a file: {why}"), reading("a file"):
        raise error
