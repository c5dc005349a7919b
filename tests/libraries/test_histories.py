"""What each worker had run before a finding."""

from asterism.differential.engine.outcomes import ExecutionOutcome
from asterism.differential.engine.tasks import Result
from asterism.differential.oracle.finding import EarlierModel
from asterism.differential.oracle.judged import REMEMBERED, Histories


def outcome(model, backend, status="ok"):
    return ExecutionOutcome(model, backend, "run", status)


def ran(model, *backends, died=()):
    outcomes = {b: outcome(model, b, "crash" if b in died else "ok") for b in backends}
    return Result(model, ("normal",), outcomes)


def test_each_worker_has_its_own_history_which_ends_with_its_process():
    histories = Histories()
    histories.add(ran(0, "jax:jit", "tensorflow:eager"))
    histories.add(ran(1, "jax:jit", "jax:eager", "tf2onnx", died=("jax:jit",)))
    histories.add(ran(2, "jax:eager"))
    assert histories.before("jax:jit") == (EarlierModel(2, ("normal",)),)
    assert [e.model for e in histories.before("tensorflow:xla")] == [0]
    assert [e.model for e in histories.before("tf2onnx")] == [1]
    assert histories.before("pytorch:eager") == ()
    for model in range(100):
        histories.add(ran(model, "jax:jit"))
    assert [e.model for e in histories.before("jax:jit")] == [*range(100 - REMEMBERED, 100)]


def test_a_blocked_step_asked_nothing_of_its_worker():
    histories = Histories()
    histories.add(Result(0, ("normal",), {"jax:jit": outcome(0, "jax:jit", "blocked")}))
    assert histories.before("jax:jit") == ()
