"""An actor's declaration: the tree and every table about actors are derived from it.

It is in `declaration.py` of the actor's package and imports only `messages` modules, so that the command line can read
all declarations without loading an actor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from typing import Any, Final

import msgspec

from supervision.addresses import ActorName
from supervision.spec import PolicySettings

from .config.agent import Agent

CRI: Final = ("grpc", "grpc.aio", "proto.cri_pb2", "actors.shared.cri.client")
"""Modules to preload for an actor that calls the container runtime."""
API: Final = (
    "ssl",
    "httpcore",
    "sniffio",  # httpcore looks for it with each request; a search that fails costs more than the request
    "anyio._backends._asyncio",
    "actors.shared.api.client",
    "actors.shared.api.kubeconfig",
    "actors.shared.api.reflector",
)
"""Modules to preload for an actor that calls the API server."""
POD_HOLDER: Final = PolicySettings(memory_mib=640)
"""For an actor that has every pod of the node, as JSON and as objects. An API server takes pods of up to 1.5 MiB, so
the 110 of a node have up to 165 MiB; usually a tenth of this ceiling is used."""


class Relations(msgspec.Struct, frozen=True, kw_only=True):
    """Relations derived from all declarations, for the actors that need them."""

    consumers: dict[ActorName, tuple[str, ...]]
    """The configuration fields that each actor reads; a name may end in `*`."""
    inventory: tuple[ActorName, ...]
    """Actors that receive the pod inventory."""
    optional: tuple[ActorName, ...]
    """Actors that exist only under some configurations."""
    policies: dict[ActorName, PolicySettings]
    """Declared supervision settings by name, of actors and supervisors; a name may end in `*`."""


class Declaration(msgspec.Struct, frozen=True, kw_only=True):
    """An actor, or several instances, whose `name` then ends with `*`."""

    name: ActorName
    """Full, as in the tree."""
    actor: str
    """`module:Class`."""
    instances: Callable[[Agent], int] | None = None
    """The number of instances, if the name ends with `*`."""
    exists: Callable[[Agent], object] | None = None
    """Whether it exists under a configuration; None: always."""
    reads: tuple[str, ...] = ()
    """Top-level configuration fields. A change of one restarts the actor."""
    fed_by: tuple[ActorName, ...] = ()
    """Actors that get a Hello when this one starts, and send it their state. Actors outside the tree are skipped."""
    fed_by_joined: tuple[ActorName, ...] = ()
    """The same for an agent that joins a cluster."""
    pod_inventory: bool = False
    """Every shard sends it its pods (ShardPods), on change and on Hello."""
    preload: tuple[str, ...] = ()
    """Modules that the fork server imports before the first fork, besides the actor's own."""
    preload_joined: tuple[str, ...] = ()
    """The same for an agent that joins a cluster."""
    prepare: tuple[str, ...] = ()
    """Functions, `module:function`, that the fork server calls once after the preload; all processes share their
    results. They open nothing and start no thread."""
    prepare_joined: tuple[str, ...] = ()
    """The same for an agent that joins a cluster."""
    keeps_sockets: bool = False
    """Whether its listening sockets survive a restart: clients wait while it is replaced (supervision/listeners.py)."""
    policy: PolicySettings = {}
    """Its supervision settings; the others are the engine's default. An operator's policy file may override each."""
    arguments: Callable[[Relations], dict[str, Any]] = lambda relations: {}
    """Keyword arguments of the actor's class, derived from all declarations."""

    @property
    def module(self) -> str:
        return self.actor.partition(":")[0]

    def names(self, agent: Agent) -> list[ActorName]:
        """Its full names in the tree of this agent."""
        if self.exists is not None and not self.exists(agent):
            return []
        if self.instances is None:
            return [self.name]
        return [ActorName(f"{self.name.removesuffix('*')}{number}") for number in range(self.instances(agent))]


def matching(pattern: ActorName, names: Iterable[ActorName]) -> list[ActorName]:
    """The names that match a name or a pattern with `*`."""
    return [name for name in names if fnmatchcase(name, pattern)]
