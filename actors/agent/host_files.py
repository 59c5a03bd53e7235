"""Files and mounts of this host that a running agent needs, and what is wrong with them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress

from actors.agent.missing_controllers import missing_controllers
from actors.agent.read_only_disk import read_only
from actors.agent.remedies import RESOLVER, of_manifests, of_records
from actors.shared.config.start import start_records
from actors.shared.linux.cgroup_tree import find
from actors.shared.linux.presence import is_missing
from supervision.cli.health import Reason
from supervision.errors import error_reason


def problems(flags: Mapping[str, str], state_dir: str) -> Iterator[Reason]:
    """`flags`: the values in force, by the name of their flag."""
    manifests = flags.get("pod-manifest-path", "")
    if text := missing_manifests(manifests):
        yield Reason("staticPodPath", text, remedy=of_manifests(manifests))
    if text := unreadable_resolver(flags.get("resolv-conf", "")):
        yield Reason("resolvConf", text, remedy=RESOLVER)
    if text := start_records.problem(state_dir):
        yield Reason("records", text, remedy=of_records(running=True))
    with suppress(OSError):  # a directory that cannot be looked at is not known to be read-only
        if found := read_only(state_dir):
            yield Reason("disk", f"{found.text}: no pod starts, and nothing is recorded", remedy=found.remedy)
    with suppress(OSError):  # the container manager says so
        if missing := missing_controllers(find()):
            yield Reason("cgroups", missing.text, remedy=missing.remedy)


def missing_manifests(path: str) -> str:
    """What is wrong with staticPodPath; '' for nothing, also for an empty path."""
    if not os.path.isabs(path) or not is_missing(path):
        return ""
    real = os.path.realpath(path)
    led = f", it leads to {real}" if real != os.path.abspath(path) else ""
    return f"{path} is not there{led}: no static pod runs"


def unreadable_resolver(path: str, root: str = "/") -> str:
    """What is wrong with resolvConf; '' for nothing, also for an empty path. `root`: in place of /."""
    if not os.path.isabs(path):
        return ""
    try:
        with open(os.path.join(root, path.lstrip("/")), "rb"):
            return ""
    except OSError as error:
        return f"{path} cannot be read: {error_reason(error)}: no new pod starts"
