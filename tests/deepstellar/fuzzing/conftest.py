from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from worlds import World


@pytest.fixture(scope="session")
def network_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from worlds import write_network

    path = tmp_path_factory.mktemp("network") / "net.onnx"
    write_network(path)
    return path


@pytest.fixture(scope="session")
def world(network_file: Path) -> World:
    from worlds import load_world

    return load_world(network_file)
