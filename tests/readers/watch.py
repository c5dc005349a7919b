"""The parent's side: gives examples to a server, ends it when it hangs or swells, and judges."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from readers.examples import ROOT, Example
from readers.surroundings import Surroundings
from readers.table import Reader

#: Most of a processor's time that one example may take, and of the clock's, which other processes
#: share: seconds.
CPU_S, WALL_S = 10.0, 120.0
#: Seconds after which a process that sleeps, and has used no processor, is taken for one that waits
#: for ever, as on a FIFO.
IDLE_S = 6.0
#: Most memory that one example may take beside what the server holds, in MB.
MEMORY_MB = 1000
#: A server that holds this much more than in the beginning is replaced before the next example.
_KEPT_MB = 700
_LOOK_EVERY_S = 0.05

#: The machine's limits under which examples are read: small, so that they are what is tried.
_OWN_FOLDERS = ("ASTERISM_STATE_ROOT", "DVC_SITE_CACHE_DIR", "MPLCONFIGDIR")
LIMITS_MB = {"TEXT": 20, "ARRAY": 300, "IMAGE": 60, "MODEL": 200, "PROCESS": 4000}

#: What a reader may do with a file.
GOOD = ("value", "rejected")


@dataclass(frozen=True)
class Verdict:
    """What became of an example.

    Attributes:
        kind: ``value``, ``rejected``, or a failure: ``traceback``, ``bad message``, ``code run``,
            ``crash``, ``hang``, ``memory``.
        what: in words.
        where: the same for examples that show the same defect.
        seconds: spent.
        peak_mb: memory taken beside what the process held before.
    """

    kind: str
    what: str = ""
    where: str = ""
    seconds: float = 0.0
    peak_mb: int = 0

    @property
    def failed(self) -> bool:
        return self.kind not in GOOD


class Server:
    """A child process that reads examples of one family of readers.

    Args:
        family: for the folder's name.
        folder: where its own is made; examples lie in ``home/example`` below that.
        cpu_s: most processor time of an example.
        memory_mb: most memory of an example.
    """

    def __init__(
        self, family: str, folder: Path, cpu_s: float = CPU_S, memory_mb: int = MEMORY_MB
    ) -> None:
        self._folder, self._cpu_s, self._memory_mb = folder / family, cpu_s, memory_mb
        self._home = self._folder / "home"
        for name in ("tmp", "state"):
            (self._home / name).mkdir(parents=True)
        self._surroundings = Surroundings(self._folder / "outside")
        self._process: subprocess.Popen[bytes] | None = None
        self._base = 0
        self._loaded: set[str] = set()
        self.starts = 0

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        self._surroundings.close()
        shutil.rmtree(self._folder)

    def whole(self, reader: Reader) -> list[Example]:
        """A reader's whole examples, written by its family's libraries."""
        folder = self._home / "whole" / reader.name.replace("/", "_")
        if not folder.is_dir():
            verdict = self._ask(reader, "write", folder, cpu_s=600)
            if verdict.kind != "value":
                said = f"{verdict.what}\n{self._last_words()}"
                raise RuntimeError(f"no whole files for {reader.name}: {said}")
        return [Example.read(place, reader.main) for place in sorted(folder.iterdir())]

    def read(self, reader: Reader, example: Example) -> Verdict:
        """Have an example read; where a library dies of it, as Asterism really opens it."""
        verdict = self._read(reader, "read", example)
        if verdict.kind in ("crash", "hang", "memory") and reader.isolated:
            verdict = self._read(reader, "isolated", example)
        return verdict

    def _read(self, reader: Reader, how: str, example: Example) -> Verdict:
        if self._process is not None and self._resident() > self._base + (_KEPT_MB << 20):
            self.end()
        if self._process is None or (how == "read" and reader.name not in self._loaded):
            whole = self.whole(reader)[0].write(self._home / "example")
            self._ask(reader, "load", whole, cpu_s=600)
            self._loaded.add(reader.name)
            self._base = self._resident()
        path = example.write(self._home / "example")
        self._surroundings.touched()
        verdict = self._ask(reader, how, path, self._cpu_s, patient=how == "isolated")
        if touched := self._surroundings.touched():
            return replace(verdict, kind="code run", what="; ".join(touched), where=touched[0])
        if verdict.peak_mb > self._memory_mb and verdict.kind in GOOD:
            return replace(verdict, kind="memory", what=f"{verdict.peak_mb} MB")
        return verdict

    def _ask(
        self, reader: Reader, task: str, path: Path, cpu_s: float, patient: bool = False
    ) -> Verdict:
        if self._process is None:
            self._start()
        assert self._process is not None
        started, spent = time.monotonic(), self._cpu()
        request = {"reader": reader.name, "task": task, "path": str(path)}
        with suppress(BrokenPipeError):
            self._requests.write(json.dumps(request).encode() + b"\n")
            self._requests.flush()
        peak, idle_since, used = 0, started, spent
        while True:
            ready, _, _ = select.select([self._answers], [], [], _LOOK_EVERY_S)
            seconds = time.monotonic() - started
            if ready:
                line = self._answers.readline()
                if not line:
                    return self._crashed(seconds, peak)
                return Verdict(**json.loads(line))
            peak = max(peak, (self._resident() - self._base) >> 20)
            if peak > self._memory_mb * 2 or (peak > self._memory_mb and cpu_s < 100):
                where = self._stack()
                self.end()
                return Verdict("memory", f"over {peak} MB at {where}", where, seconds, peak)
            now = self._cpu()
            if now != used or self._runs():
                idle_since, used = time.monotonic(), now
            idle = not patient and time.monotonic() - idle_since > IDLE_S
            if now - spent > cpu_s or idle or seconds > max(WALL_S, cpu_s):
                where = self._stack()
                self.end()
                return Verdict("hang", f"no end after {seconds:.0f} s at {where}", where, seconds)

    def _start(self) -> None:
        child_reads, writes = os.pipe()
        reads, child_writes = os.pipe()
        self._words = self._folder / "words.txt"
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
                [*command, str(child_reads), str(child_writes), str(self._home)],
                pass_fds=(child_reads, child_writes), cwd=self._home, env=environment,
                stdin=subprocess.DEVNULL, stdout=words, stderr=words, start_new_session=True,
            )  # fmt: skip
        os.close(child_reads)
        os.close(child_writes)
        self._requests, self._answers = os.fdopen(writes, "wb"), os.fdopen(reads, "rb")
        self.starts += 1
        if not self._answers.readline():
            self._process.wait()
            raise RuntimeError(f"the server does not start:\n{self._last_words(40)}")
        self._base = self._resident()

    def end(self) -> None:
        """End the process; the next example starts another."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None
            self._loaded.clear()
            self._requests.close()
            self._answers.close()

    def _last_words(self, lines: int = 15) -> str:
        """What the process wrote to its standard streams, its end."""
        return "\n".join(self._words.read_text(errors="replace").splitlines()[-lines:])

    def _crashed(self, seconds: float, peak: int) -> Verdict:
        assert self._process is not None
        code = self._process.wait()
        name = signal.Signals(-code).name if code < 0 else f"exit {code}"
        words = self._last_words(60)
        said = words.partition("Fatal Python error")[0].strip().splitlines()
        where = _innermost(words)
        self.end()
        what = f"{name} at {where}: {said[-1][:200] if said else ''}"
        return Verdict("crash", what, f"{name} {where}", seconds, peak)

    def _stack(self) -> str:
        """Where the process is."""
        assert self._process is not None
        length = self._words.stat().st_size
        os.kill(self._process.pid, signal.SIGUSR1)
        time.sleep(0.3)
        with self._words.open("rb") as words:
            words.seek(length)
            return _innermost(words.read().decode(errors="replace"))

    def _resident(self) -> int:
        """Bytes that the process holds."""
        assert self._process is not None
        try:
            pages = Path(f"/proc/{self._process.pid}/statm").read_text().split()[1]
        except (OSError, IndexError):
            return 0
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def _runs(self) -> bool:
        """Whether a thread of the process works, or waits for a processor or a disk."""
        assert self._process is not None
        for stat in Path(f"/proc/{self._process.pid}/task").glob("*/stat"):
            with suppress(OSError):
                if stat.read_text().rpartition(")")[2].split()[0] in "RD":
                    return True
        return False

    def _cpu(self) -> float:
        """Processor time of the process, in seconds."""
        assert self._process is not None
        try:
            stat = Path(f"/proc/{self._process.pid}/stat").read_text()
        except OSError:
            return 0.0
        user, system = stat.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _innermost(words: str) -> str:
    """Of a stack as faulthandler prints it: the innermost frame, and the innermost of ours."""
    _, _, stack = words.rpartition("(most recent call first):")
    if "Current thread" in words:
        stack = words.rpartition("Current thread")[2]
    frames = [line.strip() for line in stack.splitlines() if line.strip().startswith("File ")]
    named = [f"{frame.split(chr(34))[1].split('/site-packages/')[-1].split('/src/')[-1]}:"
             f"{frame.rpartition(' in ')[2]}" for frame in frames]  # fmt: skip
    ours = [name for name in named if name.startswith("asterism/")]
    return f"{ours[0] if ours else '?'} < {named[0] if named else '?'}"
