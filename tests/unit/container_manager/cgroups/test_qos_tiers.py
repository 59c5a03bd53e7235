"""The limits of the QoS tiers while systemd takes its time."""

from __future__ import annotations

import asyncio
import logging
from types import SimpleNamespace
from typing import Any

import pytest

from actors.container_manager.cgroups import qos_tiers
from actors.container_manager.cgroups.pod_limits import BEST_EFFORT, BURSTABLE, GUARANTEED
from actors.container_manager.cgroups.qos_tiers import SETTLE_SECONDS, QosTiers
from actors.container_manager.cgroups.systemd_slices import SliceError
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.linux.cgroup_limits import CgroupLimits
from supervision.repeated_warnings import RepeatedWarnings


class Host:
    """The cgroups and the actor: `limits` are what the pods want, `there` what is in force."""

    version = 1

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.limits = {qos: CgroupLimits(cpu_shares=10) for qos in (GUARANTEED, BURSTABLE, BEST_EFFORT)}
        self.there: dict[str, CgroupLimits] = {}
        self.calls: list[str] = []
        self.due: list[tuple[float, Any]] = []
        self.answers: asyncio.Event | None = None
        """Systemd answers the next call when it is set."""
        self.failing: tuple[str, ...] = ()
        monkeypatch.setattr(qos_tiers, "tier_limits", lambda *_, **__: dict(self.limits))
        actor: Any = SimpleNamespace(after=lambda seconds, call: self.due.append((seconds, call)))
        cgroups: Any = self
        ledger: Any = None
        warnings = RepeatedWarnings(logging.getLogger("container_manager"))
        self.tiers = QosTiers(actor, KubeletConfiguration(), cgroups, ledger, 0, warnings)

    async def set_tier(self, qos: str, limits: CgroupLimits) -> None:
        self.calls.append(qos)
        answers, self.answers = self.answers, None
        if answers is not None:
            await answers.wait()
        if qos in self.failing:
            raise SliceError("systemd is away")
        self.there[qos] = limits


async def test_limits_that_change_while_all_are_set_again_are_the_last_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host(monkeypatch)
    await host.tiers.apply()
    host.answers = answers = asyncio.Event()
    all_again = asyncio.create_task(host.tiers.apply(again=True))
    await asyncio.sleep(0)
    host.limits[BURSTABLE] = CgroupLimits(cpu_shares=20)
    changed = asyncio.create_task(host.tiers.apply())
    for _ in range(5):
        await asyncio.sleep(0)
    answers.set()
    await asyncio.gather(all_again, changed)
    assert host.there == host.limits


async def test_only_changed_limits_are_set_unless_all_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host(monkeypatch)
    await host.tiers.apply()
    host.calls.clear()
    await host.tiers.apply()
    assert host.calls == []
    host.limits[BURSTABLE] = CgroupLimits(cpu_shares=20)
    await host.tiers.apply()
    assert host.calls == [BURSTABLE]
    host.calls.clear()
    await host.tiers.apply(again=True)
    assert sorted(host.calls) == sorted(host.limits)


async def test_changes_of_the_ledger_that_come_together_are_one_and_a_failed_one_is_tried_with_the_next(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    host = Host(monkeypatch)
    for _ in range(3):
        host.tiers.update()
    ((seconds, update),) = host.due
    assert seconds == SETTLE_SECONDS
    host.failing = tuple(host.limits)
    await update()
    assert "the QoS tiers keep their old limits: systemd is away" in caplog.text
    assert host.there == {}
    host.failing = ()
    host.tiers.update()
    await host.due[1][1]()
    assert host.there == host.limits


@pytest.mark.parametrize("failing", [GUARANTEED, BURSTABLE, BEST_EFFORT])
async def test_a_tier_that_cannot_be_set_keeps_no_other_from_its_limits(
    monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    host = Host(monkeypatch)
    host.failing = (failing,)
    with pytest.raises(SliceError, match="systemd is away"):
        await host.tiers.apply()
    assert sorted({*host.there, failing}) == sorted(host.limits)
    host.calls.clear()
    host.failing = ()
    await host.tiers.apply()
    assert host.calls == [failing]
    assert host.there == host.limits
