"""The parent's side: gives examples to a server, ends it when it swells, and judges."""

from __future__ import annotations

import ctypes
import json
import os
import select
import shutil
import signal
import struct
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import cv2
import h5py
import numpy as np
import psutil

from places import ROOT
from readers.examples import Example
from readers.table import Reader

#: Most of a processor's time that one example may take, and of the clock's, which other processes
#: share: seconds.
CPU_S, WALL_S = 10.0, 120.0
#: Most memory that one example may take beside what the server holds, in MB.
MEMORY_MB = 1000
#: A server that holds this much more than in the beginning is replaced before the next example.
_KEPT_MB = 700

#: The machine's limits under which examples are read: small, so that they are what is tried.
LIMITS_MB = {"TEXT": 20, "ARRAY": 300, "IMAGE": 60, "MODEL": 200, "PROCESS": 4000}
_OWN_FOLDERS = ("ASTERISM_STATE_ROOT", "DVC_SITE_CACHE_DIR", "MPLCONFIGDIR")

_LIBC = ctypes.CDLL(None, use_errno=True)
_HEADER = struct.Struct("iIII")
#: Every event of inotify's but that a file is closed.
_ANY_USE = 0xFFF & ~0x18


@dataclass(frozen=True)
class Verdict:
    """What became of an example.

    Attributes:
        kind: ``value``, ``rejected``, or a failure: ``traceback``, ``bad message``, ``code run``,
            ``crash``, ``hang``, ``memory``.
        what: in words.
        peak_mb: memory taken beside what the process held before.
    """

    kind: str
    what: str = ""
    peak_mb: int = 0

    @property
    def failed(self) -> bool:
        return self.kind not in ("value", "rejected")


class Bait:
    """A folder beside an example's, which no reader may touch: the kernel tells who does.

    Native libraries open files without telling Python. Attacks refer to what lies there by
    ``../../outside/…`` (``readers.examples.OUTSIDE``).
    """

    def __init__(self, folder: Path) -> None:
        (folder / "kept").mkdir(parents=True)
        (folder / "kept" / "work.txt").write_text("work that nobody may delete\n")
        (folder / "secret.txt").write_text("secret\n")
        (folder / "secret.bin").write_bytes(np.ones(4096, np.float32).tobytes())
        (folder / "stranger.py").write_text("raise SystemExit('imported')\n")
        cv2.imwrite(str(folder / "secret.png"), np.zeros((80, 80, 3), np.uint8))
        with h5py.File(folder / "secret.h5", "w") as file:
            file["weights"] = np.ones((64, 64), np.float32)
        self._descriptor = _LIBC.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        for place in (folder, folder / "kept"):
            watched = _LIBC.inotify_add_watch(self._descriptor, os.fsencode(place), _ANY_USE)
            assert watched > 0, os.strerror(ctypes.get_errno())

    def touched(self) -> list[str]:
        """Names of the files that were used since the last call; empty for a folder itself."""
        found: list[str] = []
        with suppress(BlockingIOError):
            while data := os.read(self._descriptor, 1 << 16):
                while data:
                    _, _, _, length = _HEADER.unpack_from(data)
                    name, data = data[_HEADER.size :][:length], data[_HEADER.size + length :]
                    found.append(name.rstrip(b"\0").decode(errors="replace"))
        return sorted({*found})

    def close(self) -> None:
        os.close(self._descriptor)


class Server:
    """A child process that reads examples of one family of readers.

    Args:
        family: for the folder's name.
        folder: where its own is made; examples lie in ``home/example`` below that.
        cpu_s: most processor time of an example.
        wall_s: most time of an example.
        memory_mb: most memory of an example.
    """

    def __init__(
        self,
        family: str,
        folder: Path,
        cpu_s: float = CPU_S,
        wall_s: float = WALL_S,
        memory_mb: int = MEMORY_MB,
    ) -> None:
        self._folder, self._memory_mb = folder / family, memory_mb
        self._home, self._words = self._folder / "home", self._folder / "words.txt"
        self._limits = (str(cpu_s), str(wall_s))
        for name in ("tmp", "state"):
            (self._home / name).mkdir(parents=True)
        self._bait = Bait(self._folder / "outside")
        self._process: subprocess.Popen[bytes] | None = None
        self._base = 0
        self._loaded: set[str] = set()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        self._bait.close()
        shutil.rmtree(self._folder)

    def whole(self, reader: Reader) -> list[Example]:
        """A reader's whole examples, written by its family's libraries."""
        folder = self._home / "whole" / reader.name.replace("/", "_")
        if not folder.is_dir():
            verdict = self._ask(reader, "write", folder)
            assert verdict.kind == "value", f"{reader.name}: {verdict}\n{self._words.read_text()}"
        return [Example.read(place, reader.main) for place in sorted(folder.iterdir())]

    def read(self, reader: Reader, example: Example) -> Verdict:
        """Have an example read; where a library dies of it, as Asterism really opens it."""
        verdict = self._read(reader, "read", example)
        if verdict.kind in ("crash", "hang", "memory") and reader.isolated:
            verdict = self._read(reader, "isolated", example)
        return verdict

    def _read(self, reader: Reader, how: str, example: Example) -> Verdict:
        if self._resident() > self._base + (_KEPT_MB << 20):
            self._end()
        if self._process is None or (how == "read" and reader.name not in self._loaded):
            self._ask(reader, "load", self.whole(reader)[0].write(self._home / "example"))
            self._loaded.add(reader.name)
            self._base = self._resident()
        path = example.write(self._home / "example")
        self._bait.touched()
        verdict = self._ask(reader, how, path, self._memory_mb)
        if touched := self._bait.touched():
            return replace(verdict, kind="code run", what=f"touched outside: {touched}")
        if verdict.peak_mb > self._memory_mb and not verdict.failed:
            return replace(verdict, kind="memory", what=f"{verdict.peak_mb} MB")
        return verdict

    def _ask(self, reader: Reader, task: str, path: Path, memory_mb: float = np.inf) -> Verdict:
        if self._process is None:
            self._start()
        assert self._process is not None and self._process.stdin and self._process.stdout
        request = {"reader": reader.name, "task": task, "path": str(path)}
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        peak = 0
        while peak <= memory_mb:
            if select.select([self._process.stdout], [], [], 0.05)[0]:
                if line := self._process.stdout.readline():
                    return Verdict(**json.loads(line))
                break
            peak = max(peak, (self._resident() - self._base) >> 20)
        else:
            self._process.send_signal(signal.SIGPROF)  # it says where it is
        code = self._process.wait()
        self._end()
        words = self._words.read_text(errors="replace")
        kind = "hang" if code == -signal.SIGPROF or "Timeout (" in words else "crash"
        name = signal.Signals(-code).name if code < 0 else f"exit {code}"
        return Verdict("memory" if peak > memory_mb else kind, f"{name}: {words[-2000:]}", peak)

    def _start(self) -> None:
        environment = os.environ | {
            **{f"ASTERISM_LIMITS_{name}_MB": str(size) for name, size in LIMITS_MB.items()},
            **dict.fromkeys(_OWN_FOLDERS, str(self._home / "state")),
            "HOME": str(self._home),
            "TMPDIR": str(self._home / "tmp"),
            "PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'tests'}",
            "KERAS_BACKEND": "tensorflow",
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "CUDA_VISIBLE_DEVICES": "",
            "OMP_NUM_THREADS": "2",
        }
        command = [sys.executable, "-W", "ignore", "-m", "readers.server"]
        with self._words.open("wb") as words:
            self._process = subprocess.Popen(
                [*command, str(self._home), *self._limits], cwd=self._home, env=environment,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=words, start_new_session=True,
            )  # fmt: skip
        self._base = self._resident()

    def _end(self) -> None:
        """End the process and those that it started; the next example starts another."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            with suppress(BrokenPipeError):
                self._process.communicate()
            self._process = None
            self._loaded.clear()

    def _resident(self) -> int:
        """Bytes that the process holds."""
        with suppress(psutil.Error):
            return psutil.Process(self._process.pid).memory_info().rss if self._process else 0
        return 0
