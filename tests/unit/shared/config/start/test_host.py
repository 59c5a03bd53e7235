"""What is looked up of the machine."""

from __future__ import annotations

import os

from actors.image_manager.node_credentials import NodeCredentials
from actors.shared.config.start.host import host_facts


def test_an_agent_whose_working_directory_was_removed_continues(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    assert host_facts().directory == os.getcwd()
    (tmp_path / "gone").rmdir()
    assert host_facts().directory == "/"
    assert NodeCredentials(str(tmp_path)).keyring() is not None
