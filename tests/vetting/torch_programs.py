"""What tests of PyTorch's models share: a training, exported programs, and how little is asked."""

import torch
from sklearn.datasets import load_digits
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
