"""The pod that a command names."""

from __future__ import annotations

from typing import Any

from supervision.cli.command import NO_ANSWER, REFUSED, CommandError

from .node_pods import NodePods, NoSuchPod, PodNotKnown, find, of_name, why_not
from .refused_manifests import names_in_refused


def pod_of(found: NodePods, wanted: str, namespace: str) -> dict[str, Any]:
    """The pod of that name. Raises CommandError."""
    try:
        return find(found.pods, wanted, namespace, found.refused, by_runtime=found.by_runtime)
    except NoSuchPod as error:
        named = names_in_refused(found.refused)
        unknown = isinstance(error, PodNotKnown) and not of_name(found.refused, wanted, named)
        raise CommandError(
            NO_ANSWER if unknown else REFUSED, why_not(error, found.refused, wanted, found.problems, named)
        ) from None
