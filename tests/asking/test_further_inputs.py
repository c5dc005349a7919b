"""Further inputs: numbers and roles that are told, and roles that follow from the original."""

from pathlib import Path

import numpy as np
import pytest

from asterism.asking.question import resolve_question
from asterism.asking.request import VetRequest, infer_roles, parse_further_inputs
from asterism.core.messages.errors import UserError
from asterism.models.signatures.signature import Signature, TensorSpec
from asterism.vetting.opening import open_vetted
from onnx_texts import write_onnx

ROOT = Path(__file__).parents[2]
TABLE = np.random.default_rng(0).normal(size=(9, 4)).astype(np.float32)


def encoder(path, *names, order=(0, 1), table=True):
    """The mean over the tokens that the mask names of their rows in a table, or of themselves."""
    inputs = [f"int64[n,6] {names[0]}", f"int64[n,6] {names[1]}"]
    rows = f"Gather (table, {names[0]})" if table else "Unsqueeze (ids, last)"
    text = f"""({inputs[order[0]]}, {inputs[order[1]]}) => (float[n,4] y) {{
        ids = Cast <to=1> ({names[0]})
        kept = Cast <to=1> ({names[1]})
        mask = Unsqueeze (kept, last)
        values = {rows}
        known = Mul (values, mask)
        wide = Mul (known, ones)
        y = ReduceSum <keepdims=0> (wide, axis)
    }}"""
    constants = {"last": np.array([2]), "axis": np.array([1]), "ones": np.ones(4, np.float32)}
    return write_onnx(path, text, **constants, **({"table": TABLE} if table else {}))


@pytest.fixture
def settled(tmp_path):
    items = np.random.default_rng(1).integers(1, 9, (40, 6))
    items[::2, 4:] = 0
    np.savez(tmp_path / "inputs.npz", inputs=items)

    def run(**changes):
        request = VetRequest(
            original=tmp_path / "f.onnx", compressed=tmp_path / "g.onnx",
            inputs=tmp_path / "inputs.npz", comparison="top_label", **changes,
        )  # fmt: skip
        return resolve_question(request, ROOT / "conf").params

    return run


@pytest.mark.parametrize(
    ("told", "names", "order"),
    [
        (("input_ids", "attention_mask"), ("args_1", "args_0"), (0, 1)),
        (("input_ids", "attention_mask"), ("args_0", "args_1"), (1, 0)),
        (("args_0", "args_1"), ("args_1", "args_0"), (0, 1)),
    ],
)
def test_inputs_without_names_have_the_roles_of_the_original_in_any_order(
    settled, tmp_path, names, order, told
):
    encoder(tmp_path / "f.onnx", *told)
    encoder(tmp_path / "g.onnx", *names, order=order)
    constants = [] if "attention_mask" in told else ["args_1=mask"]
    with open_vetted(settled(constants=constants), 0) as vetted:
        assert not vetted.deviates.any()
        np.testing.assert_allclose(vetted.answers.f, vetted.answers.g, rtol=1e-6)


def test_what_no_file_tells_is_asked_and_the_answer_works(settled, tmp_path):
    encoder(tmp_path / "f.onnx", "input_ids", "attention_mask", table=False)
    encoder(tmp_path / "g.onnx", "b", "a", order=(1, 0), table=False)
    with pytest.raises(UserError, match=r"--constant b=1.*--constant b=mask"):
        settled()
    with open_vetted(settled(constants=["a=mask"]), 0) as vetted:
        np.testing.assert_allclose(vetted.answers.f, vetted.answers.g, rtol=1e-6)


def test_further_inputs_are_told_as_numbers_or_roles():
    assert parse_further_inputs(["sr=16000", "a=b=mask"]) == {"sr": 16000.0, "a=b": "mask"}
    with pytest.raises(UserError, match=r"'sr=fast': give NAME=NUMBER, or NAME=mask,"):
        parse_further_inputs(["sr=fast"])


def taking(*specs):
    made = [TensorSpec(n, d, s, rows=r) for n, d, s, r in specs]
    return Signature("onnx", tuple(made), (TensorSpec("y", "float32", (None, 2)),))


TOKENS = ("ids", "int64", (None, None), 50)
MASK, SEGMENT = (
    ("attention_mask", "int64", (None, None), 0),
    ("token_type_ids", "int64", (None, None), 2),
)


@pytest.mark.parametrize(
    ("specs", "roles"),
    [
        ([("a", "int32", (None, None), 2), ("b", "int32", (None, None), 0)],
         {"a": "segment", "b": "mask"}),
        ([("a", "int64", (None, None), 0), ("b", "int64", (None, None), 0)], {}),
        ([("a", "int64", (None, None), 0), MASK], {}),
        ([("a", "int64", (None, None), 2), MASK], {"a": "segment"}),
        ([("a", "int64", (None, None), 0), SEGMENT], {"a": "mask"}),
    ],
)  # fmt: skip
def test_only_an_input_of_a_form_of_its_own_takes_a_role(specs, roles):
    compressed = taking(*specs, ("t", *TOKENS[1:]))
    assert compressed.given[0].name == "t"
    assert infer_roles(taking(TOKENS, MASK, SEGMENT), compressed, {}) == roles
