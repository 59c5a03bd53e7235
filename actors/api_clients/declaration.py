"""The declarations of the clients of the API server."""

from __future__ import annotations

from typing import Final

from actors.cert_manager.messages import CERT_MANAGER
from actors.device_manager.messages import DEVICE_MANAGER
from actors.eviction_manager.messages import EVICTION_MANAGER
from actors.pleg.messages import PLEG
from actors.shared.declaration import API, POD_HOLDER, Declaration
from actors.shutdown_manager.messages import SHUTDOWN_MANAGER
from actors.volume_manager.messages import VOLUME_MANAGER

from .event_client.messages import EVENT_CLIENT
from .heartbeat_client.messages import HEARTBEAT_CLIENT
from .kube_client.messages import KUBE_CLIENT

KUBE: Final = Declaration(
    name=KUBE_CLIENT,
    actor="actors.api_clients.kube_client.actor:KubeClient",
    reads=("kubeAPIQPS", "kubeAPIBurst", "configMapAndSecretChangeDetectionStrategy", "contentType", "tracing"),
    fed_by=(CERT_MANAGER,),
    policy=POD_HOLDER,
    preload_joined=API,
    prepare_joined=("actors.shared.api.warmup:prepare",),
)
EVENT: Final = Declaration(
    name=EVENT_CLIENT,
    actor="actors.api_clients.event_client.actor:EventClient",
    reads=("eventRecordQPS", "eventBurst", "contentType", "tracing"),
    fed_by=(CERT_MANAGER,),
    preload_joined=API,
)
HEARTBEAT: Final = Declaration(
    name=HEARTBEAT_CLIENT,
    actor="actors.api_clients.heartbeat_client.actor:HeartbeatClient",
    exists=lambda agent: not agent.standalone,
    reads=(
        "nodeLeaseDurationSeconds",
        "nodeStatusUpdateFrequency",
        "nodeStatusReportFrequency",
        "nodeStatusMaxImages",
        "clusterDomain",
        "contentType",
        "enableControllerAttachDetach",
        "localStorageCapacityIsolation",
        "port",
        "providerID",
        "resolvConf",
        "tracing",
    ),
    fed_by=(CERT_MANAGER, PLEG, EVICTION_MANAGER, VOLUME_MANAGER, DEVICE_MANAGER, SHUTDOWN_MANAGER),
    preload_joined=API,
)
