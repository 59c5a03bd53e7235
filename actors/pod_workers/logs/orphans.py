"""Removes log directories and links of pods that neither a source nor the runtime has.

Only this agent's logs are removed: another agent with its own root directory may share the log directory.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from actors.pod_workers.containers import files
from actors.shared.config.agent import Agent
from actors.shared.config.paths import DEFAULT_ROOT_DIR

from ..messages import worker_of

DEFAULT_LOGS_DIR = "/var/log/pods"
MIN_AGE_SECONDS = 120.0
"""A younger directory may belong to a new pod."""


def owns_log_directory(agent: Agent) -> bool:
    """Whether only this agent writes to the log directory."""
    return agent.pod_logs_dir != DEFAULT_LOGS_DIR or agent.root_dir == DEFAULT_ROOT_DIR


def orphans(names: Iterable[str], known: Collection[str], shard: str, workers: int) -> Iterator[tuple[str, str, str]]:
    """(namespace, name, uid) of this shard's log directories without a known pod, from their names."""
    for directory in names:
        parts = directory.split("_")
        if len(parts) == 3 and all(parts) and parts[2] not in known and worker_of(parts[2], workers) == shard:
            yield parts[0], parts[1], parts[2]


def sweep(agent: Agent, known: Collection[str], shard: str, now: float) -> list[str]:
    """Remove these directories, and links to logs that are gone; return the removed directories. Raises OSError if none
    could be removed."""
    logs = agent.pod_logs_dir
    if not owns_log_directory(agent) or not os.path.isdir(logs):
        return []
    removed: list[str] = []
    failed: OSError | None = None
    for namespace, name, uid in orphans(os.listdir(logs), known, shard, agent.workers):
        directory = Path(logs) / f"{namespace}_{name}_{uid}"
        try:
            if directory.is_symlink() or now - directory.lstat().st_mtime < MIN_AGE_SECONDS:
                continue
            files.remove_pod_logs(agent.container_logs_dir, logs, namespace, name, uid)
        except OSError as error:
            failed = error
            continue
        removed.append(str(directory))
    _remove_dead_links(agent, known, shard, now)
    if failed is not None and not removed:
        raise failed
    return removed


def _remove_dead_links(agent: Agent, known: Collection[str], shard: str, now: float) -> None:
    """Remove links to logs of unknown pods that another program has removed. A link that cannot be removed stays."""
    prefix = f"{agent.pod_logs_dir}/"
    with suppress(FileNotFoundError), os.scandir(agent.container_logs_dir) as entries:
        for entry in entries:
            target = os.readlink(entry.path) if entry.is_symlink() else ""
            if not target.startswith(prefix) or os.path.lexists(target):
                continue
            directory = target.removeprefix(prefix).partition("/")[0]
            if next(orphans([directory], known, shard, agent.workers), None) is None:
                continue
            with suppress(OSError):
                if now - os.lstat(entry.path).st_mtime >= MIN_AGE_SECONDS:
                    os.unlink(entry.path)
