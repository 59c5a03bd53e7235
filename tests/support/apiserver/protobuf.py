"""Bodies in protobuf (`application/vnd.kubernetes.protobuf`): the kinds of proto/k8s_*.proto, and of others the few
that kubectl sends by itself.

The agent's own code reads them here: that it agrees with a real server, the recorded bytes of one show.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from actors.shared.kube.protobuf.envelope import MAGIC, to_json
from actors.shared.kube.protobuf.kinds import descriptor_of
from actors.shared.kube.protobuf.reading import read
from actors.shared.kube.protobuf.wire import Budget, Malformed, fields
from proto import k8s_meta_pb2 as meta

from .errors import StatusError
from .objects import Obj

MOST = 1 << 26


def body(data: bytes) -> Obj:
    """Raises StatusError 415 for a kind that is not known here, 400 for other bytes."""
    try:
        envelope = meta.Unknown.FromString(data.removeprefix(MAGIC))
        version, kind = envelope.typeMeta.apiVersion, envelope.typeMeta.kind
        if descriptor_of(version, kind) is not None:
            read_body: Obj = json.loads(to_json(data, MOST))
            return read_body
        if kind not in ("Namespace", "Eviction"):
            text = f"a {kind} as protobuf is not read here - accepted media types include: application/json"
            raise StatusError(415, text)
        return {"apiVersion": version, "kind": kind, **_of_kubectl(kind, envelope.raw)}
    except (Malformed, ValueError) as error:
        raise StatusError(400, f"the object provided is unrecognized: {error}") from None


def _of_kubectl(kind: str, raw: bytes) -> Obj:
    parts: dict[int, Any] = dict(fields(raw, Budget(100)))
    found: Obj = {"metadata": _plain(read(meta.ObjectMeta.DESCRIPTOR, parts[1]))} if 1 in parts else {}
    if kind == "Eviction" and 2 in parts:
        found["deleteOptions"] = _plain(read(meta.DeleteOptions.DESCRIPTOR, parts[2]))
    return found


def _plain(value: Obj) -> Obj:
    plain: Obj = json.loads(msgspec.json.encode(value))
    return plain
