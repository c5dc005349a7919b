"""Processes with a wall clock of their own, which may be moved while they run.

A real jump moves the wall clock only: waits go on as long as they were to, and the monotonic clock
does not notice. libfaketime gives that, but for one function: in version 0.9.10 (Debian 12)
`clock_nanosleep` fails with EINVAL where the monotonic clock is left alone
(https://github.com/wolfcw/libfaketime/issues/426). `time.sleep` of Python 3.11 calls it, so that
each sleep would end at once with an OSError, before any jump. A second library, built here and
loaded first, hands sleeps by the monotonic clock to the system as they are.
"""

from __future__ import annotations

import subprocess
from contextlib import suppress
from pathlib import Path

#: Where libfaketime lies (Debian's places, then its own).
_LIBRARIES = (
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/local/lib/faketime/libfaketimeMT.so.1",
)

_SLEEPS = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

typedef int sleeper(clockid_t, int, const struct timespec *, struct timespec *);

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *left)
{
    if (clock == CLOCK_REALTIME)
        return ((sleeper *)dlsym(RTLD_NEXT, "clock_nanosleep"))(clock, flags, time, left);
    return syscall(SYS_clock_nanosleep, clock, flags, time, left) ? errno : 0;
}
"""


def move(told: Path, offset: str) -> None:
    """Move the wall clock of all processes that read the file, within a second.

    Args:
        told: the file, see :func:`variables`.
        offset: what lies between it and the machine's clock, as ``+1d``.
    """
    told.write_text(offset, encoding="utf-8")


def variables(told: Path, folder: Path) -> dict[str, str] | None:
    """Variables of the environment that let processes read their wall clock's offset in a file.

    Times of files stay the machine's own, as on a file server with another clock.

    Args:
        told: the file; made, with no offset, where it is not there.
        folder: where the second library is built.

    Returns:
        None where libfaketime or a C compiler is missing.
    """
    faked = next((path for path in _LIBRARIES if Path(path).exists()), None)
    sleeps = folder / "sleeps.so"
    if faked is None or not _build(sleeps):
        return None
    if not told.exists():
        told.parent.mkdir(parents=True, exist_ok=True)
        move(told, "+0")
    return {
        "LD_PRELOAD": f"{sleeps}:{faked}",
        "FAKETIME_TIMESTAMP_FILE": str(told),
        "FAKETIME_CACHE_DURATION": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "NO_FAKE_STAT": "1",
    }


def _build(library: Path) -> bool:
    command = ["cc", "-shared", "-fPIC", "-O2", "-x", "c", "-", "-o", str(library), "-ldl"]
    with suppress(FileNotFoundError):
        subprocess.run(command, input=_SLEEPS, text=True, check=True)
        return True
    return False
