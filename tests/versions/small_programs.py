"""Small programs of ``torch.export`` that several tests use."""

import torch


class Pooling(torch.nn.Module):
    """A convolution, a mean over windows that OpenVINO takes by a wrong count, and a sum."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.convolution = torch.nn.Conv2d(2, 3, 3)

    def forward(self, pictures):
        found = torch.tanh(self.convolution(pictures))
        pooled = torch.nn.functional.avg_pool2d(found, 3, 2, 1, True, True)
        return pooled.sum((2, 3)) + torch.zeros(3, dtype=torch.float32), pooled


def save_pooling(path):
    """Write the program, for batches of any size."""
    free = {0: torch.export.Dim("n", min=1, max=64)}
    example = (torch.zeros(3, 2, 8, 8),)
    program = torch.export.export(Pooling().eval(), example, dynamic_shapes=(free,))
    torch.export.save(program, path)
