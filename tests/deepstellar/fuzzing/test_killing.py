"""A campaign that is killed, really killed, ends with the same bytes as one left in peace."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from worlds import load_world, params

from asterism.core.files.artifacts import write_json, write_table
from asterism.core.resuming import checkpoints
from asterism.core.resuming.work_units import SharedWorkUnits
from asterism.deepstellar.fuzzing import results
from asterism.deepstellar.fuzzing.fuzz import fuzz

SCRIPT = Path(__file__)
SOURCE = Path(__file__).parents[3] / "src"


def main(network: Path, folder: Path) -> None:
    """Run a campaign, in a process of its own that may be killed."""
    checkpoints.SAVE_EVERY = 0
    world = load_world(network)
    settings = params(mutants=12_000, islands=2)
    islands = SharedWorkUnits("fuzz", "key")
    found = fuzz(world.network, world.model, world.seeds, settings, "transition", 1, islands)
    crashes = results.save_population(found, list(settings.mutators), folder)
    write_json(folder / "metrics.json", results.campaign_metrics(found, crashes))
    write_table(folder / "history.csv", results.history_columns(found))


def start(network: Path, folder: Path, state: Path) -> subprocess.Popen[bytes]:
    environment = {
        **os.environ,
        "ASTERISM_STATE_ROOT": str(state),
        "PYTHONPATH": f"{SOURCE}{os.pathsep}{SCRIPT.parent}",
    }
    return subprocess.Popen([sys.executable, SCRIPT, network, folder], env=environment)


def savings(state: Path, island: int) -> int:
    """How often an island's state was saved."""
    states = state.glob(f"units/fuzz/*/island-{island}.checkpoint/[0-9]*")
    return max((int(folder.name) for folder in states), default=-1)


def kill_after(process: subprocess.Popen[bytes], state: Path, island: int, count: int) -> None:
    deadline = time.monotonic() + 120
    while savings(state, island) < count:
        assert process.poll() is None, "the campaign ended before it could be killed"
        assert time.monotonic() < deadline, "the campaign saves nothing"
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL


@pytest.mark.slow
def test_killed_campaigns_end_with_the_same_bytes(network_file: Path, tmp_path: Path) -> None:
    peaceful, disturbed = tmp_path / "peaceful", tmp_path / "disturbed"
    assert start(network_file, peaceful, tmp_path / "state_1").wait() == 0
    state = tmp_path / "state_2"
    for island, count in ((0, 3), (0, 17), (1, 2)):
        kill_after(start(network_file, disturbed, state), state, island, count)
        assert not disturbed.exists()
    assert start(network_file, disturbed, state).wait() == 0
    files = sorted(p.name for p in peaceful.iterdir())
    assert len(files) == 7
    assert files == sorted(p.name for p in disturbed.iterdir())
    for name in files:
        assert (peaceful / name).read_bytes() == (disturbed / name).read_bytes(), name


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
