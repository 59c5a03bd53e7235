"""Events of the node itself, besides the events of its conditions. Pure."""

from __future__ import annotations

from typing import Any, Final

from actors.api_clients.event_client.messages import RecordEvent, node_event

Json = dict[str, Any]

_OLD_CGROUPS: Final = (
    "cgroup v1 detected. cgroup v1 support is deprecated and will be removed in a future release. Please migrate to"
    " cgroup v2. More information at https://git.k8s.io/enhancements/keps/sig-node/5573-remove-cgroup-v1"
)
"""KEP-5573."""


def condition_event(name: str, reason: str) -> RecordEvent:
    return node_event(name, reason, f"Node {name} status is now: {reason}")


class NodeEvents:
    """Sees the node each time that its status is computed."""

    def __init__(self, name: str, *, first: bool) -> None:
        """`first`: the agent has just started; a restarted actor does not report everything again."""
        self._name = name
        self._unschedulable = False if first else None
        self._boot_reported = False

    def starting(self) -> RecordEvent:
        return node_event(self._name, "Starting", "Starting kubelet.")

    def old_cgroups(self) -> RecordEvent:
        return node_event(self._name, "CgroupV1", _OLD_CGROUPS, "Warning")

    def seen(self, node: Json) -> list[RecordEvent]:
        """The event for a node that was cordoned or uncordoned."""
        before, now = self._unschedulable, bool((node.get("spec") or {}).get("unschedulable"))
        self._unschedulable = now
        if before is None or before == now:
            return []
        return [condition_event(self._name, "NodeNotSchedulable" if now else "NodeSchedulable")]

    def booted(self, node: Json, boot_id: str) -> list[RecordEvent]:
        """The events for a boot ID that differs from the API's: once in the life of this process."""
        before = ((node.get("status") or {}).get("nodeInfo") or {}).get("bootID")
        if self._boot_reported or not before or not boot_id or before == boot_id:
            return []
        self._boot_reported = True
        return [
            node_event(self._name, "Rebooted", f"Node {self._name} has been rebooted, boot id: {boot_id}", "Warning")
        ]
