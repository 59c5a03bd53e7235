"""The events of pulls, with the kubelet's texts: Pulling when a pull starts, Pulled when the image is present."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from actors.api_clients.event_client.messages import RecordEvent
from actors.shared.config.fields.duration import Duration

from .messages import EnsureImage

_MILLION = 1_000_000


class PullStarted(msgspec.Struct, frozen=True):
    """A container that waits for a pull. A repeated question has a new `number` and the time of the first."""

    since: float
    number: int


class PullEvents:
    """A container gets one event for a pull's start and one for its end, however often its worker asks."""

    def __init__(
        self, tell: Callable[[RecordEvent], None], clock: Callable[[], float], *, verified: bool = True
    ) -> None:
        """`clock`: seconds, monotonic; `verified`: the credentials of pods are compared with those of the pull (gate
        KubeletEnsureSecretPulledImages)."""
        self._tell, self._clock, self._verified = tell, clock, verified
        self._started: dict[tuple[str, str, str], PullStarted] = {}
        """By UID, field and image: the volumes of a pod have no field."""
        self._seconds: dict[str, float] = {}
        """Seconds of the last pull, by image, without the time in the queue."""

    def started(self, question: EnsureImage) -> PullStarted:
        """A container waits for a pull. Its last question emits the event of the end."""
        key = _key(question)
        before = self._started.get(key)
        if before is None:
            self._tell(pulling(question))
        started = PullStarted(before.since, before.number + 1) if before is not None else PullStarted(self._clock(), 1)
        self._started[key] = started
        return started

    def pulled(self, image: str, seconds: float) -> None:
        """A pull of this image succeeded after `seconds`."""
        self._seconds[image] = seconds

    def ended(self, question: EnsureImage, started: PullStarted, size: int | None, image: str) -> None:
        """The pull that the container waited for has ended. `size`: bytes of the image, None for a failure."""
        key = _key(question)
        if self._started.get(key) != started:
            return  # the worker has asked again
        del self._started[key]
        if size is not None:
            self._tell(pulled(question, *self._times(started.since, image), size))

    def present(self, question: EnsureImage, size: int, image: str) -> None:
        """The image is present. This also ends a pull that the container waited for, if its end was not reported."""
        started = self._started.pop(_key(question), None)
        if started is None:
            self._tell(present(question, verified=self._verified))
        else:
            self._tell(pulled(question, *self._times(started.since, image), size))

    def _times(self, since: float, image: str) -> tuple[float, float]:
        waited = self._clock() - since
        return min(waited, self._seconds.get(image, waited)), waited

    def retain(self, keep: Callable[[str], bool]) -> None:
        """Forget the pods that are gone. `keep`: whether the node has the pod of this UID."""
        self._started = {key: started for key, started in self._started.items() if keep(key[0])}
        if not self._started:
            self._seconds.clear()


def _key(question: EnsureImage) -> tuple[str, str, str]:
    return question.uid, question.field, question.image


def present(question: EnsureImage, *, verified: bool) -> RecordEvent:
    text = f'Container image "{question.image}" already present on machine'
    return _event(question, "Pulled", text + (" and can be accessed by the pod" if verified else ""))


def pulling(question: EnsureImage) -> RecordEvent:
    return _event(question, "Pulling", f'Pulling image "{question.image}"')


def pulled(question: EnsureImage, seconds: float, waited: float, size: int) -> RecordEvent:
    """`seconds`: of the pull alone; `waited`: with the time in the queue; `size` in bytes."""
    times = f"{_milliseconds(seconds)} ({_milliseconds(waited)} including waiting)"
    text = f'Successfully pulled image "{question.image}" in {times}. Image size: {size} bytes.'
    return _event(question, "Pulled", text)


def _milliseconds(seconds: float) -> str:
    return str(Duration.of_nanoseconds(int(seconds * 1000) * _MILLION))


def _event(question: EnsureImage, reason: str, text: str) -> RecordEvent:
    return RecordEvent(
        kind="Pod",
        namespace=question.namespace,
        name=question.pod_name,
        uid=question.uid,
        type="Normal",
        reason=reason,
        message=text,
        field=question.field,
    )
