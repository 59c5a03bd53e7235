"""What objects travel as."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from actors.shared.api.access import ServerAccess
from actors.shared.api.client import ApiClient
from actors.shared.api.errors import ApiError, Gone, Invalid, NotFound, TooLarge, Unreachable, Unreadable
from actors.shared.api.exchange import RequestForm
from actors.shared.api.media_types import JSON, PROTOBUF, MediaTypes
from actors.shared.kube.protobuf.envelope import from_json, to_json
from proto import k8s_meta_pb2 as meta
from tests.support.apiserver import Answer, ApiServer, Cut, Reply, Request, Stream

BOTH = f"{PROTOBUF},{JSON}"
NODES = "/api/v1/nodes"
NODE: dict[str, Any] = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n1", "resourceVersion": "7"}}
PATCH = "application/strategic-merge-patch+json"


def protobuf(value: dict[str, Any]) -> bytes:
    written = from_json(value)
    assert written is not None
    return written.data


def answer(value: dict[str, Any], status: int = 200) -> Answer:
    return Answer(status, protobuf(value), PROTOBUF)


def status_of(code: int, reason: str) -> dict[str, Any]:
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "no",
            "reason": reason, "code": code}  # fmt: skip


def frame(kind: str, raw: bytes) -> bytes:
    event = meta.WatchEvent(type=kind, object=meta.RawExtension(raw=raw)).SerializeToString()
    return len(event).to_bytes(4) + event


def client_of(server: ApiServer, content_type: str = PROTOBUF) -> ApiClient:
    access = ServerAccess(server=server.url, ca=server.authority.path.read_bytes())
    return ApiClient(access, content_type=content_type)


async def call(
    folder: Path, reply: Callable[[Request], Reply], method: str = "GET", path: str = f"{NODES}/n1", **more: Any
) -> tuple[Any, list[Any]]:
    """The object that came back, and the requests."""

    async def script(request: Request) -> Reply:
        return reply(request)

    async with ApiServer(folder, script) as server:
        client = client_of(server)
        try:
            said = await client.call(method, path, **more)
        finally:
            await client.close()
    assert said.headers["content-type"] == JSON
    return json.loads(said.body), list(server.requests)


async def watch(folder: Path, *pieces: bytes, content_type: str = f"{PROTOBUF};stream=watch") -> list[tuple[str, Any]]:
    """The events of a watch that is told these."""

    async def told() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    async def script(request: Request) -> Reply:
        assert request.headers["accept"] == BOTH
        return Stream(told(), content_type)

    async with ApiServer(folder, script) as server:
        client, found = client_of(server), list[tuple[str, Any]]()
        try:
            async with aclosing(client.watch(NODES, {}, quiet=5.0)) as events:
                async for event in events:
                    found.append((event.type, json.loads(event.object)))
        finally:
            await client.close()
    return found


# -- requests --------------------------------------------------------------------------------------------------------
def test_by_default_everything_is_json() -> None:
    body = json.dumps(NODE).encode()
    for media in (MediaTypes(), MediaTypes("application/cbor"), MediaTypes("")):
        assert media.form("POST", NODES, JSON, body) == RequestForm(JSON, JSON, body)


@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_an_object_is_written_in_protobuf(method: str) -> None:
    form = MediaTypes(PROTOBUF).form(method, NODES, JSON, json.dumps(NODE).encode())
    assert (form.accept, form.content_type) == (BOTH, PROTOBUF)
    assert json.loads(to_json(form.body, 1000)) == NODE


def test_the_options_of_a_deletion_are_written_in_protobuf() -> None:
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0, "preconditions": {"uid": "u"}}
    form = MediaTypes(PROTOBUF).form("DELETE", "/api/v1/namespaces/d/pods/p", JSON, json.dumps(options).encode())
    assert form.content_type == PROTOBUF
    assert json.loads(to_json(form.body, 1000)) == options


@pytest.mark.parametrize(
    ("method", "content_type", "body"),
    [
        ("PATCH", PATCH, b"{}"),
        ("PATCH", JSON, b"{}"),
        ("GET", "", b""),
        ("DELETE", JSON, b'{"gracePeriodSeconds":0}'),  # of no kind
        ("POST", JSON, b'{"kind":"Widget","apiVersion":"v1"}'),
        ("POST", JSON, b'{"kind":"Node","apiVersion":"v1","spec":{"later":1}}'),
        ("POST", JSON, b'{"kind":"Node","apiVersion":"v1","spec":{"podCIDR":1}}'),
        ("POST", JSON, b"[]"),
        ("POST", JSON, b"{"),
    ],
)
def test_what_protobuf_cannot_hold_goes_as_json_and_may_be_answered_in_protobuf(
    method: str, content_type: str, body: bytes
) -> None:
    form = MediaTypes(PROTOBUF).form(method, NODES, content_type, body)
    assert form == RequestForm(BOTH, content_type, body)


@pytest.mark.parametrize("path", ["/readyz", "/api/v1/namespaces", "/apis/example.com/v1/widgets"])
def test_other_collections_are_asked_for_in_json(path: str) -> None:
    assert MediaTypes(PROTOBUF).form("GET", path) == RequestForm(JSON)


# -- answers ---------------------------------------------------------------------------------------------------------
async def test_an_object_goes_and_comes_in_protobuf(tmp_path: Path) -> None:
    said, (asked,) = await call(
        tmp_path, lambda request: answer(NODE, 201), "POST", NODES, body=json.dumps(NODE).encode()
    )
    assert said == NODE
    assert (asked.headers["accept"], asked.headers["content-type"]) == (BOTH, PROTOBUF)
    assert asked.headers["content-length"] == str(len(asked.body))
    assert asked.body == protobuf(NODE)


async def test_a_patch_goes_as_json_and_its_answer_comes_in_protobuf(tmp_path: Path) -> None:
    said, (asked,) = await call(tmp_path, lambda request: answer(NODE), "PATCH", body=b"{}", content_type=PATCH)
    assert said == NODE
    assert (asked.headers["accept"], asked.headers["content-type"], asked.body) == (BOTH, PATCH, b"{}")


@pytest.mark.parametrize("media", [f"{PROTOBUF}; charset=utf-8", PROTOBUF.upper()])
async def test_an_answer_is_what_its_content_type_says(tmp_path: Path, media: str) -> None:
    assert (await call(tmp_path, lambda request: Answer(200, protobuf(NODE), media)))[0] == NODE
    assert (await call(tmp_path, lambda request: Answer(200, json.dumps(NODE).encode())))[0] == NODE


async def test_an_error_in_protobuf_is_the_same_error(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"^NotFound: no$"):
        await call(tmp_path, lambda request: answer(status_of(404, "NotFound"), 404))


@pytest.mark.parametrize("body", [b"", b"k8s\x00\xff", b"{", b"k8s\x00\x0a\x08\x0a\x02v1\x12\x02No"])
async def test_an_answer_that_is_no_protobuf_is_unreadable_and_asked_for_once(tmp_path: Path, body: bytes) -> None:
    asked = []

    def reply(request: Request) -> Reply:
        asked.append(request)
        return Answer(200, body, PROTOBUF)

    with pytest.raises(Unreadable, match="the answer is not the API's protobuf"):
        await call(tmp_path, reply)
    assert len(asked) == 1


async def test_an_error_that_is_no_protobuf_is_an_error_with_its_code(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="HTTP status 422"):
        await call(tmp_path, lambda request: Answer(422, b"k8s\x00\xff", PROTOBUF))


async def test_a_list_that_is_larger_as_json_than_may_be_is_too_large(tmp_path: Path) -> None:
    nodes = {"kind": "NodeList", "apiVersion": "v1", "metadata": {}, "items": [{"spec": {}}] * 150}
    with pytest.raises(TooLarge, match="NodeList of more than 1000 bytes"):
        await call(tmp_path, lambda request: answer(nodes), path=NODES, most=1000)
    assert len(protobuf(nodes)) < 1000


async def test_others_run_while_a_long_list_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("actors.shared.api.media_types.SLICE_SECONDS", -1.0)  # each piece takes longer on any machine
    nodes = {"kind": "NodeList", "apiVersion": "v1", "metadata": {}, "items": [NODE] * 5000}
    media, turns = MediaTypes(PROTOBUF), 0
    reading = asyncio.ensure_future(media.as_json(_answered(answer(nodes)), 1 << 24))
    while not reading.done():
        turns += 1
        await asyncio.sleep(0)
    assert turns > 5000
    assert len(json.loads((await reading).body)["items"]) == 5000


def _answered(reply: Answer) -> Any:
    from actors.shared.api.exchange import ApiResponse

    return ApiResponse(reply.status, reply.body, {"content-type": reply.content_type})


# -- a server without protobuf ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("code", [415, 406])
async def test_a_collection_without_protobuf_is_json_from_then_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, code: int
) -> None:
    async def script(request: Request) -> Reply:
        refused = PROTOBUF in (request.headers["content-type"] if code == 415 else request.headers["accept"])
        if "/nodes" in request.target and refused:
            return Answer(code, json.dumps(status_of(code, "No")).encode())
        return Answer(201, json.dumps(NODE).encode())

    body = json.dumps(NODE).encode()
    lease = json.dumps({"kind": "Lease", "apiVersion": "coordination.k8s.io/v1"}).encode()
    async with ApiServer(tmp_path, script) as server:
        client = client_of(server)
        with caplog.at_level(logging.WARNING):
            said = await asyncio.gather(*(client.call("POST", NODES, body=body) for _ in range(3)))
            await client.call("POST", "/apis/coordination.k8s.io/v1/namespaces/d/leases", body=lease)
        await client.call("POST", NODES, body=body)
        await client.close()
    assert all(json.loads(one.body) == NODE for one in said)
    last, before = server.requests[-1], server.requests[-2]
    assert (last.headers["content-type"], last.headers["accept"], last.body) == (JSON, JSON, body)
    assert before.headers["content-type"] == PROTOBUF
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith("the API server does not take protobuf for v1/nodes: JSON from now on")


async def test_a_patch_of_a_form_that_the_server_does_not_take_is_refused_as_ever(tmp_path: Path) -> None:
    asked = []

    def reply(request: Request) -> Reply:
        asked.append(request)
        return Answer(415, json.dumps(status_of(415, "UnsupportedMediaType")).encode())

    with pytest.raises(ApiError, match="UnsupportedMediaType"):
        await call(tmp_path, reply, "PATCH", body=b"{}", content_type=PATCH)
    assert len(asked) == 1


async def test_a_watch_without_protobuf_is_json_from_then_on(tmp_path: Path) -> None:
    async def script(request: Request) -> Reply:
        if request.headers["accept"] != JSON:
            return Answer(406, b"no")
        return Stream.of({"type": "ADDED", "object": NODE})

    async with ApiServer(tmp_path, script) as server:
        client = client_of(server)
        with pytest.raises(ApiError, match="406"):
            async with aclosing(client.watch(NODES, {})) as events:
                await anext(events)
        async with aclosing(client.watch(NODES, {})) as events:
            assert (await anext(events)).type == "ADDED"
        await client.close()


# -- watches ---------------------------------------------------------------------------------------------------------
async def test_events_come_in_frames_also_in_pieces(tmp_path: Path) -> None:
    stream = frame("ADDED", protobuf(NODE)) + frame("BOOKMARK", protobuf(NODE)) + frame("DELETED", protobuf(NODE))
    told = [stream[at : at + 7] for at in range(0, len(stream), 7)]
    assert await watch(tmp_path, *told) == [("ADDED", NODE), ("BOOKMARK", NODE), ("DELETED", NODE)]


async def test_an_object_within_an_event_may_be_json(tmp_path: Path) -> None:
    assert await watch(tmp_path, frame("ADDED", json.dumps(NODE).encode())) == [("ADDED", NODE)]


async def test_events_in_json_are_read_as_such(tmp_path: Path) -> None:
    line = json.dumps({"type": "ADDED", "object": NODE}).encode() + b"\n"
    assert await watch(tmp_path, line, content_type=JSON) == [("ADDED", NODE)]


async def test_an_error_event_of_410_is_gone(tmp_path: Path) -> None:
    with pytest.raises(Gone):
        await watch(tmp_path, frame("ADDED", protobuf(NODE)) + frame("ERROR", protobuf(status_of(410, "Expired"))))


@pytest.mark.parametrize(
    ("piece", "text"),
    [
        (b"\xff\xff\xff\xff", "a frame of 4294967295 bytes"),
        (b'{"type":"ADDED"}\n', "a frame of"),
        (b"\x00\x00\x00\x02\x08\x01", "an invalid event"),
        (frame("ADDED", b"k8s\x00\xff"), "an invalid event"),
        (frame("ADDED", b"k8s\x00"), "an invalid event"),
    ],
)
async def test_a_stream_of_other_bytes_is_unreachable(tmp_path: Path, piece: bytes, text: str) -> None:
    with pytest.raises(Unreachable, match=text):
        await watch(tmp_path, frame("ADDED", protobuf(NODE)), piece)


async def test_a_watch_that_breaks_within_a_frame_is_unreachable(tmp_path: Path) -> None:
    async def told() -> AsyncIterator[bytes]:
        yield frame("ADDED", protobuf(NODE))[:-1]
        raise Cut

    async def script(request: Request) -> Reply:
        return Stream(told(), f"{PROTOBUF};stream=watch")

    async with ApiServer(tmp_path, script) as server:
        client = client_of(server)
        with pytest.raises(Unreachable):
            async with aclosing(client.watch(NODES, {}, quiet=5.0)) as events:
                await anext(events)
        await client.close()
