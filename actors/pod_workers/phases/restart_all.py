"""Whether all containers of a pod are restarted, because one has ended by a rule that requires it (KEP-5532). Pure."""

from __future__ import annotations

from collections.abc import Iterable

from actors.shared.cri.crash_loop import start_not_before
from actors.shared.cri.model import CriContainer, CriContainerState
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import find_container
from actors.shared.kube.restart_policy import RESTART_ALL, rule_for

from .actions import ContainerBackoff, PodActions


def restart_all(pod: Pod, newest: Iterable[CriContainer], now: float, maximum_backoff: float) -> PodActions | None:
    """Restart all now, or after the backoff of the container that causes it; None: no container requires it.

    `newest`: the newest instance of each init and regular container in the current sandbox.
    """
    sources = [instance for instance in newest if _requires_it(pod, instance)]
    if not sources:
        return None
    last = max(sources, key=lambda instance: start_not_before(instance, maximum_backoff, now))
    until = start_not_before(last, maximum_backoff, now)
    if until > now:
        return PodActions(backoff=[ContainerBackoff(last.name, until, last)])
    return PodActions(restart_all=sources)


def _requires_it(pod: Pod, instance: CriContainer) -> bool:
    container = find_container(pod, instance.name)
    ended = instance.state is CriContainerState.EXITED and not instance.start_given_up
    return container is not None and ended and rule_for(container, instance.exit_code) == RESTART_ALL
