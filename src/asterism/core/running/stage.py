"""Running one stage: the steps that every script in ``stages/`` has in common.

A stage script declares ``Params`` (the sections of ``params.yaml`` that it reads) and
``run(params)``; a stage with variants ``variants(params)``, which names them, and
``run(params, variant)``. Its docstring is its help.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import os
import platform
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import ModuleType

from asterism.core.files.artifacts import write_json
from asterism.core.files.interrupts import INTERRUPTED
from asterism.core.files.os_errors import report_os_errors
from asterism.core.files.plain_files import open_log
from asterism.core.messages.console import configure_logging, divert_native_messages, get_logger
from asterism.core.messages.errors import UserError, missing_extra
from asterism.core.messages.terminal import escape_streams, say
from asterism.core.parameters.params import ParameterSection, read_params
from asterism.core.parameters.registry import unknown
from asterism.core.resuming.work_units import PIPELINE, PartEnded, UnitShare, part
from asterism.core.running.footprint import Footprint, processor_seconds
from asterism.core.settings.machine import peak_memory_mb
from asterism.core.settings.yaml_files import read_yaml

log = get_logger(__name__)

USAGE = (
    "usage: python stages NAME [VARIANT]   (as dvc.yaml calls it; `dvc repro NAME` runs it cached)"
)

#: Stands before the part of a long stage's units, ``0/4``, which a process computes, and no result.
PART = "--part"


def main(folder: Path, arguments: list[str], tidy: Callable[[], None]) -> int:
    """Run the stage that the arguments name; the process's exit status.

    Args:
        folder: where the stage scripts lie.
        arguments: the stage's name, then its variant where it has variants; :data:`PART` and
            which in the end, where it is for a part of the units.
        tidy: called before the stage runs; removes what other stages have left.
    """
    escape_streams()
    names = sorted(p.stem for p in folder.glob("*.py") if not p.stem.startswith("_"))
    if not arguments or arguments[0] in ("-h", "--help"):
        say(USAGE)
        for name in names:
            say(f"  {name:20}{_summary(folder / f'{name}.py')}")
        return 0 if arguments else 2
    name, *rest = arguments
    if name not in names:
        say(f"error: {unknown('stage', name, names)}", error=True)
        return 2
    if {"-h", "--help"} & set(rest):
        _explain(folder, name)
        return 0
    return _run(folder, name, rest, tidy)


def _run(folder: Path, name: str, arguments: list[str], tidy: Callable[[], None]) -> int:
    variant, which = arguments, ""
    if len(arguments) > 1 and arguments[-2] == PART:
        variant, which = arguments[:-2], arguments[-1]
    label = "-".join([name, *variant])
    try:
        with report_os_errors():
            if which:
                part.set(UnitShare.parse(which))
                label += f"-part-{platform.node()}-{os.getpid()}"
            _run_script(folder, name, label, variant, tidy)
    except UserError as error:
        say(f"error: {label}: {error}", error=True)
        return 1
    except KeyboardInterrupt:
        say(f"error: {label}: interrupted; the same command resumes it", error=True)
        return INTERRUPTED
    except Exception as error:  # the reason in one line first, then where it came from
        if (missing := missing_extra(error, extra_of(name))) is not None:
            say(f"error: {label}: {missing}", error=True)
            return 1
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        say(f"error: {label}: {reason}", *traceback.format_exc().splitlines(), error=True)
        return 1
    return 0


def extra_of(stage: str) -> str:
    """The extra that a stage needs, which its entry in ``dvc.yaml`` states; else empty."""
    with suppress(OSError, UserError, LookupError):
        entry = read_yaml(Path(PIPELINE))["stages"][stage]
        return str(entry.get("do", entry)["meta"]["extra"])
    return ""


def _run_script(
    folder: Path, name: str, label: str, variant: list[str], tidy: Callable[[], None]
) -> None:
    """Run the stage's script under its log, and note what it took."""
    divert_native_messages(open_log(Path("logs") / f"{label}.native.log"))
    configure_logging(open_log(Path("logs") / f"{label}.jsonl"))
    started = time.perf_counter()
    footprint = Footprint()
    script = load_script(folder, name)
    params = read_params(script.Params)
    log.info("started", stage=label)
    _require_variant(name, _variants(script, params), variant)
    tidy()
    try:
        script.run(params, *variant)
    except PartEnded:
        log.info("its part is computed", stage=label)
    seconds = time.perf_counter() - started
    record_run(label, seconds, footprint.peak_mb())
    log.info("finished", stage=label, seconds=round(seconds, 1))


def _explain(folder: Path, name: str) -> None:
    """What the stage does, the variants that it has at present, and its parameters."""
    divert_native_messages(os.open(os.devnull, os.O_WRONLY))
    script = load_script(folder, name)
    say(*(inspect.getdoc(script) or "").splitlines())
    with suppress(UserError):  # parameters that are wrong hide no help
        if variants := _variants(script, read_params(script.Params)):
            say("", f"variants, one of which is needed: {', '.join(variants)}")
    if script.Params.model_fields:
        say("", f"parameters: {', '.join(script.Params.model_fields)}")


def _variants(script: ModuleType, params: ParameterSection) -> list[str] | None:
    """The names of the stage's variants; None where it takes none."""
    return list(script.variants(params)) if hasattr(script, "variants") else None


def _require_variant(name: str, known: list[str] | None, given: list[str]) -> None:
    """One of the variants that there are, or none where the stage takes none."""
    if known is None and given:
        raise UserError(f"it takes no variant; see `python stages {name} --help`")
    if known is not None and len(given) != 1:
        raise UserError(f"it takes the name of a variant ({', '.join(known)})")
    if known is not None and given[0] not in known:
        raise unknown(f"variant of {name}", given[0], known)


def _summary(script: Path) -> str:
    """The first line of a script's docstring, read without running its imports."""
    docstring = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or ""
    return docstring.partition("\n")[0]


def load_script(folder: Path, name: str) -> ModuleType:
    """The module of a stage's script, with its ``Params`` and ``run``."""
    spec = importlib.util.spec_from_file_location(f"stages.{name}", folder / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def record_run(label: str, seconds: float, with_children_mb: int, **more: int) -> None:
    """Leave time, memory and machine in ``logs/``: they differ each time, so no output holds them.

    Args:
        label: the stage's name and variant, or the command's.
        seconds: by the clock.
        with_children_mb: see :meth:`.Footprint.peak_mb`.
        more: further numbers.
    """
    facts = {
        "seconds": round(seconds, 3),
        "processor_seconds": round(processor_seconds(), 3),
        "peak_memory_mb": peak_memory_mb(),
        "peak_memory_with_children_mb": with_children_mb,
        "machine": platform.platform(),
        "python": platform.python_version(),
        **more,
    }
    write_json(Path("logs") / f"{label}.run.json", facts)
