"""The claims of a node and their file: what is written is read again, and changes only what was meant."""

from __future__ import annotations

import json
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.device_manager.dra.checkpoint import ClaimCheckpointError, decode, encode
from actors.device_manager.dra.claims import ClaimInfo, Claims, PreparedDevice
from actors.shared.kube.resource_claims import ClaimUse, ResourceClaimError

NAMES = st.text("abc-", min_size=1, max_size=4)
DEVICES = st.builds(
    PreparedDevice,
    pool=NAMES,
    device=NAMES,
    share_id=st.none() | NAMES,
    requests=st.lists(NAMES, max_size=2).map(tuple),
    cdi_ids=st.lists(st.text(max_size=4).filter(lambda text: text.isprintable()), max_size=2).map(tuple),
)
INFOS = st.builds(
    ClaimInfo,
    uid=NAMES,
    name=NAMES,
    namespace=NAMES,
    pods=st.frozensets(NAMES, max_size=3),
    drivers=st.dictionaries(NAMES, st.lists(DEVICES, max_size=2).map(tuple), max_size=2),
)
CLAIMS = st.lists(INFOS, max_size=4).map(lambda infos: Claims({info.key: info for info in infos}))
ONE = ClaimInfo(
    uid="claim-1",
    name="one",
    namespace="shop",
    pods=frozenset({"pod-1"}),
    drivers={
        "gpu.example.com": (
            PreparedDevice(pool="p", device="d", requests=("big",), cdi_ids=("example.com/gpu=0",)),
            PreparedDevice(pool="p", device="e", requests=("any/small",), cdi_ids=("example.com/gpu=1",)),
            PreparedDevice(pool="p", device="f", cdi_ids=("example.com/all=0", "example.com/gpu=0")),
        )
    },
)
REFERENCE = (
    '{"kind":"DRACheckpoint","apiVersion":"checkpoint.dra.kubelet.k8s.io/v1","ClaimInfoStateList":[{"ClaimUID":"claim-1",'
    '"ClaimName":"one","Namespace":"shop","PodUIDs":{"pod-1":{}},"DriverState":{"gpu.example.com":{"Devices":[{'
    '"PoolName":"p","DeviceName":"d","ShareID":null,"RequestNames":["big"],"CDIDeviceIDs":null}]},"other.example.com":{'
    '"Devices":null}}}]}'
)


@given(CLAIMS)
def test_encoded_data_is_decoded_unchanged(claims: Claims) -> None:
    assert decode(encode(claims)) == claims
    assert encode(decode(encode(claims))) == encode(claims)


def test_a_file_of_the_kubelet_is_read() -> None:
    raw = json.dumps({"Data": REFERENCE, "Checksum": zlib.crc32(REFERENCE.encode())}).encode()
    claim = decode(raw).by_key["shop", "one"]
    assert claim.drivers == {
        "gpu.example.com": (PreparedDevice(pool="p", device="d", requests=("big",)),),
        "other.example.com": (),
    }
    assert (claim.uid, claim.pods, claim.prepared) == ("claim-1", frozenset({"pod-1"}), False)


def test_a_file_has_the_kubelets_formats() -> None:
    file = json.loads(encode(Claims({ONE.key: ONE})))
    assert file["Checksum"] == zlib.crc32(file["Data"].encode())
    assert list(json.loads(file["Data"])) == ["kind", "apiVersion", "ClaimInfoStateList"]


def test_a_claim_without_pods_and_drivers_is_read_as_the_kubelet_writes_it() -> None:
    data = json.loads(json.loads(encode(Claims({ONE.key: ONE})))["Data"])
    data["ClaimInfoStateList"][0].update(PodUIDs=None, DriverState=None)
    text = json.dumps(data)
    (found,) = decode(json.dumps({"Data": text, "Checksum": zlib.crc32(text.encode())}).encode()).by_key.values()
    assert (found.name, found.pods, found.drivers) == (ONE.name, frozenset(), {})


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"", "truncated"),
        (b'{"Data":"{}","Checksum":7}', "corrupted"),
        (json.dumps({"Data": "[]", "Checksum": zlib.crc32(b"[]")}).encode(), "object"),
        (json.dumps({"Data": '{"kind":"Other"}', "Checksum": zlib.crc32(b'{"kind":"Other"}')}).encode(), "Other"),
    ],
)
def test_a_file_that_is_damaged_or_another_one_is_an_error(raw: bytes, text: str) -> None:
    with pytest.raises(ClaimCheckpointError, match=text):
        decode(raw)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(raw: bytes) -> None:
    try:
        decode(raw)
    except ClaimCheckpointError:
        pass


def test_a_container_gets_the_devices_of_its_requests_each_once() -> None:
    claims = Claims({ONE.key: ONE})

    def got(*requests: str) -> list[str]:
        return claims.cdi_ids("shop", [ClaimUse("one", request) for request in requests])

    assert got("") == ["example.com/gpu=0", "example.com/gpu=1", "example.com/all=0"]
    assert got("big") == ["example.com/gpu=0", "example.com/all=0"]
    assert got("any") == got("any/small") == ["example.com/gpu=1", "example.com/all=0", "example.com/gpu=0"]
    assert got() == []


def test_a_container_whose_claim_is_not_prepared_is_an_error() -> None:
    with pytest.raises(ResourceClaimError) as error:
        Claims().cdi_ids("shop", [ClaimUse("one")])
    text = "unable to get claim info for ResourceClaim one in namespace shop"
    assert str(error.value) == f"internal error: {text}"


@given(CLAIMS, INFOS, NAMES)
def test_adding_and_removing_a_pod_changes_only_its_own_part(claims: Claims, info: ClaimInfo, pod: str) -> None:
    known = claims.get(info.key)
    if known is not None and known.uid != info.uid:
        with pytest.raises(ResourceClaimError, match="previous pod force-deleted"):
            claims.used_by(info, pod)
        return
    used = claims.used_by(info, pod)
    assert pod in used.by_key[info.key].pods
    assert used.used_by(info, pod) == used
    assert used.without([info.key]) == claims.without([info.key])
    assert used.not_used_by(info.key, pod).by_key[info.key].pods == (known or info).pods - {pod}


def test_a_pod_has_the_claims_that_it_uses_and_no_others() -> None:
    other = ClaimInfo(uid="claim-2", name="two", namespace="shop", pods=frozenset({"pod-1", "pod-2"}), drivers={})
    unused = ClaimInfo(uid="claim-3", name="three", namespace="shop", drivers={})
    claims = Claims({one.key: one for one in (ONE, other, unused)})
    assert claims.of_pod("pod-1") == [ONE, other]
    assert claims.of_pod("pod-2") == [other]
    assert claims.of_pod("pod-3") == []


def test_prepared_claims_are_counted_by_driver_and_as_a_whole() -> None:
    claims = Claims({ONE.key: ONE})
    assert claims.in_use() == {"<any>": 0}
    assert claims.prepared([ONE.key]).in_use() == {"<any>": 1, "gpu.example.com": 1}
