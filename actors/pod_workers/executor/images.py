"""Ensures a container's image, with the pull secrets of its pod."""

from __future__ import annotations

import asyncio
from typing import Final

from actors.api_clients.event_client.messages import EVENT_CLIENT
from actors.api_clients.kube_client.messages import ObjectRef
from actors.image_manager.messages import IMAGE_MANAGER, EnsureImage, ImageFailed, ImageReady, PullSecret
from actors.pod_workers.containers.api_objects import in_groups, state_of
from actors.pod_workers.errors import StartFailed
from actors.pod_workers.kubernetes_events import pod_event
from actors.shared.kube.codec import ObjectError
from actors.shared.kube.container import Container
from actors.shared.kube.contents import pull_secret, secret
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import container_field, is_static
from actors.shared.tracing.tracer import traceparent_of_current
from supervision.actor import Actor, AskError, AskTimeout

EVENT = "FailedToRetrieveImagePullSecret"
IMAGE_SECONDS = 60.0
"""Seconds. If a pull takes longer, the question is repeated and joins the same pull; so a lost answer does no harm."""
IMAGE_TRIES = 3
"""The number of image manager restarts to tolerate before the start fails."""
MOST_BYTES: Final = 2 << 20
"""Limit of all pull secrets of a pod, which are in memory during the pull. A usual one has a few KiB."""


async def ensure(
    actor: Actor, pod: Pod, container: Container, handler: str = "", *, joined: bool, of_volume: bool = False
) -> ImageReady:
    """Wait until the image is on the node. `of_volume`: it is the image of a volume, so its events are events of the
    pod. Raises StartFailed."""
    meta = pod.metadata
    question = EnsureImage(
        meta.uid,
        meta.namespace,
        meta.name,
        container.name,
        container.image,
        container.imagePullPolicy,
        runtime_handler=handler,
        pull_secrets=await pull_secrets(actor, pod) if joined else [],
        field="" if of_volume else container_field(pod, container.name),
        service_account="" if is_static(pod) else pod.spec.serviceAccountName,
        traceparent=traceparent_of_current(),
        annotations=meta.annotations,
    )
    answer = await _ask(actor, question)
    if isinstance(answer, ImageReady):
        return answer
    raise StartFailed(answer.reason, answer.message, answer.retry_seconds, event=answer.event, of_pod=of_volume)


async def _ask(actor: Actor, question: EnsureImage) -> ImageReady | ImageFailed:
    """The answer. Raises StartFailed if the image manager died several times."""
    failures = 0
    while True:
        try:
            return await actor.ask(IMAGE_MANAGER, question, timeout=IMAGE_SECONDS)
        except AskTimeout:
            continue
        except AskError as error:
            failures += 1
            if failures >= IMAGE_TRIES:
                raise StartFailed("ImageInspectError", f"image_manager: {error}", 1.0) from None


async def pull_secrets(actor: Actor, pod: Pod) -> list[PullSecret]:
    """The pod's imagePullSecrets. One that is missing or cannot be read causes an event, and the pull continues without
    it."""
    refs = [ObjectRef("Secret", one.name, pod.metadata.namespace) for one in pod.spec.imagePullSecrets if one.name]
    missing: set[str] = set()
    found: list[PullSecret] = []
    wrong: list[str] = []
    size = 0
    for few in in_groups(refs):
        for state in await asyncio.gather(*(state_of(actor, ref) for ref in few)):
            if not state.body:
                missing.add(state.ref.name)
                continue
            try:
                document = pull_secret(state.body)
                if document and (size := size + len(document)) <= MOST_BYTES:
                    found.append(PullSecret(secret(state.body).metadata.uid, state.ref.name, document))
            except ObjectError as error:
                wrong.append(f"Image pull secret {state.ref.name} is not used: {error}")
        if size > MOST_BYTES:
            wrong.append(
                f"Only {len(found)} of {len(refs)} image pull secrets are used: more than {MOST_BYTES >> 20} MiB"
            )
            break
    if missing:
        names = ", ".join(sorted(missing))
        text = f"Unable to retrieve some image pull secrets ({names}); attempting to pull the image may not succeed."
        wrong.insert(0, text)
    for text in wrong:
        actor.tell(EVENT_CLIENT, pod_event(pod, "Warning", EVENT, text))
    return found
