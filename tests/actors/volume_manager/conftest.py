"""The volume manager: alone, and with CSI volumes of a made-up driver."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.volume_manager.csi import records
from actors.volume_manager.host import memory_mounts, mount_propagation
from supervision.testing.harness import Harness
from tests.actors.volume_manager.csi_storage import Node, Storage
from tests.actors.volume_manager.plain_volumes import start


@pytest.fixture
def storage(monkeypatch: pytest.MonkeyPatch) -> Storage:
    found = Storage()
    monkeypatch.setattr(records, "mounted", lambda path: path in found.mounts)
    return found


@pytest.fixture
def node(tmp_path: Path, storage: Storage) -> Node:
    return Node(tmp_path, storage)


@pytest.fixture
def manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Harness:
    monkeypatch.setattr(mount_propagation, "make_shared", lambda path: False)
    monkeypatch.setattr(memory_mounts, "mount_memory", lambda *_: True)
    return start(tmp_path)
