"""Tests in children of a process that has imported the large libraries already.

A child is forked, so that it spends nothing on those imports, and imports the project's own
modules itself, with whatever fault is in them.
"""

from __future__ import annotations

import gc
import importlib
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

#: Imported before any child is forked, where they are installed.
LIBRARIES = (
    *("numpy", "scipy.stats", "scipy.sparse", "sklearn.cluster", "sklearn.neural_network"),
    *("sklearn.linear_model", "sklearn.ensemble", "polars", "pydantic", "hypothesis", "pytest"),
    *("hypothesis.extra.numpy", "dvc", "dvc.repo", "keras", "tensorflow", "h5py", "onnx"),
    *("onnxruntime", "cv2", "torch", "jinja2", "structlog", "matplotlib.figure", "networkx"),
    *("hydra", "typer", "tqdm", "psutil", "yaml", "requests", "pooch"),
)

#: Exit code of a child in which running tests failed itself.
FAILED = 70

#: Seconds on the clock, for each second of processor time that a child may use: others may be
#: using the machine too.
_PATIENCE = 4


def import_libraries() -> None:
    """Import what children will need, and nothing of the project."""
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ["CI"] = "1"  # the same examples every time
    for name in LIBRARIES:
        try:
            importlib.import_module(name)
        except ImportError:
            continue
    # A child that looked through all their objects for garbage would copy them first.
    gc.collect()
    gc.freeze()


def run_tests(
    folder: Path, tests: Sequence[str], seconds: int, log: Path, plugins: Callable[[], list[Any]]
) -> int | None:
    """Run tests of a copy of the checkout in a child, up to the first that fails.

    Args:
        folder: the copy.
        tests: what pytest is asked to run.
        seconds: of processor time that the child may use.
        log: takes what the tests print.
        plugins: makes pytest's plugins, in the child.

    Returns:
        pytest's exit code, or None where the child was stopped or ended by itself.
    """
    # Outside of the checkout: a command that is tested would take that for its project.
    scratch = Path(tempfile.mkdtemp(prefix="asterism-faults-"))
    child = os.fork()
    if not child:
        code = FAILED
        try:
            code = _run_here(folder, tests, seconds, log, plugins, scratch / "tests")
        finally:
            os._exit(code)
    try:
        status = _wait(child, seconds * _PATIENCE)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        shutil.rmtree(scratch, ignore_errors=True)
    return (
        os.waitstatus_to_exitcode(status) if status is not None and os.WIFEXITED(status) else None
    )


def _wait(child: int, seconds: float) -> int | None:
    """The child's status; None where it took too long, and was killed."""
    begun = time.monotonic()
    while time.monotonic() - begun < seconds:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _run_here(
    folder: Path,
    tests: Sequence[str],
    seconds: int,
    log: Path,
    plugins: Callable[[], list[Any]],
    scratch: Path,
) -> int:
    os.setsid()
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 2))
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    os.chdir(folder)
    os.environ["PYTHONPATH"] = os.pathsep.join([str(folder / "src"), str(folder / "tests")])
    sys.path[:0] = [str(folder / "src"), str(folder / "tests")]
    for name in [n for n in sys.modules if n.partition(".")[0] in ("mutation", "asterism")]:
        del sys.modules[name]
    import pytest

    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    quiet = ["-p", "no:cacheprovider", "--basetemp", str(scratch), "-x", "--tb=line"]
    return int(pytest.main([*quiet, *tests], plugins=plugins()))
