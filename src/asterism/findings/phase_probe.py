"""Runs a script as its own program, and writes where it failed: the frames, innermost first.

It imports nothing of this package, so that any Python runs it. A signal or a hang is written by
:mod:`faulthandler`, which knows the Python frames of the process that it ends.
"""

from __future__ import annotations

import faulthandler
import json
import runpy
import sys
import traceback
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any


class Probe:
    """Notes the last exception that passes through the script.

    A script may catch what it shows, so exceptions are seen where they leave a line of it.

    Args:
        script: its file.
    """

    def __init__(self, script: str) -> None:
        self._script = script
        self._seen: BaseException | None = None
        self._trace: TracebackType | None = None
        self._callers: list[traceback.FrameSummary] = []

    def look(self, frame: FrameType, event: str, given: Any) -> Any:
        """What :func:`sys.settrace` calls; only frames of the script are looked at further."""
        if frame.f_code.co_filename != self._script:
            return None
        frame.f_trace_lines = False
        if event == "exception":
            self.note(given[1], given[2], frame.f_back)
        return self.look

    def note(
        self, error: BaseException, trace: TracebackType | None, caller: FrameType | None = None
    ) -> None:
        """Keep an exception where it first leaves a line of the script, with its callers."""
        if error is not self._seen and not isinstance(error, SystemExit):
            self._seen, self._trace = error, trace
            self._callers = traceback.extract_stack(caller) if caller else []

    @property
    def found(self) -> dict[str, Any]:
        """Frames with their lines, innermost first, and the words of the exception."""
        if self._seen is None:
            return {"frames": [], "said": ""}
        cause: BaseException | None = self._seen.__cause__ or self._seen.__context__
        traces = (cause.__traceback__ if cause else None, self._trace)
        read = [frame for trace in traces for frame in reversed(traceback.extract_tb(trace))]
        read += reversed(self._callers)
        frames = [f"{frame.filename}|{frame.name}|{frame.line}" for frame in read]
        return {"frames": frames, "said": f"{type(self._seen).__name__}: {self._seen}"[:4000]}


def main(script: str, answer: str, fatal: str, seconds: str) -> None:
    """Run a script.

    Args:
        script: its file.
        answer: a new file for the frames of an exception.
        fatal: a new file for those of a signal or a hang.
        seconds: after which it hangs.
    """
    with Path(fatal).open("w", encoding="utf-8") as file:
        faulthandler.enable(file)
        faulthandler.dump_traceback_later(float(seconds), exit=True, file=file)
        probe = Probe(script)
        if "except" in Path(script).read_text(encoding="utf-8"):  # tracing makes imports slow
            sys.settrace(probe.look)
        try:
            runpy.run_path(script, run_name="__main__")
        except (Exception, SystemExit) as error:
            probe.note(error, error.__traceback__)
        finally:
            sys.settrace(None)
            faulthandler.cancel_dump_traceback_later()
        Path(answer).write_text(json.dumps(probe.found), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
