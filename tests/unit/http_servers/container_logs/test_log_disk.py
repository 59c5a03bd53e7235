"""Whether a log is read depends on whether its disk answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from actors.http_servers.container_logs.log_disk import RECENT_SECONDS, LogDisk
from actors.http_servers.container_logs.log_file import LogFile
from actors.http_servers.container_logs.log_opener import LogUnavailable
from supervision.errors import DisposableError, DisposableTimeout
from supervision.testing.fake_disposables import FakeDisposables

LOG = LogFile("c", "containerd://1", "d_p_u/c/0.log")


class Disposables:
    """Each call ends as the test says, or runs here."""

    def __init__(self) -> None:
        self.calls, self.now = 0, 100.0
        self.error: DisposableError | None = None
        self._runs = FakeDisposables()

    async def __call__(self, function: str, arguments: dict[str, Any], deadline: float) -> Any:
        self.calls += 1
        if self.error is not None:
            raise self.error
        return self._runs.run(function, arguments)


@pytest.fixture
def disposables() -> Disposables:
    return Disposables()


@pytest.fixture
def disk(disposables: Disposables) -> LogDisk:
    return LogDisk(disposables, lambda: disposables.now)


async def test_a_disk_that_hangs_is_named(disk: LogDisk, disposables: Disposables) -> None:
    disposables.error = DisposableTimeout("Timeout", "no answer")
    for _ in range(2):
        with pytest.raises(LogUnavailable, match="/logs: the disk does not answer"):
            await disk.require_answer("/logs", LOG)
    assert disposables.calls == 2


async def test_an_answer_is_good_for_a_moment(disk: LogDisk, disposables: Disposables, tmp_path: Path) -> None:
    for step in (0.0, RECENT_SECONDS / 2, RECENT_SECONDS):
        disposables.now += step
        await disk.require_answer(str(tmp_path), LOG)
    assert disposables.calls == 2


async def test_any_other_failure_says_nothing_of_the_disk(disk: LogDisk, disposables: Disposables) -> None:
    disposables.error = DisposableError("BlockingIOError", "no process")
    await disk.require_answer("/logs", LOG)


@pytest.mark.parametrize("kind", ["file", "directory", "nothing"])
async def test_what_cannot_be_read_is_an_answer(
    disk: LogDisk, disposables: Disposables, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / LOG.path
    path.parent.mkdir(parents=True)
    if kind != "nothing":
        path.mkdir() if kind == "directory" else path.write_text("line")
    await disk.require_answer(str(tmp_path), LOG)
    assert disposables.calls == 1
