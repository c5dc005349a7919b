"""What TensorFlow says of a model while it traces: the library's words alone."""

import pytest

from asterism.memo.graphs.graph import Node
from libraries.small_results import chained
from libraries.small_runs import task_of, working

#: TensorFlow pools no float64 in three axes.
WIDE = chained(
    (2, 2, 2, 1), lambda _: Node("MaxPooling3D", {"pool_size": [2, 2, 2], "dtype": "float64"})
)


@pytest.mark.slow
def test_a_message_holds_no_line_of_this_project():
    with working(("tensorflow:graph",)) as pool:
        said = pool.run(task_of(WIDE, "normal")).outcomes["tensorflow:graph"]
    assert said.status in ("error", "unsupported") and said.exception == "TypeError"
    assert said.message.startswith("Exception encountered when calling MaxPooling3D.call()")
