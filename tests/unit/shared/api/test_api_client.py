"""Requests and watches against a real TLS server of the tests whose answers are scripted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from actors.shared.api.access import ServerAccess
from actors.shared.api.client import ApiClient, ClientTelemetry, RequestObservation
from actors.shared.api.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    NoCredentials,
    NotFound,
    ServerError,
    TooLarge,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)
from actors.shared.api.exchange import MAX_ANSWER, MAX_OBJECT, RequestAttempt, RequestForm, unreachable
from tests.support.apiserver import Answer, ApiServer, Cut, Drop, Reply, Request, Stream


def access(server: ApiServer, /, **more: Any) -> ServerAccess:
    given: dict[str, Any] = {"server": server.url, "ca": server.authority.path.read_bytes(), **more}
    return ServerAccess(**given)


async def drain(client: ApiClient, into: list[bytes]) -> None:
    """Follow a watch to its end."""
    async with aclosing(client.watch("/w", {}, quiet=0.3)) as events:
        async for event in events:
            into.append(event.object)  # noqa: PERF401 - what came before a failure counts


async def ok(request: Request) -> Reply:
    return Answer(200, b'{"kind":"Node"}', headers=[("ETag", "x")])


async def test_a_call_is_sent_whole_and_its_answer_read(tmp_path: Path) -> None:
    async with ApiServer(tmp_path, ok) as server:
        client = ApiClient(access(server, token="t1"))
        said = await client.call("PATCH", "/api/v1/nodes/n", query={"a": "x=1,y"}, body=b"{}", content_type="a/b")
        await client.close()
    assert (said.status, said.body, said.headers["etag"]) == (200, b'{"kind":"Node"}', "x")
    asked = server.requests[0]
    assert (asked.method, asked.target, asked.body) == ("PATCH", "/api/v1/nodes/n?a=x%3D1%2Cy", b"{}")
    assert asked.headers["content-type"] == "a/b"
    assert asked.headers["authorization"] == "Bearer t1"
    assert asked.headers["host"] == f"127.0.0.1:{server.port}"
    assert asked.headers["accept"] == "application/json"


@pytest.mark.parametrize(
    ("part", "wrong"),
    [("..%2F..%2Fsecrets%2Fx", "may not contain '/'"), ("..", "may not be '..'"), ("%2E", "may not be '.'"),
     ("a%252Fb", "may not contain '%'")],
)  # fmt: skip
async def test_a_name_that_the_server_would_split_is_refused_before_it_is_asked(
    tmp_path: Path, part: str, wrong: str
) -> None:
    async with ApiServer(tmp_path, ok) as server:
        client = ApiClient(access(server))
        with pytest.raises(Invalid, match=wrong):
            await client.call("GET", f"/api/v1/namespaces/d/persistentvolumeclaims/{part}")
        await client.close()
    assert not server.requests


async def test_warnings_of_the_server_are_passed_on(tmp_path: Path) -> None:
    first = '299 - "spec.x is \\"old\\"", 299 - "another"'
    second = '299 - "yet another" "Tue, 15 Nov 1994 08:12:31 GMT", 199 - "of a proxy"'

    async def script(request: Request) -> Reply:
        return Answer(200, b"{}", headers=[("Warning", first), ("warning", second)])

    told: list[str] = []
    async with ApiServer(tmp_path, script) as server:
        client = ApiClient(access(server), telemetry=ClientTelemetry(warned=told.append))
        await client.call("POST", "/x", body=b"{}")
        await client.close()
    assert told == ['spec.x is "old"', "another", "yet another"]


async def test_calls_share_a_connection(tmp_path: Path) -> None:
    async with ApiServer(tmp_path, ok) as server:
        client = ApiClient(access(server))
        for _ in range(5):
            await client.call("GET", "/x")
        await client.close()
    assert server.connections == 1


async def test_a_path_in_the_servers_address_comes_first(tmp_path: Path) -> None:
    async with ApiServer(tmp_path, ok) as server:
        client = ApiClient(access(server, server=f"{server.url}/k8s/c-1"))
        await client.call("GET", "/api/v1/nodes")
        await client.close()
    assert server.requests[0].target == "/k8s/c-1/api/v1/nodes"


@pytest.mark.parametrize(
    ("status", "reason", "kind"),
    [
        (400, "BadRequest", Invalid),
        (401, "Unauthorized", Unauthorized),
        (403, "Forbidden", Forbidden),
        (404, "NotFound", NotFound),
        (409, "Conflict", Conflict),
        (409, "AlreadyExists", AlreadyExists),
        (410, "Expired", Gone),
        (422, "Invalid", Invalid),
        (500, "InternalError", ServerError),
        (503, "ServiceUnavailable", ServerError),
        (418, "Teapot", ApiError),
    ],
)
async def test_each_failure_has_its_error(tmp_path: Path, status: int, reason: str, kind: type[ApiError]) -> None:
    async def refuse(request: Request) -> Reply:
        return Answer(status, f'{{"kind":"Status","reason":"{reason}","message":"because","code":{status}}}'.encode())

    async with ApiServer(tmp_path, refuse) as server:
        client = ApiClient(access(server))
        with pytest.raises(ApiError) as caught:
            await client.call("GET", "/x")
        await client.close()
    assert type(caught.value) is kind
    assert (caught.value.status, caught.value.reason, caught.value.message) == (status, reason, "because")


async def test_an_answer_that_is_no_status_is_an_error_with_its_code(tmp_path: Path) -> None:
    async def refuse(request: Request) -> Reply:
        return Answer(429, b"<html>slow down", headers=[("Retry-After", "7")])

    async with ApiServer(tmp_path, refuse) as server:
        client = ApiClient(access(server))
        with pytest.raises(TooManyRequests, match="HTTP status 429 <html>slow down") as caught:
            await client.call("GET", "/x")
        await client.close()
    assert caught.value.retry_after == 7
    assert caught.value.reason == "TooManyRequests"


@pytest.mark.parametrize(
    ("status", "body"),
    [(500, b'{"kind":"Status","message":"%s"}' % (b"x" * 100_000)), (422, b'{"reason":"%s"}' % (b"x" * 100_000))],
)
async def test_the_text_of_an_error_is_bounded(tmp_path: Path, status: int, body: bytes) -> None:
    async def refuse(request: Request) -> Reply:
        return Answer(status, body)

    async with ApiServer(tmp_path, refuse) as server:
        client = ApiClient(access(server))
        with pytest.raises(ApiError) as caught:
            await client.call("GET", "/x")
        await client.close()
    assert len(str(caught.value)) < 5000


def test_what_is_no_http_is_quoted_in_part_only() -> None:
    attempt = RequestAttempt("GET", "https://server/x", RequestForm("application/json"))
    assert len(str(unreachable(attempt, ValueError("illegal status line: " + "GARBAGE" * 1000)))) < 3000


async def test_an_unknown_authority_is_not_trusted(tmp_path: Path) -> None:
    async with ApiServer(tmp_path, ok) as server, ApiServer(tmp_path / "other", ok) as other:
        client = ApiClient(access(server, ca=other.authority.path.read_bytes()))
        with pytest.raises(Unreachable, match="certificate verify failed"):
            await client.call("GET", "/x")
        await client.close()
        careless = ApiClient(access(server, ca=b"", insecure=True))
        assert (await careless.call("GET", "/x")).status == 200
        await careless.close()


async def test_the_certificates_name_is_checked(tmp_path: Path) -> None:
    async with ApiServer(tmp_path, ok, names=("kubernetes.default",)) as server:
        client = ApiClient(access(server))
        with pytest.raises(Unreachable, match="certificate verify failed"):
            await client.call("GET", "/x")
        await client.reconnect(access(server, server_name="kubernetes.default"))
        assert (await client.call("GET", "/x")).status == 200
        await client.close()


async def test_a_client_certificate_is_shown_from_files_and_from_data(tmp_path: Path) -> None:
    async with ApiServer(tmp_path, ok) as server:
        cert, key = (str(path) for path in server.authority.client("system:node:n1", "system:nodes"))
        client = ApiClient(access(server, cert_file=cert, key_file=key))
        await client.call("GET", "/x")
        data = {"cert_data": Path(cert).read_bytes(), "key_data": Path(key).read_bytes()}
        await client.reconnect(access(server, **data))
        await client.call("GET", "/x")
        await client.close()
    assert [asked.user for asked in server.requests] == ["system:node:n1"] * 2
    assert server.connections == 2


@pytest.mark.parametrize("broken", [b"", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
async def test_an_unusable_certificate_is_reported_as_such(tmp_path: Path, broken: bytes) -> None:
    (tmp_path / "bad.pem").write_bytes(broken)
    async with ApiServer(tmp_path, ok) as server:
        bad = str(tmp_path / "bad.pem")
        client = ApiClient(access(server, cert_file=bad, key_file=bad))
        with pytest.raises(NoCredentials, match=r"client-certificate .*bad\.pem cannot be used"):
            await client.call("GET", "/x")
        await client.close()
    assert server.connections == 0


async def test_a_key_of_another_certificate_is_named_in_plain_words(tmp_path: Path) -> None:
    async with ApiServer(tmp_path, ok) as server:
        cert, _ = server.authority.client("system:node:n1", "system:nodes")
        _, key = server.authority.client("system:node:n2", "system:nodes")
        client = ApiClient(access(server, cert_file=str(cert), key_file=str(key)))
        with pytest.raises(NoCredentials, match=r"cannot be used: its key is that of another certificate$"):
            await client.call("GET", "/x")
        await client.close()


async def test_a_refused_connection_is_unreachable(tmp_path: Path) -> None:
    server = ApiServer(tmp_path, ok)
    await server.start()
    await server.stop()
    client = ApiClient(access(server))
    with pytest.raises(Unreachable) as caught:
        await client.call("GET", "/x")
    assert caught.value.status == 0
    await client.close()


async def test_a_server_that_hangs_is_given_up_after_the_timeout(tmp_path: Path) -> None:
    async def hang(request: Request) -> Reply:
        await asyncio.sleep(60)
        return Answer()

    async with ApiServer(tmp_path, hang) as server:
        client = ApiClient(access(server))
        with pytest.raises(Unreachable, match=r"no answer within 0\.2 s"):
            await client.call("GET", "/x", timeout=0.2)
        await client.close()


async def test_an_answer_that_is_larger_than_any_object_is_refused_and_a_list_may_be_larger(tmp_path: Path) -> None:
    large = b"x" * (MAX_OBJECT + 1)

    async def script(request: Request) -> Reply:
        return Answer(200, large)

    async with ApiServer(tmp_path, script) as server:
        client = ApiClient(access(server))
        with pytest.raises(TooLarge, match="an answer of more than 8 MiB"):
            await client.call("GET", "/x")
        assert len(server.requests) == 1, "it would be as large the second time"
        assert (await client.call("GET", "/x", most=MAX_ANSWER)).body == large
        await client.close()


async def test_a_connection_that_died_idle_costs_no_request(tmp_path: Path) -> None:
    """Also one that changes something: it was never written whole on the dead connection, or not at all."""
    async with ApiServer(tmp_path, ok) as server:
        client = ApiClient(access(server))
        await client.call("GET", "/x")
        server.drop_connections()
        await asyncio.sleep(0.05)
        assert (await client.call("POST", "/x", body=b"{}")).status == 200
        await client.close()
    assert [asked.method for asked in server.requests] == ["GET", "POST"]


async def test_a_get_on_a_dying_connection_is_repeated_and_a_post_is_not(tmp_path: Path) -> None:
    async def die_first(request: Request) -> Reply:
        return Drop() if len(server.requests) == 1 else Answer()

    async with ApiServer(tmp_path, die_first) as server:
        client = ApiClient(access(server))
        assert (await client.call("GET", "/x")).status == 200
        server.requests.clear()
        with pytest.raises(Unreachable):
            await client.call("POST", "/x", body=b"{}")
        assert len(server.requests) == 1
        await client.close()


async def test_a_failure_closes_every_idle_connection(tmp_path: Path) -> None:
    async def script(request: Request) -> Reply:
        if request.path == "/die":
            return Drop()
        await asyncio.sleep(0.05)
        return Answer(200)

    async with ApiServer(tmp_path, script) as server:
        client = ApiClient(access(server))
        await asyncio.gather(*(client.call("GET", "/x") for _ in range(3)))
        assert server.connections == 3
        with pytest.raises(Unreachable):
            await client.call("DELETE", "/die")
        await client.call("GET", "/x")
        await client.close()
    assert server.requests[-1].connection == 4


async def test_renewed_credentials_let_calls_under_way_end(tmp_path: Path) -> None:
    reached = asyncio.Event()

    async def slowly(request: Request) -> Reply:
        reached.set()
        await asyncio.sleep(0.2)
        return Answer(200)

    async with ApiServer(tmp_path, slowly) as server:
        client = ApiClient(access(server, token="old"))
        first = asyncio.create_task(client.call("POST", "/x", body=b"{}"))
        await reached.wait()
        await client.reconnect(access(server, token="new"))
        await client.call("POST", "/x", body=b"{}")
        assert (await first).status == 200
        await client.close()
    assert [asked.headers["authorization"] for asked in server.requests] == ["Bearer old", "Bearer new"]
    assert server.connections == 2


async def test_calls_wait_for_the_clients_own_limit(tmp_path: Path) -> None:
    async with ApiServer(tmp_path, ok) as server:
        client = ApiClient(access(server), qps=20, burst=2)
        started_at = asyncio.get_running_loop().time()
        await asyncio.gather(*(client.call("GET", "/x") for _ in range(6)))
        took = asyncio.get_running_loop().time() - started_at
        await client.close()
    assert took >= 0.19


async def test_a_bearer_token_file_is_read_again_after_401(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("one\n")

    async def picky(request: Request) -> Reply:
        return Answer(200 if request.headers["authorization"] == "Bearer two" else 401)

    async with ApiServer(tmp_path, picky) as server:
        client = ApiClient(access(server, token_file=str(token)))
        with pytest.raises(Unauthorized):
            await client.call("GET", "/x")
        token.write_text("two\n")
        assert (await client.call("POST", "/x", body=b"{}")).status == 200
        await client.close()


# -- watches ----------------------------------------------------------------------------------------------------------
ADDED = b'{"type":"ADDED","object":{}}\n'


async def one_event(request: Request) -> Reply:
    """A watch on which one event comes, and then nothing."""

    async def pieces() -> AsyncIterator[bytes]:
        yield ADDED
        await asyncio.sleep(60)

    return Stream(pieces())


async def test_events_come_as_they_are_sent_also_in_pieces(tmp_path: Path) -> None:
    goes_on = asyncio.Event()

    async def pieces() -> AsyncIterator[bytes]:
        yield b'{"type":"ADDED","object":{"a":1}}\n{"type":"MOD'
        await goes_on.wait()
        yield b'IFIED","object":{"a":2}}\n'

    async def stream(request: Request) -> Reply:
        return Stream(pieces())

    async with ApiServer(tmp_path, stream) as server:
        client = ApiClient(access(server))
        seen = []
        async with aclosing(client.watch("/api/v1/pods", {"resourceVersion": "7"})) as events:
            async for event in events:
                seen.append((event.type, event.object))
                goes_on.set()
        await client.close()
    assert seen == [("ADDED", b'{"a":1}'), ("MODIFIED", b'{"a":2}')]
    assert server.requests[0].target == "/api/v1/pods?resourceVersion=7&watch=true"


async def test_an_error_event_of_410_is_gone(tmp_path: Path) -> None:
    async def stream(request: Request) -> Reply:
        status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
        return Stream.of({"type": "ERROR", "object": status})

    async with ApiServer(tmp_path, stream) as server:
        client = ApiClient(access(server))
        with pytest.raises(Gone, match="too old"):
            await drain(client, [])
        await client.close()


@pytest.mark.parametrize("ending", ["reset", "garbage"])
async def test_a_watch_that_breaks_is_unreachable(tmp_path: Path, ending: str) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield ADDED
        if ending == "reset":
            raise Cut
        yield b"nonsense\n"

    async def stream(request: Request) -> Reply:
        return Stream(pieces())

    async with ApiServer(tmp_path, stream) as server:
        client = ApiClient(access(server))
        seen: list[bytes] = []
        with pytest.raises(Unreachable):
            await drain(client, seen)
        await client.close()
    assert seen == [b"{}"]


async def test_a_silent_watch_ends(tmp_path: Path) -> None:
    async with ApiServer(tmp_path, one_event) as server:
        client = ApiClient(access(server))
        seen: list[bytes] = []
        await asyncio.wait_for(drain(client, seen), 5)
        await client.close()
    assert seen == [b"{}"]


async def test_renewed_credentials_end_a_watch_at_once_as_if_the_server_had(tmp_path: Path) -> None:
    async with ApiServer(tmp_path, one_event) as server:
        client = ApiClient(access(server))

        async def follow() -> None:
            async with aclosing(client.watch("/w", {})) as events:
                async for _ in events:
                    await client.reconnect(access(server, token="new"))

        await asyncio.wait_for(follow(), 5)
        await client.close()


async def test_a_watch_that_is_refused_raises_why(tmp_path: Path) -> None:
    async def refuse(request: Request) -> Reply:
        return Answer(403, b'{"reason":"Forbidden","message":"no"}')

    async with ApiServer(tmp_path, refuse) as server:
        client = ApiClient(access(server))
        with pytest.raises(Forbidden):
            await drain(client, [])
        await client.close()


async def test_each_request_is_observed_with_what_it_cost(tmp_path: Path) -> None:
    async with ApiServer(tmp_path, ok) as server:
        seen: list[RequestObservation] = []
        client = ApiClient(access(server), telemetry=ClientTelemetry(observe=seen.append))
        await client.call("POST", "/x", body=b"12345")
        await server.stop()
        with pytest.raises(Unreachable):
            await client.call("GET", "/x")
        await client.close()
    assert (seen[0].method, seen[0].code, seen[0].sent, seen[0].received) == ("POST", "200", 5, 15)
    assert [(each.code, each.again) for each in seen[1:]] == [("<error>", False), ("<error>", True)]
