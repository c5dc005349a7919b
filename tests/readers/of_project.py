"""What describes a project and its runs: parameters, facts, locks, sweeps, saved state."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
from collections.abc import Iterator
from pathlib import Path

from asterism.config import Params
from asterism.core.files.artifacts import read_json
from asterism.core.files.os_errors import report_os_errors
from asterism.core.files.records import read_record, write_record
from asterism.core.parameters.params import read_params
from asterism.core.resuming.checkpoints import Checkpoint
from asterism.core.resuming.state import RunState
from asterism.core.resuming.work_units import SharedWorkUnits
from asterism.core.settings import machine
from asterism.deepstellar.fuzzing.population import Population
from asterism.dvc_hydra import run_cache
from asterism.dvc_hydra.cache_files import fault_in_list
from asterism.dvc_hydra.lockfile import dump_as_dvc, read_locked_stage, stage_names
from asterism.dvc_hydra.saved_state import clean_run, remove_unneeded_state, saved_runs
from asterism.report.base.pictures import svg_file
from asterism.sweep.app import read_records
from asterism.sweep.executors import Shards
from asterism.sweep.point import read_point
from asterism.sweep.resources import read_table
from asterism.sweep.table import write_outcome, write_overview
from asterism.sweep.worker import RESULT, SWEEP, Sweep, SweepRequest, read_result
from places import ROOT
from readers.examples import Places
from readers.of_results import population

_KEY = "0" * 32


@contextlib.contextmanager
def _state_in(folder: Path) -> Iterator[None]:
    """The state root of an example, and what the system rejects told as stages tell it."""
    before = os.environ["ASTERISM_STATE_ROOT"]
    os.environ["ASTERISM_STATE_ROOT"] = str(folder)
    try:
        with report_os_errors():
            yield
    finally:
        os.environ["ASTERISM_STATE_ROOT"] = before


def read_parameters(path: Path) -> object:
    return read_params(Params, path)


def parameters_files(place: Places) -> None:
    (place(0) / "params.yaml").write_bytes((ROOT / "params.yaml").read_bytes())


def read_machine(path: Path) -> object:
    here = Path.cwd()
    kept = {k: os.environ.pop(k) for k in list(os.environ) if k.startswith("ASTERISM_")}
    os.chdir(path)
    try:
        return machine.data_root(), machine.state_root()
    finally:
        os.chdir(here)
        os.environ.update(kept)


def machine_files(place: Places) -> None:
    text = "data:\n  root: /where/data/lie\nstate:\n  root: ~/state\n"
    (place(0) / "machine.yaml").write_text(text)


def use_resources(path: Path) -> object:
    return read_table(path).request(["fuzz@state"])


def resources_files(place: Places) -> None:
    target = place(0) / "conf/hydra/resources.yaml"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes((ROOT / "conf/hydra/resources.yaml").read_bytes())


def read_lock(path: Path) -> object:
    return [read_locked_stage(path, name) for name in stage_names(path)[:3]]


def lock_files(place: Places) -> None:
    whole = (ROOT / "dvc.lock").read_text().split("\n  ")
    stages = [i for i, part in enumerate(whole) if not part.startswith(" ")]
    (place(0) / "dvc.lock").write_text("\n  ".join(whole[: stages[3]]) + "\n")


def read_sweep(path: Path) -> object:
    sweep = Sweep("one", path, "HEAD", path / "cache", SweepRequest(), Shards())
    point = read_point(sweep, 0)
    table = write_outcome(sweep.folder, read_records(sweep, [point]), sweep.name)
    write_overview(sweep.folder.parent)
    return table


_OUTCOME = {"status": "finished", "exit_code": 0, "message": "", "seconds": 1.0}


def sweep_files(place: Places) -> None:
    here = place(0) / "sweeps/one"
    for number in range(2):
        point = here / f"points/{number:04d}"
        point.mkdir(parents=True)
        facts = _OUTCOME | {
            "number": number,
            "overrides": [f"abstraction.k={number + 2}"],
            "experiment": f"one-{number}",
            "metrics": {"metrics/fuzz.json:crashes": 1.5 * number, "metrics/x.json:a.b": 3.0},
            "total_seconds": 1.25,
            "ran": ["fuzz"],
            "host": "here",
        }
        (point / "record.json").write_text(json.dumps(facts))
        (point / "log.txt").write_text("one line\n")
    (here / "composed").mkdir()
    order = {"number": 0, "overrides": ["abstraction.k=2"], "composition": "a: 1\n"}
    (here / "composed/0000.json").write_text(json.dumps(order))


def read_orders(path: Path) -> object:
    return read_record(Sweep, path / SWEEP), read_result(path)


def orders_files(place: Places) -> None:
    root, request = Path("/project"), SweepRequest(targets=("fuzz",), jobs=2)
    sweep = Sweep("one", root, "HEAD", root / ".dvc/cache", request, Shards())
    write_record(place(0) / SWEEP, sweep)
    (place(0) / RESULT).write_text(json.dumps(_OUTCOME | {"ran": []}))


def use_checkpoint(path: Path) -> object:
    """Restore, save over it, forget it: names in the folder decide what is deleted."""
    with _state_in(path):
        checkpoint = Checkpoint(RunState("fuzz-state", _KEY).checkpoint("0"))
        found = checkpoint.restore(lambda folder: (folder / "a.json").read_text(encoding="utf-8"))
        checkpoint.save(lambda folder: (folder / "a.json").write_text("1") and None)
        checkpoint.discard()
    return found


def checkpoint_files(place: Places) -> None:
    with _state_in(place(0)):
        checkpoint = Checkpoint(RunState("fuzz-state", _KEY).checkpoint("0"))
        for text in ("1", "2"):
            checkpoint.save(lambda folder, text=text: (folder / "a.json").write_text(text))


def use_parts(path: Path) -> object:
    """Gather two parts that are there: one that cannot be read is computed again."""
    with _state_in(path):
        parts = SharedWorkUnits("fuzz-state", _KEY)
        found = parts.gather(dict.fromkeys(("0", "1"), lambda _: population()), Population.load)
        parts.finish()
    return len(found)


def parts_files(place: Places) -> None:
    use_parts(place(0))


def use_state(path: Path) -> object:
    """List what lies below the state root, and clean it, as ``asterism state --clean`` does."""
    with _state_in(path):
        told = [
            (entry.status, entry.size, clean_run(entry, 0.0, dry=False)) for entry in saved_runs()
        ]
        remove_unneeded_state()
    return told


def read_cache_entry(path: Path) -> object:
    """Entries of the run-cache: one that is bad is removed."""
    with contextlib.redirect_stderr(io.StringIO()):
        found = list(run_cache.read_entries(path))
    for entry in found:
        assert all(out["path"].startswith("artifacts/") for out in entry["outs"]), entry
    return found


def cache_entry_files(place: Places) -> None:
    digest = hashlib.md5(b"x").hexdigest()
    for number, name in enumerate(("artifacts/one", "artifacts/two/table.csv")):
        entry = {
            "cmd": "python stages one",
            "deps": [{"path": "src/a.py", "hash": "md5", "md5": digest, "size": 1}],
            "params": {"params.yaml": {"seed": 0}},
            "outs": [{"path": name, "hash": "md5", "md5": digest, "size": 1}],
        }
        key = run_cache.run_cache_key(entry)
        target = place(number) / "runs" / key[:2] / key / ("0" * 64)
        target.parent.mkdir(parents=True)
        target.write_text(dump_as_dvc(entry))


def read_file_list(path: Path) -> object:
    """The list of a folder's files, before DVC reads it."""
    reason = fault_in_list(read_json(path))
    assert reason is None or "\n" not in reason
    return reason


def file_list_files(place: Places) -> None:
    listed = [{"md5": "9aa174bff40a083509a0d0878dc759ec", "relpath": name} for name in ("a", "b/c")]
    (place(0) / "list.json").write_text(json.dumps(listed))


def show_drawing(path: Path) -> object:
    """A drawing of the cache in the report."""
    return str(svg_file(path, "a drawing", "drawing"))


def drawing_files(place: Places) -> None:
    text = '<svg xmlns="http://www.w3.org/2000/svg"><rect width="9"/></svg>'
    (place(0) / "graph.svg").write_text(text)
