"""What an actor says of itself to the rest of the agent: the tree and every table about actors are made from that.

A declaration stands in `declaration.py` of the actor's package and imports `messages` modules only: the command line
reads all of them without loading an actor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from typing import Any, Final

import msgspec

from supervision.addresses import ActorName

from .config.agent import Agent

CRI: Final = ("grpc", "grpc.aio", "proto.cri_pb2", "actors.shared.cri.client")
"""Preloaded for who calls the container runtime."""
API: Final = (
    "ssl",
    "httpcore",
    "anyio._backends._asyncio",
    "anyio.streams.tls",
    "actors.shared.api.client",
    "actors.shared.api.kubeconfig",
    "actors.shared.api.reflector",
)
"""Preloaded for who calls the API server."""


class Relations(msgspec.Struct, frozen=True, kw_only=True):
    """What follows from all declarations together, for the actors that act on it."""

    consumers: dict[ActorName, tuple[str, ...]]
    """Each actor to the configuration fields that it reads; a name may end in `*`."""
    inventory: tuple[ActorName, ...]
    """Actors that want the pod inventory."""
    optional: tuple[ActorName, ...]
    """Actors that are there under some configurations only."""


class Declaration(msgspec.Struct, frozen=True, kw_only=True):
    """One actor, or several of one kind, whose `name` then ends in `*`."""

    name: ActorName
    """Full, as in the tree."""
    actor: str
    """`module:Class`."""
    instances: Callable[[Agent], int] | None = None
    """How many there are, where the name ends in `*`."""
    exists: Callable[[Agent], object] | None = None
    """Whether it is in the tree under a configuration; None: always."""
    reads: tuple[str, ...] = ()
    """Top-level fields of the configuration. When one changes the actor is restarted."""
    fed_by: tuple[ActorName, ...] = ()
    """Actors that are told Hello when this one starts, and send it their state. Those not in the tree are left out."""
    fed_by_joined: tuple[ActorName, ...] = ()
    """The same, for an agent that joins a cluster."""
    pod_inventory: bool = False
    """Every pod worker tells it which pods it has (KnownPods), when that changes and on Hello."""
    preload: tuple[str, ...] = ()
    """Modules that the fork server imports before the first fork, besides the actor's own: all processes share them."""
    preload_joined: tuple[str, ...] = ()
    """The same, for an agent that joins a cluster."""
    prepare: tuple[str, ...] = ()
    """Functions, `module:function`, that the fork server calls once after that: what they make is shared. They open
    nothing and start no thread."""
    prepare_joined: tuple[str, ...] = ()
    """The same, for an agent that joins a cluster."""
    keeps_sockets: bool = False
    """What it listens on survives it: a client waits while it is replaced (supervision/listeners.py)."""
    arguments: Callable[[Relations], dict[str, Any]] | None = None
    """Keyword arguments of the actor's class, from what all actors declare."""

    @property
    def module(self) -> str:
        return self.actor.partition(":")[0]

    def names(self, agent: Agent) -> list[ActorName]:
        """The full names that it has in the tree of this agent."""
        if self.exists is not None and not self.exists(agent):
            return []
        if self.instances is None:
            return [self.name]
        return [ActorName(f"{self.name.removesuffix('*')}{number}") for number in range(self.instances(agent))]


def matching(pattern: ActorName, names: Iterable[ActorName]) -> list[ActorName]:
    """Those of the names that a name, or a pattern with `*`, means."""
    return [name for name in names if fnmatchcase(name, pattern)]
