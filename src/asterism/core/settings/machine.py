"""Settings of this machine: folders, limits of memory, and the device that models run on.

Results must not depend on them, but for the last bits of a model's answers on another device, which
the results then say. They come from ``machine.yaml`` in the project's root (untracked) or from
environment variables (``ASTERISM_DATA_ROOT``, ``ASTERISM_LIMITS_ARRAY_MB``), never from
``params.yaml``: there they would poison the cache. Runs in workspaces of their own, which lie below
the project's ``.dvc``, have the project's: queued and temporary experiments, and the points of
sweeps.
"""

from __future__ import annotations

import math
import os
import platform
import re
import resource
import sys
from pathlib import Path
from typing import Literal

from asterism.core.messages.errors import UserError

#: Results of training depend on the number of threads, so it is the same on every machine.
TRAINING_THREADS = 4

#: Bytes.
MB = 1_000_000

#: Limits of what a file may ask for, see docs/pipeline.md.
Limit = Literal[
    "limits.text_mb", "limits.array_mb", "limits.image_mb", "limits.model_mb", "limits.process_mb"
]
#: Defaults, for a machine of 8 GB on which the processes of two models run beside a stage.
_LIMITS_MB: dict[Limit, int] = {
    "limits.text_mb": 100,
    "limits.array_mb": 3000,
    "limits.image_mb": 200,
    "limits.model_mb": 1000,
    "limits.process_mb": 4000,
}

_KEYS = (
    "data.root",
    "state.root",
    "state.days",
    "state.store",
    "programs.root",
    "device",
    *_LIMITS_MB,
)

#: Days that a run of a long stage may lie unused below ``state.root``, where nothing else is set.
_STATE_DAYS = 14.0


def data_root() -> Path:
    """Folder of data sets: the user's, or where downloads are kept."""
    return _directory("data.root", "data")


def state_root() -> Path:
    """Folder of checkpoints, outside every workspace so that they outlive it."""
    return _directory("state.root", "user_cache_dir")


def programs_root() -> Path:
    """Folder of what is run, of this user alone; see :mod:`asterism.core.files.folders`."""
    return _directory("programs.root", "user_data_dir")


def state_store() -> str:
    """A folder or another address of fsspec by which workers exchange files that see no state root.

    It is empty where they do.
    """
    return str(_setting("state.store", find_project_root(Path.cwd())) or "")


def state_days() -> float:
    """Days after which the unused state of a run is removed.

    Raises:
        UserError: the setting is no positive number.
    """
    value = _setting("state.days", find_project_root(Path.cwd()))
    try:
        days = _STATE_DAYS if value is None else float(value)
    except ValueError:
        days = math.nan
    if not days > 0:
        raise UserError(f"{how_to_set('state.days')} is {value!r}: it should be a number above 0")
    return days


def device() -> str:
    """Where models run, if their library can run elsewhere: ``"cpu"``, ``"cuda"``, ``"cuda:1"``.

    Raises:
        UserError: the setting names something else.
    """
    value = _setting("device", find_project_root(Path.cwd())) or "cpu"
    if not re.fullmatch(r"cpu|cuda(:[0-9]{1,3})?", value):
        raise UserError(f"{how_to_set('device')} is {value!r}: it should be cpu, cuda, or cuda:1")
    return value


def other_device() -> dict[str, str]:
    """The device by name, for results that it changes; nothing for the CPU.

    A GPU's sums differ in their last bits from the CPU's.
    """
    chosen = device()
    return {} if chosen == "cpu" else {"device": chosen}


def limit(key: Limit) -> int:
    """The most bytes that a file may ask for.

    Raises:
        UserError: the setting is no whole number of MB from 1.
    """
    value = _setting(key, find_project_root(Path.cwd()))
    if value is None:
        return _LIMITS_MB[key] * MB
    if not re.fullmatch(r"[1-9][0-9]{0,11}", value):
        raise UserError(f"{how_to_set(key)} must be a whole number of MB from 1, not {value!r}")
    return int(value) * MB


def limit_memory() -> None:
    """Limit the private memory of this process to ``limits.process_mb`` from now on.

    An allocation beyond it fails with an error, and the machine stays usable. A lower limit that
    the process already has stays.
    """
    allowed = limit("limits.process_mb")
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    bounds = [value for value in (soft, allowed) if value != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min(bounds), hard))


def find_setting_of_path(path: Path) -> str | None:
    """The key of the folder in which an absolute path lies, or to which it leads; None of neither.

    Raises:
        UserError: ``machine.yaml`` is wrong.
    """
    places = {
        "data.root": data_root(),
        "state.root": state_root(),
        "programs.root": programs_root(),
    }
    for key, root in places.items():
        if path.is_relative_to(root) or root.is_relative_to(path):
            return key
    return None


def how_to_set(key: str) -> str:
    """Where a user sets a key."""
    return f"{key} in machine.yaml or by {environment_variable(key)}"


def available_threads() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processor_name() -> str:
    """The processor's name, where the system tells it."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def peak_memory_mb() -> int:
    """Most memory that this process held at a time, in MB.

    What getrusage calls the most is at least what the parent held when it started the process,
    so it answers only where the system does not tell what the process itself held.
    """
    status = Path("/proc/self/status")
    told = re.search(r"^VmHWM:\s*(\d+) kB$", status.read_text(), re.M) if status.exists() else None
    if told is not None:
        return int(told[1]) // 1024
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return largest // (1024**2 if sys.platform == "darwin" else 1024)


def _directory(key: str, default: str) -> Path:
    """The folder that a key names, else a default; a relative one lies in the project.

    Args:
        key: of the setting.
        default: a folder, or the function of ``platformdirs`` that tells it.
    """
    project = find_project_root(Path.cwd())
    if value := _setting(key, project):
        return project / Path(value).expanduser()
    if not default.startswith("user_"):
        return project / default
    import platformdirs  # workers in an environment of their own have only NumPy

    return Path(getattr(platformdirs, default)("asterism"))


def _setting(key: str, project: Path) -> str | None:
    """The user's setting: the environment's, else the file's; None where there is none."""
    return os.environ.get(environment_variable(key)) or _settings(project / "machine.yaml").get(key)


def environment_variable(key: str) -> str:
    """The environment variable that sets a key."""
    return "ASTERISM_" + key.upper().replace(".", "_")


def find_project_root(folder: Path) -> Path:
    """The project's root, for its own folder and for a workspace below its ``.dvc``."""
    inside = [parent.parent for parent in folder.parents if parent.name == ".dvc"]
    return inside[-1] if inside else folder


def _settings(path: Path) -> dict[str, str]:
    if not path.exists():
        return {}
    from asterism.core.settings.yaml_files import flatten_mapping, read_yaml  # as above

    flat = {key: value for key, value in flatten_mapping(read_yaml(path) or {}) if value != {}}
    for key in flat:
        if key not in _KEYS:
            raise UserError(f"{path}: unknown setting {key!r} (known: {', '.join(_KEYS)})")
    return {key: str(value) for key, value in flat.items()}
