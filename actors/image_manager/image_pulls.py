"""Answers EnsureImage: by the pull policy, with the pod's and the node's credentials, backing off after failures.

A pull may take minutes; its question is answered at the end. If the asking worker is replaced, the pull continues and
the next worker joins it.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from functools import partial
from typing import Final

from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import CriError, Unavailable
from actors.shared.cri.model import Image
from actors.shared.tracing.tracer import Tracer
from supervision.metrics import Metrics

from .credential_lookup import CredentialLookup
from .image_reference import Reference, ReferenceInvalid, parse, pull_policy
from .messages import EnsureImage, ImageFailed, ImageReady, PendingImage
from .pending_pulls import Outcome, PendingPulls, PullKey, pull_key
from .pull_backoff import PullBackoffs
from .pull_events import PullEvents
from .pull_metrics import PullMetrics
from .pull_queue import PullQueue
from .pull_record_store import PullRecords, RecordFailed
from .pull_records import FoundCredential
from .pull_request import auth, image_spec, runtime_text, sandbox, together

RUNTIME_REASONS: Final = {
    "RegistryUnavailable": "the registry is unavailable",
    "SignatureValidationFailed": "the signature validation failed",
}
"""Reasons in the first word of a runtime's error, and their texts."""


class ImagePulls:
    """Joins equal pulls, and remembers failed ones."""

    def __init__(
        self,
        client: CriClient,
        tracer: Tracer,
        metrics: Metrics,
        queue: PullQueue,
        credentials: CredentialLookup,
        events: PullEvents,
        records: PullRecords | None,
    ) -> None:
        """`records` is None where pull credentials are not verified."""
        self._client, self._tracer, self._metrics = client, tracer, PullMetrics(metrics)
        self._queue, self._credentials, self._events = queue, credentials, events
        self._records = records
        self._pending, self._backoffs = PendingPulls(), PullBackoffs()
        self._queued: dict[PullKey, tuple[float, object]] = {}
        """By pull: the time at which it came into the queue, in seconds since 1970, and its key there."""

    async def ensure(self, question: EnsureImage) -> Outcome:
        """Ensure that the image is on the node."""
        try:
            reference = parse(question.image)
        except ReferenceInvalid as error:
            self._metrics.requested(question.policy)
            text = f'Failed to apply default image tag "{question.image}": {error}'
            return ImageFailed(question.image, "InvalidImageName", text)
        policy = pull_policy(question.policy, reference)
        present, always = None, policy == "Always"  # with Always the presence of the image does not matter
        try:
            if not always:
                present = await self._client.image_status(reference.full, question.runtime_handler)
        except CriError as error:
            self._metrics.requested(policy)
            text = f'Failed to inspect image "{reference.full}": {error.rpc_text}'
            return ImageFailed(question.image, "ImageInspectError", text, retry_seconds=1.0)
        usable = present is not None and await self._may_use(question, reference, present)
        missing = policy == "Never" and present is None
        found = None if always else present is not None
        self._metrics.requested(policy, present=found, pulled=None if missing else not usable)
        if present is not None and usable:
            self._events.present(question, present.size_bytes, reference.full)
            return ready(question.image, present, pulled=False)
        if policy == "Never":
            # the same answer for an image that others have pulled, so that the pod does not learn that it exists
            text = f'Container image "{question.image}" is not present with pull policy of Never'
            return ImageFailed(question.image, "ErrImageNeverPull", text)
        return self._backing_off(question, reference) or await self._pull(question, reference)

    def pending(self, uid: str) -> list[PendingImage]:
        """The images that the pod waits for, the oldest first."""
        its = [(pull.image, *queued) for pull, queued in self._queued.items() if pull.uid == uid]
        return [PendingImage(image, since, self._queue.before(key)) for image, since, key in its]

    async def _may_use(self, question: EnsureImage, reference: Reference, present: Image) -> bool:
        """Whether the pod may use the present image. If not, it is pulled again with the pod's credentials."""
        if self._records is None:
            return True
        find = partial(self._credentials.find, question, reference)
        return await self._records.verified(reference.name, reference.full, present.id, find)

    def _backing_off(self, question: EnsureImage, reference: Reference) -> ImageFailed | None:
        """The last failure, while its pause lasts."""
        now = time.monotonic()
        failed = self._backoffs.current(question.uid, reference.full, now)
        if failed is None:
            return None
        event = f'Back-off pulling image "{question.image}"'
        text = f"{event}: {failed.reason}: {failed.text}"
        return ImageFailed(question.image, "ImagePullBackOff", text, retry_seconds=failed.until - now, event=event)

    async def _pull(self, question: EnsureImage, reference: Reference) -> Outcome:
        started = self._events.started(question)
        outcome = await self._pending.outcome(pull_key(question), lambda: self._obtain(question, reference))
        if outcome is None:
            return ImageFailed(question.image, "ErrImagePull", "the pull was cancelled: the pod is gone")
        size = outcome.size_bytes if isinstance(outcome, ImageReady) else None
        self._events.ended(question, started, size, reference.full)
        return outcome

    async def _obtain(self, question: EnsureImage, reference: Reference) -> Outcome:
        """Pull once for all waiting containers of a pod, so that a failure counts once for the backoff."""
        try:
            credentials = await self._credentials.find(question, reference)
            # a runtime's image policy may depend on the pod's namespace
            key = (reference.full, question.runtime_handler, question.namespace, tuple(credentials))
            self._queued[pull_key(question)] = time.time(), key
            try:
                image_ref = await self._queue.join(key, lambda: self._traced_pull(question, reference, credentials))
            finally:
                del self._queued[pull_key(question)]
            found = await self._client.image_status(image_ref, question.runtime_handler)
        except CriError as error:
            self._metrics.unknown(reference.full)
            return self._record_failure(question, reference, error)
        except RecordFailed as error:
            return ImageFailed(question.image, "ErrImagePull", str(error), retry_seconds=1.0)
        self._backoffs.succeeded(question.uid, reference.full)
        self._metrics.sized(reference.full, found.size_bytes if found is not None else 0)
        if found is None:
            text = f'image "{question.image}" was pulled as {image_ref} and is not on the node'
            return ImageFailed(question.image, "ImageInspectError", text, retry_seconds=1.0)
        return ready(question.image, found, pulled=True)

    async def _traced_pull(
        self, question: EnsureImage, reference: Reference, credentials: list[FoundCredential]
    ) -> str:
        """The pull belongs to the trace of the first pod that requested it, not to those that join it."""
        with self._tracer.span("Images/Pull", {"container.image.name": reference.full}):
            return await self._recorded_pull(question, reference, credentials)

    async def _recorded_pull(
        self, question: EnsureImage, reference: Reference, credentials: list[FoundCredential]
    ) -> str:
        """Raises CriError, RecordFailed."""
        if self._records is None:
            return (await self._pull_with(question, reference.full, credentials))[0]
        await self._records.start(reference.full)
        try:
            image_ref, used = await self._pull_with(question, reference.full, credentials)
        except CriError:
            await self._records.failed(reference.full)
            raise
        except asyncio.CancelledError:
            self._records.lost(reference.full)
            raise
        try:
            found = await self._client.image_status(image_ref, question.runtime_handler)
        except CriError:
            self._records.lost(reference.full)
            raise
        await self._records.succeeded(reference.full, reference.name, found.id if found else image_ref, used)
        return image_ref

    async def _pull_with(
        self, question: EnsureImage, image: str, credentials: list[FoundCredential]
    ) -> tuple[str, FoundCredential | None]:
        """Pull with each credential until one is accepted; without credentials anonymously. Returns the image's ref and
        the credential. Raises CriError with the error of each."""
        spec, pod, started_at = image_spec(question, image), sandbox(question), time.monotonic()
        errors: list[CriError] = []
        tries: list[FoundCredential | None] = [*credentials] or [None]
        for found in tries:
            try:
                credential = found.credential if found is not None else None
                image_ref = await self._client.pull_image(spec, auth(credential), pod)
            except CriError as error:
                errors.append(error)
                continue
            seconds = time.monotonic() - started_at
            self._events.pulled(image, seconds)
            self._metrics.pulled(image, seconds)
            return image_ref, found
        raise together(errors)

    def _record_failure(self, question: EnsureImage, reference: Reference, error: CriError) -> ImageFailed:
        why = runtime_text(error)
        message_text = f'Failed to pull image "{question.image}": {why}'
        if isinstance(error, Unavailable):
            return ImageFailed(question.image, "ErrImagePull", why, retry_seconds=1.0, event=message_text)
        reason, text = _reason_and_message(question.image, why)
        now = time.monotonic()
        pause = self._backoffs.failed(question.uid, reference.full, reason, text, now, random.random)
        return ImageFailed(question.image, reason, text, retry_seconds=pause, event=message_text)

    def retain(self, keep: Callable[[str], bool]) -> None:
        """Cancel the pulls of removed pods, which may hang for ever."""
        self._backoffs.retain(keep)
        self._pending.cancel(keep)
        self._events.retain(keep)


def _reason_and_message(image: str, why: str) -> tuple[str, str]:
    """Waiting reason and message of a failed pull."""
    for reason, meaning in RUNTIME_REASONS.items():
        if why.startswith(reason):
            return reason, f"image pull failed for {image} because {meaning}{why.removeprefix(reason)}"
    return "ErrImagePull", why


def ready(image: str, found: Image, *, pulled: bool) -> ImageReady:
    return ImageReady(image, found.id, found.size_bytes, found.uid, found.username, pulled)
