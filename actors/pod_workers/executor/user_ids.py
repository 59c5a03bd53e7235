"""Asks for the IDs of a pod with a user namespace."""

from __future__ import annotations

from actors.container_manager.messages import (
    CONTAINER_MANAGER,
    GiveUserNamespace,
    UserNamespaceGiven,
    UserNamespaceRefused,
)
from actors.pod_workers.containers.user_namespaces import refuse_unsupported
from actors.pod_workers.errors import ConfigError
from actors.shared.cri.client import CriClient
from actors.shared.kube.pod import Pod
from actors.shared.linux.subordinate_ids import IdRange
from supervision.actor import Actor, AskError

ASK_SECONDS = 15.0


async def ids_of(actor: Actor, pod: Pod) -> IdRange | None:
    """The IDs of the pod's user namespace; None in the node's namespace. Raises ConfigError."""
    if pod.spec.hostUsers is not False:
        return None
    try:
        answer = await actor.ask(CONTAINER_MANAGER, GiveUserNamespace(pod.metadata.uid), timeout=ASK_SECONDS)
    except AskError as error:
        raise ConfigError(f"no IDs for its user namespace: {error}") from None
    if isinstance(answer, UserNamespaceGiven):
        return IdRange(answer.first, answer.length)
    why = answer.message if isinstance(answer, UserNamespaceRefused) else type(answer).__name__
    raise ConfigError(f"no IDs for its user namespace: {why}")


async def require_support(client: CriClient, pod: Pod, handler: str) -> None:
    """Refuse a pod whose user namespace the runtime cannot make. Raises ConfigError, CriError."""
    if pod.spec.hostUsers is False:
        handlers = {one.name: one for one in (await client.status()).handlers}
        refuse_unsupported(handlers, handler)
