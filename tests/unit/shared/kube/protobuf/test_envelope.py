"""Objects and lists in their envelope."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from google.protobuf.descriptor import Descriptor
from hypothesis import given
from hypothesis import strategies as st

from actors.shared.kube.protobuf import envelope, kinds
from actors.shared.kube.protobuf.envelope import TooMuchJson, from_json, json_pieces, to_json, watch_event
from actors.shared.kube.protobuf.wire import Malformed
from proto import k8s_meta_pb2 as meta
from tests.support.api_objects import made_by

MOST = 1 << 24
EVERY = [
    *((version, kind) for version, collections in kinds._COLLECTIONS.items() for kind in collections.values()),
    *sorted(kinds._OTHERS),
]


def message_of(version: str, kind: str) -> Descriptor:
    found = kinds.descriptor_of(version, kind)
    assert found is not None
    return found


def protobuf(value: dict[str, Any]) -> bytes:
    written = from_json(value)
    assert written is not None
    assert (written.unfit, written.unknown) == ([], [])
    return written.data


@pytest.mark.parametrize(("version", "kind"), EVERY)
@given(seed=st.integers(0, 2**32), share=st.sampled_from((0.05, 0.2, 0.5)))
def test_an_object_of_any_kind_is_the_same_after_protobuf(version: str, kind: str, seed: int, share: float) -> None:
    value = {"kind": kind, "apiVersion": version, **made_by(Random(seed), message_of(version, kind), share)}
    assert json.loads(to_json(protobuf(value), MOST)) == value


@pytest.mark.parametrize(("version", "kind"), EVERY)
def test_an_object_with_every_field_is_the_same_after_protobuf(version: str, kind: str) -> None:
    value = {"kind": kind, "apiVersion": version, **made_by(Random(7), message_of(version, kind), 1.0)}
    assert json.loads(to_json(protobuf(value), MOST)) == value


@pytest.mark.parametrize(
    ("version", "kind"), [each for each in EVERY if kinds.descriptor_of(each[0], f"{each[1]}List")]
)
def test_a_list_is_the_same_after_protobuf_object_by_object(version: str, kind: str) -> None:
    items = [made_by(Random(number), message_of(version, kind), 0.2) for number in range(3)]
    metadata = {"resourceVersion": "7", "continue": "c", "remainingItemCount": 0}
    value = {"kind": f"{kind}List", "apiVersion": version, "metadata": metadata, "items": items}
    assert json.loads(to_json(protobuf(value), MOST)) == value
    assert len(list(json_pieces(protobuf(value), MOST))) == len(items) + 2
    empty = {**value, "items": []}
    assert json.loads(to_json(protobuf(empty), MOST)) == empty


def test_every_collection_but_reviews_has_a_list() -> None:
    without = {kind for version, kind in EVERY if kinds.descriptor_of(version, f"{kind}List") is None}
    assert without == {"TokenReview", "SubjectAccessReview", "TokenRequest", "Status", "DeleteOptions"}


def test_other_kinds_are_not_written() -> None:
    for value in ({"kind": "Widget", "apiVersion": "example.com/v1"}, {"kind": ["Pod"], "apiVersion": "v1"}, {}):
        assert from_json(value) is None


def test_what_a_message_lacks_or_cannot_hold_is_named() -> None:
    written = from_json({"kind": "Pod", "apiVersion": "v1", "spec": {"later": 1, "nodeName": 5}})
    assert written is not None
    assert (written.unfit, written.unknown) == (["spec.nodeName"], ["spec.later"])


def sealed(raw: bytes, version: str = "v1", kind: str = "Pod") -> bytes:
    unknown = meta.Unknown(typeMeta=meta.TypeMeta(apiVersion=version, kind=kind), raw=raw)
    return envelope.MAGIC + unknown.SerializeToString()


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "begin"),
        (b"k8s", "begin"),
        (b'{"kind":"Pod"}', "begin"),
        (b"k8s\x00", "kind '' of ''"),
        (b"k8s\x00\x08\x05\x10\x05", "number in place"),
        (b"k8s\x00\x0a\x02\x08\x05", "number in place"),
        (b"k8s\x00\x0a\x03\x0a\x01\xff", "codec"),
        (b"k8s\x00" + b"\x1a\x00" * 17, "more values"),
        (sealed(b"", kind="Widget"), "'Widget' of 'v1' cannot be read"),
        (sealed(b"", kind="W" * 5000), "W' of 'v1' cannot be read"),
        (sealed(b"\x0a"), "ends"),
        (sealed(b"\x12\x01\xff", kind="PodList"), "ends"),
        (sealed(b"\x10\x01", kind="PodList"), "number in place"),
        (sealed(b"\x08\x01", kind="PodList"), "number in place"),
    ],
)
def test_other_bytes_are_malformed(data: bytes, text: str) -> None:
    with pytest.raises(Malformed, match=text) as error:
        to_json(data, MOST)
    assert len(str(error.value)) < 300


@given(st.binary(max_size=300), st.sampled_from(("Pod", "PodList", "Status", "Node")))
def test_no_bytes_raise_anything_else(data: bytes, kind: str) -> None:
    for each in (data, envelope.MAGIC + data, sealed(data, kind=kind)):
        try:
            json.loads(to_json(each, MOST))
        except (Malformed, TooMuchJson):
            pass


@given(st.integers(0, 2**32), st.integers(0, 2**31), st.integers(0, 255))
def test_one_wrong_byte_is_read_or_malformed(seed: int, place: int, byte: int) -> None:
    pod = made_by(Random(seed), message_of("v1", "Pod"), 0.2)
    data = bytearray(protobuf({"kind": "Pod", "apiVersion": "v1", **pod}))
    data[place % len(data)] = byte
    try:
        json.loads(to_json(bytes(data), MOST))
    except (Malformed, TooMuchJson):
        pass


def test_json_of_more_than_is_wanted_is_too_much() -> None:
    small = protobuf({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": [{}] * 50})
    whole = to_json(small, MOST)
    assert to_json(small, len(whole)) == whole
    with pytest.raises(TooMuchJson, match="PodList of more than"):
        to_json(small, len(whole) - 1)


def test_an_event_of_a_watch_has_its_object_in_an_envelope() -> None:
    pod = protobuf({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p"}})
    frame = meta.WatchEvent(type="ADDED", object=meta.RawExtension(raw=pod)).SerializeToString()
    assert watch_event(frame) == ("ADDED", pod)
    assert watch_event(b"") == ("", b"")
    for wrong in (b"\x08\x01", b"\x10\x01", b"\x12\x02\x08\x01", b"\x0a\x01\xff", b"\x0a"):
        with pytest.raises(Malformed):
            watch_event(wrong)
