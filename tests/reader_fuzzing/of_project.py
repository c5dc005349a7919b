"""Readers of what describes a project and its runs: parameters, facts, locks, sweeps, state."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from pathlib import Path

from reader_fuzzing.of_data import place
from reader_fuzzing.table import ROOT, Reader, register


@contextmanager
def _state_in(folder: Path):
    """The state root of an example."""
    before = os.environ["ASTERISM_STATE_ROOT"]
    os.environ["ASTERISM_STATE_ROOT"] = str(folder)
    try:
        yield
    finally:
        os.environ["ASTERISM_STATE_ROOT"] = before


def _read_params(path: Path) -> object:
    from asterism.config import Params
    from asterism.core.params import read_params

    return read_params(Params, path)


def _params_seeds(folder: Path) -> None:
    (place(folder, 0) / "params.yaml").write_bytes((ROOT / "params.yaml").read_bytes())


register(
    Reader("params.yaml", "project", "params.yaml", _read_params, _params_seeds, 15, fresh="yaml")
)


def _read_machine(path: Path) -> object:
    from asterism.core import machine

    here = Path.cwd()
    kept = {k: os.environ.pop(k) for k in list(os.environ) if k.startswith("ASTERISM_")}
    os.chdir(path)
    try:
        return machine.data_root(), machine.state_root()
    finally:
        os.chdir(here)
        os.environ.update(kept)


def _machine_seeds(folder: Path) -> None:
    text = "data:\n  root: /where/data/lie\nstate:\n  root: ~/state\n"
    (place(folder, 0) / "machine.yaml").write_text(text)


register(Reader("machine.yaml", "project", ".", _read_machine, _machine_seeds, 8, fresh="yaml"))


def _read_resources(path: Path) -> object:
    from asterism.sweep.resources import read_table

    return read_table(path).request(["fuzz@state"])


def _resources_seeds(folder: Path) -> None:
    target = place(folder, 0) / "conf/hydra/resources.yaml"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes((ROOT / "conf/hydra/resources.yaml").read_bytes())


register(Reader("resources.yaml", "project", ".", _read_resources, _resources_seeds, 4))


def _read_lock(path: Path) -> object:
    from asterism.sweep.lockfile import read_entry, stage_names

    return [read_entry(path, name) for name in stage_names(path)[:3]]


def _lock_seeds(folder: Path) -> None:
    text = (ROOT / "dvc.lock").read_text()
    whole = text.split("\n  ")
    stages = [i for i, part in enumerate(whole) if not part.startswith(" ")]
    (place(folder, 0) / "dvc.lock").write_text("\n  ".join(whole[: stages[3]]) + "\n")


register(Reader("dvc.lock", "project", ".", _read_lock, _lock_seeds, 6))


def _read_sweep(path: Path) -> object:
    from asterism.sweep.app import read_records
    from asterism.sweep.overview import write_overview
    from asterism.sweep.point import Sweep, read_point
    from asterism.sweep.shards import Shards
    from asterism.sweep.table import write_outcome

    sweep = Sweep("one", path, "HEAD", path / "cache", (), 1, Shards())
    point = read_point(sweep, 0)
    table = write_outcome(sweep.folder, read_records(sweep, [point]), sweep.name)
    write_overview(sweep.folder.parent)
    return table


def _sweep_seeds(folder: Path) -> None:
    here = place(folder, 0) / "sweeps/one"
    for number in range(2):
        point = here / f"points/{number:04d}"
        point.mkdir(parents=True)
        facts = {
            "number": number,
            "overrides": [f"abstraction.k={number + 2}"],
            "experiment": f"one-{number}",
            "metrics": {"metrics/fuzz.json:crashes": 1.5 * number, "metrics/x.json:a.b": 3.0},
            "total_seconds": 1.25,
            "ran": ["fuzz"],
            "status": "finished",
            "exit_code": 0,
            "message": "",
        }
        (point / "record.json").write_text(json.dumps(facts))
        (point / "log.txt").write_text("one line\n")
    (here / "composed").mkdir()
    order = {"number": 0, "overrides": ["abstraction.k=2"], "composition": "a: 1\n"}
    (here / "composed/0000.json").write_text(json.dumps(order))


register(Reader("sweep", "project", ".", _read_sweep, _sweep_seeds, 3))


def _read_order(path: Path) -> object:
    from asterism.sweep.worker import read_answer, read_order

    return read_order(path), read_answer(path)


def _order_seeds(folder: Path) -> None:
    from asterism.sweep.shards import Shards
    from asterism.sweep.worker import ANSWER, Order, give_order

    here = place(folder, 0)
    give_order(here, Order("/project", ["fuzz"], 2, "/locks", "one-0", Shards()))
    facts = {"status": "finished", "exit_code": 0, "message": "", "ran": [], "seconds": 1.0}
    (here / ANSWER).write_text(json.dumps(facts))


register(Reader("order", "project", ".", _read_order, _order_seeds, 3))


def _read_checkpoint(path: Path) -> object:
    """Load, save over it, forget it: the pointer decides what is deleted."""
    from asterism.core.checkpoints import Checkpoint

    with _state_in(path):
        checkpoint = Checkpoint("fuzz-state", "0" * 64)
        found = checkpoint.load()
        state = None if found is None else sorted(file.name for file in found.iterdir())
        checkpoint.save(lambda folder: (folder / "progress.json").write_text("1"))
        checkpoint.discard()
    return state


def _checkpoint_seeds(folder: Path) -> None:
    from asterism.core.checkpoints import Checkpoint

    here = place(folder, 0)
    with _state_in(here):
        checkpoint = Checkpoint("fuzz-state", "0" * 64)
        for text in ("1", "2"):
            checkpoint.save(lambda folder, text=text: (folder / "a.json").write_text(text))


register(Reader("checkpoint", "project", ".", _read_checkpoint, _checkpoint_seeds, 8))


def _parts_seeds(folder: Path) -> None:
    from asterism.core.parts import SharedParts
    from reader_fuzzing.of_results import population

    here = place(folder, 0)
    with _state_in(here):
        parts = SharedParts("fuzz-state", "0" * 64)
        parts.gather(dict.fromkeys(("0", "1"), lambda _: population()), lambda path: path)


def _read_parts(path: Path) -> object:
    """Gather two parts that are there: one that cannot be read is computed again."""
    from asterism.core.parts import SharedParts
    from asterism.deepstellar.fuzzing.population import Population
    from reader_fuzzing.of_results import population

    with _state_in(path):
        parts = SharedParts("fuzz-state", "0" * 64)
        found = parts.gather(dict.fromkeys(("0", "1"), lambda _: population()), Population.load)
        parts.discard()
    return len(found)


register(Reader("parts", "project", ".", _read_parts, _parts_seeds, 6))
