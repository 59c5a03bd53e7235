"""Which resource claims a pod and its containers have, and whether it may use them."""

from __future__ import annotations

from typing import Any

import pytest

from actors.shared.kube.codec import ObjectError, decode, decode_pod, encode
from actors.shared.kube.pod import Pod
from actors.shared.kube.resource_claim_objects import ResourceClaim
from actors.shared.kube.resource_claims import (
    ClaimName,
    ClaimUse,
    ResourceClaimError,
    check_claim,
    claim_names,
    claim_uses,
    has_claims,
    without_claimed,
)

DIRECT = {"name": "gpu", "resourceClaimName": "shared-gpu"}
TEMPLATE = {"name": "nic", "resourceClaimTemplateName": "nics"}
MAPPING = {"containerName": "c", "resourceName": "vendor.example/gpu", "requestName": "container-0-request-0"}
EXTENDED = {"resourceClaimName": "web-extended", "requestMappings": [MAPPING]}


def pod(claims: Any = None, status: Any = None, resources: Any = None) -> Pod:
    container = {"name": "c", "image": "i", "resources": resources or {}}
    spec = {"containers": [container], **({} if claims is None else {"resourceClaims": claims})}
    meta = {"name": "web", "namespace": "shop", "uid": "pod-1"}
    return decode_pod(encode({"metadata": meta, "spec": spec, "status": status or {}}))


def claim(**status: Any) -> ResourceClaim:
    meta = {"name": "web-nic-4kd", "namespace": "shop", "uid": "claim-1"}
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "web", "uid": "pod-1", "controller": True}
    good = {
        "allocation": {"devices": {"results": [{"request": "r", "driver": "d", "pool": "p", "device": "x"}]}},
        "reservedFor": [{"resource": "pods", "name": "web", "uid": "pod-1"}],
    }
    meta_of = {**meta, "ownerReferences": [owner]}
    return decode(encode({"metadata": meta_of, "status": {**good, **status}}), ResourceClaim)


def test_a_claim_is_found_by_its_name_or_its_template() -> None:
    made = {"resourceClaimStatuses": [{"name": "nic", "resourceClaimName": "web-nic-4kd"}]}
    found = claim_names(pod([DIRECT, TEMPLATE], made), extended=True)
    assert found == [ClaimName("gpu", "shared-gpu"), ClaimName("nic", "web-nic-4kd", made_for_pod=True)]


def test_a_pod_waits_for_a_missing_claim() -> None:
    with pytest.raises(ResourceClaimError) as error:
        claim_names(pod([TEMPLATE], {"resourceClaimStatuses": [{"name": "other"}]}), extended=True)
    assert str(error.value) == 'pod "shop/web": ResourceClaim not created yet'


@pytest.mark.parametrize("entry", [{"name": "nic"}, {"name": "nic", "resourceClaimName": None}])
def test_a_claim_that_is_not_needed_is_skipped(entry: dict[str, Any]) -> None:
    assert claim_names(pod([TEMPLATE], {"resourceClaimStatuses": [entry]}), extended=True) == []


def test_a_claim_of_an_unknown_kind_is_an_error_that_names_it() -> None:
    with pytest.raises(ResourceClaimError) as error:
        claim_names(pod([{"name": "gpu", "podGroupResourceClaim": "x"}]), extended=True)
    assert str(error.value) == 'pod "shop/web", spec.resourceClaim "gpu": none of the supported fields are set'


def test_the_claim_of_extended_resources_counts_only_with_its_gate() -> None:
    wanted = pod(status={"extendedResourceClaimStatus": EXTENDED})
    assert claim_names(wanted, extended=True) == [ClaimName("", "web-extended")]
    assert claim_names(wanted, extended=False) == []


@pytest.mark.parametrize("claims", [5, [5], [{"name": 5}]])
def test_claims_that_cannot_be_read_are_an_error_that_names_the_field(claims: Any) -> None:
    with pytest.raises(ObjectError, match=r"^spec\.resourceClaims: "):
        claim_names(pod(claims), extended=True)


@pytest.mark.parametrize(
    ("claims", "status", "any_"),
    [
        (None, {}, False),
        ([], {"resourceClaimStatuses": [{"name": "nic"}]}, False),
        ([DIRECT], {}, True),
        (None, {"extendedResourceClaimStatus": EXTENDED}, True),
    ],
)
def test_a_pod_has_claims_by_its_spec_or_by_its_extended_resources(claims: Any, status: Any, any_: bool) -> None:
    assert has_claims(pod(claims, status)) is any_


def test_a_container_uses_the_claims_and_requests_that_it_names() -> None:
    resources = {"claims": [{"name": "gpu", "request": "big"}, {"name": "gpu", "request": "small"}]}
    wanted = pod([DIRECT, {"name": "disk", "resourceClaimName": "disk-1"}], resources=resources)
    uses = claim_uses(wanted, wanted.spec.containers[0], extended=True)
    assert uses == [ClaimUse("shared-gpu", "big", "gpu"), ClaimUse("shared-gpu", "small", "gpu")]


def test_a_container_uses_the_requests_mapped_to_its_extended_resources() -> None:
    status = {
        "extendedResourceClaimStatus": {
            "resourceClaimName": "web-extended",
            "requestMappings": [
                MAPPING,
                {**MAPPING, "containerName": "other", "requestName": "of-another-container"},
                {**MAPPING, "resourceName": "vendor.example/nic", "requestName": "not-asked-for"},
                {**MAPPING, "resourceName": "vendor.example/none", "requestName": "none"},
            ],
        }
    }
    wanted = pod(status=status, resources={"requests": {"vendor.example/gpu": "2", "vendor.example/none": "0"}})
    container = wanted.spec.containers[0]
    assert claim_uses(wanted, container, extended=True) == [ClaimUse("web-extended", "container-0-request-0")]
    assert claim_uses(wanted, container, extended=False) == []


def test_what_a_claim_provides_is_left_out_of_the_requests_of_every_kind_of_container() -> None:
    both = {"vendor.example/gpu": "2", "cpu": "1"}
    containers = [{"name": name, "image": "i", "resources": {"requests": both, "limits": both}} for name in "ci"]
    mappings = [{**MAPPING, "containerName": name} for name in "ci"]
    given = {
        "metadata": {"name": "web"},
        "spec": {"containers": containers[:1], "initContainers": containers[1:]},
        "status": {"extendedResourceClaimStatus": {**EXTENDED, "requestMappings": mappings}},
    }
    found = without_claimed(decode_pod(encode(given))).spec
    assert [one.name for one in (*found.containers, *found.initContainers)] == ["c", "i"]
    for one in (*found.containers, *found.initContainers):
        assert one.resources.requests == one.resources.limits == {"cpu": "1"}


def test_a_claim_that_is_allocated_and_reserved_for_the_pod_may_be_used() -> None:
    allocation = check_claim(pod(), ClaimName("nic", "web-nic-4kd", made_for_pod=True), claim())
    assert [result.driver for result in allocation.devices.results] == ["d"]


@pytest.mark.parametrize(
    ("name", "found", "text"),
    [
        (
            ClaimName("nic", "web-nic-4kd"),
            claim(reservedFor=[{"resource": "pods", "name": "web", "uid": "an-earlier-pod"}]),
            "pod web (pod-1) is not allowed to use ResourceClaim web-nic-4kd (claim-1)",
        ),
        (ClaimName("nic", "web-nic-4kd"), claim(allocation=None), "ResourceClaim web-nic-4kd: not allocated"),
        (
            ClaimName("nic", "other", made_for_pod=True),
            decode(b'{"metadata":{"name":"other","namespace":"shop","uid":"claim-2"}}', ResourceClaim),
            "ResourceClaim shop/other was not created for pod shop/web (pod is not owner)",
        ),
    ],
)
def test_a_claim_that_the_pod_may_not_use_is_an_error(name: ClaimName, found: ResourceClaim, text: str) -> None:
    with pytest.raises(ResourceClaimError) as error:
        check_claim(pod(), name, found)
    assert str(error.value) == text
