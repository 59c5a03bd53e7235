"""What the container manager asks of iptables, and when."""

from __future__ import annotations

import shutil

import pytest

from tests.support.managed_host import Host

CANARY = ["-t", "mangle", "-S", "KUBE-KUBELET-CANARY", "1"]


@pytest.fixture(autouse=True)
def _has_iptables(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"iptables": "/made-up/iptables", "iptables-restore": "/made-up/iptables-restore"}
    monkeypatch.setattr(shutil, "which", found.get)


async def test_the_chains_are_looked_after_from_the_start_and_each_minute(host: Host) -> None:
    async with host.start(makeIPTablesUtilChains=True) as manager:
        await manager.advance(1.5)
        assert [argv[-5:] for argv in host.commands if "mangle" in argv] == [CANARY]
        await manager.advance(150)
        assert [argv[-5:] for argv in host.commands if "mangle" in argv] == [CANARY] * 3


async def test_an_error_of_iptables_is_logged_once(
    host: Host, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(argv: list[str], given: bytes = b"") -> str:
        return "Permission denied (you must be root)"

    monkeypatch.setattr(host, "runner", refuse)
    async with host.start(makeIPTablesUtilChains=True) as manager:
        await manager.advance(200)
    said = [line for line in caplog.messages if "iptables-restore: Permission denied (you must be root)" in line]
    assert len(said) == 1


async def test_no_check_is_made_without_the_field(host: Host) -> None:
    async with host.start(makeIPTablesUtilChains=False) as manager:
        await manager.advance(150)
    assert host.commands == []
