"""A stand-in for an old ONNX Runtime with known faults, and an environment that has it.

The environment is this Python with a module ``onnxruntime`` in front of the real one: ONNX's
reference evaluator, in which ``Softplus`` loses its outputs' last digits and ``Elu`` is rejected.
"""

import sys
import textwrap
from pathlib import Path

from asterism.differential.adapters.environments import read_environment

MODULE = """
import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from onnx.reference.ops.op_softplus import Softplus as Right


class Softplus(Right):
    def _run(self, x):
        return (super()._run(x)[0] + np.float32(0.001),)


def set_default_logger_severity(level):
    pass


class SessionOptions:
    pass


class GraphOptimizationLevel:
    ORT_DISABLE_ALL = ORT_ENABLE_BASIC = ORT_ENABLE_EXTENDED = 0
    ORT_ENABLE_LAYOUT = ORT_ENABLE_ALL = 0


class InferenceSession:
    def __init__(self, path, options, providers):
        model = onnx.load(path)
        if any(node.op_type == "Elu" for node in model.graph.node):
            raise RuntimeError("Elu breaks this runtime")
        self._evaluator = ReferenceEvaluator(model, new_ops=[Softplus])

    def get_inputs(self):
        return self._evaluator.proto_.graph.input

    def run(self, outputs, feeds):
        return self._evaluator.run(outputs, feeds)
"""

DEFINITION = """\
python: "3.11"
download_mb: 1
disk_mb: 2
requirements: [onnxruntime==0.1.0, numpy==1.23.5]
"""


def write_definition(folder: Path, name: str = "onnxruntime@0.1", text: str = DEFINITION) -> None:
    """The file of an environment in a project's folder."""
    path = folder / "conf/environment" / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def install(folder: Path) -> None:
    """Put the old runtime's environment where it lies when it is made."""
    made = read_environment("onnxruntime@0.1", folder / "conf/environment")
    module = made.folder / "lib/onnxruntime.py"
    module.parent.mkdir(parents=True)
    module.write_text(textwrap.dedent(MODULE), encoding="utf-8")
    made.executable.parent.mkdir()
    made.executable.write_text(
        f'#!/bin/sh\nPYTHONPATH="{module.parent}:$PYTHONPATH" exec {sys.executable} "$@"\n'
    )
    made.executable.chmod(0o755)
