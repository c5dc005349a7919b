"""What reports say of the machine: operating system and processor."""

from __future__ import annotations

import platform
from contextlib import suppress
from pathlib import Path

#: What of a processor decides in which kernels, and in which precision, libraries compute.
_UNITS = ("avx2", "avx512f", "avx512_bf16", "amx_bf16")


def system() -> str:
    """Name of the operating system, as reports ask for it."""
    with suppress(OSError):
        return f"{platform.freedesktop_os_release()['PRETTY_NAME']}, {platform.machine()}"
    return platform.platform()


def processor() -> str:
    """Name of the processor, with those of its units that decide how libraries compute."""
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        pairs = (line.partition(":") for line in lines)
        facts = {key.strip(): value.strip() for key, _, value in pairs}
        units = [unit for unit in _UNITS if unit in facts.get("flags", "").split()]
        named = facts.get("model name", platform.machine())
        return f"{named} ({', '.join(units)})" if units else named
    return platform.processor() or platform.machine()
