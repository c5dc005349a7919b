"""What tests of PyTorch's models share: trained and quantised networks, exported programs."""

import torch
import torch.ao.quantization.fx._decomposed  # registers the operators of quantised graphs
from torch import nn
from torch.nn import functional as f

FEW = [
    "vet.changes.inputs=20",
    "vet.search.seeds=10",
    "vet.search.queries=20",
    "vet.repair.float_share=0.4",
]


def train(net, rows, labels, rate, steps=150):
    """The network after steps of Adam on all rows at once, set to evaluation."""
    optimiser = torch.optim.Adam(net.parameters(), rate)
    for _ in range(steps):
        optimiser.zero_grad()
        f.cross_entropy(net(rows), labels).backward()
        optimiser.step()
    return net.eval()


def trained_on_digits(make_net, shape, rate, **more):
    """A network, and inputs of a shape and labels that it was not trained with."""
    from sklearn.datasets import load_digits

    torch.manual_seed(0)
    data = load_digits()
    rows = torch.tensor(data.data / 16, dtype=torch.float32).reshape(-1, *shape)
    labels = torch.tensor(data.target)
    return train(make_net(), rows[:1000], labels[:1000], rate, **more), rows[1000:], labels[1000:]


def exported(module, rows):
    """A module's program for any number of such rows."""
    free = ({0: torch.export.Dim("n")},)
    return torch.export.export(module, (rows[:4],), dynamic_shapes=free)


def saved(module, rows, path):
    """The file of a module's program."""
    torch.export.save(exported(module, rows), path)
    return path


class QuantisedLinear(nn.Module):
    """A layer as PT2E writes it: weights of integers, and a quantiser before it."""

    def __init__(self, layer, bits, whole=False, given=0.06, zero=0):
        super().__init__()
        self.given, self.zero = given, zero
        step = layer.weight.detach().abs().amax(1) / 2 ** (bits - 1)
        step = step.max().expand_as(step).clone() if whole else step
        whole = (layer.weight.detach() / step[:, None]).round().clamp(-127, 127)
        self.register_buffer("integers", whole.to(torch.int8))
        self.register_buffer("scales", step)
        self.register_buffer("zeros", torch.zeros(len(step), dtype=torch.int64))
        self.bias = layer.bias

    def forward(self, given):
        ops = torch.ops.quantized_decomposed
        q = ops.quantize_per_tensor.default(given, self.given, self.zero, 0, 255, torch.uint8)
        given = ops.dequantize_per_tensor.default(q, self.given, self.zero, 0, 255, torch.uint8)
        kernel = ops.dequantize_per_channel.default(
            self.integers, self.scales, self.zeros, 0, -127, 127, torch.int8
        )
        return f.linear(given, kernel, self.bias)
