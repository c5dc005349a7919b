"""What TensorFlow says of a model while it traces: the library's words alone."""

import pytest

from asterism.core.workers.worker import Limits
from asterism.differential.engine.inputs import sample_inputs
from asterism.differential.engine.tasks import Task
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.memo.graphs.graph import Node, sequential
from asterism.memo.universe.tensors import Tensor

#: TensorFlow pools no float64 in three axes.
WIDE = sequential(
    Tensor((2, 2, 2, 1)),
    [lambda _: Node("MaxPooling3D", {"pool_size": [2, 2, 2], "dtype": "float64"})],
)


@pytest.mark.slow
def test_a_message_holds_no_line_of_this_project():
    with WorkerPool(("tensorflow:graph",), Limits(120.0, 3000)) as pool:
        assert pool.start() == {}
        inputs = {"normal": sample_inputs(WIDE, 0, 0, "normal")}
        said = pool.run(Task(0, WIDE, inputs)).outcomes["tensorflow:graph"]
    assert said.status in ("error", "unsupported") and said.exception == "TypeError"
    assert said.message.startswith("Exception encountered when calling MaxPooling3D.call()")
