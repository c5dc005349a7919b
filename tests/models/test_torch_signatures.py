"""What exported programs of PyTorch take and give, quantised ones too."""

import numpy as np
import pytest
import torch
import torch.ao.quantization.fx._decomposed  # registers the operators of quantised programs
from torch import nn

from asterism.core.messages.errors import UserError
from asterism.models.foreign.torch_operators import only_computes
from asterism.models.runtimes.runtime import open_runtime
from asterism.models.signatures.reading import read_signature
from asterism.vetting.looking import describe_model, look_at

ROWS = torch.randn(6, 8, generator=torch.Generator().manual_seed(0))


class Quantised(nn.Module):
    """A layer as PyTorch writes quantised ones: integers, and operators that make reals of them."""

    def __init__(self):
        super().__init__()
        self.register_buffer("weights", torch.randint(-127, 128, (3, 8), dtype=torch.int8))
        self.register_buffer("scales", torch.rand(3) / 100)
        self.register_buffer("zeros", torch.zeros(3, dtype=torch.int64))

    def forward(self, rows):
        ops = torch.ops.quantized_decomposed
        q = ops.quantize_per_tensor.default(rows, 0.02, 128, 0, 255, torch.uint8)
        rows = ops.dequantize_per_tensor.default(q, 0.02, 128, 0, 255, torch.uint8)
        kernel = ops.dequantize_per_channel.default(
            self.weights, self.scales, self.zeros, 0, -128, 127, torch.int8
        )
        return nn.functional.linear(rows, kernel).softmax(1)


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(50, 4)

    def forward(self, tokens):
        return {"logits": self.table(tokens).mean(1), "length": tokens.ne(0).sum(1)}


def saved(net, given, path, **options):
    torch.export.save(torch.export.export(net.eval(), (given,), **options), path)
    return path


@pytest.fixture(scope="module")
def quantised(tmp_path_factory):
    """A quantised network, and its file, which takes any number of rows."""
    net, free = Quantised(), ({0: torch.export.Dim("n")},)
    folder = tmp_path_factory.mktemp("quantised")
    return net, saved(net, ROWS, folder / "q.pt2", dynamic_shapes=free)


def test_a_quantised_program_is_read_and_gives_the_same(quantised):
    net, path = quantised
    signature = read_signature(path)
    (given,), (answer,) = signature.inputs, signature.outputs
    assert (signature.format, signature.quantised) == ("torch", 3)
    assert (given.name, given.dtype, given.shape) == ("rows", "float32", (None, 8))
    assert given.calibrated == pytest.approx((-2.56, 2.54))
    assert (answer.shape, answer.made_by) == ((None, 3), "softmax")
    (found,) = open_runtime(path).run({"rows": ROWS.numpy()}).values()
    np.testing.assert_allclose(found, net(ROWS).numpy(), rtol=1e-6)


@pytest.mark.slow
def test_tokens_index_a_table_and_outputs_have_names(tmp_path):
    path = saved(Words(), torch.ones(2, 5, dtype=torch.int64), tmp_path / "w.pt2")
    signature = read_signature(path)
    assert (signature.inputs[0].rows, signature.inputs[0].shape) == (50, (2, 5))
    assert [spec.dtype for spec in signature.outputs] == ["float32", "int64"]
    assert signature.outputs[0].made_by == "mean"


@pytest.mark.parametrize(
    ("name", "taken"),
    [
        ("quantize_per_tensor.default", True),
        ("dequantize_per_token.default", True),
        ("quantize_per_channel.default", True),
        ("quantize_per_tensor.nothing", False),
        ("choose_qparams.tensor", True),
        ("fake_quant_per_channel.default", False),
    ],
)
def test_of_quantised_programs_what_converts_numbers_is_taken(name, taken):
    assert only_computes(f"torch.ops.quantized_decomposed.{name}") == taken


@pytest.mark.slow
def test_check_says_what_a_program_is_and_what_is_none(quantised, tmp_path):
    _, path = quantised
    told = "\n".join(describe_model(look_at(path)))
    for part in ("PyTorch", "3 of them on integers", "takes   rows", "asterism vet"):
        assert part in told
    other = tmp_path / "q.zip"
    other.write_bytes(path.read_bytes())
    with pytest.raises(UserError, match=r"suffix \.pt2"):
        look_at(other)
