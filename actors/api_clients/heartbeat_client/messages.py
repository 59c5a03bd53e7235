"""The messages of the heartbeat client: what the status of the Node is made from."""

from __future__ import annotations

from typing import ClassVar, Final

import msgspec

from supervision.addresses import ActorName
from supervision.message import Message

HEARTBEAT_CLIENT: Final = ActorName("api_clients/heartbeat_client")


class NodeProblem(Message, frozen=True):
    """From any actor, on change and on Hello: a reason why the node is not ready; message '' withdraws it."""

    source: str
    """The reporter: runtime, storage, shutdown, ..."""
    message: str = ""
    coalesce: ClassVar[tuple[str, ...]] = ("source",)


class RuntimeHandlerReport(msgspec.Struct, frozen=True, kw_only=True):
    """A handler of the runtime ('': the default one), as in node.status.runtimeHandlers."""

    name: str = ""
    recursive_read_only_mounts: bool = False
    user_namespaces: bool = False


class RuntimeReport(Message, frozen=True, kw_only=True):
    """From pleg, after each status call to the runtime (every 5 s), on change and on Hello.

    Times are seconds of the monotonic clock, which all processes of a host share; 0: not yet.
    """

    ready_at: float
    """When the runtime last reported that it is ready."""
    relisted_at: float
    """The start of the last full relist."""
    runtime_error: str = ""
    """The runtime's own error; empty when it is ready, and when it does not answer."""
    network_error: str = ""
    version: str = ""
    """`containerd://1.6.20`."""
    handlers: list[RuntimeHandlerReport] = []
    supplemental_groups_policy: bool = False
    coalesce: ClassVar[tuple[str, ...]] = ()


class NodePressure(Message, frozen=True):
    """From eviction_manager, on change and on Hello."""

    memory: bool = False
    disk: bool = False
    pids: bool = False
    coalesce: ClassVar[tuple[str, ...]] = ()


class DeviceResources(Message, frozen=True):
    """From device_manager, on change and on Hello: devices of each extended resource that a plugin serves. A resource
    whose plugin did not come back is there with 0."""

    capacity: dict[str, int]
    allocatable: dict[str, int]
    """The healthy ones."""
    coalesce: ClassVar[tuple[str, ...]] = ()


class VolumesInUse(Message, frozen=True):
    """From volume_manager, on change and on Hello: unique names of attachable volumes that are mounted or wanted."""

    names: list[str]
    coalesce: ClassVar[tuple[str, ...]] = ()
