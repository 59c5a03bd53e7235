"""The ledger of admitted pods, and whether one more fits. Pure; reasons and messages are worded as the reference words
them, because people and tools match on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from actors.shared.kube.pod import HostPort, Pod
from actors.shared.kube.pods import is_sidecar, pod_requests, qos_class

_ANY_ADDRESS = {"", "0.0.0.0", "::"}  # noqa: S104 - what a host port without an address means
_COUNTED = ("cpu", "memory", "ephemeral-storage")


class Entry(msgspec.Struct, frozen=True):
    """What one pod takes of the node."""

    uid: str
    requests: dict[str, int]
    ports: frozenset[HostPort]
    qos: str


class Refusal(msgspec.Struct, frozen=True):
    reason: str
    message: str


class Ledger:
    """Who is on the node."""

    def __init__(self, allocatable: Mapping[str, int]) -> None:
        self.allocatable = dict(allocatable)
        self._entries: dict[str, Entry] = {}

    def __contains__(self, uid: str) -> bool:
        return uid in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, entry: Entry) -> None:
        self._entries[entry.uid] = entry

    def drop(self, uid: str) -> bool:
        """Whether it was there."""
        return self._entries.pop(uid, None) is not None

    def keep(self, uids: frozenset[str]) -> list[str]:
        """Drop all others; which."""
        gone = [uid for uid in self._entries if uid not in uids]
        for uid in gone:
            del self._entries[uid]
        return gone

    def requested(self) -> dict[str, int]:
        """The sum of all requests."""
        total: dict[str, int] = {}
        for entry in self._entries.values():
            for name, value in entry.requests.items():
                total[name] = total.get(name, 0) + value
        return total

    def requested_by(self, qos: str, name: str) -> int:
        """The requests of all pods of one QoS class: thousandths of a core, or bytes."""
        return sum(entry.requests.get(name, 0) for entry in self._entries.values() if entry.qos == qos)

    def refuse(self, entry: Entry) -> Refusal | None:
        """Why the pod does not fit; None when it does, or is here already."""
        if entry.uid in self._entries:
            return None
        for name, wanted, used, most in self._measured(entry):
            if wanted > 0 and wanted > most - used:
                return Refusal(f"OutOf{name}", _lacking(name, wanted, used, most))
        if any(conflict(port, other) for port in entry.ports for other in self._ports()):
            text = "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"
            return Refusal("NodePorts", text)
        return None

    def refuse_resize(self, entry: Entry) -> Refusal | None:
        """Why a pod that is here cannot become this; None when it can."""
        before = self._entries.get(entry.uid, entry).requests
        for name in ("cpu", "memory"):
            wanted, own, most = entry.requests.get(name, 0), before.get(name, 0), self.allocatable.get(name, 0)
            used = self.requested().get(name, 0) - own
            if wanted <= own:
                continue
            if wanted > most:
                text = f"Node didn't have enough capacity: {name}, requested: {wanted}, capacity: {most}"
                return Refusal("Infeasible", text)
            if wanted > most - used:
                return Refusal("Deferred", _lacking(name, wanted, used, most))
        return None

    def _measured(self, entry: Entry) -> Iterator[tuple[str, int, int, int]]:
        """(resource, wanted, used, capacity), in the reference's order. Extended resources that the node does not list
        are passed over."""
        used = self.requested()
        yield "pods", 1, len(self._entries), self.allocatable["pods"]
        others = sorted(name for name in entry.requests if name not in _COUNTED and name in self.allocatable)
        for name in (*_COUNTED, *others):
            yield name, entry.requests.get(name, 0), used.get(name, 0), self.allocatable.get(name, 0)

    def _ports(self) -> Iterator[HostPort]:
        for entry in self._entries.values():
            yield from entry.ports


def _lacking(name: str, wanted: int, used: int, most: int) -> str:
    return f"Node didn't have enough resource: {name}, requested: {wanted}, used: {used}, capacity: {most}"


def entry_of(uid: str, pod: Pod) -> Entry:
    return Entry(uid, pod_requests(pod), host_ports(pod), qos_class(pod))


def host_ports(pod: Pod) -> frozenset[HostPort]:
    """What the pod's containers listen on at the node. With the host's network every port is one."""
    containers = [*filter(is_sidecar, pod.spec.initContainers), *pod.spec.containers]
    ports = [port for container in containers for port in container.ports]
    found = [(port, port.hostPort or (port.containerPort if pod.spec.hostNetwork else 0)) for port in ports]
    return frozenset((port.hostIP, number, port.protocol) for port, number in found if number > 0)


def conflict(one: HostPort, other: HostPort) -> bool:
    """Whether both cannot be listened on at one time."""
    same_address = one[0] == other[0] or one[0] in _ANY_ADDRESS or other[0] in _ANY_ADDRESS
    return one[1:] == other[1:] and same_address
