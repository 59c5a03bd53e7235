"""The CPUs of each container, and the file that keeps them: cpu_manager_state of the kubelet. Pure.

{"policyName":"static","defaultCpuSet":"0,2-7","entries":{"<pod UID>":{"<container>":"1"}},"checksum":N}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from actors.container_manager.topology.machine import Cpus
from actors.shared.fnv import fnv1a_32
from actors.shared.hardware.checksum import map_text
from actors.shared.linux.cpu_list import format_cpu_list, parse_cpu_list
from actors.shared.restore_error import DamagedStateError
from supervision.errors import UNREADABLE

CPU_STATE: Final = "cpu_manager_state"
"""The file's name, in the root directory."""
_MOST_BYTES: Final = 16 << 20

Entries = Mapping[str, Mapping[str, Cpus]]
"""By pod UID and container: its exclusive CPUs."""


class StateError(DamagedStateError):
    """The file is damaged, or another agent's."""


class CpuState(msgspec.Struct, frozen=True):
    """The exclusive CPUs of each container."""

    policy: str
    shared: Cpus = frozenset()
    """The shared CPUs, of all containers without exclusive ones. Empty under the policy none."""
    entries: Entries = {}

    def of(self, uid: str) -> Mapping[str, Cpus]:
        """The containers of one pod with exclusive CPUs, and these CPUs."""
        return self.entries.get(uid, {})

    def exclusive(self) -> Cpus:
        """All exclusive CPUs."""
        return frozenset[int]().union(*(cpus for containers in self.entries.values() for cpus in containers.values()))

    def with_container(self, uid: str, container: str, cpus: Cpus) -> CpuState:
        """The state after these CPUs have become the container's exclusive ones."""
        entries = {**self.entries, uid: {**self.of(uid), container: cpus}}
        return CpuState(self.policy, self.shared - cpus, entries)

    def without(self, uid: str) -> CpuState:
        """The state after the pod's CPUs have become shared again."""
        released = frozenset[int]().union(*self.of(uid).values())
        entries = {other: containers for other, containers in self.entries.items() if other != uid}
        return CpuState(self.policy, self.shared | released, entries)


def encode(state: CpuState) -> bytes:
    """The file's content."""
    entries = {uid: {name: format_cpu_list(cpus) for name, cpus in one.items()} for uid, one in state.entries.items()}
    shared = format_cpu_list(state.shared)
    content: dict[str, Any] = {"policyName": state.policy, "defaultCpuSet": shared}
    if entries:
        content["entries"] = entries
    return msgspec.json.encode({**content, "checksum": checksum(state.policy, shared, entries)})


def checksum(policy: str, shared: str, entries: Mapping[str, Mapping[str, str]]) -> int:
    """The checksum over the sets in their written form."""
    maps = map_text({uid: map_text(containers) for uid, containers in entries.items()})
    return fnv1a_32(
        f"(*state.CPUManagerCheckpoint){{PolicyName:(string){policy} DefaultCPUSet:(string){shared} "
        f"Entries:(map[string]map[string]string){maps} Checksum:(checksum.Checksum)0}}"
    )


class _File(msgspec.Struct):
    policyName: str = ""
    defaultCpuSet: str = ""
    entries: dict[str, dict[str, str]] = {}
    checksum: int = 0


def decode(raw: bytes) -> CpuState:
    """Raises StateError."""
    if len(raw) > _MOST_BYTES:
        raise StateError(f"is larger than {_MOST_BYTES >> 20} MiB")
    try:
        file = msgspec.json.decode(raw, type=_File)
    except UNREADABLE as error:
        raise StateError(f"checkpoint is corrupted: {error}") from None
    if file.checksum not in (0, checksum(file.policyName, file.defaultCpuSet, file.entries)):
        raise StateError("checkpoint is corrupted")
    shared = default_set(file.defaultCpuSet)
    entries = {
        uid: {name: container_set(text, name, uid) for name, text in containers.items()}
        for uid, containers in file.entries.items()
    }
    return CpuState(file.policyName, shared, entries)


def default_set(text: str) -> Cpus:
    """The CPUs of defaultCpuSet. Raises StateError, with the kubelet's words."""
    return _set(text, f'could not parse default cpu set "{text}"')


def container_set(text: str, container: str, uid: str) -> Cpus:
    """The CPUs of one entry. Raises StateError, with the kubelet's words."""
    return _set(text, f'could not parse cpuset "{text}" for container "{container}" in pod "{uid}"')


def _set(text: str, otherwise: str) -> Cpus:
    try:
        return parse_cpu_list(text)
    except ValueError as error:
        raise StateError(f"{otherwise}: {error}") from None
