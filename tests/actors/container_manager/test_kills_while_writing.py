"""A container manager that is killed at any write of its state gives no CPU twice, and forgets none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from actors.container_manager.messages import PodAdmitted, ReleasePod
from actors.pod_workers.messages import ShardPods
from actors.shared import state_files
from supervision.state_file import write_private
from tests.support.machines import write_sysfs
from tests.support.managed_host import Host, admit

from .test_exclusive_cpus import SMT, STATIC, WORKER, state, two

WRITES = 5
"""More than there are in one admission, or in one end of a pod."""
PODS = ("kept", "u", "v")


class Died(BaseException):
    """The process has died."""


@pytest.fixture
def smt(host: Host) -> Host:
    write_sysfs(host.root, SMT)
    return host


class Kill:
    """The process dies at the write of that number, before or after it; the disk keeps what was written."""

    def __init__(self, step: int, *, after: bool) -> None:
        self._step, self._after, self._left = step, after, -1

    def write(self, path: str | Path, data: bytes, **options: Any) -> None:
        self._left -= 1
        if self._left == 0 and not self._after:
            raise Died
        write_private(path, data, **options)
        if self._left == 0:
            raise Died

    @contextmanager
    def armed(self) -> Iterator[None]:
        self._left = self._step + 1
        with suppress(Died):
            yield
        self._left = -1


@pytest.fixture(params=[(step, after) for step in range(WRITES) for after in (False, True)], ids=str)
def kill(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Kill:
    step, after = request.param
    found = Kill(step, after=after)
    monkeypatch.setattr(state_files, "write_private", found.write)
    return found


def assert_exclusive(host: Host, given: dict[str, str]) -> None:
    cpus = [cpu for one in given.values() for cpu in one.split(",")]
    assert len(cpus) == len(set(cpus)) == 2 * len(given)
    assert state(host)["entries"] == {uid: {"a": one} for uid, one in given.items()}


async def report(manager: Any, *uids: str) -> None:
    """The workers have these pods."""
    await manager.deliver(ShardPods(WORKER.format(0), 2, [uid for uid in uids if uid == "kept"]))
    await manager.deliver(ShardPods(WORKER.format(1), 2, [uid for uid in uids if uid != "kept"]))


async def given_to(manager: Any, uid: str, *, running: bool = False) -> str:
    answer = await admit(manager, uid, two(uid), running)
    assert isinstance(answer, PodAdmitted)
    return answer.containers["a"].cpuset_cpus


async def test_an_admission_that_a_kill_cuts_off_gives_no_cpu_twice(smt: Host, kill: Kill) -> None:
    async with smt.start(**STATIC) as manager:
        given = {"kept": await given_to(manager, "kept")}
        with kill.armed():
            given["u"] = await given_to(manager, "u")
    async with smt.start(**STATIC, incarnation=2) as manager:
        kept = await given_to(manager, "kept", running=True)
        await report(manager, "kept", "u", "v")
        v = await given_to(manager, "v")  # before the worker of `u` has asked again
        u = await given_to(manager, "u")
        assert given.get("u", u) == u
        assert kept == given["kept"]
        assert_exclusive(smt, {"kept": kept, "u": u, "v": v})
        for uid in PODS:
            await manager.deliver(ReleasePod(uid))
        assert "entries" not in state(smt)


async def test_an_end_that_a_kill_cuts_off_gives_its_cpus_back_once(smt: Host, kill: Kill) -> None:
    async with smt.start(**STATIC) as manager:
        given = {uid: await given_to(manager, uid) for uid in ("kept", "u")}
        with kill.armed():
            await manager.deliver(ReleasePod("u"))
    async with smt.start(**STATIC, incarnation=2) as manager:
        assert await given_to(manager, "kept", running=True) == given["kept"]
        await report(manager, "kept", "v")
        v = await given_to(manager, "v")
        assert_exclusive(smt, {"kept": given["kept"], "v": v})
        await given_to(manager, "w")  # on the CPUs of `u`
