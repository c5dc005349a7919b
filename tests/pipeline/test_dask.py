"""A long stage by a real Dask cluster: workers come and are killed, and the result is the same."""

import json
import os
import signal
import subprocess
import sys
from importlib.util import find_spec

import psutil
import pytest
from small_pipeline import PARTS, Project, call, start

from marked import wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("distributed") is None, reason="Dask is not installed"),
]


class Cluster:
    """A scheduler and its workers, each a process of its own."""

    def __init__(self, folder, environment):
        self._folder, self._environment, self.processes = folder, environment, []
        self._file = folder / "scheduler.json"
        options = ["--no-dashboard", "--host", "127.0.0.1", "--port", "0"]
        self._start("scheduler", *options, "--scheduler-file", str(self._file))
        wait_until(lambda: self._file.exists() and self._file.read_text(), "no scheduler")

        self.address = json.loads(self._file.read_text())["address"]

    def worker(self):
        options = ["--nthreads", "1", "--no-dashboard", "--no-nanny"]
        return self._start("worker", self.address, *options)

    def _start(self, *words):
        log = (self._folder / f"{len(self.processes)}.log").open("w")
        self.processes.append(
            subprocess.Popen(
                [sys.executable, "-m", "distributed.cli.dask_" + words[0], *words[1:]],
                cwd=self._folder,
                env=self._environment,
                stdout=log,
                stderr=log,
            )
        )
        return self.processes[-1]

    def stop(self):
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path, long=True)


@pytest.fixture
def cluster(project, tmp_path):
    made = Cluster(tmp_path, os.environ | project.environment)
    yield made
    made.stop()


def test_one_worker_is_killed_and_one_comes_and_the_bytes_stay(project, cluster):
    project.expect(3)  # more than there are: the units that are begun wait
    first, _ = cluster.worker(), cluster.worker()
    process = start(project, "repro", "--shards", "2", "--shard-launcher", cluster.address)
    wait_until(lambda: len(project.shared()) == 2, "the workers began nothing")
    below = psutil.Process(first.pid).children(recursive=True)
    of_first = {str(child.pid) for child in below}
    (lost,) = [number for number, who in project.shared() if who.split("-")[1] in of_first]
    first.send_signal(signal.SIGKILL)
    first.wait()
    _, alive = psutil.wait_procs(below, 30)
    assert not alive, "what a worker has started ends with it"
    cluster.worker()
    output, _ = process.communicate(timeout=180)
    assert process.returncode == 0, output
    assert (project.root / "artifacts/long").read_text() == PARTS
    begun = [number for number, _ in project.shared()]
    assert sorted(begun, key=int) == sorted([*map(str, range(12)), lost], key=int)


def test_workers_that_see_neither_workspace_nor_state_use_a_store(project, tmp_path):
    """One is killed; what the store has of its units is not computed again."""
    store, apart = tmp_path / "store", tmp_path / "apart"
    apart.mkdir()
    unaware = {k: v for k, v in project.environment.items() if not k.startswith("ASTERISM_")}
    cluster = Cluster(apart, os.environ | unaware)
    try:
        project.environment["ASTERISM_STATE_STORE"] = store.as_uri()
        project.expect(2)
        (project.notes / "hold-8").touch()
        first, _ = cluster.worker(), cluster.worker()
        process = start(project, "repro", "--shards", "1", "--shard-launcher", cluster.address)
        sent = "*/units/long/*/*.tar"
        wait_until(lambda: len(list(store.glob(sent))) >= 10, "nothing is sent")
        first.send_signal(signal.SIGKILL)
        (project.notes / "hold-8").unlink()
        output, _ = process.communicate(timeout=180)
        assert process.returncode == 0, output
    finally:
        cluster.stop()
    assert (project.root / "artifacts/long").read_text() == PARTS
    assert len(project.shared()) <= 12 + 2
    assert not list(store.rglob("*.tar")), "nothing is left there"


def test_an_interrupt_leaves_finished_units_and_the_same_command_goes_on(project, cluster):
    project.expect(1)
    (project.notes / "hold-7").touch()
    cluster.worker()
    words = ["repro", "--shards", "1", "--shard-launcher", cluster.address]
    process = start(project, *words)
    wait_until(lambda: "7" in [n for n, _ in project.shared()], "the eighth unit did not begin")
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 130, output
    before = len(project.shared())
    (project.notes / "hold-7").unlink()
    status, output = call(project, *words)
    assert status == 0, output
    assert (project.root / "artifacts/long").read_text() == PARTS
    assert len(project.shared()) <= 12 + 1 and before > 1


def test_an_address_where_nobody_answers_is_one_line(project):
    words = ["repro", "--shards", "2", "--shard-launcher", "tcp://127.0.0.1:9"]
    status, output = call(project, *words)
    assert status == 1
    assert "tcp://127.0.0.1:9" in output
    assert "Traceback" not in output
