"""A worker pool without workers: ONNX's reference evaluator, with the faults that a test wants."""

from types import SimpleNamespace

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from asterism.comparing.cases import UpgradePair
from asterism.differential.adapters.backend_names import OF_ONNX
from asterism.differential.engine.tasks import ExecutionOutcome, Result
from asterism.models.onnx_graphs import in_float64

PAIR = UpgradePair("onnxruntime@0.1:file", "onnxruntime:file")
#: The reference's run with inputs and weights that are off by float32's rounding.
(PERTURBED,) = OF_ONNX.perturbed["float32"]


def evaluate(model, arrays, wrong=()):
    """Outputs of a model; each value that a wrong operator puts out is too large by 0.1."""
    known = dict(zip([value.name for value in model.graph.input], arrays, strict=True))
    whole = onnx.ModelProto()
    whole.CopyFrom(model)
    for node in list(whole.graph.node):
        if node.op_type in wrong:
            off = f"{node.output[0]} off"
            shift = onnx.helper.make_node("Constant", [], [off], value_float=0.1)
            right = f"{node.output[0]} right"
            add = onnx.helper.make_node("Add", [right, off], [node.output[0]])
            node.output[0] = right
            at = list(whole.graph.node).index(node)
            whole.graph.node.insert(at + 1, shift)
            whole.graph.node.insert(at + 2, add)
    return ReferenceEvaluator(whole).run(None, known)


def pool(wrong=lambda kinds: (), fails=lambda kinds: "", faulty=PAIR.old, without=()):
    """Runs tasks.

    Args:
        wrong: operators that the faulty backend computes wrongly, by those in the model.
        fails: what the faulty backend says of a model's operators; nothing where it runs them.
        faulty: the backend with the faults.
        without: backends that cannot run a model.
    """
    usable = [PAIR.old, PAIR.new, OF_ONNX.right, PERTURBED]
    done = []

    def run(task):
        done.append(task)
        outcomes, outputs = {}, {}
        model = onnx.load_model_from_string(task.graph.content)
        kinds = [node.op_type for node in model.graph.node]
        for backend in task.backends:
            said = fails(kinds) if backend == faulty else ""
            if said or backend in without:
                outcome = ExecutionOutcome(0, backend, "run", "error", "Broken", said)
                outcomes[backend] = outcome
                continue
            outcomes[backend] = ExecutionOutcome(0, backend, "run", "ok")
            double = backend in (OF_ONNX.right, PERTURBED)
            outputs[backend] = {
                name: evaluate(
                    in_float64(model) if double else model,
                    [a.astype(np.float64) if double and a.dtype.kind == "f" else a for a in given],
                    wrong(kinds) if backend == faulty else (),
                )
                for name, given in task.inputs.items()
            }
        return Result(task.index, tuple(task.inputs), outcomes, outputs)

    return SimpleNamespace(run=run, usable=lambda: usable, done=done)
