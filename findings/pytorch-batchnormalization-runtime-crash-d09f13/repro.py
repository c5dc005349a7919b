"""AOTInductor rejects the export of a Keras BatchNormalization."""

import os
import sys

os.environ["KERAS_BACKEND"] = "torch"

import keras
import torch

model = keras.Sequential([keras.Input((1,)), keras.layers.BatchNormalization()])
x = torch.ones(2, 1)
print("expected", model(x).detach().tolist())
try:
    program = torch.export.export(torch.nn.Sequential(model.eval()), (x,))
    path = torch._inductor.aoti_compile_and_package(program, package_path="model.pt2")
    actual = torch._inductor.aoti_load_package(path)(x)
except AssertionError as error:
    print("actual  ", type(error).__name__, str(error)[:250])
    sys.exit(1)
print("actual  ", actual.tolist())
