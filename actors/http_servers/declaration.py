"""The declarations of the servers."""

from __future__ import annotations

from typing import Final

from actors.cert_manager.messages import CERT_MANAGER
from actors.shared.declaration import Declaration
from actors.status_manager.messages import STATUS_MANAGER
from supervision.spec import PolicySettings

from .messages import HEALTHZ_SERVER, NODE_SERVER, POD_RESOURCES_SERVER, PODS_SERVER, READ_ONLY_SERVER

TORNADO: Final = ("tornado.platform.asyncio",)
SERVER_POLICY: Final = PolicySettings(heartbeat_seconds=1.0, busy_seconds=1.0)
"""Clients wait while a server hangs, so it is replaced within some 1.5 s. A step of an HTTP request has an allowance of
5 s (serving/handler.py): a large page is work, not a hang."""

NODE: Final = Declaration(
    name=NODE_SERVER,
    actor="actors.http_servers.node_server:NodeServer",
    exists=lambda agent: agent.config.enableServer,
    reads=(
        "address",
        "port",
        "tlsCipherSuites",
        "tlsCurvePreferences",
        "tlsMinVersion",
        "authentication",
        "authorization",
        "streamingConnectionIdleTimeout",
        "enableDebuggingHandlers",
        "enableContentionProfiling",
        "enableProfilingHandler",
        "enableDebugFlagsHandler",
        "enableSystemLogHandler",
        "enableSystemLogQuery",
        "runtimeRequestTimeout",
        "volumeStatsAggPeriod",
        "tracing",
    ),
    fed_by=(CERT_MANAGER,),
    preload=TORNADO,
    prepare=("actors.http_servers.node_server:prepare",),
    keeps_sockets=True,
    policy=SERVER_POLICY,
)
READ_ONLY: Final = Declaration(
    name=READ_ONLY_SERVER,
    actor="actors.http_servers.node_server:ReadOnlyServer",
    exists=lambda agent: agent.config.enableServer and agent.config.readOnlyPort,
    reads=("address", "readOnlyPort", "tracing"),
    preload=TORNADO,
    keeps_sockets=True,
    policy=SERVER_POLICY,
)
HEALTHZ: Final = Declaration(
    name=HEALTHZ_SERVER,
    actor="actors.http_servers.healthz_server:HealthzServer",
    reads=("healthzPort", "healthzBindAddress"),
    preload=TORNADO,
    keeps_sockets=True,
    policy=SERVER_POLICY,
)
POD_RESOURCES: Final = Declaration(
    name=POD_RESOURCES_SERVER,
    actor="actors.http_servers.pod_resources_server:PodResourcesServer",
    exists=lambda agent: agent.config.enableServer,
    keeps_sockets=True,
    policy=SERVER_POLICY,
)
PODS: Final = Declaration(
    name=PODS_SERVER,
    actor="actors.http_servers.pods_server:PodsServer",
    exists=lambda agent: agent.gate("PodsAPI"),
    fed_by=(STATUS_MANAGER,),
    keeps_sockets=True,
    policy=SERVER_POLICY,
)
