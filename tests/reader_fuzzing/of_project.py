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
    """The state root of an example, and what the system rejects told as stages tell it."""
    from asterism.core.files.os_errors import rejections_told

    before = os.environ["ASTERISM_STATE_ROOT"]
    os.environ["ASTERISM_STATE_ROOT"] = str(folder)
    try:
        with rejections_told():
            yield
    finally:
        os.environ["ASTERISM_STATE_ROOT"] = before


def _read_params(path: Path) -> object:
    from asterism.config import Params
    from asterism.core.parameters.params import read_params

    return read_params(Params, path)


def _params_seeds(folder: Path) -> None:
    (place(folder, 0) / "params.yaml").write_bytes((ROOT / "params.yaml").read_bytes())


register(
    Reader("params.yaml", "project", "params.yaml", _read_params, _params_seeds, 15, fresh="yaml")
)


def _read_machine(path: Path) -> object:
    from asterism.core.settings import machine

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
    from asterism.dvc_hydra.lockfile import read_entry, stage_names

    return [read_entry(path, name) for name in stage_names(path)[:3]]


def _lock_seeds(folder: Path) -> None:
    text = (ROOT / "dvc.lock").read_text()
    whole = text.split("\n  ")
    stages = [i for i, part in enumerate(whole) if not part.startswith(" ")]
    (place(folder, 0) / "dvc.lock").write_text("\n  ".join(whole[: stages[3]]) + "\n")


register(Reader("dvc.lock", "project", ".", _read_lock, _lock_seeds, 6))


def _read_sweep(path: Path) -> object:
    from asterism.sweep.app import read_records
    from asterism.sweep.executors import Shards
    from asterism.sweep.overview import write_overview
    from asterism.sweep.point import Sweep, read_point
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
            "host": "here",
            "seconds": 1.0,
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
    from asterism.sweep.executors import Shards
    from asterism.sweep.worker import ANSWER, Order, give_order

    here = place(folder, 0)
    give_order(here, Order("/project", ["fuzz"], 2, "/locks", "one-0", Shards()))
    facts = {"status": "finished", "exit_code": 0, "message": "", "ran": [], "seconds": 1.0}
    (here / ANSWER).write_text(json.dumps(facts))


register(Reader("order", "project", ".", _read_order, _order_seeds, 3))


_KEY = "0" * 32


def _read_checkpoint(path: Path) -> object:
    """Restore, save over it, forget it: names in the folder decide what is deleted."""
    from asterism.core.resuming.checkpoints import Checkpoint
    from asterism.core.resuming.state import Run

    with _state_in(path):
        checkpoint = Checkpoint(Run("fuzz-state", _KEY).checkpoint("0"))
        found = checkpoint.restore(lambda folder: (folder / "a.json").read_text(encoding="utf-8"))
        checkpoint.save(lambda folder: (folder / "a.json").write_text("1") and None)
        checkpoint.discard()
    return found


def _checkpoint_seeds(folder: Path) -> None:
    from asterism.core.resuming.checkpoints import Checkpoint
    from asterism.core.resuming.state import Run

    here = place(folder, 0)
    with _state_in(here):
        checkpoint = Checkpoint(Run("fuzz-state", _KEY).checkpoint("0"))
        for text in ("1", "2"):
            checkpoint.save(lambda folder, text=text: (folder / "a.json").write_text(text))


register(Reader("checkpoint", "project", ".", _read_checkpoint, _checkpoint_seeds, 8))


def _read_parts(path: Path) -> object:
    """Gather two parts that are there: one that cannot be read is computed again."""
    from asterism.core.resuming.work_units import SharedWorkUnits
    from asterism.deepstellar.campaigns.population import Population
    from reader_fuzzing.of_results import population

    with _state_in(path):
        parts = SharedWorkUnits("fuzz-state", _KEY)
        found = parts.gather(dict.fromkeys(("0", "1"), lambda _: population()), Population.load)
        parts.finish()
    return len(found)


def _parts_seeds(folder: Path) -> None:
    from asterism.core.resuming.work_units import SharedWorkUnits
    from reader_fuzzing.of_results import population

    here = place(folder, 0)
    with _state_in(here):
        parts = SharedWorkUnits("fuzz-state", _KEY)
        parts.gather(dict.fromkeys(("0", "1"), lambda _: population()), lambda path: path)
        parts.finish()


register(Reader("parts", "project", ".", _read_parts, _parts_seeds, 8))


def _read_state(path: Path) -> object:
    """List what lies below the state root, and clean it, as ``asterism state --clean`` does."""
    from asterism.core.resuming.tidying import clean, entries, tidy

    with _state_in(path):
        told = [(entry.status, entry.size, clean(entry, 0.0, dry=False)) for entry in entries()]
        tidy()
    return told


register(Reader("state", "project", ".", _read_state, _parts_seeds, 6))


def _read_cache_entry(path: Path) -> object:
    """Entries of the run-cache: one that is bad is removed."""
    import contextlib
    import io

    from asterism.dvc_hydra import run_cache

    with contextlib.redirect_stderr(io.StringIO()):
        found = list(run_cache.entries(path))
    for entry in found:
        assert all(out["path"].startswith("artifacts/") for out in entry["outs"]), entry
    return found


def _cache_entry_seeds(folder: Path) -> None:
    import hashlib

    from asterism.dvc_hydra.documents import dump_as_dvc
    from asterism.dvc_hydra.run_cache import key_of

    digest = hashlib.md5(b"x").hexdigest()
    for number, name in enumerate(("artifacts/one", "artifacts/two/table.csv")):
        entry = {
            "cmd": "python stages one",
            "deps": [{"path": "src/a.py", "hash": "md5", "md5": digest, "size": 1}],
            "params": {"params.yaml": {"seed": 0}},
            "outs": [{"path": name, "hash": "md5", "md5": digest, "size": 1}],
        }
        key = key_of(entry)
        target = place(folder, number) / "runs" / key[:2] / key / ("0" * 64)
        target.parent.mkdir(parents=True)
        target.write_text(dump_as_dvc(entry))


register(Reader("run-cache entry", "project", ".", _read_cache_entry, _cache_entry_seeds, 8))


def _read_file_list(path: Path) -> object:
    """The list of a folder's files, before DVC reads it."""
    from asterism.core.files.artifacts import read_json
    from asterism.dvc_hydra.cache_rules import fault_in_list

    reason = fault_in_list(read_json(path))
    assert reason is None or "\n" not in reason
    return reason


def _file_list_seeds(folder: Path) -> None:
    listed = [{"md5": "9aa174bff40a083509a0d0878dc759ec", "relpath": name} for name in ("a", "b/c")]
    (place(folder, 0) / "list.json").write_text(json.dumps(listed))


register(Reader("folder's list", "project", "list.json", _read_file_list, _file_list_seeds, 4))


def _read_drawing(path: Path) -> object:
    """A drawing of the cache in the report: the page holds an image, and nothing that runs."""
    from html.parser import HTMLParser

    from asterism.report.base.document import write_document
    from asterism.report.base.pictures import svg_file
    from asterism.report.base.section import ReportSection

    target = path.parent / "index.html"
    body = svg_file(path, "a drawing", "drawing")
    section = ReportSection("a", "A", "Why?", (), body, 1)
    write_document(target, [section], "")
    found: list[str] = []

    class Page(HTMLParser):
        def handle_starttag(self, tag, attrs):
            found.append(tag)
            for name, value in attrs:
                source = name in ("src", "href", "action", "data") and not (value or "").startswith(
                    ("data:", "#")
                )
                assert not name.startswith("on") and not source, (tag, name, value)

    Page(convert_charrefs=True).feed(target.read_text(encoding="utf-8"))
    assert found.count("script") == 1, "the page's own, which its policy names by hash"
    assert not {"iframe", "object", "embed", "form", "base", "svg"} & {*found}, found
    return len(found)


def _drawing_seeds(folder: Path) -> None:
    for number, script in enumerate(
        ("", "<script>alert(1)</script>", '<a href="//x" onload="y"/>')
    ):
        text = f'<svg xmlns="http://www.w3.org/2000/svg"><rect width="9"/>{script}</svg>'
        (place(folder, number) / "graph.svg").write_text(text)


register(Reader("graph.svg", "project", "graph.svg", _read_drawing, _drawing_seeds, 4))
