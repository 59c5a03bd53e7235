"""Parts of an object that have paths of their own: status, binding, eviction, token, approval."""

from __future__ import annotations

import base64
import uuid
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.support.raw_api import MERGE, Answered, Obj, RawApi
from tests.unit.apiserver.contract.conftest import NODE, Namespace

CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"


# -- status -----------------------------------------------------------------------------------------------------------
def test_status_and_spec_are_changed_apart(space: Namespace) -> None:
    space.pod(nodeName=NODE)
    both = {"metadata": {"labels": {"a": "b"}}, "spec": {"hostname": "h"}, "status": {"phase": "Running"}}
    found = space.api.patch(f"{space.pods}/p/status", both)
    assert (found["status"]["phase"], "hostname" in found["spec"]) == ("Running", False)
    assert found["metadata"]["generation"] == 1
    found = space.api.patch(f"{space.pods}/p", {"status": {"phase": "Failed"}})
    assert found["status"]["phase"] == "Running"


def test_the_qos_class_is_the_servers(space: Namespace) -> None:
    space.pod(nodeName=NODE)
    refused = space.api("PATCH", f"{space.pods}/p/status", {"status": {"qosClass": "Guaranteed"}}, form=MERGE)
    assert refused.failure[:2] == (422, "Invalid")
    assert refused.details["causes"][0]["field"] == "status.qosClass"


ON_42: Obj = {"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}


def _ended_and_back(space: Namespace, code: int) -> Answered:
    """The answer to the status of a container that runs again after this exit."""
    state: Obj = {"name": "a", "image": "i", "imageID": "s", "lastState": {}, "ready": False, "restartCount": 0}
    now = "2026-01-01T00:00:00Z"
    ended = {"terminated": {"exitCode": code, "startedAt": now, "finishedAt": now}}
    path = f"{space.pods}/p/status"
    space.api.patch(path, {"status": {"phase": "Running", "containerStatuses": [{**state, "state": ended}]}})
    back = {"status": {"containerStatuses": [{**state, "state": {"running": {"startedAt": now}}}]}}
    return space.api("PATCH", path, back, form=MERGE)


@pytest.mark.parametrize("own", [{}, {"restartPolicy": "Never", "restartPolicyRules": [ON_42]}])
def test_a_finally_ended_container_stays_ended(space: Namespace, own: Obj) -> None:
    space.pod(nodeName=NODE, restartPolicy="Never", containers=[{"name": "a", "image": "i", **own}])
    refused = _ended_and_back(space, 1)
    assert refused.failure[:2] == (422, "Invalid")
    assert "may not be transitioned to non-terminated state" in refused.failure[2]


@pytest.mark.parametrize(
    "own", [{"restartPolicy": "OnFailure"}, {"restartPolicy": "Never", "restartPolicyRules": [ON_42]}]
)
def test_a_container_with_a_policy_of_its_own_may_run_again(space: Namespace, own: Obj) -> None:
    space.pod(nodeName=NODE, restartPolicy="Never", containers=[{"name": "a", "image": "i", **own}])
    assert _ended_and_back(space, 42).code == 200


def test_addresses_of_a_pod_are_reported_in_two_ways_that_agree(space: Namespace) -> None:
    space.pod(nodeName=NODE)
    found = space.api.patch(f"{space.pods}/p/status", {"status": {"podIP": "10.0.0.1"}}, MERGE)
    assert found["status"]["podIPs"] == [{"ip": "10.0.0.1"}]


def test_a_node_is_written_and_its_status_apart(api: RawApi) -> None:
    name = f"contract-{uuid.uuid4().hex[:8]}"
    path = f"/api/v1/nodes/{name}"
    try:
        made = api.make("/api/v1/nodes", {"metadata": {"name": name}, "spec": {"podCIDR": "10.9.0.0/24"}})
        assert made["spec"]["podCIDRs"] == ["10.9.0.0/24"]
        status = {"status": {"capacity": {"cpu": "2000m", "memory": "1024Mi"}, "conditions": [
            {"type": "Ready", "status": "True"}]}}  # fmt: skip
        found = api.patch(f"{path}/status", status)
        assert found["status"]["capacity"] == {"cpu": "2", "memory": "1Gi"}
        assert api("PATCH", path, {"spec": {"podCIDR": "10.8.0.0/24"}}, form=MERGE).failure[:2] == (422, "Invalid")
    finally:
        assert api("DELETE", path).code == 200


# -- verbs ------------------------------------------------------------------------------------------------------------
def binding(node: str = NODE) -> Obj:
    return {"kind": "Binding", "apiVersion": "v1", "metadata": {"name": "p"}, "target": {"kind": "Node", "name": node}}


def test_a_pod_is_bound_once(space: Namespace) -> None:
    space.pod()
    found = space.api("POST", f"{space.pods}/p/binding", binding())
    assert (found.code, found.obj["kind"], found.obj["status"], found.obj["code"]) == (201, "Status", "Success", 201)
    bound = space.api.get(f"{space.pods}/p")
    assert bound["spec"]["nodeName"] == NODE
    (scheduled,) = [one for one in bound["status"]["conditions"] if one["type"] == "PodScheduled"]
    assert scheduled["status"] == "True"
    again = space.api("POST", f"{space.pods}/p/binding", binding("contract-other"))
    text = f'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "{NODE}"'
    assert again.failure == (409, "Conflict", text)


def eviction(**options: Any) -> Obj:
    made: Obj = {"kind": "Eviction", "apiVersion": "policy/v1", "metadata": {"name": "p"}}
    return {**made, "deleteOptions": options} if options else made


def test_an_evicted_pod_is_deleted_with_a_reason(space: Namespace) -> None:
    space.pod(nodeName=NODE)
    space.api.patch(f"{space.pods}/p/status", {"status": {"phase": "Running"}})
    found = space.api("POST", f"{space.pods}/p/eviction", eviction(gracePeriodSeconds=9))
    assert (found.code, found.obj["status"], found.obj["code"]) == (201, "Success", 201)
    pod = space.api.get(f"{space.pods}/p")
    assert pod["metadata"]["deletionGracePeriodSeconds"] == 9
    (target,) = [one for one in pod["status"]["conditions"] if one["type"] == "DisruptionTarget"]
    assert (target["status"], target["reason"]) == ("True", "EvictionByEvictionAPI")
    assert target["message"] == "Eviction API: evicting"


def budget(space: Namespace) -> None:
    """A PodDisruptionBudget that allows nothing."""
    path = space.of("poddisruptionbudgets", "policy/v1")
    selector = {"matchLabels": {"app": "web"}}
    made = space.api.make(path, {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": selector}})
    status = {"observedGeneration": made["metadata"]["generation"], "disruptionsAllowed": 0, "currentHealthy": 1,
              "desiredHealthy": 1, "expectedPods": 1}  # fmt: skip
    space.api.patch(f"{path}/b/status", {"status": status}, MERGE)


def guarded(space: Namespace) -> None:
    space.pod(nodeName=NODE)
    space.api.patch(f"{space.pods}/p", {"metadata": {"labels": {"app": "web"}}})
    ready = [{"type": "Ready", "status": "True"}]
    space.api.patch(f"{space.pods}/p/status", {"status": {"phase": "Running", "conditions": ready}})


def test_a_budget_that_is_used_up_refuses_an_eviction(space: Namespace) -> None:
    guarded(space)
    budget(space)
    refused = space.api("POST", f"{space.pods}/p/eviction", eviction())
    text = "Cannot evict pod as it would violate the pod's disruption budget."
    assert refused.failure == (429, "TooManyRequests", text)
    (cause,) = refused.details["causes"]
    assert cause["reason"] == "DisruptionBudget"
    assert cause["message"] == "The disruption budget b needs 1 healthy pods and has 1 currently"


def test_a_pod_that_does_not_run_is_evicted_despite_its_budget(space: Namespace) -> None:
    guarded(space)
    budget(space)
    space.api.patch(f"{space.pods}/p/status", {"status": {"phase": "Succeeded"}})
    assert space.api("POST", f"{space.pods}/p/eviction", eviction()).code == 201


# -- tokens -----------------------------------------------------------------------------------------------------------
def request(**spec: Any) -> Obj:
    return {"spec": {"audiences": [], **spec}}


def test_a_token_is_made_for_an_account_and_a_pod(space: Namespace) -> None:
    pod = space.pod(nodeName=NODE)
    path = f"{space.of('serviceaccounts')}/default/token"
    reference = {"kind": "Pod", "apiVersion": "v1", "name": "p", "uid": pod["metadata"]["uid"]}
    found = space.api("POST", path, request(boundObjectRef=reference, expirationSeconds=600))
    assert (found.code, found.obj["kind"]) == (201, "TokenRequest")
    assert found.obj["apiVersion"] == "authentication.k8s.io/v1"
    assert found.obj["status"]["token"].count(".") == 2
    assert found.obj["spec"]["boundObjectRef"] == reference


def test_a_token_for_a_pod_that_is_another_by_now_is_refused(space: Namespace) -> None:
    space.pod(nodeName=NODE)
    path = f"{space.of('serviceaccounts')}/default/token"
    other = {"kind": "Pod", "apiVersion": "v1", "name": "p", "uid": "1"}
    refused = space.api("POST", path, request(boundObjectRef=other))
    text = (
        'Operation cannot be fulfilled on Pod "p": the UID in the bound object reference (1) does not match the UID in '
        "record. The object might have been deleted and then recreated"
    )
    assert refused.failure == (409, "Conflict", text)
    refused = space.api("POST", path, request(boundObjectRef={**other, "name": "none"}))
    assert refused.failure == (404, "NotFound", 'pods "none" not found')


def test_a_token_for_too_short_is_refused(space: Namespace) -> None:
    refused = space.api("POST", f"{space.of('serviceaccounts')}/default/token", request(expirationSeconds=60))
    assert refused.failure[:2] == (422, "Invalid")
    cause = refused.details["causes"][0]
    assert cause["field"] == "spec.expirationSeconds"
    assert cause["message"] == "Invalid value: 60: may not specify a duration less than 10 minutes"


def test_a_token_for_a_missing_account_is_refused(space: Namespace) -> None:
    refused = space.api("POST", f"{space.of('serviceaccounts')}/none/token", request())
    assert refused.failure == (404, "NotFound", 'serviceaccounts "none" not found')


# -- leases, events, requests for certificates ------------------------------------------------------------------------
def test_a_lease_has_a_duration_above_nothing(space: Namespace) -> None:
    path = space.of("leases", "coordination.k8s.io/v1")
    refused = space.api("POST", path, {"metadata": {"name": "l"}, "spec": {"leaseDurationSeconds": 0}})
    text = "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"
    assert refused.failure == (422, "Invalid", f'Lease.coordination.k8s.io "l" is invalid: {text}')
    assert refused.details["group"] == "coordination.k8s.io"
    spec = {"holderIdentity": "n", "leaseDurationSeconds": 40, "renewTime": "2026-01-01T00:00:00.000000Z"}
    made = space.api.make(path, {"metadata": {"name": "l"}, "spec": spec})
    assert made["spec"] == spec


def test_an_event_is_of_the_namespace_of_what_it_is_about(space: Namespace) -> None:
    event = {"metadata": {"name": "e"}, "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
             "reason": "R", "message": "m", "type": "Normal"}  # fmt: skip
    refused = space.api("POST", space.of("events"), event)
    assert refused.failure[:2] == (422, "Invalid")
    assert refused.details["causes"][0]["field"] == "involvedObject.namespace"
    made = space.api.make(
        space.of("events"), {**event, "involvedObject": {"kind": "Pod", "name": "p", "namespace": space.name}}
    )
    assert (made.get("count", 0), made["reason"]) == (0, "R")
    shown = space.api.get(f"{space.of('events', 'events.k8s.io/v1')}/e")
    assert (shown["note"], shown["regarding"]["name"]) == ("m", "p")


def signing_request(name: str, **spec: object) -> Obj:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = [
        x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:nodes"),
        x509.NameAttribute(NameOID.COMMON_NAME, "system:node:contract-node"),
    ]
    csr = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(subject)).sign(key, hashes.SHA256())
    request = base64.b64encode(csr.public_bytes(serialization.Encoding.PEM)).decode()
    return {
        "metadata": {"name": name},
        "spec": {
            "request": request,
            "signerName": "kubernetes.io/kube-apiserver-client-kubelet",
            "usages": ["client auth", "digital signature"],
            **spec,
        },
    }


def test_a_request_for_a_certificate_is_approved_on_a_path_of_its_own(api: RawApi) -> None:
    name = f"contract-{uuid.uuid4().hex[:8]}"
    made = api.make(CSRS, signing_request(name, username="somebody"))
    try:
        assert made["spec"]["username"] != "somebody"
        assert "system:authenticated" in made["spec"]["groups"]
        approved = {"type": "Approved", "status": "True", "reason": "Contract", "message": "by the test"}
        found = api("PATCH", f"{CSRS}/{name}/approval", {"status": {"conditions": [approved]}}, form=MERGE)
        assert found.code == 200, found.body
        (condition,) = found.obj["status"]["conditions"]
        assert (condition["type"], condition["reason"]) == ("Approved", "Contract")
        assert {"lastUpdateTime", "lastTransitionTime"} <= condition.keys()
    finally:
        assert api("DELETE", f"{CSRS}/{name}").code == 200


def test_a_certificate_request_names_its_signer_and_usages(api: RawApi) -> None:
    refused = api("POST", CSRS, signing_request("contract-bad", signerName="", usages=[]))
    assert refused.failure[:2] == (422, "Invalid")
    assert {one["field"] for one in refused.details["causes"]} >= {"spec.signerName", "spec.usages"}
    assert refused.details["group"] == "certificates.k8s.io"
