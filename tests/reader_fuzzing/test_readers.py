"""Every reader gives a value or one line of refusal, whatever its file holds.

Crafted files all, and some hundreds of mutants; ``make fuzz-readers`` tries thousands.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reader_fuzzing.campaign import Campaign, make_seeds
from reader_fuzzing.confirm import confirmed
from reader_fuzzing.examples import Example
from reader_fuzzing.table import FAMILIES, READERS
from reader_fuzzing.watch import Server, Verdict

#: Families whose libraries take seconds to load, and whose files take long to read.
HEAVY = ("onnx", "litert", "torch", "keras")
#: Mutants of each reader.
FEW = 15

Servers = dict[str, Server]


def cases() -> list:
    return [
        pytest.param(name, marks=[pytest.mark.slow] if reader.family in HEAVY else [])
        for name, reader in READERS.items()
        if reader.family in FAMILIES
    ]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("readers")


@pytest.fixture(scope="module")
def servers(home: Path) -> Iterator[Servers]:
    started: Servers = {}
    yield started
    for server in started.values():
        server.__exit__()


def server_for(family: str, servers: Servers, home: Path) -> Server:
    """One server a family, started when the first of its readers is tested."""
    if family not in servers:
        make_seeds(family, home / "seeds")
        servers[family] = Server(family, home / family, home / "seeds")
    return servers[family]


@pytest.mark.parametrize("name", cases())
def test_any_bytes_give_a_value_or_one_line(name: str, servers: Servers, home: Path) -> None:
    reader = READERS[name]
    server = server_for(reader.family, servers, home)

    def confirm(example: Example, died: Verdict) -> Verdict:
        return confirmed(reader, example, died, home / "isolated")

    campaign = Campaign(reader, home / "seeds", 0, 0, confirm)
    campaign.count = len(campaign.examples.attacks)
    outcome = campaign.run(server, shrink=False)

    @settings(max_examples=FEW)
    @given(st.integers(campaign.count, 2**32))
    def mutant(index: int) -> None:
        verdict = server.read(reader, campaign.examples[index])
        assert not verdict.failed, f"example {index}: {verdict.kind}: {verdict.what}"

    failures = [f"{f.verdict.kind}: {f.verdict.what}\n  {f.example.origin}"
                for f in outcome.failures.values()]  # fmt: skip
    assert not failures, "\n".join(failures)
    mutant()


def test_whole_files_are_read(servers: Servers, home: Path) -> None:
    """What the mutants are made of is sound: else nothing but the first check would be tried."""
    for family in FAMILIES:
        if family in HEAVY:
            continue
        server = server_for(family, servers, home)
        for reader in (r for r in READERS.values() if r.family == family):
            campaign = Campaign(reader, home / "seeds", 0, 0)
            for index in range(len([*(home / "seeds" / reader.name).iterdir()])):
                verdict = server.read(reader, campaign.examples[index])
                assert verdict.kind == "value", f"{reader.name}: {verdict}"
