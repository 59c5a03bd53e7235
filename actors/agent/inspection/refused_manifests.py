"""The refused manifests of a node without its agent, and the names of pods in refused manifests."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence

from actors.pod_config.manifests.manifest_name import name_in
from actors.pod_config.validation.limits import MAX_BYTES
from supervision.cli.command import Context

_FILE = "/"
"""Begins the place of a refused manifest that is a file: a path from the root."""


def refused_without_agent(context: Context) -> list[str]:
    """The errors of the manifests at the static pod path of the last start, as the agent would report them; none if
    that is not known, or its configuration cannot be read."""
    from actors.agent.manifest_check import check_manifests
    from actors.agent.running_flags import of_last_start, where_it_started
    from actors.shared.config.errors import ConfigErrors
    from actors.shared.config.loading import load

    last = context.files.last_start()
    if last is None or not last.flags:
        return []
    with where_it_started(None, last.directory):
        try:
            agent = load(of_last_start(context), in_force=True)
        except ConfigErrors:
            return []
    path = agent.config.staticPodPath
    if not path or not os.path.exists(path):
        return []
    references = not agent.gate("PreventStaticPodAPIReferences")
    return [str(error) for error in check_manifests([path], io.BytesIO(), allow_references=references).errors]


def names_in_refused(refused: Sequence[str]) -> dict[str, str]:
    """The name of the pod by the path of its manifest, for each refused one that can still be read."""
    places = dict.fromkeys(error.partition(": ")[0] for error in refused)
    return {place: name for place in places if place.startswith(_FILE) and (name := _name_in_file(place))}


def _name_in_file(path: str) -> str:
    try:
        # a FIFO must not block
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        with os.fdopen(descriptor, "rb") as file:
            return name_in(file.read(MAX_BYTES + 1))
    except OSError:
        return ""
