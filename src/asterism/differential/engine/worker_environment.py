"""The environment of the libraries' workers, and the fork server that imports Keras once.

Three libraries need TensorFlow, which is imported in seconds of processor time. So a fork server
imports Keras on one backend, and forks the workers of all libraries that need no other, where the
import starts no thread; libraries whose import does start some are never forked.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from asterism.core.files.folders import make_private_folder
from asterism.core.settings import machine
from asterism.core.workers.starting import OWN_INTERPRETER, ForkServer, Interpreter
from asterism.differential.engine.messages import strip_volatile_parts
from asterism.memo.graphs.light_keras import import_keras


def start_keras_fork_server(backend: str, environment: Mapping[str, str]) -> ForkServer:
    """A fork server that imports Keras on a backend.

    Args:
        backend: the backend of Keras.
        environment: more variables for it and its workers.
    """
    given = {**worker_variables(backend), **environment}
    return ForkServer(f"imports Keras on {backend}", import_for_workers, [backend], given)


def import_for_workers(backend: str) -> str:
    """Import Keras; why no worker can be forked, or nothing."""
    try:
        import_keras(backend)
    except Exception as error:  # a broken installation is reported, and the run goes on
        return strip_volatile_parts(f"{type(error).__name__}: {error}")
    return ""


def worker_variables(
    backend: str | None, interpreter: Interpreter = OWN_INTERPRETER
) -> dict[str, str]:
    """One thread for every numeric library, this checkout's source, and the Keras backend.

    What PyTorch compiles is run, and would lie among temporary files under a name that others can
    take first. A Python of other packages gets this machine's limits too: it has nothing to read
    them with.
    """
    limits: tuple[machine.Limit, ...] = ("limits.text_mb", "limits.array_mb")
    elsewhere = {
        "PYTHONNOUSERSITE": "1",
        **{
            machine.environment_variable(key): str(machine.limit(key) // machine.MB)
            for key in limits
        },
    }
    return {
        **{f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS", "TF_NUM_INTRAOP")},
        "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
        "CUDA_VISIBLE_DEVICES": "",
        "JAX_PLATFORMS": "cpu",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TF_ENABLE_ONEDNN_OPTS": os.environ.get("TF_ENABLE_ONEDNN_OPTS", "1"),
        "PYTHONHASHSEED": "0",
        "TORCHINDUCTOR_CACHE_DIR": str(
            make_private_folder(machine.programs_root() / "torchinductor")
        ),
        "PYTHONPATH": os.pathsep.join(
            [interpreter.source, os.environ.get("PYTHONPATH", "")]
        ).rstrip(os.pathsep),
        **(elsewhere if interpreter != OWN_INTERPRETER else {}),
        **({"KERAS_BACKEND": backend} if backend is not None else {}),
    }
