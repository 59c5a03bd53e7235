"""A prober that lacks descriptors says nothing of the containers: a healthy one was restarted again and again."""

from __future__ import annotations

import asyncio
import errno
import os
from typing import Any

import pytest

from actors.prober.grpc_probe import probe_grpc
from actors.prober.http_probe import probe_http
from actors.prober.tcp_probe import probe_tcp
from actors.shared.http_get.url import probe_url

SHORTAGES = [errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EAGAIN]


@pytest.fixture(params=SHORTAGES, ids=[errno.errorcode[number] for number in SHORTAGES])
def lacking(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """No connection can be made. The kernel's text."""

    async def lacks(*_: Any, **__: Any) -> None:
        raise OSError(request.param, os.strerror(request.param))

    monkeypatch.setattr(asyncio, "open_connection", lacks)
    return os.strerror(request.param).lower()


async def test_a_tcp_probe_without_a_descriptor_is_an_error_and_no_failure(lacking: str) -> None:
    outcome = await probe_tcp("127.0.0.1", 80, 5.0)
    assert (outcome.result, outcome.text) == ("error", f"dial tcp 127.0.0.1:80: connect: {lacking}")


async def test_an_http_probe_without_a_descriptor_is_an_error_and_no_failure(lacking: str) -> None:
    outcome = await probe_http(probe_url("HTTP", "127.0.0.1", 80, "/"), [], 5.0)
    text = f'Get "http://127.0.0.1:80/": dial tcp 127.0.0.1:80: connect: {lacking}'
    assert (outcome.result, outcome.text) == ("error", text)


async def test_a_grpc_probe_without_a_descriptor_is_an_error_and_no_failure(lacking: str) -> None:
    outcome = await probe_grpc("127.0.0.1", 80, "", 0.3)
    assert (outcome.result, outcome.text) == ("error", f"dial tcp 127.0.0.1:80: connect: {lacking}")
