"""A stage ends when it is told to, whatever its code is at, and takes along what it started."""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest

from marked import Marked, wait_until
from places import ROOT
from thinning import every

#: Code that never comes back to Python's own loop, with the interpreter's lock and without.
REGULAR_EXPRESSION = "import re; re.match('(a+)+$', 'a' * 60 + 'b')"
SLEEP_WITH_THE_LOCK = "import ctypes; ctypes.PyDLL(None).sleep(1000)"
SLEEP_WITHOUT = "import ctypes; ctypes.CDLL(None).sleep(1000)"
ENDLESS = [REGULAR_EXPRESSION, SLEEP_WITH_THE_LOCK, SLEEP_WITHOUT]

#: A child in a session of its own, whose own child is in another one, and both hold the lock.
FAMILY = f"""
import subprocess, sys
child = '''
import subprocess, sys
subprocess.Popen([sys.executable, "-c", {SLEEP_WITH_THE_LOCK!r}], start_new_session=True)
{SLEEP_WITH_THE_LOCK}
'''
subprocess.Popen([sys.executable, "-c", child], start_new_session=True)
"""

STAGE = """\
\"\"\"A stage for the test.\"\"\"
from asterism.core.parameters.params import ParameterSection
class Params(ParameterSection):
    seed: int
def run(params):
    import os, pathlib, tempfile
    tempfile.mkdtemp(prefix="of-the-stage-")
    exec(os.environ["FIRST"])
    pathlib.Path("began").touch()
    exec(os.environ["BODY"])
    pathlib.Path("written").touch()
"""

#: A parent as DVC is one: it waits for the stage, in a session of its own.
PARENT = "import subprocess, sys; subprocess.run([sys.executable, 'stages', 'one'])"


@pytest.fixture
def project(tmp_path):
    (tmp_path / "stages").mkdir()
    (tmp_path / "src").symlink_to(ROOT / "src")
    main = (ROOT / "stages" / "__main__.py").read_text(encoding="utf-8")
    (tmp_path / "stages" / "__main__.py").write_text(main)
    (tmp_path / "stages" / "one.py").write_text(STAGE)
    (tmp_path / "params.yaml").write_text("seed: 1\n")
    (tmp_path / "temporary").mkdir()
    return tmp_path


class Run:
    """A stage that runs below a parent, and all that it has started."""

    def __init__(self, project, body, first="pass", ignored=()):
        self.project, self.marked = project, Marked()
        environment = self.marked.environment | {
            "FIRST": first,
            "BODY": body,
            "TMPDIR": str(project / "temporary"),
        }
        for name in ("began", "written"):
            (project / name).unlink(missing_ok=True)

        def dispositions():  # whatever the tests were started from
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)

        self.parent = subprocess.Popen(
            [sys.executable, "-c", PARENT],
            cwd=project,
            env=environment,
            start_new_session=True,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=dispositions,
        )

    def wait_until_it_began(self):
        wait_until(lambda: (self.project / "began").exists() or self.parent.poll() is not None)
        assert (self.project / "began").exists()
        return self

    def chain(self):
        """The processes of the stage: supervisor, reaper and worker."""
        found, below = [], psutil.Process(self.parent.pid)
        for _ in range(3):
            (below,) = [c for c in below.children() if "stages" in c.cmdline()]
            found.append(below)
        return found

    def assert_nothing_is_left(self):
        assert self.marked.left() == []
        assert not (self.project / "written").exists()
        assert list((self.project / "temporary").iterdir()) == []


def run_alone(project, body, **more):
    """A stage that is run to its end, below this process."""
    environment = {**os.environ, "FIRST": "pass", "BODY": body, **more}
    command = [sys.executable, "stages", "one"]
    return subprocess.run(
        command, cwd=project, env=environment, text=True, capture_output=True, check=False
    )


@pytest.mark.parametrize("body", ENDLESS)
@pytest.mark.parametrize("number", every(3, [signal.SIGTERM, signal.SIGINT, signal.SIGKILL]))
def test_a_signal_ends_a_stage_that_hears_none(project, body, number):
    """To the group, as a terminal sends it; SIGKILL to the parent alone."""
    run = Run(project, body, FAMILY).wait_until_it_began()
    if number == signal.SIGKILL:
        run.parent.kill()
    else:
        os.killpg(run.parent.pid, number)
    run.assert_nothing_is_left()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_the_stage_alone_is_told_in_a_line(project, number):
    run = Run(project, SLEEP_WITH_THE_LOCK, FAMILY).wait_until_it_began()
    os.kill(psutil.Process(run.parent.pid).children()[0].pid, number)
    _, errors = run.parent.communicate(timeout=60)
    assert errors.splitlines()[-1] == "error: one: interrupted; the same command resumes it"
    assert "Traceback" not in errors
    run.assert_nothing_is_left()


@pytest.mark.parametrize("who", [0, 1, 2])
def test_whichever_of_its_processes_is_killed_the_others_go_too(project, who):
    run = Run(project, SLEEP_WITH_THE_LOCK, FAMILY).wait_until_it_began()
    run.chain()[who].kill()
    run.assert_nothing_is_left()


def test_supervisor_and_parent_may_be_killed_together(project):
    """As a sweep ends a point that does not listen: by SIGKILL to the group."""
    run = Run(project, SLEEP_WITH_THE_LOCK, FAMILY).wait_until_it_began()
    os.killpg(run.parent.pid, signal.SIGKILL)
    run.assert_nothing_is_left()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a thread watches, which may starve")
def test_a_stage_ends_with_both_processes_that_watch_over_it(project):
    """As where memory runs out. Nobody has time to end the stage, so the system has to."""
    run = Run(project, SLEEP_WITH_THE_LOCK).wait_until_it_began()
    supervisor, reaper, _ = run.chain()
    reaper.suspend()
    supervisor.kill()
    reaper.kill()
    assert run.marked.left() == []
    assert not (project / "written").exists()


def test_what_a_stage_leaves_running_ends_with_it(project):
    run = Run(project, "pass", FAMILY)
    assert run.parent.wait(60) == 0
    assert run.marked.left() == []
    assert (project / "written").exists()
    assert list((project / "temporary").iterdir()) == []


def test_a_signal_that_was_ignored_at_the_start_stays_so(project):
    """A shell starts its background jobs so that Ctrl-C, which is for others, passes them by."""
    hold = "import pathlib, time\nwhile not pathlib.Path('go').exists(): time.sleep(0.05)"
    run = Run(project, hold, ignored=[signal.SIGINT]).wait_until_it_began()
    os.killpg(run.parent.pid, signal.SIGINT)
    time.sleep(0.5)
    (project / "go").touch()
    assert run.parent.wait(60) == 0
    assert (project / "written").exists()


def test_the_exit_status_tells_what_ended_the_work(project):
    for body, expected, told in [
        ("import os; os._exit(7)", 7, ""),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", 139, "SIGSEGV ended"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 137, "memory ran out"),
    ]:
        ended = run_alone(project, body)
        assert (ended.returncode, told in ended.stderr) == (expected, True), ended.stderr


def test_ctrl_z_stops_the_work_and_fg_goes_on(project):
    count = "import pathlib\nfor n in range(10**9): pathlib.Path('count').write_text(str(n))"
    run = Run(project, count).wait_until_it_began()
    supervisor, _, worker = run.chain()
    os.kill(supervisor.pid, signal.SIGTSTP)
    wait_until(lambda: {supervisor.status(), worker.status()} == {psutil.STATUS_STOPPED})
    before = (project / "count").read_text()
    time.sleep(0.3)
    assert (project / "count").read_text() == before
    os.kill(supervisor.pid, signal.SIGCONT)
    wait_until(lambda: (project / "count").read_text() != before)
    os.kill(supervisor.pid, signal.SIGTERM)
    run.assert_nothing_is_left()


@pytest.mark.parametrize("attempts", [4, pytest.param(40, marks=pytest.mark.slow)])
def test_no_moment_is_too_early_for_an_interrupt(project, attempts):
    """While Python starts, while modules are imported, and while an object is taken down."""
    body = "class A:\n    def __del__(self):\n        sum(range(2000))\nwhile True: A()"
    moments = random.Random(9)
    for attempt in range(attempts):
        run = Run(project, body)
        time.sleep(moments.uniform(0, 1.5))
        if attempt % 2:
            os.killpg(run.parent.pid, moments.choice([signal.SIGINT, signal.SIGTERM]))
        else:
            run.parent.kill()
        run.assert_nothing_is_left()


def test_without_a_place_for_temporary_files_the_stage_runs(project):
    assert Path(tempfile.gettempdir()).is_dir()
    assert run_alone(project, "pass", TMPDIR="/nowhere").returncode == 0
