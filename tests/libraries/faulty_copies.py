"""Copies of libraries, each with one fault of its own kind, for checks that are to find it."""

from __future__ import annotations

import numpy as np

from asterism.differential.adapters.library import LIBRARIES
from asterism.differential.backends.onnxruntime import OnnxRuntime

#: The graph pass that is wrong.
PASS = "MatMulAddFusion"


@LIBRARIES.register("ort_with_a_faulty_pass")
class FaultyPass(OnnxRuntime):
    """ONNX Runtime whose results are wrong as soon as one graph pass has changed the model."""

    name = "ort_with_a_faulty_pass"

    def compile(self, model_under_test, option):
        wrong = PASS in self.passes(model_under_test, option)
        return super().compile(model_under_test, option), (
            wrong and PASS not in model_under_test.disabled
        )

    def run(self, compiled, inputs):
        session, wrong = compiled
        outputs = super().run(session, inputs)
        return [o * 1.5 for o in outputs] if wrong else outputs


@LIBRARIES.register("ort_with_stale_shapes")
class StaleShapes(OnnxRuntime):
    """ONNX Runtime that computes as many items as the first batch has, and repeats them."""

    name = "ort_with_stale_shapes"

    def compile(self, model_under_test, option):
        return super().compile(model_under_test, option), []

    def run(self, compiled, inputs):
        session, first = compiled
        first.append(len(inputs[0]))
        outputs = super().run(session, [i[: first[0]] for i in inputs])
        return [np.resize(o, (len(inputs[0]), *o.shape[1:])) for o in outputs]


@LIBRARIES.register("ort_with_stale_lengths")
class StaleLengths(OnnxRuntime):
    """ONNX Runtime that forgets the steps beyond the first length that it has seen."""

    name = "ort_with_stale_lengths"

    def compile(self, model_under_test, option):
        return super().compile(model_under_test, option), []

    def run(self, compiled, inputs):
        session, first = compiled
        first.append(inputs[0].shape[1])
        if first[0] == inputs[0].shape[1]:
            return super().run(session, inputs)
        return [o * 0 for o in super().run(session, inputs)]


@LIBRARIES.register("ort_with_one_buffer")
class OneBuffer(OnnxRuntime):
    """ONNX Runtime whose outputs of one run lie where those of the next one go."""

    name = "ort_with_one_buffer"

    def compile(self, model_under_test, option):
        return super().compile(model_under_test, option), {}

    def run(self, compiled, inputs):
        session, buffers = compiled
        outputs = super().run(session, inputs)
        for at, output in enumerate(outputs):
            buffers.setdefault((at, output.shape), output)[...] = output
        return [buffers[at, output.shape] for at, output in enumerate(outputs)]


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
