"""What users are told of pulls, in the words that they know."""

from __future__ import annotations

from collections.abc import Callable, Container

from actors.api_clients.messages import RecordEvent
from actors.shared.config.fields.duration import Duration

from .messages import EnsureImage

_MILLION = 1_000_000


class Announcer:
    """A container asks again and again while its image is pulled: users are told once of its begin and of its end."""

    def __init__(self, tell: Callable[[RecordEvent], None], clock: Callable[[], float]) -> None:
        self._tell, self._clock = tell, clock
        self._since: dict[tuple[str, str], float] = {}
        self.took: dict[str, float] = {}
        """Seconds of the last pull by image, without the time in the queue."""

    def begun(self, asked: EnsureImage) -> None:
        if (asked.uid, asked.field) not in self._since:
            self._since[asked.uid, asked.field] = self._clock()
            self._tell(pulling(asked))

    def there(self, asked: EnsureImage, size: int, image: str) -> None:
        """It is on the node, pulled for this container or not. `image`: as it is in `took`."""
        since = self._since.pop((asked.uid, asked.field), None)
        if since is None:
            self._tell(present(asked))
        else:
            waited = self._clock() - since
            self._tell(pulled(asked, min(waited, self.took.get(image, waited)), waited, size))

    def failed(self, asked: EnsureImage) -> None:
        self._since.pop((asked.uid, asked.field), None)

    def retain(self, keep: Callable[[str], bool], images: Container[str]) -> None:
        """Forget pods that are gone, and images that nobody waits for."""
        self._since = {key: since for key, since in self._since.items() if keep(key[0])}
        self.took = {image: seconds for image, seconds in self.took.items() if image in images}


def present(asked: EnsureImage) -> RecordEvent:
    text = f'Container image "{asked.image}" already present on machine and can be accessed by the pod'
    return _event(asked, "Pulled", text)


def pulling(asked: EnsureImage) -> RecordEvent:
    return _event(asked, "Pulling", f'Pulling image "{asked.image}"')


def pulled(asked: EnsureImage, seconds: float, waited: float, size: int) -> RecordEvent:
    """`seconds`: of the pull alone; `waited`: with the time in the queue before it. `size` in bytes."""
    times = f"{_milliseconds(seconds)} ({_milliseconds(waited)} including waiting)"
    return _event(asked, "Pulled", f'Successfully pulled image "{asked.image}" in {times}. Image size: {size} bytes.')


def _milliseconds(seconds: float) -> str:
    return str(Duration.of_nanoseconds(int(seconds * 1000) * _MILLION))


def _event(asked: EnsureImage, reason: str, text: str) -> RecordEvent:
    return RecordEvent(
        kind="Pod",
        namespace=asked.namespace,
        name=asked.pod_name,
        uid=asked.uid,
        type="Normal",
        reason=reason,
        message=text,
        field=asked.field,
    )
