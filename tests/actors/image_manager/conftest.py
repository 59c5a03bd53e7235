"""The image managers of these tests do not see the containers of the machine that the tests run on."""

from __future__ import annotations

import pytest

from actors.image_manager import actor


@pytest.fixture(autouse=True)
def running(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """IDs of the containers that have a process; a test adds its own."""
    found: set[str] = set()
    monkeypatch.setattr(actor, "running_containers", lambda cgroup_root: set(found))
    return found
