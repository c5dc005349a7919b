"""The harness notices what it is there for: readers with planted defects get the right verdicts."""

import json
from random import Random

import pytest

from reader_fuzzing.campaign import Campaign, Examples, load_failure, make_seeds, read_seeds
from reader_fuzzing.examples import Example, Odd
from reader_fuzzing.table import READERS
from reader_fuzzing.watch import Server

PLANTED = READERS["planted"]


@pytest.fixture(scope="module")
def seeds(tmp_path_factory):
    folder = tmp_path_factory.mktemp("seeds")
    make_seeds("planted", folder)
    return folder


@pytest.fixture(scope="module")
def server(tmp_path_factory, seeds):
    folder = tmp_path_factory.mktemp("servers") / "planted"
    with Server("planted", folder, seeds, cpu_s=2, memory_mb=300) as server:
        yield server


@pytest.mark.parametrize(
    ("content", "kind", "told"),
    [
        ("fine", "value", ""),
        ("rejected", "rejected", "is rejected"),
        ("nameless", "bad message", "names no file"),
        ("traceback", "traceback", "KeyError: 'missing'"),
        ("panic", "traceback", "SystemExit"),
        ("hang", "hang", "threading.py:wait"),
        ("spin", "hang", "planted.py:_read"),
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
)
def test_a_planted_defect_is_named(server, content, kind, told):
    verdict = server.read(PLANTED, Example("file.txt", {"file.txt": content.encode()}))
    assert (verdict.kind, told in verdict.what) == (kind, True), verdict
    after = server.read(PLANTED, Example("file.txt", {"file.txt": b"fine"}))
    assert after.kind == "value"


def test_the_first_example_of_a_server_is_read_and_no_whole_file(tmp_path, seeds):
    with Server("planted", tmp_path / "server", seeds) as server:
        verdict = server.read(PLANTED, Example("file.txt", {"file.txt": b"traceback"}))
        assert verdict.kind == "traceback"


def test_a_server_reads_many_examples(tmp_path, seeds):
    with Server("planted", tmp_path / "server", seeds) as server:
        for content in (b"fine", b"rejected", b"traceback", b"eval") * 5:
            server.read(PLANTED, Example("file.txt", {"file.txt": content}))
        assert server.starts == 1


def test_a_defect_is_found_kept_made_smaller_and_read_again(tmp_path, seeds):
    """Of examples that fail alike the first is kept; what does not matter is cut away."""
    found = Example("file.txt", {"file.txt": b"traceback " + b"x" * 99, "other.txt": b"x" * 100})
    with Server("planted", tmp_path / "server", seeds) as server:
        campaign = Campaign(PLANTED, seeds, seed=0, count=0)
        first = len(campaign.examples.attacks)
        campaign.examples.recipe = lambda index: (found, [])
        campaign.next, campaign.count = first, first + 2
        outcome = campaign.run(server)
        (failure,) = outcome.failures.values()
        assert (failure.count, outcome.counts.failures, outcome.counts.examples) == (2, 2, 2)
        assert dict(failure.example.files) == {"file.txt": b"traceback"}
        reader, example = load_failure(failure.save(tmp_path / "failures"))
        assert reader is PLANTED
        assert server.read(reader, example).signature == failure.verdict.signature


def test_odd_things_come_back_as_they_were_written(tmp_path):
    files = {
        "a": b"1",
        "b/c": b"",
        "link": Odd("link", "nowhere"),
        "fifo": Odd("fifo"),
        "folder": Odd("folder"),
        "zeros": Odd("sparse", size=1 << 30),
    }
    example = Example("a", files)
    example.write(tmp_path / "x")
    assert Example.read(tmp_path / "x", "a") == example


@pytest.mark.parametrize("name", ["planted"])
def test_an_example_follows_from_seed_and_index_alone(seeds, name):
    whole = read_seeds(READERS[name], seeds)
    one, same, other = (Examples(READERS[name], whole, seed, 5) for seed in (0, 0, 1))
    indexes = Random(0).sample(range(len(one.attacks), 500), 40)
    assert [one[i] for i in indexes] == [same[i] for i in reversed(indexes)][::-1]
    assert [one[i] for i in indexes] != [other[i] for i in indexes]
    assert len({json.dumps(one[i].origin) for i in indexes}) > 5
