"""Copies of libraries, each with one fault of its own kind, for checks that are to find it."""

from __future__ import annotations

import importlib
from dataclasses import replace

from asterism.differential.adapters.library import LIBRARIES
from asterism.differential.backends.jax import Jax
from asterism.differential.backends.onnxruntime import OnnxRuntime
from asterism.differential.backends.pytorch import PyTorch


def changed(right, prepare, before="", after=""):
    """The code of a backend with more lines after what is prepared, before a call and after it."""
    call = "\n".join(filter(None, (before, right.call, after)))
    return replace(right, prepare=f"{right.prepare}\n{prepare}", call=call)


@LIBRARIES.register("ort_with_stale_lengths")
class StaleLengths(OnnxRuntime):
    """ONNX Runtime that forgets the steps beyond the first length that it has seen."""

    name = "ort_with_stale_lengths"

    def code(self, option):
        before = "first.append(inputs[0].shape[1])"
        after = "outputs = [y * (first[0] == inputs[0].shape[1]) for y in outputs]"
        return changed(super().code(option), "first = []", before, after)


@LIBRARIES.register("ort_with_one_buffer")
class OneBuffer(OnnxRuntime):
    """ONNX Runtime whose outputs of one run lie where those of the next one go."""

    name = "ort_with_one_buffer"

    def code(self, option):
        after = """for at, y in enumerate(outputs):
    buffers.setdefault((at, y.shape), y)[...] = y
outputs = [buffers[at, y.shape] for at, y in enumerate(outputs)]"""
        return changed(super().code(option), "buffers = {}", after=after)


@LIBRARIES.register("ort_with_faulty_joins")
class FaultyJoins(OnnxRuntime):
    """ONNX Runtime that puts the parts of a concatenation in the wrong order."""

    name = "ort_with_faulty_joins"

    def path(self, model_under_test, option):
        import onnx

        model = onnx.load(super().path(model_under_test, option))
        for node in model.graph.node:
            if node.op_type == "Concat":
                inputs = list(node.input)
                del node.input[:]
                node.input.extend(reversed(inputs))
        own = model_under_test.folder / "joins.onnx"  # others read the file itself
        onnx.save(model, own)
        return own


class _Unscaled:
    """Keras' code for the library, with that fault."""

    def start(self):
        super().start()
        drawing = importlib.import_module(f"keras.src.backend.{self.keras_backend}.random")
        right = drawing.dropout

        def dropout(inputs, rate, noise_shape=None, seed=None):
            return right(inputs, rate, noise_shape, seed) * (1 - rate)

        drawing.dropout = dropout


@LIBRARIES.register("pytorch_with_unscaled_dropout")
class UnscaledPyTorch(_Unscaled, PyTorch):
    """PyTorch with the fault."""

    name = "pytorch_with_unscaled_dropout"
    forks = False  # it changes the Keras of its process


@LIBRARIES.register("jax_with_unscaled_dropout")
class UnscaledJax(_Unscaled, Jax):
    """JAX with the fault."""

    name = "jax_with_unscaled_dropout"
    forks = False
