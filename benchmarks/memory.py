"""Memory of a process, for the benchmarks."""

from pathlib import Path


def memory_mb(kind: str) -> int:
    """A figure of the system's about this process: ``VmRSS`` now, ``VmHWM`` at most, in MB.

    What getrusage calls the most is at least what the parent had when it started the process.
    """
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status[kind].split()[0]) // 1024
