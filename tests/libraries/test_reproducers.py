"""Scripts of findings that end their process: they exit 1 while the bug lives, and 0 after."""

import numpy as np
import pytest

from asterism.libraries.bug_reports import Report
from asterism.libraries.library import LIBRARIES, Library
from asterism.libraries.oracle import Finding
from asterism.libraries.reproducer import exit_status, script_of
from asterism.libraries.triage import UniqueFinding
from asterism.memo.graph import chain
from asterism.memo.tensors import Tensor
from memo.small_graphs import layer

GRAPH = chain(Tensor((2,)), [layer("ReLU")])
ENDS = {
    "crash": "import os; os.abort()",
    "hang": "import time; time.sleep(1000)",
    "memory": "np.ones(2**34)",
    "exception": "raise ValueError('no')",
    "none": "return [inputs[0]]",
}


@LIBRARIES.register("made_up")
class MadeUp(Library):
    """A library whose scripts end as their option says."""

    name = "made_up"
    packages = ("numpy",)
    keras_backend = "numpy"
    options = tuple(ENDS)

    def script(self, option):
        return f"\ndef run(model, inputs):\n    {ENDS[option]}\n"

    def compile(self, subject, option):
        raise NotImplementedError

    def run(self, compiled, inputs):
        raise NotImplementedError


@pytest.mark.slow
@pytest.mark.parametrize(
    ("end", "symptom", "exception"),
    [
        ("crash", "runtime crash", "SIGABRT"),
        ("hang", "hang", ""),
        ("memory", "memory", ""),
        ("exception", "runtime crash", "ValueError"),
    ],
)
def test_a_script_says_whether_the_bug_lives(end, symptom, exception, tmp_path, monkeypatch):
    monkeypatch.setattr("asterism.libraries.reproducer._PATIENCE", 25)
    statuses = []
    for option in (end, "none"):
        route = f"made_up:{option}"
        finding = Finding(0, symptom, "run", "made_up", (route,), exception=exception)
        unique = UniqueFinding("s", finding, GRAPH, None, {0}, 1)
        script = tmp_path / "repro.py"
        script.write_text(script_of(unique, {}, {}, [np.zeros((2, 2), np.float32)], [], []))
        statuses.append(exit_status(script))
    assert statuses == [1, 0]


def test_only_one_is_a_bug():
    assert Report("f", "s", (1, 1, 1), "").reproduced
    for other in (0, 2, 124, -11):
        assert not Report("f", "s", (1, other, 1), "").reproduced
