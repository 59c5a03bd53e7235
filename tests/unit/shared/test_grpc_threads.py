"""No library of gRPC starts where there is no room for its threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from actors.prober.grpc_probe import probe_grpc
from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import Unavailable
from actors.shared.grpc_threads import ensure_threads
from supervision import thread_shortage
from supervision.thread_shortage import THREADS


class Host:
    """Starts so many threads at a time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
        self.most, self.tried = most, 0
        self._started: list[threading.Thread] = []
        self._start = threading.Thread.start
        monkeypatch.setattr(threading.Thread, "start", lambda thread: self.start(thread))

    def start(self, thread: threading.Thread) -> None:
        self.tried += 1
        if self.alive() >= self.most:
            raise RuntimeError("can't start new thread")
        self._started.append(thread)
        self._start(thread)

    def alive(self) -> int:
        """Threads of earlier tests may end meanwhile, and are not counted."""
        return sum(thread.is_alive() for thread in self._started)


@pytest.fixture(autouse=True)
def new_process() -> Iterator[None]:
    ensure_threads.cache_clear()
    yield
    ensure_threads.cache_clear()


def test_threads_are_tried_out_together_until_there_is_room_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host(monkeypatch, THREADS - 1)
    for _ in range(2):
        with pytest.raises(OSError, match="no room for more threads"):
            ensure_threads()
    host.most, host.tried = THREADS, 0
    ensure_threads()
    ensure_threads()
    assert host.tried == THREADS, "the second call tries nothing"
    assert host.alive() == 0, "none is left"


async def test_without_room_the_runtime_is_unavailable_and_a_probe_errs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_shortage, "THREADS", 2)
    Host(monkeypatch, 1)
    with pytest.raises(Unavailable, match="no room for more threads"):
        await CriClient("/nowhere").version()
    outcome = await probe_grpc("127.0.0.1", 9, "", 1.0)
    assert (outcome.result, outcome.text) == ("error", "the host has no room for more threads")
