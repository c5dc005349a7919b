"""Readers with the defects that the harness must notice; no part of Asterism."""

from __future__ import annotations

import ctypes
import os
import threading
from pathlib import Path

from asterism.core.messages.errors import UserError
from readers.examples import Places


def read(path: Path) -> object:
    match path.read_text().partition(" ")[0]:
        case "fine":
            return 1
        case "rejected":
            raise UserError(f"{path} is rejected")
        case "nameless":
            raise UserError("something is wrong")
        case "traceback":
            return {}["missing"]
        case "panic":
            raise SystemExit(3)
        case "hang":
            threading.Event().wait()
        case "spin":
            while True:
                pass
        case "segfault":
            return ctypes.string_at(0)
        case "memory":
            return bytearray(b"\1") * (1 << 29)
        case "creep":
            kept = []
            while True:
                kept.append(os.urandom(1 << 20) * 8)
        case "system":
            return os.system("true")
        case "eval":
            return eval("1 + 1")
        case "import":
            import this

            return this
        case "write":
            return (path.parents[2] / "written").write_text("x")
        case "empty":
            return [file.unlink() for file in (path.parents[2] / "outside/kept").iterdir()]
        case "peep":
            libc = ctypes.CDLL(None)
            outside = path.parents[2] / "outside/secret.txt"
            return libc.open(os.fsencode(outside), os.O_RDONLY)
    return None


def whole_files(place: Places) -> None:
    (place(0) / "file.txt").write_text("fine")
