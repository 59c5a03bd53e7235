"""The SELinux label of the directories of plugins."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from actors.shared.config.agent import Agent
from actors.shared.config.start.selinux_labels import label_plugin_directories

LABEL = b"system_u:object_r:container_file_t:s0"
Calls = list[tuple[str, str, bytes]]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    """What would be labelled: not each file system of a test machine has labels."""
    made: Calls = []

    def set_label(path: str, name: str, value: bytes) -> None:
        made.append((path, name, value))
        if path.endswith("/plugins"):
            raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP), path)

    monkeypatch.setattr(os, "setxattr", set_label)
    return made


def test_without_selinux_nothing_is_labelled(tmp_path: Path, calls: Calls) -> None:
    assert list(label_plugin_directories(Agent(root_dir="/r"), str(tmp_path))) == []
    assert calls == []


def test_plugins_in_containers_may_use_the_directories_of_their_sockets(tmp_path: Path, calls: Calls) -> None:
    (tmp_path / "sys/fs/selinux").mkdir(parents=True)
    (tmp_path / "sys/fs/selinux/enforce").write_text("1")
    (warning,) = label_plugin_directories(Agent(root_dir="/r"), str(tmp_path))
    wanted = ("/r/plugins", "/r/plugins_registry", "/r/device-plugins")
    assert calls == [(path, "security.selinux", LABEL) for path in wanted]
    assert warning.startswith("plugins in containers without privileges may not work: /r/plugins has no label: ")
