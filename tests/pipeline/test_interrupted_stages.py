"""Real stages under DVC, interrupted at any moment: nothing goes on, and nothing is lost.

``ATTEMPTS=40`` interrupts each stage so often.
"""

import os
import random
import signal
import subprocess
import time

import pytest
from workspace import ENVIRONMENT, SMALL_SEARCH, copy_project, run

from marked import Marked

TINY = [
    "data.train=600",
    "data.test=120",
    "classifier.training.epochs=2",
    "attack.names=[fgsm]",
    "attack.inputs=10",
    *SMALL_SEARCH,
]
STAGES = {
    "trigger@dynamic_range": [
        "artifacts/trigger/dynamic_range",
        "metrics/trigger-dynamic_range.json",
    ],
    "measure_importance": ["artifacts/measure_importance", "metrics/measure_importance.json"],
}
ATTEMPTS = int(os.environ.get("ATTEMPTS", "5"))

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A project in which the stages have run."""
    project = copy_project(tmp_path_factory.mktemp("interrupted") / "project", TINY)
    run(project, "dvc", "repro", *STAGES)
    return project


def files(project, stage):
    found = {}
    for name in STAGES[stage]:
        place = project / name
        for path in [place, *place.rglob("*")]:
            if path.is_file():
                found[str(path)] = path.read_bytes()
    return found


@pytest.mark.parametrize("stage", STAGES)
def test_interrupted_at_any_moment(finished, stage, tmp_path):
    expected = files(finished, stage)
    command = ["dvc", "repro", "--force", "--single-item", stage]
    environment = ENVIRONMENT | {"ASTERISM_STATE_ROOT": str(tmp_path), "DVC_IGNORE_ISATTY": "1"}
    moments = random.Random(7)
    begun = time.monotonic()
    run(finished, *command)
    whole = time.monotonic() - begun
    assert files(finished, stage) == expected
    for attempt in range(ATTEMPTS):
        marked = Marked()
        process = subprocess.Popen(
            command,
            cwd=finished,
            env=marked.environment | environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        time.sleep(moments.uniform(0, whole))
        number = moments.choice([signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
        if attempt % 2:
            os.killpg(process.pid, number)  # as a terminal does
        else:
            process.send_signal(signal.SIGTERM if number == signal.SIGINT else number)
        if number != signal.SIGINT:
            process.wait(60)  # DVC waits for its stage where it hears Ctrl-C only
        time.sleep(1)
        before = files(finished, stage)
        assert marked.left() == [], (attempt, number)
        process.wait()
        if number != signal.SIGINT:
            assert files(finished, stage) == before, "nothing is written when DVC is gone"
    run(finished, *command)
    assert files(finished, stage) == expected
