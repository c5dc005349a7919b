"""What a sweep costs beside the work of its points.

    python benchmarks/sweeps.py [--points 4] [--seconds 20] [--waiting]
    python benchmarks/sweeps.py --shared 50

Run it by hand on an idle machine. It makes a copy of the project whose stages are those of dvc.yaml
but only write small files; one of them, where it is told to, keeps one core busy. So what is
measured is the sweep's and DVC's own time, on the real graph of stages.

On a machine with fewer cores than points, ``--waiting`` has that stage wait instead of work, as if
each point's work had a core of its own. The sweep's and DVC's own time still shares the cores that
there are, so that on as many cores as points side by side takes less than what it prints.

With ``--shared`` it measures one sweep only: of so many points that share all stages but the last.
It counts processor time, of the sweep and of all that it starts, which other work on the machine
changes little.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from asterism.dvc_hydra.repository import open_repository

ROOT = Path(__file__).resolve().parents[1]

#: Seconds of work that long stages of a point have, and a point of the whole default pipeline.
LONG = (150, 650)

#: The stage that works where it is told to, and the parameter that points differ in.
WORKING, VARIED = "build_dtmc", "abstraction.m"

#: The last stage, and the parameter that it alone reads when a sweep shares all other stages.
LAST, OF_LAST = "report", "triage.max_steps"

STAGE = '''\
"""Writes the outputs of a stage, and is busy for as long as it is told to."""

import json, os, sys, time
from pathlib import Path

started, name = time.perf_counter(), "-".join(sys.argv[1:])
outputs = json.loads(Path("outputs.json").read_text())[" ".join(["python stages", *sys.argv[1:]])]
busy = float(os.environ.get("BUSY", 0)) if sys.argv[1] == "{working}" else 0
if os.environ.get("WAITING"):
    time.sleep(busy)
else:
    while time.process_time() < busy:
        sum(range(10_000))
parameters = Path("params.yaml").read_text()
for output in map(Path, outputs):
    output.parent.mkdir(parents=True, exist_ok=True)
    if output.suffix == ".json":
        output.write_text(json.dumps({{"length": len(parameters)}}))
    elif output.suffix:
        output.write_text(parameters)
    else:
        output.mkdir(exist_ok=True)
        for number in range(5):
            (output / f"{{number}}.npz").write_text(f"{{number}} {{parameters}}")
Path("logs").mkdir(exist_ok=True)
Path(f"logs/{{name}}.seconds").write_text(str(time.perf_counter() - started))
'''


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    arguments.add_argument("--points", type=int, default=4)
    arguments.add_argument("--seconds", type=float, default=20, help="of work in each point")
    arguments.add_argument(
        "--waiting", action="store_true", help="wait instead, as if each point had its own core"
    )
    arguments.add_argument(
        "--shared", type=int, default=0, help="points of a sweep that share all but the last stage"
    )
    given = arguments.parse_args()
    if given.waiting:
        os.environ["WAITING"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        project = make_project(Path(folder) / "project")
        row(
            "processors",
            str(len(os.sched_getaffinity(0))),
            f"load {os.getloadavg()[0]:.1f} in the beginning",
        )
        if given.shared:
            all_but_the_last_shared(project, given.shared)
            return
        everything_cached(project, given.points)
        work(project, given.points, given.seconds)


def make_project(target: Path) -> Path:
    """A copy of this checkout whose stages do next to nothing."""
    copy_checkout(target)
    (target / "stages/__main__.py").write_text(STAGE.format(working=WORKING), encoding="utf-8")
    shell(target, "git", "init", "--quiet", "--initial-branch", "main")
    only_the_last_reads(target, OF_LAST)
    (target / "outputs.json").write_text(json.dumps(outputs(target)), encoding="utf-8")
    commit(target)
    shell(target, "dvc", "repro", "--quiet")
    commit(target)
    return target


def copy_checkout(target: Path) -> None:
    """This checkout's files, without results and without a repository."""
    listed = shell(ROOT, "git", "ls-files", "--cached", "--others", "--exclude-standard")
    for name in listed.split("\n"):
        if (ROOT / name).is_file() and name != "dvc.lock":
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def only_the_last_reads(project: Path, parameter: str) -> None:
    """Take a parameter's section from the stage that reads it, and give it to the last one."""
    path = project / "dvc.yaml"
    pipeline = yaml.safe_load(path.read_text(encoding="utf-8"))
    section = parameter.partition(".")[0]
    for stage in pipeline["stages"].values():
        facts = stage.get("do", stage)
        facts["params"] = [name for name in facts.get("params", []) if name != section]
    pipeline["stages"][LAST]["params"].append(parameter)
    path.write_text(yaml.safe_dump(pipeline, sort_keys=False), encoding="utf-8")


def outputs(project: Path) -> dict[str, list[str]]:
    """Paths that each stage writes, by its command; in folders the files that others read too."""
    stages = open_repository(project).stages.values()
    read = {path for stage in stages for path in stage.inputs}
    written = {" ".join(shlex.split(" ".join(stage.commands))): stage.outputs for stage in stages}
    return {
        command: [
            str(path.relative_to(project))
            for out in outs
            for path in (out, *sorted(p for p in read if out in p.parents))
        ]
        for command, outs in written.items()
    }


def all_but_the_last_shared(project: Path, points: int) -> None:
    """A sweep of points that run one stage each, in processor seconds and by the clock."""
    values = ",".join(str(100 + number) for number in range(points))
    before = processor_seconds()
    took, records = sweep(project, "shared", f"{OF_LAST}={values}")
    spent = processor_seconds() - before
    assert all(record["ran"] == [LAST] for record in records)
    row(f"{points} points that share all but {LAST}", f"{spent:.1f} s", "of processors")
    row("for each point", f"{spent / points:.2f} s", f"{took / points:.2f} s by the clock")


def processor_seconds() -> float:
    """Of all processes that this one has started and that have ended, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def everything_cached(project: Path, points: int) -> None:
    """A sweep whose every stage is in the cache."""
    values = ",".join(str(2 + n) for n in range(points))
    sweep(project, "cached", f"{VARIED}={values}")
    took, records = sweep(project, "cached", f"{VARIED}={values}")
    assert not any(record["ran"] for record in records)
    each = sum(record["total_seconds"] for record in records) / points
    row("a fully cached point", f"{each:.1f} s", "at most 5 s")
    row(f"the whole sweep of {points} of them", f"{took:.1f} s", f"{took / points:.1f} s a point")


def work(project: Path, points: int, seconds: float) -> None:
    """Independent points of one core's work each, one after another and side by side."""
    values = [str(20 + n) for n in range(3 * points)]
    by_hand = repro(project, values[2 * points :], busy=seconds)
    row(f"{points} points by `dvc repro`, in one workspace", f"{by_hand:.1f} s", "")
    serial, _ = sweep(project, "serial", f"{VARIED}={','.join(values[:points])}", busy=seconds)
    own = own_work(project, "serial")
    row(
        f"{points} points, one after another", f"{serial:.1f} s", f"{own:.1f} s of them the stages'"
    )
    row("beyond `dvc repro`", f"{(serial - by_hand) / by_hand:.0%}", "at most 10%, on 4 processors")
    row("beyond the stages' own work", f"{(serial - own) / own:.0%}", "")
    cost = (serial - own) / points
    reckoned = ", ".join(f"{cost / long:.0%} of {long} s" for long in LONG)
    row("which is, for each point", f"{cost:.1f} s", f"reckoned: {reckoned}")
    launcher = ["hydra/launcher=joblib", f"hydra.launcher.n_jobs={points}"]
    swept = f"{VARIED}={','.join(values[points : 2 * points])}"
    parallel, _ = sweep(project, "parallel", swept, *launcher, busy=seconds)
    row("the same side by side (joblib)", f"{parallel:.1f} s", "")
    row("of the serial time", f"{parallel / serial:.0%}", "at most 40%: 4 points, 4 processors")


def repro(project: Path, values: Sequence[str], busy: float) -> float:
    """Seconds that DVC itself takes for the same stages, one point after another."""
    took = 0.0
    for value in values:
        asterism(project, "params", f"{VARIED}={value}")
        started = time.perf_counter()
        shell(project, "dvc", "repro", "--quiet", BUSY=str(busy))
        took += time.perf_counter() - started
    shell(project, "git", "checkout", "--quiet", ".")
    return took


def sweep(
    project: Path, name: str, *arguments: str, busy: float = 0
) -> tuple[float, list[dict[str, Any]]]:
    """Seconds that a sweep took, and its points' records."""
    started = time.perf_counter()
    asterism(project, "sweep", "--name", name, *arguments, BUSY=str(busy))
    took = time.perf_counter() - started
    folder = project / "sweeps" / name / "points"
    return took, [json.loads(p.read_text()) for p in sorted(folder.glob("*/record.json"))]


def own_work(project: Path, name: str) -> float:
    """Seconds that the stages of a sweep's points took, as they measured it."""
    found = (project / "sweeps" / name / "points").glob("*/logs/*.seconds")
    return sum(float(path.read_text()) for path in found)


def asterism(project: Path, *arguments: str, **variables: str) -> None:
    program = "from asterism.cli import main; main()"
    shell(project, sys.executable, "-c", program, *arguments, **variables)


def commit(project: Path) -> None:
    shell(project, "git", "add", "--all")
    who = ["-c", "user.name=benchmark", "-c", "user.email=benchmark@localhost"]
    shell(project, "git", *who, "commit", "--quiet", "--message", "benchmark")


def shell(folder: Path, *command: str, **variables: str) -> str:
    """What a command prints.

    Raises:
        SystemExit: it failed.
    """
    environment = (
        os.environ
        | variables
        | {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / "src"),
            "PYTHONHASHSEED": "0",
        }
    )
    result = subprocess.run(
        command, cwd=folder, env=environment, text=True, capture_output=True, check=False
    )
    if result.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{result.stdout[-2000:]}{result.stderr[-2000:]}")
    return result.stdout.strip()


def row(what: str, measured: str, told: str) -> None:
    print(f"{what:46}{measured:>12}   {told}", flush=True)


if __name__ == "__main__":
    main()
