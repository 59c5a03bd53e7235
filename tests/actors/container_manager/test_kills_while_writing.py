"""A container manager that is killed at any write of its state gives no CPU twice, and forgets none."""

from __future__ import annotations

from typing import Any

import pytest

from actors.container_manager.messages import PodAdmitted, ReleasePod
from actors.pod_workers.messages import ShardPods
from tests.support.killed_writes import KilledWrites
from tests.support.machines import write_sysfs
from tests.support.managed_host import Host, admit

from .test_exclusive_cpus import SMT, STATIC, WORKER, state, two

WRITES = 5
"""More than there are in one admission, or in one end of a pod."""
PODS = ("kept", "u", "v")


@pytest.fixture
def smt(host: Host) -> Host:
    write_sysfs(host.root, SMT)
    return host


@pytest.fixture(params=[(step, after) for step in range(WRITES) for after in (False, True)], ids=str)
def kill(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> KilledWrites:
    step, after = request.param
    return KilledWrites(monkeypatch, step, after=after)


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


async def test_an_admission_that_a_kill_cuts_off_gives_no_cpu_twice(smt: Host, kill: KilledWrites) -> None:
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


async def test_an_end_that_a_kill_cuts_off_gives_its_cpus_back_once(smt: Host, kill: KilledWrites) -> None:
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
