"""The credentials of requests, as their sources change."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from actors.shared.api import exec_plugin
from actors.shared.api.access import MINUTE, Exec, ServerAccess
from actors.shared.api.credentials import Credentials
from actors.shared.api.errors import NoCredentials
from actors.shared.api.exec_plugin import IssuedCredentials

SERVER = "https://api.example:6443"


class Clock:
    now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


def bearer(token: str) -> list[tuple[str, str]]:
    return [("Authorization", f"Bearer {token}")]


async def test_a_token_file_is_read_each_minute_and_its_last_token_stays_while_it_is_unreadable(tmp_path: Path) -> None:
    file, clock = tmp_path / "token", Clock()
    credentials = Credentials(ServerAccess(server=SERVER, token_file=str(file)), clock)
    with pytest.raises(NoCredentials, match=r"token file .*: No such file or directory"):
        await credentials.headers()
    file.write_text("one\n")
    assert await credentials.headers() == bearer("one")
    file.write_text("two\n")
    assert await credentials.headers() == bearer("one")
    clock.now += MINUTE
    assert await credentials.headers() == bearer("two")
    for content in (b"", b"\xff"):
        file.write_bytes(content)
        clock.now += MINUTE
        assert await credentials.headers() == bearer("two")
    file.unlink()
    clock.now += MINUTE
    assert await credentials.headers() == bearer("two")


async def test_a_refused_token_of_a_file_is_read_again_at_once(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("one")
    credentials = Credentials(ServerAccess(server=SERVER, token_file=str(file)), Clock())
    await credentials.headers()
    file.write_text("two")
    assert credentials.refused(bearer("one"))
    assert await credentials.headers() == bearer("two")


async def test_a_fixed_token_that_is_refused_has_no_successor() -> None:
    credentials = Credentials(ServerAccess(server=SERVER, token="t"), Clock())
    assert not credentials.refused(await credentials.headers())


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tokens that the plugin has issued."""
    issued: list[str] = []

    async def run(access: ServerAccess, observe: Callable[..., Any]) -> IssuedCredentials:
        await asyncio.sleep(0)
        issued.append(f"token {len(issued) + 1}")
        return IssuedCredentials(token=issued[-1])

    monkeypatch.setattr(exec_plugin, "run", run)
    return issued


async def test_requests_that_are_refused_at_once_run_the_plugin_once(runs: list[str]) -> None:
    plugin = Exec(api_version="client.authentication.k8s.io/v1", command="/bin/plugin")
    credentials = Credentials(ServerAccess(server=SERVER, exec=plugin), Clock())
    used = await credentials.headers()

    async def repeat() -> list[tuple[str, str]]:
        assert credentials.refused(used), "there are others, or will be"
        return await credentials.headers()

    assert await asyncio.gather(*(repeat() for _ in range(3))) == [bearer("token 2")] * 3
    assert credentials.refused(used), "its 401 came after the others were renewed"
    assert await credentials.headers() == bearer("token 2")
    assert credentials.refused(bearer("token 2"))
    assert await credentials.headers() == bearer("token 3")
    assert len(runs) == 3
