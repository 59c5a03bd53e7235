"""A pod whose probes end the prober again and again is left alone; the others are probed."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

import pytest

from actors.prober.actor import Prober
from actors.prober.messages import ProbedContainer, ProbedPod
from actors.prober.probed_pods import updated
from actors.shared.config.agent import Agent
from actors.shared.cri.model import ExecResult
from actors.shared.input_quarantine import POLICY
from actors.status_manager.messages import ProbeResult
from supervision.testing.harness import Harness


class Poison(Exception):
    """What the probes of the bad pod raise."""


class Runtime:
    async def version(self): ...

    async def exec_sync(self, container_id, command, timeout_seconds=0):
        if container_id == "bad":
            raise Poison
        return ExecResult(0, b"")


def pod(uid: str, id: str = "") -> ProbedPod:
    probe = {"exec": {"command": ["x"]}}
    spec = {"containers": [{"name": "a", "image": id or uid, "readinessProbe": probe}]}
    raw = json.dumps({"metadata": {"name": uid, "namespace": "n", "uid": uid}, "spec": spec}).encode()
    return ProbedPod(uid, raw, [ProbedContainer("a", id or uid, True, time.time_ns())])


async def lives(home: Path, *pods: ProbedPod) -> list[str]:
    """The pods whose probes had a result."""
    arguments = {"runtime": Runtime(), "rng": random.Random(1)}
    agent = Agent(run_dir=str(home), workers=2)
    async with Harness(Prober, name="prober", context=agent, arguments=arguments) as prober:
        for each in pods:
            await prober.deliver(each)
        await prober.advance(20.0)
        return [result.uid for result in prober.sent(ProbeResult)]


async def dies(home: Path) -> None:
    for _ in range(POLICY.crashes):
        with pytest.raises(Poison):
            await lives(home, pod("good"), pod("bad"))


async def test_after_three_deaths_a_pod_is_not_probed_and_the_others_are(tmp_path):
    await dies(tmp_path)
    assert await lives(tmp_path, pod("good"), pod("bad")) == ["good"]


async def test_a_pod_that_changes_gets_a_new_chance(tmp_path):
    await dies(tmp_path)
    assert sorted(await lives(tmp_path, pod("good"), pod("bad", "mended"))) == ["bad", "good"]


async def test_an_unreadable_pod_is_set_aside_too(tmp_path, monkeypatch):
    def poisoned(before, message, now):
        if message.uid == "bad":
            raise Poison
        return updated(before, message, now)

    monkeypatch.setattr("actors.prober.actor.updated", poisoned)
    await dies(tmp_path)
    assert await lives(tmp_path, pod("good"), pod("bad")) == ["good"]


async def test_a_pod_in_quarantine_is_named_once_in_the_log(tmp_path, caplog):
    await dies(tmp_path)
    caplog.clear()
    assert await lives(tmp_path, pod("bad"), pod("bad")) == []
    (line,) = [record.getMessage() for record in caplog.records if "is not probed" in record.getMessage()]
    assert "bad" in line
