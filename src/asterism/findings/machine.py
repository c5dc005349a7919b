"""What reports say of the machine: operating system and processor."""

from __future__ import annotations

import platform
from contextlib import suppress
from pathlib import Path

from asterism.core.settings import machine

#: What of a processor decides in which kernels, and in which precision, libraries compute.
_UNITS = ("avx2", "avx512f", "avx512_bf16", "amx_bf16")


def system() -> str:
    """Name of the operating system, as reports ask for it."""
    with suppress(OSError):
        return f"{platform.freedesktop_os_release()['PRETTY_NAME']}, {platform.machine()}"
    return platform.platform()


def processor() -> str:
    """Name of the processor, with those of its units that decide how libraries compute."""
    path = Path("/proc/cpuinfo")
    words = set(path.read_text(encoding="utf-8").split()) if path.exists() else set()
    named, units = machine.processor(), [unit for unit in _UNITS if unit in words]
    return f"{named} ({', '.join(units)})" if units else named
