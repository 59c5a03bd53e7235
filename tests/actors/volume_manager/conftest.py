"""The volume manager's CSI volumes with a made-up driver."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.volume_manager.csi import records
from tests.actors.volume_manager.csi_storage import Node, Storage


@pytest.fixture
def storage(monkeypatch: pytest.MonkeyPatch) -> Storage:
    found = Storage()
    monkeypatch.setattr(records, "mounted", lambda path: path in found.mounts)
    return found


@pytest.fixture
def node(tmp_path: Path, storage: Storage) -> Node:
    return Node(tmp_path, storage)
