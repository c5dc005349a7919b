"""Asterism's configuration over a pipeline whose stages take no time: for tests of what runs it."""

import inspect
import json
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import psutil
from workspace import ENVIRONMENT, ROOT, commit, copy_project

from asterism.core.files.locks import hold_lock
from asterism.dvc_hydra.stage import Stage
from asterism.sweep.plan import PlannedStage
from marked import wait_until
from sharing_workers import shared_folder
from text_result import Text

DVC_YAML = """\
stages:
  base:
    cmd: python stages/small.py base
    deps: [stages/small.py]
    params: [seed]
    outs: [artifacts/base]
  left:
    cmd: python stages/small.py left
    deps: [stages/small.py, artifacts/base]
    params: [abstraction.k]
    metrics: [metrics/left.json]
  right:
    cmd: python stages/small.py right
    deps: [stages/small.py, artifacts/base]
    params: [fuzz.mutants]
    metrics: [metrics/right.json]
  end:
    cmd: python stages/small.py end
    deps: [stages/small.py, metrics/left.json, metrics/right.json]
    outs: [report/index.html]
"""

RESOURCES = """\
kinds:
  heavy: {partition: null, timeout_min: 20, cpus_per_task: 2, mem_gb: 2, gpus_per_node: null}
  light: {partition: null, timeout_min: 10, cpus_per_task: 1, mem_gb: 1, gpus_per_node: null}
stages: {base: light, left: light, right: heavy, end: light, long: light}
"""

SCRIPT = '''\
"""A stage that notes that it ran, waits as long as it is told, and computes next to nothing."""

import json, os, sys, time
from pathlib import Path

name = sys.argv[1]
lines = Path("params.yaml").read_text().splitlines()
value = {key: int(next(line for line in lines if line.strip().startswith(f"{key}:")).split()[1])
         for key in ("seed", "k", "mutants")}
notes = Path(os.environ["NOTES"])
with (notes / "ran").open("a") as file:
    file.write(f"{name}\\n")
print("this is", name)
if value["mutants"] == 13 and name == "right":
    print("thirteen mutants are bad luck", file=sys.stderr)
    sys.exit(3)
begun = time.monotonic()
while (notes / f"hold-{name}").exists() and time.monotonic() - begun < 60:
    time.sleep(0.05)
Path("artifacts").mkdir(exist_ok=True)
Path("metrics").mkdir(exist_ok=True)
if name == "base":
    Path("artifacts/base").write_text(str(value["seed"]))
elif name == "end":
    Path("report").mkdir(exist_ok=True)
    Path("report/index.html").write_text('report of <a href="../sweeps/index.html">')
else:
    key = {"left": "k", "right": "mutants"}[name]
    metrics = {key: value[key], "square": value[key] ** 2}
    Path(f"metrics/{name}.json").write_text(json.dumps(metrics))
'''

#: What the long stage writes.
PARTS = "".join(f"unit {n} of 0\n" for n in range(12))

#: A stage in twelve units, run by the project's own runner of stages.
LONG_YAML = """\
stages:
  long:
    cmd: python stages long
    meta: {shards: true}
    deps: [stages/long.py]
    params: [seed]
    outs: [artifacts/long]
"""

LONG = '''\
"""A stage in units, each of which notes who computed it."""

import os
import time
from functools import partial
from pathlib import Path

from asterism.core.parameters.params import ParameterSection
from asterism.core.resuming.work_units import work_units

notes = Path(os.environ["NOTES"])


class Params(ParameterSection):
    seed: int


CLASS_TEXT

def compute(number, seed, _checkpoint):
    who = os.environ.get("SLURM_JOB_ID", "") + "-" + str(os.getpid())
    with (notes / "units").open("a") as file:
        file.write(f"{number} {who}\\n")
    begun = time.monotonic()
    while time.monotonic() - begun < 120:  # until as many processes are at it as there should be
        everybody = {line.split()[1] for line in (notes / "units").read_text().splitlines()}
        enough = len(everybody) >= int((notes / "expected").read_text())
        if enough and not (notes / f"hold-{number}").exists():
            break
        time.sleep(0.05)
    return Text(f"unit {number} of {seed}\\n")


def run(params):
    shared = work_units("long", params, [])
    jobs = {str(n): partial(compute, n, params.seed) for n in range(12)}
    found = shared.gather(jobs, Text.load)
    Path("artifacts").mkdir(exist_ok=True)
    Path("artifacts/long").write_text("".join(unit.text for unit in found))
    shared.finish()
'''.replace("CLASS_TEXT", inspect.getsource(Text))


@cache
def template(long):
    """A project that has not run: made once, by the first worker of a session that needs one."""
    made = shared_folder() / ("long" if long else "small")
    with hold_lock(made.with_suffix(".lock")):
        if not made.exists():
            _make(made.with_suffix(".new"), long)
            made.with_suffix(".new").rename(made)
    return made


def _make(root, long):
    copy_project(root, [])
    (root / "dvc.yaml").write_text(LONG_YAML if long else DVC_YAML)
    (root / "conf/hydra/resources.yaml").write_text(RESOURCES)
    for script in (root / "stages").glob("[!_]*.py"):
        script.unlink()
    name, script = ("long.py", LONG) if long else ("small.py", SCRIPT)
    (root / "stages" / name).write_text(script)
    commit(root, "small")


class Project:
    """A project with the small pipeline, or with that of one long stage."""

    def __init__(self, folder, copied=None, long=False):
        self.root = folder / "project"
        self.notes = folder / "notes"
        self.notes.mkdir(parents=True)
        source = template(long) if copied is None else copied.root
        shutil.copytree(source, self.root, symlinks=True)
        self.environment = ENVIRONMENT | {
            "NOTES": str(self.notes),
            "ASTERISM_STATE_ROOT": str(folder / "state"),
            "ASTERISM_PROGRAMS_ROOT": str(folder / "programs"),
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]),
        }

    def ran(self):
        """Names of stages whose commands ran, sorted, since the last call."""
        path = self.notes / "ran"
        names = path.read_text().split() if path.exists() else []
        path.unlink(missing_ok=True)
        return sorted(names)

    def set_mutants(self, count, folder=None):
        """Let the stage ``right``, here or in a clone, have another parameter than the default."""
        params = (folder or self.root) / "params.yaml"
        params.write_text(params.read_text().replace("mutants: 20000", f"mutants: {count}"))

    def expect(self, count):
        """Say how many processes are to share the long stage."""
        (self.notes / "units").unlink(missing_ok=True)
        (self.notes / "expected").write_text(str(count))

    def shared(self):
        """The units of the long stage and who began each, in the order of beginning."""
        path = self.notes / "units"
        return [line.split() for line in path.read_text().splitlines()] if path.exists() else []

    def records(self, sweep):
        """The records of a sweep's points."""
        folder = self.root / "sweeps" / sweep / "points"
        return [json.loads(p.read_text()) for p in sorted(folder.glob("*/record.json"))]

    def wait_for(self, name, count=1):
        """Wait until a stage has begun so many times."""
        path = self.notes / "ran"
        wait_until(
            lambda: path.exists() and path.read_text().split().count(name) >= count,
            f"{name} did not begin",
        )


def planned(name, *upstream, command="false", **facts):
    """A stage of a plan, which follows others."""
    stage = Stage(name, command, Path(), (), (), **facts)
    return PlannedStage(stage, upstream, f"key-{name}")


def asterism(*arguments):
    """The command line of the ``asterism`` command from this checkout's source."""
    program = "from asterism.cli import main; main()"
    return [os.sys.executable, "-c", program, *map(str, arguments)]


def start(project, *arguments, **options):
    """A running ``asterism`` command in a project; its outputs are read together."""
    return subprocess.Popen(
        asterism(*arguments),
        cwd=project.root,
        env=project.environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        **options,
    )


def call(project, *arguments):
    """Exit status and output of an ``asterism`` command in a project."""
    process = start(project, *arguments)
    try:
        output, _ = process.communicate(timeout=300)
    except subprocess.TimeoutExpired:
        hanging = psutil.Process(process.pid)
        waiting = [hanging, *hanging.children(recursive=True)]
        commands = [" ".join(one.cmdline()[-4:]) for one in waiting]
        for one in waiting:
            one.kill()
        output, _ = process.communicate()
        raise AssertionError(f"it hangs in {commands}: {output}") from None
    return process.returncode, output
