"""The event FailedValidation: of a pod of the API server that is invalid, and of one with the name of another pod."""

from __future__ import annotations

from actors.api_clients.event_client.messages import EVENT_CLIENT, RecordEvent, pod_event
from actors.shared.kube import codec
from actors.shared.kube.names import CONFIG_SOURCE
from supervision.actor import Actor

from ..pods.merged_pods import PodCandidate
from .api_source import InvalidPod


class ValidationEvents:
    """Emits them, once for each pod that is ignored."""

    def __init__(self, actor: Actor) -> None:
        self._actor = actor
        self._ignored: set[str] = set()
        """The UIDs of the ignored pods with the name of another one."""

    def invalid(self, pod: InvalidPod) -> None:
        self._actor.log.error("%s", pod.text)
        self._actor.tell(
            EVENT_CLIENT,
            RecordEvent(
                kind="Pod",
                namespace=pod.namespace,
                name=pod.name,
                uid=pod.uid,
                type="Warning",
                reason="FailedValidation",
                message=pod.text,
            ),
        )

    def name_conflicts(self, ignored: list[PodCandidate]) -> None:
        """`ignored`: all pods that are ignored now, as another one has their name."""
        for one in ignored:
            if one.uid not in self._ignored:
                meta = codec.decode_pod(one.data).metadata
                source, whole = meta.annotations.get(CONFIG_SOURCE, ""), f"{one.full_name}({one.uid})"
                text = f'Error validating pod {whole} from {source} due to duplicate pod name "{meta.name}", ignoring'
                self._actor.tell(EVENT_CLIENT, pod_event(meta, "Warning", "FailedValidation", text))
        self._ignored = {one.uid for one in ignored}
