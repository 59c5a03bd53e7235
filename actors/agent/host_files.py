"""Files of this host that a running agent needs, and what is wrong with them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from actors.shared.config.start import start_records
from supervision.cli.health import Reason
from supervision.errors import error_reason


def problems(flags: Mapping[str, str], state_dir: str) -> Iterator[Reason]:
    """`flags`: the values in force, by the name of their flag."""
    manifests = flags.get("pod-manifest-path", "")
    if os.path.isabs(manifests) and not os.path.exists(manifests):
        yield Reason("staticPodPath", f"{manifests} is not there: no static pod runs")
    resolver = flags.get("resolv-conf", "")
    if os.path.isabs(resolver) and (error := _unreadable(resolver)):
        yield Reason("resolvConf", f"{resolver} cannot be read: {error}: no new pod starts")
    if text := start_records.problem(state_dir):
        yield Reason("records", text)


def _unreadable(path: str) -> str:
    try:
        with open(path, "rb"):
            return ""
    except OSError as error:
        return error_reason(error)
