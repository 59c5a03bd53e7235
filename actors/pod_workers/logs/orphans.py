"""Removes log directories and links of pods that neither a source nor the runtime has.

Only this agent's logs are removed: another agent with its own root directory may share the log directory. A disposable
process does it, because the directory may hang, or hold a million files that others have put there.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from actors.pod_workers.containers import files
from actors.shared.config.agent import Agent
from actors.shared.config.paths import DEFAULT_ROOT_DIR

from ..messages import worker_of

DEFAULT_LOGS_DIR = "/var/log/pods"
MIN_AGE_SECONDS = 120.0
"""A younger directory may belong to a new pod."""
MOST_REMOVED: Final = 1000
"""At one time: the next sweep removes more."""


def owns_log_directory(agent: Agent) -> bool:
    """Whether only this agent writes to the log directory."""
    return agent.pod_logs_dir != DEFAULT_LOGS_DIR or agent.root_dir == DEFAULT_ROOT_DIR


class SweptShard(NamedTuple):
    """The worker whose logs are swept."""

    known: frozenset[str]
    """UIDs of pods."""
    worker: str
    workers: int
    """Of all shards."""


def orphans(names: Iterable[str], mine: SweptShard) -> Iterator[tuple[str, str, str]]:
    """(namespace, name, uid) of this shard's log directories without a known pod, from their names."""
    for directory in names:
        parts = directory.split("_")
        if len(parts) != 3 or not all(parts) or parts[2] in mine.known:
            continue
        if worker_of(parts[2], mine.workers) == mine.worker:
            yield parts[0], parts[1], parts[2]


def sweep(*, logs: str, links: str, known: list[str], shard: str, workers: int, now: float) -> list[str]:
    """Remove these directories, and links to logs that are gone; return the removed directories. Raises OSError if none
    could be removed. For a disposable process.

    `logs`, `links`: the directories of the pods' logs and of the links to these. `known`: UIDs of pods. `now`: seconds
    since 1970."""
    if not os.path.isdir(logs):
        return []
    mine = SweptShard(frozenset(known), shard, workers)
    removed: list[str] = []
    failed: OSError | None = None
    for namespace, name, uid in orphans(os.listdir(logs), mine):
        directory = Path(logs) / f"{namespace}_{name}_{uid}"
        try:
            if directory.is_symlink() or now - directory.lstat().st_mtime < MIN_AGE_SECONDS:
                continue
            files.remove_pod_logs(links, logs, namespace, name, uid)
        except OSError as error:
            failed = error
            continue
        removed.append(str(directory))
        if len(removed) == MOST_REMOVED:
            break
    _remove_dead_links(logs, links, mine, now)
    if failed is not None and not removed:
        raise failed
    return removed


def _remove_dead_links(logs: str, links: str, mine: SweptShard, now: float) -> None:
    """Remove links to logs of unknown pods that another program has removed. A link that cannot be removed stays."""
    prefix = f"{logs}/"
    with suppress(FileNotFoundError), os.scandir(links) as entries:
        for entry in entries:
            target = os.readlink(entry.path) if entry.is_symlink() else ""
            if not target.startswith(prefix) or os.path.lexists(target):
                continue
            directory = target.removeprefix(prefix).partition("/")[0]
            if next(orphans([directory], mine), None) is None:
                continue
            with suppress(OSError):
                if now - os.lstat(entry.path).st_mtime >= MIN_AGE_SECONDS:
                    os.unlink(entry.path)
