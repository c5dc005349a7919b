"""The harness that injects faults: it passes a sound stage, and names what an unsound one does."""

import json
import os
import random
import subprocess
import sys
import time

import pytest
import typer
from workspace import ROOT

sys.path.append(str(ROOT / "benchmarks"))

from faulting import clocks, projects, targets
from faulting.disturbances import DISTURBANCES, NotHereError
from faulting.table import Cell, Results, markdown
from faulting.trial import Outcome, Trial

from asterism.cli.commands import app
from asterism.config import compose

# Other modules there have the names of the tests' folders.
sys.path.remove(str(ROOT / "benchmarks"))

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux")

DVC_YAML = """\
stages:
  work:
    cmd: python work.py
    deps: [work.py]
    outs: [out]
"""

SOUND = """\
import os, time
print("] started work", flush=True)
time.sleep(1)
with open(".out.part", "w") as file:
    file.write("result")
os.replace(".out.part", "out")
print("] finished work", flush=True)
"""

#: Writes in place, gives another result when it is run again, and starts what outlives it.
UNSOUND = """\
import os, subprocess, time
print("] started work", flush=True)
os.makedirs(os.environ["ASTERISM_STATE_ROOT"], exist_ok=True)
count = os.environ["ASTERISM_STATE_ROOT"] + "/count"
with open(count, "a") as file:
    file.write("x")
with open("out", "w") as file:
    file.write("res")
    file.flush()
    subprocess.Popen(["sleep", "30"], start_new_session=True)
    time.sleep(2)
    file.write(f"ult {os.path.getsize(count) > 1}")
print("] finished work", flush=True)
time.sleep(1)
"""


@pytest.fixture
def trial(tmp_path, monkeypatch):
    """Makes a trial of a stage with the given script, in a repository of its own."""

    def make(script):
        def template(place):
            project = place / "project"
            project.mkdir(parents=True)
            (project / "work.py").write_text(script)
            (project / "dvc.yaml").write_text(DVC_YAML)
            (project / ".gitignore").write_text("/out\n")
            projects.call(place, project, "git", "init", "-q")
            projects.call(place, project, "dvc", "init", "-q")
            projects.commit(place, "start")

        monkeypatch.setitem(projects.TEMPLATES, "small", template)
        target = targets.Target(
            "work",
            "small",
            ("dvc", "repro"),
            lambda place: None,
            lambda place: [place / "project/work.py"],
            stages=("work",),
            checks_status=False,
            limit=120,
        )
        made.append(Trial(target, tmp_path / "slot", tmp_path))
        return made[0]

    made = []
    yield make
    for one in made:
        one.close()


#: Sleeps, and waits for a process; then the clocks.
WAITS = """\
import json, subprocess, sys, time
time.sleep(0.01)
child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
try:
    child.wait(0.01)
except subprocess.TimeoutExpired:
    child.communicate(b"go on")
print(json.dumps([time.time(), time.monotonic(), child.returncode]))
"""


@pytest.mark.parametrize(("offset", "days"), [("+0", 0), ("+1d", 1), ("-1d", -1)])
def test_a_moved_clock_is_the_wall_clock_only_and_waits_go_on(tmp_path, offset, days):
    told = tmp_path / "tmp" / "clock"
    variables = clocks.variables(told, tmp_path)
    if variables is None:
        pytest.skip("needs libfaketime and a C compiler")
    clocks.move(told, offset)
    said = subprocess.run(
        [sys.executable, "-I", "-c", WAITS],
        env=os.environ | variables,
        stdout=subprocess.PIPE,
        check=True,
    ).stdout
    wall, monotonic, status = json.loads(said)
    hour = 3600
    assert abs(wall - time.time() - days * 24 * hour) < hour
    assert abs(monotonic - time.monotonic()) < hour
    assert status == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault", ["kill", "interrupt", "stop", "disk", "read-only", "taken", "clock"]
)
def test_a_sound_stage_passes(trial, fault):
    sound = trial(SOUND)
    reference = sound.reference()
    assert reference.snapshot["project/out"] != "folder"
    try:
        outcomes = list(DISTURBANCES[fault][1](sound, reference, random.Random(1), range(2)))
    except NotHereError as error:
        pytest.skip(str(error))
    assert len(outcomes) == 2
    assert [outcome.problems for outcome in outcomes] == [[], []]


@pytest.mark.slow
def test_what_an_unsound_stage_does_is_named(trial, monkeypatch):
    monkeypatch.setattr("faulting.trial.GRACE_SECONDS", 1)
    monkeypatch.setattr("faulting.chains.GRACE_SECONDS", 1)
    unsound = trial(UNSOUND)
    with pytest.raises(SystemExit, match=r"leaves processes when undisturbed: \['sleep 30'\]"):
        unsound.reference()
    monkeypatch.setattr("faulting.processes.Run.left", lambda run, seconds: [])
    reference = unsound.reference()
    monkeypatch.undo()
    monkeypatch.setattr("faulting.chains.GRACE_SECONDS", 1)
    found = [
        problem
        for outcome in DISTURBANCES["kill"][1](unsound, reference, random.Random(2), range(4))
        for problem in outcome.problems
    ]
    assert "half file project/out" in found
    assert "other bytes in project/out" in found
    assert "left running: sleep 30" in found


#: They need the findings of a campaign, or the results of a checkout.
UNDISTURBED = {"add-finding", "compare", "findings", "remote"}


def test_every_command_is_interrupted():
    commands = typer.main.get_command(app).commands
    tried = {target.command[3] for target in targets.TARGETS.values() if target.is_asterism}
    assert set(commands) - tried == UNDISTURBED


def test_small_parameters_are_possible_ones_and_rows_have_versions_of_their_own():
    assert compose(ROOT / "conf", projects.SMALL)
    rows = {tuple(s.partition("@")[0] for s in t.stages) for t in targets.TARGETS.values()}
    assert len({projects.code_version(stages) for stages in rows}) == len(rows)
    assert projects.code_version(["fuzz@state"]) == projects.code_version(["fuzz@none"])


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX")
def test_the_table_says_what_was_lost_and_a_later_call_goes_on(tmp_path):
    results = Results(tmp_path / "logs" / "faults.jsonl")
    good, bad, absent = (Cell("1f", "make push", f, 0) for f in ("kill", "stop", "clock"))
    assert results.read() == {}
    results.add(good, "abc", Outcome("everything", "work"))
    results.add(bad, "abc", Outcome("2.00 s into run", "run", ["lost out"]))
    results.add(good, "def", Outcome("everything", "work"))
    results.add(absent, "def", None, "needs libfaketime")
    cells = results.read()
    assert {cell: len(found.outcomes) for cell, found in cells.items()} == {
        good: 2,
        bad: 1,
        absent: 0,
    }
    text = markdown(cells, ["make push"], "python benchmarks/faults.py")
    assert "| `make push` | 2/2 | **0/1** | needs libfaketime | def, abc |" in text
    assert "- `make push`, stopped and resumed (2.00 s into run): lost out" in text
