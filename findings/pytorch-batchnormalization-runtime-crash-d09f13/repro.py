"""AOTInductor rejects an operation in place on what is computed from constants alone."""

import sys

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.variance = torch.ones(1)  # a plain tensor, no buffer

    def forward(self, x):
        return x * (self.variance + 1).rsqrt_()


x = torch.ones(2, 1)
print("expected", Model()(x).tolist())
try:
    program = torch.export.export(Model(), (x,))
    path = torch._inductor.aoti_compile_and_package(program, package_path="model.pt2")
    print("actual  ", torch._inductor.aoti_load_package(path)(x).tolist())
except AssertionError as error:
    print("actual  ", type(error).__name__, str(error)[:250])
    sys.exit(1)
