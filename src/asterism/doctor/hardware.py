"""Cores, memory, disks and graphics cards."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import psutil

from asterism.core.files.folders import require_private
from asterism.core.messages.errors import UserError
from asterism.core.settings import machine
from asterism.doctor import Check, Status

_GB = 1e9

#: GB of memory with which the default run was measured, and below which not even one stage fits.
_MEMORY_GB, _LEAST_MEMORY_GB = 8.0, 3.0

#: GB of free disk below which a run is likely to end, and below which a sweep is.
_LEAST_DISK_GB, _DISK_GB = 1.0, 10.0

#: Where Linux tells what a container may use, of its two versions of control groups.
_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def check_cores() -> Check:
    """Processors that stages may use."""
    usable, all_of_them = machine.available_threads(), os.cpu_count() or 1
    found = f"{usable} of {all_of_them}" if usable < all_of_them else str(usable)
    jobs = min(usable, 4)
    if usable == 1:
        return Check("cores", "warning", found, "stages run one after another: expect 15 minutes")
    return Check("cores", "ok", f"{found}; `asterism repro --jobs {jobs}` uses them")


def check_memory() -> Check:
    """Memory that is free now, within the limit of a container."""
    facts = psutil.virtual_memory()
    total, free = float(facts.total), float(facts.available)
    allowed = read_memory_limit()
    if allowed is not None and allowed < total:
        total, free = allowed, min(free, allowed)
    found = f"{free / _GB:.1f} GB free of {total / _GB:.1f} GB"
    if free < _LEAST_MEMORY_GB * _GB:
        advice = f"end other programs: a stage needs up to {_LEAST_MEMORY_GB:.0f} GB"
        return Check("memory", "error", found, advice)
    if free < _MEMORY_GB * _GB:
        advice = "run with --jobs 1, and lower limits.process_mb in machine.yaml"
        return Check("memory", "warning", found, advice)
    return Check("memory", "ok", found)


def read_memory_limit() -> float | None:
    """Bytes that the control group of this process may use; None where there is no limit."""
    for file in _LIMITS:
        if file.exists() and (told := file.read_text().strip()).isdigit():
            return float(told)
    return None


def check_disks() -> list[Check]:
    """Free room where results, saved state and temporary files go, and whether it can be used."""
    checks = []
    places = {"project": Path.cwd(), "temporary files": Path(tempfile.gettempdir())}
    try:
        places["state.root"] = machine.state_root()
    except UserError as error:
        checks.append(Check("state.root", "error", str(error), "mend machine.yaml"))
    for name, folder in places.items():
        checks.append(_disk(name, folder))
    return checks


def check_programs_root() -> Check:
    """Whether nobody else can write to what Asterism runs, beside what is installed."""
    try:
        folder = machine.programs_root()
        if folder.exists():
            require_private(folder)
    except UserError as error:
        return Check("programs.root", "error", str(error))
    return Check("programs.root", "ok", str(folder))


def _disk(name: str, folder: Path) -> Check:
    there = next(place for place in (folder, *folder.parents) if place.exists())
    free = shutil.disk_usage(there).free / _GB
    found = f"{free:.1f} GB free at {folder}"
    status: Status = "ok"
    advice = ""
    if not os.access(there, os.W_OK):
        status, found = "error", f"{there} cannot be written"
        advice = "give yourself the right to write there"
        if name != "project":
            advice += ", or choose another folder (state.root in machine.yaml, TMPDIR)"
    elif free < _LEAST_DISK_GB:
        status, advice = "error", "make room: `asterism state --clean`, `dvc gc --workspace`"
    elif free < _DISK_GB:
        status, advice = "warning", f"a sweep may need more than {_DISK_GB:.0f} GB: make room"
    return Check(f"disk: {name}", status, found, advice)


def check_graphics_cards() -> Check:
    """Graphics cards. None is needed, and libraries under test never get one."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return Check("GPU", "ok", "none; none is needed")
    asked = [program, "--query-gpu=name", "--format=csv,noheader"]
    try:
        result = subprocess.run(asked, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        advice = "look at its driver; everything runs without a GPU"
        return Check("GPU", "warning", "nvidia-smi does not answer", advice)
    names = ", ".join(result.stdout.split("\n")).strip(", ") or "none answers"
    return Check("GPU", "ok", f"{names}; only training uses one, where TensorFlow is built for it")
