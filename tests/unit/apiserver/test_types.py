"""What is written is read by its type, as Go's decoder does: refused, or kept in the server's own form."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.apiserver.errors import StatusError
from tests.support.apiserver.node_rules import address_causes, event_causes, lease_causes, node_causes
from tests.support.apiserver.quantities import canonical
from tests.support.apiserver.schemas import typed


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("1000", "1k"), ("1500", "1500"), ("0.1", "100m"), (2, "2"), ("1024", "1024"), ("1024Ki", "1Mi"),
        ("1.5Gi", "1536Mi"), ("512Ki", "512Ki"), ("0.5Ki", "512"), ("1e3", "1k"), ("1000m", "1"), ("0Gi", "0"),
        ("100M", "100M"), ("1000M", "1G"), ("0.0001", "100u"), ("-2Ki", "-2Ki"),
    ],
)  # fmt: skip
def test_a_quantity_has_one_form(given: Any, kept: str) -> None:
    assert canonical(given) == kept == canonical(kept)


@pytest.mark.parametrize("given", ["", "1 Gi", "1Kib", "a", None, True])
def test_a_wrong_quantity_is_refused(given: Any) -> None:
    with pytest.raises(ValueError, match="quantities"):
        canonical(given)


@pytest.mark.parametrize(
    ("kind", "obj", "why"),
    [
        ("Lease", {"spec": {"renewTime": "2026-01-01T00:00:00Z"}}, "six digits"),
        ("Lease", {"spec": {"leaseDurationSeconds": "40"}}, "Lease.spec.leaseDurationSeconds"),
        ("Event", {"firstTimestamp": 1}, "Event.firstTimestamp"),
        ("Event", {"count": True}, "Event.count"),
        ("Node", {"status": {"capacity": {"cpu": "two"}}}, "Node.status.capacity"),
        ("Node", {"status": {"conditions": [{"lastHeartbeatTime": "now"}]}}, "RFC 3339"),
        ("Pod", {"status": {"containerStatuses": [{"restartCount": "1"}]}}, r"containerStatuses\[0\].restartCount"),
        ("Pod", {"status": {"containerstatuses": []}}, "unknown field"),
        ("CertificateSigningRequest", {"spec": {"request": "%"}}, "base64"),
        ("DeleteOptions", {"gracePeriodSeconds": "0"}, "gracePeriodSeconds"),
    ],
)
def test_a_value_of_another_type_is_a_bad_request(kind: str, obj: dict[str, Any], why: str) -> None:
    with pytest.raises(StatusError, match=why) as caught:
        typed(kind, obj, strict=True)
    assert caught.value.code == 400


def test_empty_fields_are_omitted_as_in_go() -> None:
    sent = {"status": {"images": [{"names": ["a"], "sizeBytes": 0}], "volumesInUse": [], "phase": None,
                       "nodeInfo": {"machineID": ""}, "features": {"supplementalGroupsPolicy": False}}}  # fmt: skip
    kept = {"images": [{"names": ["a"]}], "nodeInfo": {"machineID": ""},
            "features": {"supplementalGroupsPolicy": False}}  # fmt: skip
    assert typed("Node", sent, strict=True) == {"status": kept}


def test_times_are_kept_to_the_second() -> None:
    kept = typed("Event", {"lastTimestamp": "2026-01-01T00:00:00.123Z"}, strict=True)
    assert kept == {"lastTimestamp": "2026-01-01T00:00:00Z"}


def test_rules_of_what_nodes_write() -> None:
    twice = [{"type": "InternalIP", "address": "10.0.0.1"}] * 2
    assert [cause[0] for cause in node_causes({"status": {"addresses": twice}})] == ["status.addresses[1]"]
    old, new = {"spec": {"providerID": "a"}}, {"spec": {"providerID": "b"}}
    assert [cause[0] for cause in node_causes(new, old)] == ["spec.providerID"]
    assert [cause[0] for cause in node_causes({"spec": {"taints": [{"key": "a"}]}})] == ["spec.taints[0].effect"]
    assert lease_causes({"spec": {"leaseDurationSeconds": 0}})
    assert not lease_causes({"spec": {"leaseDurationSeconds": 40}})
    event = {"metadata": {"namespace": "n"}, "involvedObject": {"namespace": "m"}}
    assert event_causes(event)
    assert not event_causes({"metadata": {"namespace": "default"}, "involvedObject": {"kind": "Node"}})
    assert address_causes({"status": {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]}})
    assert address_causes({"status": {"hostIP": "10.0.0.1", "hostIPs": [{"ip": "10.0.0.2"}]}})
    assert not address_causes({"status": {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]}})
