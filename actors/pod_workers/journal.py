"""Which pod this worker had in hand when it died, so that one pod cannot take its worker down for ever.

Two files in the run directory: `hand`, a few bytes rewritten in place around what is computed from a pod, and
`crashes`, the counts. A pod that killed its worker three times within ten minutes is parked until it changes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

LIMIT = 3
WINDOW_SECONDS = 600.0
_HAND_BYTES = 128


class Crashes(msgspec.Struct, frozen=True):
    """When the worker died with each pod in hand (seconds since 1970), newest last, by the pod's content."""

    times: dict[str, list[float]] = {}

    def another(self, key: str, now: float) -> Crashes:
        recent = [time for time in self.times.get(key, ()) if now - time < WINDOW_SECONDS]
        kept = {other: times for other, times in self.times.items() if times and now - times[-1] < WINDOW_SECONDS}
        return Crashes({**kept, key: [*recent, now][-LIMIT:]})

    def parked(self, key: str, now: float) -> bool:
        """Whether the pod has to wait until it changes, or ten minutes are over."""
        return len([time for time in self.times.get(key, ()) if now - time < WINDOW_SECONDS]) >= LIMIT


class Journal:
    """The two files of one worker. Damaged or missing ones count as empty."""

    def __init__(self, directory: Path, worker: str, clock: Callable[[], float]) -> None:
        stem = worker.replace("/", "-")
        self._hand, self._file, self._clock = directory / f"{stem}.hand", directory / f"{stem}.crashes", clock
        self._crashes = self._read()
        self.victim = self._hand.read_bytes().strip(b"\0").decode(errors="replace") if self._hand.exists() else ""
        if self.victim:
            self.crashed(self.victim)
        self._fd = os.open(self._hand, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.pwrite(self._fd, b"\0" * _HAND_BYTES, 0)

    def _read(self) -> Crashes:
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=Crashes)
        except (OSError, msgspec.DecodeError, msgspec.ValidationError):
            return Crashes()

    @contextmanager
    def hand(self, key: str) -> Iterator[None]:
        """Around what is computed from a pod: if the process dies inside, the next incarnation knows."""
        os.pwrite(self._fd, key.encode()[:_HAND_BYTES].ljust(_HAND_BYTES, b"\0"), 0)
        yield
        os.pwrite(self._fd, b"\0" * _HAND_BYTES, 0)

    def crashed(self, key: str) -> None:
        """The worker died, or is about to, because of this pod."""
        self._crashes = self._crashes.another(key, self._clock())
        temporary = self._file.with_suffix(".new")
        temporary.write_bytes(msgspec.json.encode(self._crashes))
        temporary.replace(self._file)

    def parked(self, key: str) -> bool:
        return self._crashes.parked(key, self._clock())

    def close(self) -> None:
        os.close(self._fd)
