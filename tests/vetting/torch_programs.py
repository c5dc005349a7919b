"""What tests of PyTorch's models share: a training, exported programs, and how little is asked."""

import torch
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


def exported(module, rows):
    """A module's program for any number of such rows."""
    free = ({0: torch.export.Dim("n")},)
    return torch.export.export(module, (rows[:4],), dynamic_shapes=free)


def saved(module, rows, path):
    """The file of a module's program."""
    torch.export.save(exported(module, rows), path)
    return path
