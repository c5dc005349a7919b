"""Every reader gives a value or one line of rejection, whatever its file holds.

The crafted files, of which the fast tests read some, and whole files that Hypothesis damages: many
more of these by ``make fuzz-readers``. Hypothesis keeps what it finds, and tries it first the next
time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, given, settings

from readers.attacks import attacks_on
from readers.damage import damaged
from readers.examples import Example
from readers.table import HEAVY, PLANTED, READERS, Reader
from readers.watch import Server
from thinning import every

#: Damaged files of each reader.
EXAMPLES = int(os.environ.get("READER_EXAMPLES", "3"))
#: Readers that get many crafted files in the fast tests; others a few.
THOROUGH = ("npz", "params.yaml")
#: MB that a crafted file, of a few MB itself, may take before it is rejected.
ROOM_MB = 300

Serving = tuple[Reader, Server]
CASES = [
    pytest.param(name, marks=[pytest.mark.slow] if reader.family in HEAVY else [])
    for name, reader in READERS.items()
]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Server]]:
    started: dict[str, Server] = {}
    yield started
    for server in started.values():
        server.__exit__()


@pytest.fixture
def serving(
    request: pytest.FixtureRequest,
    servers: dict[str, Server],
    tmp_path_factory: pytest.TempPathFactory,
) -> Serving:
    """A reader and the server of its family."""
    reader = READERS[request.param]
    if reader.family not in servers:
        servers[reader.family] = Server(reader.family, tmp_path_factory.mktemp("readers"))
    return reader, servers[reader.family]


@pytest.mark.parametrize("few", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize("serving", CASES, indirect=True)
def test_a_crafted_file_gives_a_value_or_one_line(serving: Serving, few: bool) -> None:
    """Each of the whole and the crafted files, or of every few, gets the answer that is due."""
    (reader, server), wrong = serving, []
    step = (6 if reader.name in THOROUGH else 24) if few else 1
    for name, make, due in attacks_on(reader, server.whole(reader))[::step]:
        verdict = server.read(reader, make())
        takes_room = due == "rejected" and verdict.peak_mb > ROOM_MB
        if verdict.failed or takes_room or due not in ("", verdict.kind):
            wrong.append(f"{name}: {verdict}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("serving", CASES, indirect=True)
def test_a_damaged_file_gives_a_value_or_one_line(serving: Serving, tmp_path: Path) -> None:
    reader, server = serving
    kept = Path(os.environ.get("READER_FAILURES", tmp_path)) / reader.name.replace("/", "_")

    @settings(max_examples=EXAMPLES, suppress_health_check=[*HealthCheck])
    @given(damaged(server.whole(reader)))
    def read(example):
        verdict = server.read(reader, example)
        event(verdict.kind)
        if verdict.failed:  # the last that Hypothesis tries is the smallest
            example.write(kept)
        assert not verdict.failed, f"{kept}: {verdict}"

    read()


#: What a reader does, and the verdict that is due.
DEFECTS = [
    ("from asterism.core.messages.errors import UserError; raise UserError('a')", "bad message"),
    ("{}['missing']", "traceback"),
    ("raise SystemExit(3)", "traceback"),
    pytest.param("import threading; threading.Event().wait()", "hang", marks=pytest.mark.slow),
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
