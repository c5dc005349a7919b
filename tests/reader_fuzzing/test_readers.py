"""Every reader gives a value or one line of rejection, whatever its file holds.

Some hundreds of crafted files and of mutants; all crafted ones in the slow tests, and thousands of
mutants by ``make fuzz-readers``.
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
#: Readers that get all crafted files in the fast tests; others each eighth.
THOROUGH = ("npz", "params.yaml")
#: Mutants of each reader.
FEW = 8

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


def campaign_of(name: str, servers: Servers, home: Path) -> tuple[Campaign, Server]:
    """A campaign of a reader's crafted files, and who reads them."""
    reader = READERS[name]
    server = server_for(reader.family, servers, home)

    def confirm(example: Example, died: Verdict) -> Verdict:
        return confirmed(reader, example, died, home / "isolated")

    campaign = Campaign(reader, home / "seeds", 0, 0, confirm)
    campaign.count = len(campaign.examples.attacks)
    return campaign, server


def require_no_failure(campaign: Campaign, server: Server) -> None:
    outcome = campaign.run(server, shrink=False)
    told = [
        f"{failure.example.origin}: {failure.verdict.kind}: {failure.verdict.what}"
        for failure in outcome.failures.values()
    ]
    assert not told, "\n".join(told)


@pytest.mark.parametrize("name", cases())
def test_any_bytes_give_a_value_or_one_line(name: str, servers: Servers, home: Path) -> None:
    campaign, server = campaign_of(name, servers, home)
    first = campaign.count
    if name not in THOROUGH:
        campaign.examples.attacks[:] = campaign.examples.attacks[::8]
        campaign.count = len(campaign.examples.attacks)
    require_no_failure(campaign, server)

    @settings(max_examples=FEW)
    @given(st.integers(first, 2**32))
    def mutant(index: int) -> None:
        verdict = server.read(READERS[name], campaign.examples[index])
        assert not verdict.failed, f"example {index}: {verdict.kind}: {verdict.what}"

    mutant()


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n, r in READERS.items() if r.family in FAMILIES])
def test_all_crafted_files(name: str, servers: Servers, home: Path) -> None:
    require_no_failure(*campaign_of(name, servers, home))


@pytest.mark.slow
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
