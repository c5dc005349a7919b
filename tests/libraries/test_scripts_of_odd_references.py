"""The script of a finding where the references disagree: its tolerance is that of rounding."""

import pytest

from asterism.core.workers.worker import Limits
from asterism.differential.adapters.backends import FLOAT64
from asterism.differential.engine.inputs import sample_inputs
from asterism.differential.engine.tasks import Task
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.differential.oracle.oracle import judge
from asterism.differential.oracle.params import JudgeParams
from asterism.differential.report.bug_reports import Reporter
from asterism.differential.triage.reproduction import Reproduction
from asterism.differential.triage.triage import Triage
from asterism.memo.graphs.graph import sequential
from asterism.memo.universe.tensors import Tensor
from libraries.small_triage import triage_params
from memo.small_graphs import layer

JUDGE = JudgeParams(ulps=64, conditioning=8)
#: PyTorch interpolates with other weights, in float64 too.
GRAPH = sequential(Tensor((2, 3, 1)), [layer("UpSampling2D", interpolation="bicubic")])


@pytest.mark.slow
def test_how_far_one_reference_is_from_another_is_not_tolerated(tmp_path):
    params = triage_params(max_unique=5, max_steps=2)
    with WorkerPool((*FLOAT64, "pytorch:eager", "jax:jit"), Limits(120.0, 3000)) as pool:
        assert pool.start() == {}
        inputs = {"normal": sample_inputs(GRAPH, 0, 0, "normal")}
        found = judge(GRAPH, pool.run(Task(0, GRAPH, inputs)), JUDGE, 0).findings
        wrong = [f for f in found if f.backends == ("pytorch:eager",)]
        show = Reproduction(pool, JUDGE, 0, 10)
        (unique,), _ = Triage(show, params).run(wrong, [GRAPH], ["normal"])
        with Reporter(show, {}, tmp_path, {}) as reporter:
            reporter.start(unique)
            assert reporter.finish(unique).confirmed == (1, 1, 1)
