from __future__ import annotations

from pathlib import Path

import pytest
from worlds import World, load_world, write_network


@pytest.fixture(scope="session")
def network_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("network") / "net.onnx"
    write_network(path)
    return path


@pytest.fixture(scope="session")
def world(network_file: Path) -> World:
    return load_world(network_file)
