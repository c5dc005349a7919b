"""Rewriting the assertions of test files once for all workers of a run."""

import importlib.util
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from _pytest.assertion.rewrite import AssertionRewritingHook


def rewrite_once(hook: AssertionRewritingHook, places: Iterable[Path]) -> None:
    """Write what pytest compiles of test files before workers start, which would each do so.

    A file in which nothing has changed since takes a thousandth of a second.

    Args:
        hook: pytest's loader of test files.
        places: files and folders that are to be collected.
    """
    for place in places:
        for path in place.rglob("test_*.py") if place.is_dir() else [place]:
            spec = importlib.util.spec_from_file_location(path.stem, path, loader=hook)
            assert spec is not None
            module = importlib.util.module_from_spec(spec)
            # Its first import fails, so that nothing runs.
            module.__dict__["__builtins__"] = {}
            with suppress(ImportError, SyntaxError, OSError):  # collecting tells of files
                hook.exec_module(module)
