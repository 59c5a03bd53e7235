"""The SELinux label of directories in which plugins in containers have their sockets."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from actors.shared.config.agent import Agent
from actors.shared.linux import kernel_files
from supervision.errors import error_reason

ATTRIBUTE: Final = "security.selinux"
LABEL: Final = "system_u:object_r:container_file_t:s0"
"""Containers without privileges may use files with it."""


def label_plugin_directories(agent: Agent, root: str = "") -> Iterator[str]:
    """Label the directories if SELinux is enabled, so that containers of storage drivers and device plugins can use
    them without privileges. Returns a warning for each that cannot be labelled."""
    if not kernel_files.has_selinux(root):
        return
    for path in (agent.plugins_dir, agent.plugins_registry_dir, agent.device_plugins_dir):
        try:
            os.setxattr(path, ATTRIBUTE, LABEL.encode())
        except OSError as error:
            yield f"plugins in containers without privileges may not work: {path} has no label: {error_reason(error)}"
