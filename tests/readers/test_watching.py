"""The harness notices what it is there for: planted defects get the right verdicts."""

import pytest

from readers.examples import Example
from readers.table import PLANTED
from readers.watch import Server
from thinning import every

#: What a reader does, and the verdict that is due.
DEFECTS = [
    ("from asterism.core.messages.errors import UserError; raise UserError('a')", "bad message"),
    ("{}['missing']", "traceback"),
    ("raise SystemExit(3)", "traceback"),
    ("import threading; threading.Event().wait()", "hang"),
    ("while True: pass", "hang"),
    ("import ctypes; ctypes.string_at(0)", "crash"),
    ("x = bytearray(b'1') * (1 << 29)", "memory"),
    ("import os; os.system('true')", "code run"),
    ("eval('1 + 1')", "code run"),
    ("import this", "code run"),
    ("(path.parents[2] / 'written').write_text('x')", "code run"),
    ("import os; os.open(path.parents[2] / 'outside/secret.txt', os.O_RDONLY)", "code run"),
    ("(path.parents[2] / 'outside/kept/work.txt').unlink()", "code run"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("s")
    with Server("planted", folder, cpu_s=2, wall_s=8, memory_mb=300) as server:
        yield server


@pytest.mark.parametrize(("source", "kind"), every(3, DEFECTS))
def test_a_planted_defect_is_noticed(server, source, kind):
    assert server.read(PLANTED, Example("file.txt", {"file.txt": source.encode()})).kind == kind
    assert server.read(PLANTED, Example("file.txt", {"file.txt": b"pass"})).kind == "value"
