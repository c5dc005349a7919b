"""Models run on the device of ``machine.yaml``, and say so; where there is none it is told."""

import numpy as np
import pytest
import torch

from asterism.core.messages.errors import UserError
from asterism.models.formats import open_runtime
from onnx_texts import write_onnx

HAS_GPU = torch.cuda.is_available()


class Shifted(torch.nn.Module):
    """Weights, and a tensor that the program makes by itself."""

    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(4, 3)

    def forward(self, x):
        return self.inner(x) + torch.arange(3, dtype=torch.float32)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A program of PyTorch and an ONNX graph."""
    folder = tmp_path_factory.mktemp("devices")
    torch.manual_seed(0)
    batch = torch.export.Dim("n", min=1, max=64)
    program = torch.export.export(
        Shifted().eval(), (torch.zeros(2, 4),), dynamic_shapes={"x": {0: batch}}
    )
    torch.export.save(program, folder / "a.pt2")
    write_onnx(folder / "a.onnx", "(float[n,4] x) => (float[n,4] y) { y = Tanh (x) }")
    return folder


def answers(path):
    """What a file's model gives, and what is to be known of how it ran."""
    runtime = open_runtime(path)
    given = {
        runtime.signature.inputs[0].name: np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
    }
    (found,) = runtime.run(given).values()
    return found, runtime.notes


@pytest.mark.parametrize("suffix", [".pt2", ".onnx"])
def test_a_device_that_is_not_there_is_told(files, monkeypatch, suffix):
    expected, notes = answers(files / f"a{suffix}")
    assert not notes
    monkeypatch.setenv("ASTERISM_DEVICE", "cuda:99")
    with pytest.raises(UserError, match="ASTERISM_DEVICE"):
        answers(files / f"a{suffix}")
    monkeypatch.setenv("ASTERISM_DEVICE", "cpu")
    assert np.array_equal(answers(files / f"a{suffix}")[0], expected)


def test_a_device_of_another_kind_is_told(files, monkeypatch):
    monkeypatch.setenv("ASTERISM_DEVICE", "tpu")
    with pytest.raises(UserError, match="cpu, cuda, or cuda:1"):
        answers(files / "a.onnx")


@pytest.mark.skipif(not HAS_GPU, reason="needs a GPU")
@pytest.mark.parametrize("suffix", [".pt2", ".onnx"])
def test_the_gpu_gives_the_same_but_for_rounding(files, monkeypatch, suffix):
    if suffix == ".onnx":
        onnxruntime = pytest.importorskip("onnxruntime")
        if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
            pytest.skip("needs ONNX Runtime for GPUs")
    expected, _ = answers(files / f"a{suffix}")
    monkeypatch.setenv("ASTERISM_DEVICE", "cuda")
    found, notes = answers(files / f"a{suffix}")
    assert any("cuda" in note for note in notes)
    assert np.allclose(found, expected, atol=1e-6)
