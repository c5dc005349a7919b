"""Shared by all tests: where real data and models may lie, and a quiet TensorFlow."""

import gc
import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path

# DVC, when it is imported, puts others in the place of the standard streams. ART, when it is,
# closes what absl's logging writes to, unless that is a standard stream at that moment. Where one
# test imported both, that closed pytest's own.
import dvc  # noqa: F401
import pytest
import typer.testing
from hypothesis import settings

from asterism.core.messages.errors import missing_extra
from longest import LONGEST
from places import SHARED
from rewriting_once import rewrite_once
from sharing_workers import share

# Imports leave no garbage to speak of, and looking for it takes a quarter of their time.
gc.disable()

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# One thread each: the workers of the tests fill the processors, and threads that wait spin.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Of a program, all commands are built when it starts; here that takes longer than most of them.
typer.testing._get_command = cache(typer.testing._get_command)

# The machine's speed is nothing that a property depends on. Continuous integration tries the same
# examples every time; new ones are for people who can look at what they find.
settings.register_profile("all", deadline=None, derandomize="CI" in os.environ)
settings.register_profile("fast", settings.get_profile("all"), max_examples=20)


def pytest_configure(config: pytest.Config) -> None:
    """The fast tests try fewer examples of a property; workers find test files compiled."""
    settings.load_profile("fast" if config.option.markexpr else "all")
    if config.getoption("numprocesses", None):
        places = (
            config.invocation_params.dir / argument.partition("::")[0] for argument in config.args
        )
        rewrite_once(config.pluginmanager.rewrite_hook, places)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first; a file's tests stay together."""
    places = {str(Path(__file__).parent / name): place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(str(item.path), len(places)))


@contextmanager
def skipped_without_extra() -> Iterator[None]:
    """What fails because a package of an extra is not installed is skipped; nothing else is."""
    try:
        yield
    except Exception as failure:
        error: BaseException | None = failure
        while error is not None:
            told = missing_extra(_said_by_a_process(error))
            if told and find_spec(told.partition(" ")[0]) is None:
                pytest.skip(told, allow_module_level=True)
            error = error.__cause__ or error.__context__
        raise


def _said_by_a_process(error: BaseException) -> BaseException:
    """The error of another process whose text an error holds; where it holds none, the error."""
    said = re.search(r"No module named '(\w+)|\b(\w+) is not installed: run `pip", str(error))
    return ModuleNotFoundError(name=said[1] or said[2]) if said else error


def pytest_collectstart(collector: pytest.Collector) -> None:
    """A file whose imports need an extra that is not installed is skipped."""
    collector.collect = skipped_without_extra()(collector.collect)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call() -> Iterator[None]:
    """A test that needs an extra that is not installed is skipped."""
    with skipped_without_extra():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Iterator[None]:
    """A test whose fixtures need an extra is skipped; signals are heard by all that a test starts.

    A shell's background jobs ignore Ctrl-C, and a command that has run in this process ignores
    both signals from its end on.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with skipped_without_extra():
        return (yield)


def pytest_collection_finish() -> None:
    """Leave what was imported out of every later search for garbage: a million objects.

    Libraries make so many objects that a seventh of the searches suffices.
    """
    gc.freeze()
    gc.set_threshold(5_000, 10, 10)
    gc.enable()


@pytest.fixture
def shared_models() -> Path:
    """Published models, where this machine has them."""
    folder = SHARED / "models"
    if not folder.is_dir():
        pytest.skip("the published models are not on this machine")
    return folder


@pytest.fixture
def shared_data(monkeypatch: pytest.MonkeyPatch) -> Path:
    """Real data sets, where this machine has them, as ``data.root``."""
    folder = SHARED / "data"
    if not folder.is_dir():
        pytest.skip("the real data sets are not on this machine")
    monkeypatch.setenv("ASTERISM_DATA_ROOT", str(folder))
    return folder


@pytest.fixture
def models_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Vetted models run in the test's own process, which is many times faster."""
    from asterism.models.tensor_models import model, subjects

    monkeypatch.setattr(subjects, "IsolatedFileModel", model.FileModel)


@pytest.fixture(autouse=True)
def state_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Checkpoints of tests lie in the test's own folder, and so do programs."""
    folder = tmp_path / "state"
    monkeypatch.setenv("ASTERISM_STATE_ROOT", str(folder))
    monkeypatch.setenv("ASTERISM_PROGRAMS_ROOT", str(tmp_path / "programs"))
    return folder


@pytest.fixture(scope="session", autouse=True)
def shared_by_workers(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A folder for what is made once in a run; pytest removes it with those of the tests."""
    base = tmp_path_factory.getbasetemp()
    share((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared")


@pytest.fixture(scope="session", autouse=True)
def any_number_of_threads() -> Iterator[None]:
    """A test trains with the threads that TensorFlow was started with by the tests before it.

    A stage has a process of its own, in which a training that comes too late to fix them fails.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("asterism.models.training.fitting._fix_threads", lambda _threads: None)
        yield
