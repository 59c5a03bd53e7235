"""The form in which an answer goes: protobuf for those that want it most, where the agent has the messages."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import msgspec

from actors.shared.kube.protobuf.envelope import from_json
from actors.shared.kube.protobuf.kinds import collection_of
from proto import k8s_meta_pb2 as meta

from .request import Answer, Reply, Request, Stream

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"


def negotiated(request: Request, reply: Reply) -> Reply:
    wanted = request.headers.get("accept", "").partition(",")[0].strip()
    if wanted != MEDIA_TYPE or not collection_of(request.path) or not isinstance(reply, Answer | Stream):
        return reply
    if reply.content_type != "application/json":
        return reply
    if isinstance(reply, Stream):
        return replace(reply, pieces=_frames(reply.pieces), content_type=f"{MEDIA_TYPE};stream=watch")
    return replace(reply, body=_written(reply.body), content_type=MEDIA_TYPE)


def _written(body: bytes) -> bytes:
    written = from_json(msgspec.json.decode(body))
    assert written is not None, body[:200]
    assert not written.unfit, written.unfit
    return written.data


async def _frames(lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for piece in lines:
        yield b"".join(map(_frame, filter(None, piece.split(b"\n"))))


def _frame(line: bytes) -> bytes:
    event = msgspec.json.decode(line)
    raw = _written(msgspec.json.encode(event["object"]))
    frame = meta.WatchEvent(type=event["type"], object=meta.RawExtension(raw=raw)).SerializeToString()
    return len(frame).to_bytes(4) + frame
