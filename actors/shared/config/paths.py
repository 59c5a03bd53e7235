"""The agent's paths, derived from its root directory. Cheap to import, because every command needs it."""

from __future__ import annotations

import hashlib
import os
import sys
from typing import Final

DEFAULT_ROOT_DIR: Final = "/var/lib/kubelet"
ROOT_DIR_VARIABLE: Final = "TROUPELET_ROOT_DIR"
MANAGED_ROOT: Final = "containerd"
"""In the state directory: the root directory of the managed containerd."""
IMAGES_FILE: Final = "images.json"
"""In the directory of a managed runtime: the references of the images that it has from the start, with their IDs."""


def default_root_dir() -> str:
    """The root directory of every command without --root-dir, `start` included."""
    return os.environ.get(ROOT_DIR_VARIABLE) or DEFAULT_ROOT_DIR


def state_dir_of(root_dir: str) -> str:
    """Private files of the agent (configuration checkpoints, incident records), 0700."""
    return f"{root_dir}/troupelet"


def managed_state_dir(run_dir: str) -> str:
    """Sockets and state of the managed containerd; beside the run directory, to outlive the actors' sockets."""
    return f"{run_dir}-containerd"


def default_policy_file() -> str:
    """The default policy: beside the sources, or in the wheel's data directory."""
    in_sources = os.path.abspath(f"{os.path.dirname(__file__)}/../../../etc/supervision.yaml")
    return in_sources if os.path.exists(in_sources) else f"{sys.prefix}/share/troupelet/etc/supervision.yaml"


def run_dir_of(root_dir: str, uid: int | None = None) -> str:
    """The directory of the sockets of the agent with this root directory: unique, and short enough. `uid`: the user who
    runs it; None: this process's user.

    A Unix socket's path has at most 107 bytes, so the root directory is only a hash in it.
    """
    uid = os.geteuid() if uid is None else uid
    base = "/run" if uid == 0 else os.environ.get("XDG_RUNTIME_DIR") or f"/tmp/troupelet-{uid}"  # noqa: S108
    real = os.path.abspath(root_dir)
    if real == DEFAULT_ROOT_DIR:
        return f"{base}/troupelet"
    return f"{base}/troupelet-{hashlib.sha256(real.encode()).hexdigest()[:8]}"
