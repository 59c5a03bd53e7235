"""The agent's paths, derived from its root directory. Cheap to import, because every command needs it."""

from __future__ import annotations

import hashlib
import os
import sys
from typing import Final

DEFAULT_ROOT_DIR: Final = "/var/lib/kubelet"


def state_dir_of(root_dir: str) -> str:
    """Private files of the agent (configuration checkpoints, incident records), 0700."""
    return f"{root_dir}/troupelet"


def default_policy_file() -> str:
    """The default policy: beside the sources, or in the wheel's data directory."""
    beside = os.path.abspath(f"{os.path.dirname(__file__)}/../../../etc/supervision.yaml")
    return beside if os.path.exists(beside) else f"{sys.prefix}/share/troupelet/etc/supervision.yaml"


def run_dir_of(root_dir: str) -> str:
    """The directory of the sockets of the agent with this root directory: unique, and short enough.

    A Unix socket's path has at most 107 bytes, so the root directory is only a hash in it.
    """
    base = "/run" if os.geteuid() == 0 else os.environ.get("XDG_RUNTIME_DIR") or f"/tmp/troupelet-{os.geteuid()}"  # noqa: S108
    real = os.path.abspath(root_dir)
    if real == DEFAULT_ROOT_DIR:
        return f"{base}/troupelet"
    return f"{base}/troupelet-{hashlib.sha256(real.encode()).hexdigest()[:8]}"
