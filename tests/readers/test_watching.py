"""The harness notices what it is there for: planted defects get the right verdicts."""

import pytest

from readers.examples import Example
from readers.table import PLANTED
from readers.watch import Server
from thinning import every


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Server("planted", tmp_path_factory.mktemp("s"), cpu_s=2, memory_mb=300) as server:
        yield server


def example(content):
    return Example("file.txt", {"file.txt": content.encode()})


@pytest.mark.parametrize(
    ("content", "kind", "told"),
    every(
        3,
        [
            ("fine", "value", ""),
            ("rejected", "rejected", "is rejected"),
            ("nameless", "bad message", "names no file"),
            ("traceback", "traceback", "KeyError: 'missing'"),
            ("panic", "traceback", "SystemExit"),
            ("hang", "hang", "threading.py:wait"),
            ("spin", "hang", "planted.py:read"),
            ("segfault", "crash", "SIGSEGV"),
            ("memory", "memory", "MB"),
            ("creep", "memory", "MB"),
            ("system", "code run", "os.system"),
            ("eval", "code run", "1 + 1"),
            ("import", "code run", "imported this"),
            ("write", "code run", "writes"),
            ("peep", "code run", "secret.txt beside the example was opened"),
            ("empty", "code run", "deleted"),
        ],
    ),
)
def test_a_planted_defect_is_named(server, content, kind, told):
    verdict = server.read(PLANTED, example(content))
    assert (verdict.kind, told in verdict.what) == (kind, True), verdict
    assert server.read(PLANTED, example("fine")).kind == "value"


def test_a_server_reads_many_examples(tmp_path):
    with Server("planted", tmp_path) as server:
        for content in ("fine", "rejected", "traceback", "eval") * 5:
            server.read(PLANTED, example(content))
        assert server.starts == 1
