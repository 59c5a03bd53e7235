"""The whole tree, as one list: the names are those that `supervise tree` shows and the policy file uses.

Siblings start in this order and stop in reverse. A box is one process; add one only where that gives isolation that a
module would not.
"""

from __future__ import annotations

from typing import Final

from actors.shared.config.agent import OPTIONAL_ACTORS, Agent
from actors.shared.config.fields.shutdown_windows import windows
from supervision.spec import ChildSpec

PRELOAD: Final = (
    "asyncio",
    "encodings.ascii",
    "grpc",
    "grpc.aio",
    "msgspec.json",
    "msgspec.msgpack",
    "proto.cri_pb2",
    "actors.shared.cri.client",
    "actors.config_controller.actor",
    "actors.cert_manager.actor",
    "actors.api_clients.kube_client.actor",
    "actors.api_clients.event_client.actor",
    "actors.api_clients.heartbeat_client.actor",
    "actors.container_manager.actor",
    "actors.volume_manager.actor",
    "actors.image_manager.actor",
    "actors.pod_config.actor",
    "actors.pod_workers.actor",
    "actors.pleg.actor",
    "actors.prober.actor",
    "actors.status_manager.actor",
    "actors.http_servers.healthz_server",
    "actors.http_servers.node_server",
    "actors.http_servers.pod_resources_server",
    "tornado.platform.asyncio",
    "supervision.supervisor",
)
"""Imported once by the fork server before the first fork, so that every process shares the pages. What is needed rarely
(cryptography) stays out of it."""

PRELOAD_JOINED: Final = (
    "ssl",
    "httpcore",
    "anyio._backends._asyncio",
    "anyio.streams.tls",
    "actors.shared.api.client",
    "actors.shared.api.kubeconfig",
    "actors.shared.api.reflector",
    "actors.cert_manager.client_certificate",
)
"""The same, for an agent that joins a cluster: three clients and the certificate manager use them."""

PREPARE: Final = (
    "actors.shared.kube.codec:prepare",
    "actors.pod_config.manifest:prepare",
    "actors.pod_config.watching:prepare",
    "actors.config_controller.session:prepare",
    "actors.http_servers.node_server:prepare",
)
"""Called once by the fork server, for the same reason: what they make is shared."""
PREPARE_JOINED: Final = ("actors.shared.api.rehearsal:prepare",)
"""The same, for an agent that joins a cluster."""


REFRESH: Final = "actors.config_controller.session:refreshed"
"""Gives each actor, when it begins, the configuration of now in place of the one that the agent was started with."""


def box(name: str, actor: str) -> ChildSpec:
    return ChildSpec(name=name, actor=actor)


def supervisor(name: str, *children: ChildSpec | None) -> ChildSpec:
    return ChildSpec(name=name, children=tuple(child for child in children if child is not None))


def tree(agent: Agent, container_runtime: ChildSpec | None = None) -> ChildSpec:
    """The tree of this agent; `container_runtime` is the program of a managed runtime, if there is one."""
    read_only = box("read_only_server", "actors.http_servers.node_server:ReadOnlyServer")
    served = agent.config.enableServer
    return supervisor(
        "root",
        container_runtime,
        box("config_controller", "actors.config_controller.actor:ConfigController"),
        box("cert_manager", "actors.cert_manager.actor:CertManager"),
        supervisor(
            "api_clients",
            box("kube_client", "actors.api_clients.kube_client.actor:KubeClient"),
            box("event_client", "actors.api_clients.event_client.actor:EventClient"),
            box("heartbeat_client", "actors.api_clients.heartbeat_client.actor:HeartbeatClient"),
        ),
        box("container_manager", "actors.container_manager.actor:ContainerManager"),
        box("volume_manager", "actors.volume_manager.actor:VolumeManager"),
        box("image_manager", "actors.image_manager.actor:ImageManager"),
        box("pod_config", "actors.pod_config.actor:PodConfig"),
        supervisor(
            "pod_workers",
            *(box(f"worker/{number}", "actors.pod_workers.actor:Shard") for number in range(agent.workers)),
        ),
        box("pleg", "actors.pleg.actor:Pleg"),
        box("prober", "actors.prober.actor:Prober"),
        box("status_manager", "actors.status_manager.actor:StatusManager"),
        box("shutdown_manager", "actors.shutdown_manager.actor:ShutdownManager") if windows(agent.config) else None,
        supervisor(
            "http_servers",
            box("node_server", "actors.http_servers.node_server:NodeServer") if served else None,
            read_only if served and agent.config.readOnlyPort else None,
            box("healthz_server", "actors.http_servers.healthz_server:HealthzServer"),
            box("pod_resources_server", "actors.http_servers.pod_resources_server:PodResourcesServer")
            if served
            else None,
        ),
    )


OPTIONAL: Final = OPTIONAL_ACTORS
"""Boxes that are there under some configurations only; the policy file may name them."""
