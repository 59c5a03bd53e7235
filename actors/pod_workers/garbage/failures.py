"""Reports dead containers that cannot be removed."""

from __future__ import annotations

from actors.api_clients.event_client.messages import EVENT_CLIENT, node_event
from actors.pod_workers.executor.services import ExecutorContext
from actors.shared.cri.errors import CriError


def report(services: ExecutorContext, container_id: str, error: CriError) -> None:
    """Report it in the log and as an event of the node, whose disk may fill up."""
    services.actor.log.warning("dead container %s stays for now: %s", container_id, error)
    if not services.agent.standalone:
        event = node_event(services.agent.node_name, "ContainerGCFailed", str(error), "Warning")
        services.actor.tell(EVENT_CLIENT, event, deadline=60.0)
