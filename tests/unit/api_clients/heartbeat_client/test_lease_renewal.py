"""Which requests renew the Lease of the node: quick attempts with the last known one, else it is read or created."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from actors.api_clients.heartbeat_client.lease import COLLECTION, QUICK_ATTEMPTS
from actors.api_clients.heartbeat_client.lease_renewal import LeaseRenewal
from actors.shared.api.errors import ApiError, Conflict, NotFound, TooManyRequests, Unreachable

PATH = f"{COLLECTION}/n1"
NODE = "/api/v1/nodes/n1"
UNREACHABLE = Unreachable(0, "", "no route")


class Reply(msgspec.Struct):
    body: bytes


class Server:
    """Has the node n1, and a Lease once it is created. `errors`: of the next requests, each by METHOD and path."""

    def __init__(self, lease: dict[str, Any] | None = None) -> None:
        self.lease = lease
        self.errors: dict[str, list[ApiError]] = {}
        self.requests: list[str] = []
        self.drops, self.successes, self.pauses = 0, 0, list[float]()
        self.failures: list[ApiError] = []
        self.renewal = LeaseRenewal(
            self,
            "n1",
            40,
            wall=lambda: 0.0,
            pause=self._pause,
            on_failure=self.failures.append,
            on_success=self._succeeded,
        )

    def _succeeded(self) -> None:
        self.successes += 1

    async def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)

    async def call(self, method: str, path: str, *, body: bytes = b"", **more: Any) -> Reply:
        request = f"{method} {path}"
        self.requests.append(request)
        if self.errors.get(request):
            raise self.errors[request].pop(0)
        if path == NODE:
            return Reply(msgspec.json.encode({"metadata": {"name": "n1", "uid": "u"}}))
        if method in ("POST", "PUT"):
            self.lease = msgspec.json.decode(body)
        if self.lease is None:
            raise NotFound(404, "NotFound", "no lease")
        return Reply(msgspec.json.encode(self.lease))

    async def drop(self) -> None:
        self.drops += 1

    async def renew(self) -> list[str]:
        """The requests."""
        self.requests.clear()
        await self.renewal.renew()
        return list(self.requests)


def lease(*, owned: bool = True) -> dict[str, Any]:
    owners = [{"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "u"}] if owned else []
    return {"metadata": {"name": "n1", "namespace": "kube-node-lease", "ownerReferences": owners}, "spec": {}}


async def test_a_lease_that_is_missing_is_created_with_its_owner_and_from_then_on_written_only():
    server = Server()
    assert await server.renew() == [f"GET {PATH}", f"GET {NODE}", f"POST {COLLECTION}"]
    assert server.lease is not None
    assert server.lease["metadata"]["ownerReferences"][0]["uid"] == "u"
    assert await server.renew() == [f"PUT {PATH}"]
    assert server.successes == 2


@pytest.mark.parametrize("owned", [True, False])
async def test_a_lease_that_exists_is_read_and_renewed_at_once_and_gets_the_owner_that_it_lacks(owned):
    server = Server(lease(owned=owned))
    assert await server.renew() == [f"GET {PATH}", *([] if owned else [f"GET {NODE}"]), f"PUT {PATH}"]
    assert server.lease is not None
    assert [one["uid"] for one in server.lease["metadata"]["ownerReferences"]] == ["u"]
    assert server.lease["spec"]["holderIdentity"] == "n1"


async def test_after_a_conflict_the_newer_lease_is_read_and_written():
    server = Server(lease())
    await server.renew()
    server.errors[f"PUT {PATH}"] = [Conflict(409, "Conflict", "newer")]
    assert await server.renew() == [f"PUT {PATH}", f"GET {PATH}", f"PUT {PATH}"]
    assert server.failures == []


async def test_a_lease_that_was_deleted_is_made_again_without_further_attempts():
    server = Server(lease())
    await server.renew()
    server.lease = None
    server.errors[f"PUT {PATH}"] = [NotFound(404, "NotFound", "no lease")]
    assert await server.renew() == [f"PUT {PATH}", f"GET {PATH}", f"GET {NODE}", f"POST {COLLECTION}"]


async def test_attempts_that_fail_leave_their_connection_from_the_second_on_and_end_with_a_newly_read_lease():
    server = Server(lease())
    await server.renew()
    server.errors[f"PUT {PATH}"] = [UNREACHABLE] * QUICK_ATTEMPTS
    assert await server.renew() == [*[f"PUT {PATH}"] * QUICK_ATTEMPTS, f"GET {PATH}", f"PUT {PATH}"]
    assert (server.drops, len(server.failures)) == (QUICK_ATTEMPTS - 1, QUICK_ATTEMPTS)


async def test_a_lease_that_cannot_be_read_is_asked_for_after_growing_pauses():
    server = Server(lease())
    server.errors[f"GET {PATH}"] = [UNREACHABLE] * 3
    assert await server.renew() == [*[f"GET {PATH}"] * 4, f"PUT {PATH}"]
    assert len(server.pauses) == 3
    assert server.pauses == sorted(set(server.pauses))


@pytest.mark.parametrize(("asked", "kept"), [(3.0, 3.0), (30.0, 10.0)])
async def test_a_pause_that_the_server_asks_for_is_kept_until_the_lease_is_due(asked: float, kept: float) -> None:
    server = Server(lease())
    await server.renew()
    busy = TooManyRequests(429, "TooManyRequests", "later", asked)
    server.errors[f"PUT {PATH}"] = [busy, busy]
    assert await server.renew() == [f"PUT {PATH}"] * 3
    assert (server.pauses, server.drops) == ([kept, kept], 0)
    other = Server(lease())
    other.errors[f"GET {PATH}"] = [busy]
    assert await other.renew() == [f"GET {PATH}", f"GET {PATH}", f"PUT {PATH}"]
    assert other.pauses == [kept]
