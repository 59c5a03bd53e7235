"""Objects are created, read, replaced and deleted; what the server refuses, and in which words."""

from __future__ import annotations

import pytest

from tests.support.raw_api import APPLY, MERGE, RawApi
from tests.unit.apiserver.contract.conftest import Namespace, pod

MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"
LEASES = "coordination.k8s.io/v1"


# -- what kind it is --------------------------------------------------------------------------------------------------
def test_an_object_of_another_kind_is_refused(space: Namespace) -> None:
    refused = space.api("POST", space.pods, {**pod(), "kind": "ConfigMap", "apiVersion": "v1"})
    assert refused.failure[:2] == (400, "BadRequest")
    assert refused.failure[2].startswith('ConfigMap in version "v1" cannot be handled as a Pod: ')
    space.pod()
    made = space.api.get(f"{space.pods}/p")
    assert space.api("PUT", f"{space.pods}/p", {**made, "kind": "Node"}).code == 400


def test_an_object_of_another_version_is_refused(space: Namespace) -> None:
    refused = space.api("POST", space.pods, {**pod(), "kind": "Pod", "apiVersion": "apps/v1"})
    assert refused.failure[:2] == (400, "BadRequest")


def test_kind_and_version_may_be_left_out(space: Namespace) -> None:
    made = space.api.make(space.of("leases", LEASES), {"metadata": {"name": "l"}, "spec": {"holderIdentity": "a"}})
    assert (made["kind"], made["apiVersion"]) == ("Lease", LEASES)


@pytest.mark.parametrize(
    ("part", "body"),
    [
        ("binding", {"kind": "Pod", "apiVersion": "v1", "target": {"name": "n"}}),
        ("eviction", {"kind": "Pod", "apiVersion": "v1"}),
        ("status", {"kind": "Node", "apiVersion": "v1"}),
    ],
)
def test_a_subresource_takes_its_own_kind_only(space: Namespace, part: str, body: dict[str, object]) -> None:
    space.pod()
    method = "PUT" if part == "status" else "POST"
    refused = space.api(method, f"{space.pods}/p/{part}", {**body, "metadata": {"name": "p"}})
    assert refused.failure[:2] == (400, "BadRequest")


def test_a_body_that_is_no_object_is_refused(space: Namespace) -> None:
    assert space.api("POST", space.pods, b"nonsense").code == 400
    assert space.api("POST", space.pods, b'{"spec": 7}').code == 400


def test_the_namespace_of_the_object_is_that_of_the_path(space: Namespace) -> None:
    wrong = {**pod(), "metadata": {"name": "p", "namespace": "default"}}
    text = "the namespace of the provided object does not match the namespace sent on the request"
    assert space.api("POST", space.pods, wrong).failure == (400, "BadRequest", text)


def test_the_name_of_the_object_is_that_of_the_path(space: Namespace) -> None:
    made = space.pod()
    made["metadata"]["name"] = "q"
    text = "the name of the object (q) does not match the name on the URL (p)"
    assert space.api("PUT", f"{space.pods}/p", made).failure == (400, "BadRequest", text)


# -- what is not there ------------------------------------------------------------------------------------------------
def test_a_missing_object_is_named(api: RawApi) -> None:
    found = api("GET", "/api/v1/nodes/contract-none")
    assert found.failure == (404, "NotFound", 'nodes "contract-none" not found')
    assert found.details == {"name": "contract-none", "kind": "nodes"}


def test_an_object_of_a_missing_group_is_named_with_its_group(space: Namespace) -> None:
    found = space.api("GET", f"{space.of('leases', LEASES)}/none")
    assert found.failure == (404, "NotFound", 'leases.coordination.k8s.io "none" not found')
    assert found.details == {"name": "none", "group": "coordination.k8s.io", "kind": "leases"}


def test_no_object_is_created_in_a_missing_namespace(api: RawApi) -> None:
    found = api("POST", "/api/v1/namespaces/contract-none/configmaps", {"metadata": {"name": "c"}})
    assert found.failure == (404, "NotFound", 'namespaces "contract-none" not found')
    assert found.details == {"name": "contract-none", "kind": "namespaces"}


def test_a_missing_collection_is_reported(api: RawApi) -> None:
    found = api("GET", "/api/v1/contractnones")
    assert found.failure == (404, "NotFound", "the server could not find the requested resource")
    assert found.details == {}


def test_a_method_that_a_path_does_not_have_is_reported(api: RawApi) -> None:
    found = api("PUT", "/api/v1/nodes", {"metadata": {"name": "n"}})
    text = "the server does not allow this method on the requested resource"
    assert found.failure == (405, "MethodNotAllowed", text)


# -- create -----------------------------------------------------------------------------------------------------------
def test_a_created_object_is_returned_with_the_servers_defaults(space: Namespace) -> None:
    found = space.api("POST", space.pods, pod())
    assert (found.code, found.headers["content-type"]) == (201, "application/json")
    made = found.obj
    assert (made["kind"], made["apiVersion"]) == ("Pod", "v1")
    assert {"uid", "creationTimestamp", "resourceVersion"} <= made["metadata"].keys()
    assert (made["metadata"]["namespace"], made["metadata"]["generation"]) == (space.name, 1)
    assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    assert (made["spec"]["restartPolicy"], made["spec"]["dnsPolicy"]) == ("Always", "ClusterFirst")
    assert made["spec"]["containers"][0]["terminationMessagePath"] == "/dev/termination-log"


def test_a_status_that_is_sent_with_a_new_pod_is_not_kept(space: Namespace) -> None:
    made = space.api.make(space.pods, {**pod(), "status": {"phase": "Running"}})
    assert made["status"]["phase"] == "Pending"


def test_a_name_is_taken_once(space: Namespace) -> None:
    space.pod()
    again = space.api("POST", space.pods, pod())
    assert again.failure == (409, "AlreadyExists", 'pods "p" already exists')
    assert again.details == {"name": "p", "kind": "pods"}


def test_a_name_is_generated_from_a_prefix(space: Namespace) -> None:
    made = space.api.make(space.of("configmaps"), {"metadata": {"generateName": "c-"}})
    assert made["metadata"]["name"].startswith("c-")
    assert len(made["metadata"]["name"]) == len("c-") + 5


def test_an_invalid_object_is_refused_with_each_cause(space: Namespace) -> None:
    refused = space.api("POST", space.pods, pod("q", containers=[]))
    assert refused.failure == (422, "Invalid", 'Pod "q" is invalid: spec.containers: Required value')
    cause = {"reason": "FieldValueRequired", "message": "Required value", "field": "spec.containers"}
    assert refused.details == {"name": "q", "kind": "Pod", "causes": [cause]}


def test_an_invalid_name_is_refused(space: Namespace) -> None:
    refused = space.api("POST", space.of("configmaps"), {"metadata": {"name": "No_Name"}})
    rule = (
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
        "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
        r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
    )
    text = f'ConfigMap "No_Name" is invalid: metadata.name: Invalid value: "No_Name": {rule}'
    assert refused.failure == (422, "Invalid", text)


def test_a_dry_run_changes_nothing(space: Namespace) -> None:
    found = space.api("POST", space.pods, pod(), query={"dryRun": "All"})
    assert (found.code, found.obj["status"]["phase"]) == (201, "Pending")
    assert space.api("GET", f"{space.pods}/p").code == 404


def test_unknown_fields_are_refused_with_field_validation_strict(space: Namespace) -> None:
    lease = {"metadata": {"name": "l"}, "spec": {"holder": "a"}}
    refused = space.api("POST", space.of("leases", LEASES), lease, query={"fieldValidation": "Strict"})
    assert refused.failure[:2] == (400, "BadRequest")
    assert 'strict decoding error: unknown field "spec.holder"' in refused.failure[2]
    kept = space.api("POST", space.of("leases", LEASES), lease)
    assert (kept.code, kept.obj["spec"]) == (201, {})
    assert kept.headers["warning"] == '299 - "unknown field \\"spec.holder\\""'


# -- replace ----------------------------------------------------------------------------------------------------------
def test_an_object_is_replaced_from_its_last_version_only(space: Namespace) -> None:
    made = space.api.make(space.of("configmaps"), {"metadata": {"name": "c"}, "data": {"a": "1"}})
    path = f"{space.of('configmaps')}/c"
    newer = space.api("PUT", path, {**made, "data": {"a": "2"}}).obj
    assert newer["metadata"]["resourceVersion"] != made["metadata"]["resourceVersion"]
    late = space.api("PUT", path, {**made, "data": {"a": "3"}})
    assert late.failure == (409, "Conflict", f'Operation cannot be fulfilled on configmaps "c": {MODIFIED}')
    assert late.details == {"name": "c", "kind": "configmaps"}


def test_a_conflict_in_a_group_names_the_group(space: Namespace) -> None:
    made = space.api.make(space.of("leases", LEASES), {"metadata": {"name": "l"}, "spec": {"holderIdentity": "a"}})
    path = f"{space.of('leases', LEASES)}/l"
    space.api.patch(path, {"spec": {"holderIdentity": "b"}}, MERGE)
    late = space.api("PUT", path, made)
    text = f'Operation cannot be fulfilled on leases.coordination.k8s.io "l": {MODIFIED}'
    assert late.failure == (409, "Conflict", text)
    assert late.details == {"name": "l", "group": "coordination.k8s.io", "kind": "leases"}


def test_a_replacement_without_a_version_always_replaces(space: Namespace) -> None:
    space.api.make(space.of("configmaps"), {"metadata": {"name": "c"}, "data": {"a": "1"}})
    bare = {"metadata": {"name": "c"}, "data": {"b": "2"}}
    assert space.api("PUT", f"{space.of('configmaps')}/c", bare).obj["data"] == {"b": "2"}


def test_a_replacement_of_another_object_of_that_name_is_refused(space: Namespace) -> None:
    space.api.make(space.of("configmaps"), {"metadata": {"name": "c"}})
    other = {"metadata": {"name": "c", "uid": "00000000-0000-0000-0000-000000000000"}}
    refused = space.api("PUT", f"{space.of('configmaps')}/c", other)
    assert refused.failure[:2] == (409, "Conflict")
    assert "Precondition failed: UID in precondition: 00000000-" in refused.failure[2]


def test_a_replacement_that_changes_nothing_has_the_same_version(space: Namespace) -> None:
    made = space.api.make(space.of("configmaps"), {"metadata": {"name": "c"}, "data": {"a": "1"}})
    again = space.api("PUT", f"{space.of('configmaps')}/c", made).obj
    assert again["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


def test_a_change_of_an_immutable_field_of_a_pod_is_refused(space: Namespace) -> None:
    space.pod()
    refused = space.api("PATCH", f"{space.pods}/p", {"spec": {"hostname": "h"}}, form=MERGE)
    assert refused.failure[:2] == (422, "Invalid")
    assert refused.failure[2].startswith('Pod "p" is invalid: spec: Forbidden: pod updates may not change fields other')
    assert refused.details["causes"][0]["field"] == "spec"


def test_generation_follows_the_spec_and_not_the_metadata(space: Namespace) -> None:
    space.pod()
    assert space.api.patch(f"{space.pods}/p", {"metadata": {"labels": {"a": "b"}}})["metadata"]["generation"] == 1
    image = {"spec": {"containers": [{"name": "a", "image": "busybox:2"}]}}
    assert space.api.patch(f"{space.pods}/p", image)["metadata"]["generation"] == 2


def test_an_object_is_applied_whether_it_is_there_or_not(space: Namespace) -> None:
    path = f"{space.of('configmaps')}/c"
    for data, code in (({"a": "1"}, 201), ({"a": "2"}, 200)):
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data}
        found = space.api("PATCH", path, body, form=APPLY, query={"fieldManager": "contract", "force": "true"})
        assert (found.code, found.obj["data"]) == (code, data)


# -- forms ------------------------------------------------------------------------------------------------------------
def test_a_form_that_the_server_does_not_read_is_refused(space: Namespace) -> None:
    refused = space.api("POST", space.pods, pod(), form="text/plain")
    assert refused.failure[:2] == (415, "UnsupportedMediaType")
    assert "the body of the request was in an unknown format" in refused.failure[2]
    refused = space.api("PATCH", f"{space.pods}/p", {}, form="application/json")
    assert refused.failure[:2] == (415, "UnsupportedMediaType")


def test_a_form_that_the_server_does_not_write_is_refused(api: RawApi) -> None:
    refused = api("GET", "/api/v1/nodes", accept="image/png")
    assert refused.failure[:2] == (406, "NotAcceptable")
