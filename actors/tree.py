"""The whole tree on one screen: the names are those that `supervise tree` shows and the policy file uses.

Siblings start in this order and stop in reverse. Each entry is one process; add one only if it gives isolation that a
module would not. An actor's class, configuration fields and feeders are in `declaration.py` of its package.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from actors.api_clients import declaration as api_clients
from actors.cert_manager import declaration as cert_manager
from actors.config_controller import declaration as config_controller
from actors.container_manager import declaration as container_manager
from actors.container_runtime import declaration as container_runtime
from actors.container_runtime.messages import CONTAINER_RUNTIME
from actors.device_manager import declaration as device_manager
from actors.eviction_manager import declaration as eviction_manager
from actors.http_servers import declaration as http_servers
from actors.image_manager import declaration as image_manager
from actors.pleg import declaration as pleg
from actors.pod_config import declaration as pod_config
from actors.pod_workers import declaration as pod_workers
from actors.pod_workers.messages import POD_WORKERS
from actors.prober import declaration as prober
from actors.shared.config.agent import Agent
from actors.shared.declaration import Declaration, Relations, matching
from actors.shutdown_manager import declaration as shutdown_manager
from actors.status_manager import declaration as status_manager
from actors.volume_manager import declaration as volume_manager
from supervision.addresses import ActorName
from supervision.protocol import ROOT
from supervision.spec import ChildSpec, PolicySettings


class SupervisorNode(msgspec.Struct, frozen=True):
    """A supervisor and its children, in start order."""

    name: str
    children: tuple[Declaration | SupervisorNode, ...]
    policy: PolicySettings = {}
    """Its supervision settings; the others are the engine's default for a supervisor."""


TREE: Final = SupervisorNode(
    ROOT,
    (
        config_controller.DECLARATION,
        cert_manager.DECLARATION,
        SupervisorNode("api_clients", (api_clients.KUBE, api_clients.EVENT, api_clients.HEARTBEAT)),
        container_manager.DECLARATION,
        device_manager.DECLARATION,
        eviction_manager.DECLARATION,
        volume_manager.DECLARATION,
        image_manager.DECLARATION,
        pod_config.DECLARATION,
        SupervisorNode("pod_workers", (pod_workers.DECLARATION,)),
        pleg.DECLARATION,
        prober.DECLARATION,
        status_manager.DECLARATION,
        shutdown_manager.DECLARATION,
        SupervisorNode(
            "http_servers",
            (
                http_servers.NODE,
                http_servers.READ_ONLY,
                http_servers.HEALTHZ,
                http_servers.POD_RESOURCES,
                http_servers.PODS,
            ),
        ),
    ),
    policy=PolicySettings(max_restarts=10, period_seconds=600.0),  # its supervisor is the fork server
)


def declarations(below: SupervisorNode = TREE) -> Iterator[Declaration]:
    """The declarations of every actor, in the order of the tree."""
    for child in below.children:
        if isinstance(child, SupervisorNode):
            yield from declarations(child)
        else:
            yield child


def supervisors(below: SupervisorNode = TREE) -> Iterator[SupervisorNode]:
    """Every supervisor, parents first."""
    yield below
    for child in below.children:
        if isinstance(child, SupervisorNode):
            yield from supervisors(child)


OPTIONAL: Final = (CONTAINER_RUNTIME, *(one.name for one in declarations() if one.exists is not None))
"""Actors that exist under some configurations only; the policy file may name them."""

RELATIONS: Final = Relations(
    consumers={one.name: one.reads for one in declarations()},
    inventory=tuple(one.name for one in declarations() if one.pod_inventory),
    optional=OPTIONAL,
    policies={CONTAINER_RUNTIME: container_runtime.POLICY}
    | {ActorName(one.name): one.policy for one in supervisors()}
    | {one.name: one.policy for one in declarations()},
)

AT_END: Final = "actors.volume_manager.shared_directories:unshare"
"""Called after every actor has ended: removes the bind mounts of the directories of pods and plugins."""
REFRESH: Final = "actors.config_controller.session:refreshed"
"""Gives each starting actor the current configuration instead of the one from the agent's start."""

_ENGINE: Final = ("asyncio", "encodings.ascii", "msgspec.json", "msgspec.msgpack", "supervision.supervisor.supervisor")


def tree(agent: Agent, runtime: ChildSpec | None = None) -> ChildSpec:
    """The tree of this agent; `runtime` is the program of a managed container runtime, if there is one."""
    names = [name for one in declarations() for name in one.names(agent)]
    consumers = {one: read for one, read in RELATIONS.consumers.items() if matching(one, names)}
    spec = _spec(TREE, agent, names, msgspec.structs.replace(RELATIONS, consumers=consumers))
    if runtime is None:
        return spec
    return msgspec.structs.replace(spec, children=(runtime, *spec.children))


def _spec(group: SupervisorNode, agent: Agent, names: list[ActorName], relations: Relations) -> ChildSpec:
    """`names`: of all actors; `relations`: of this agent's tree."""
    children: list[ChildSpec] = []
    for child in group.children:
        if isinstance(child, SupervisorNode):
            children.append(_spec(child, agent, names, relations))
            continue
        children += [
            ChildSpec(
                name=name.removeprefix(f"{group.name}/"),
                actor=child.actor,
                arguments=child.arguments(relations),
                feeders=feeders(child, agent, names),
                keeps_sockets=child.keeps_sockets,
                policy=child.policy,
            )
            for name in child.names(agent)
        ]
    return ChildSpec(name=group.name, children=tuple(children), policy=group.policy)


def feeders(declaration: Declaration, agent: Agent, names: list[ActorName]) -> tuple[ActorName, ...]:
    """The actors among `names` that get its Hello when it starts."""
    wanted = declaration.fed_by
    if declaration.pod_inventory:
        wanted += (POD_WORKERS,)
    if not agent.standalone:
        wanted += declaration.fed_by_joined
    return tuple(name for pattern in wanted for name in matching(pattern, names))


def preload_modules(agent: Agent) -> tuple[str, ...]:
    """Modules that the fork server imports once before the first fork, so that every process shares the pages. What is
    needed rarely (cryptography) stays out of it."""
    found = dict.fromkeys(_ENGINE)
    for one in declarations():
        if one.names(agent):
            found |= dict.fromkeys((*one.preload, one.module, *(() if agent.standalone else one.preload_joined)))
    return tuple(found)


def prepare_functions(agent: Agent) -> tuple[str, ...]:
    """Functions (`module:function`) that the fork server calls once after the import of the modules."""
    found: dict[str, None] = {}
    for one in declarations():
        if one.names(agent):
            found |= dict.fromkeys((*one.prepare, *(() if agent.standalone else one.prepare_joined)))
    return tuple(found)
