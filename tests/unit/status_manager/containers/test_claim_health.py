"""The health of devices of claims in the status of containers."""

from __future__ import annotations

from typing import Any

from actors.shared.kube.codec import decode_pod, encode
from actors.shared.kube.pod import Pod, ResourceHealth, ResourceStatus
from actors.status_manager.containers.claim_health import device_statuses, is_claim, resource_statuses
from actors.status_manager.messages import ClaimedDeviceHealth
from tests.support.pod_statuses import look, pod_of, ran

DEVICES = [
    ClaimedDeviceHealth(resource_id="example.com/gpu=0", requests=["big"], health="Healthy"),
    ClaimedDeviceHealth(resource_id="example.com/gpu=1", requests=["small"], health="Unhealthy", message="hot"),
    ClaimedDeviceHealth(resource_id="example.com/gpu=1", requests=["small"], health="Unknown"),
]


def pod(*uses: dict[str, str]) -> Pod:
    container: dict[str, Any] = {"name": "c", "resources": {"claims": list(uses)}}
    claims = [{"name": "gpu", "resourceClaimName": "one"}, {"name": "nic", "resourceClaimTemplateName": "nics"}]
    status = {"resourceClaimStatuses": [{"name": "nic", "resourceClaimName": "p-nic-x"}]}
    spec = {"containers": [container], "resourceClaims": claims}
    return decode_pod(encode({"metadata": {"name": "p", "namespace": "n"}, "spec": spec, "status": status}))


def shown(wanted: Pod) -> list[ResourceStatus]:
    return resource_statuses(wanted, wanted.spec.containers[0], {"one": DEVICES})


def test_each_claim_of_a_container_is_shown_with_each_of_its_devices_once() -> None:
    healthy = ResourceHealth(resourceID="example.com/gpu=0", health="Healthy")
    hot = ResourceHealth(resourceID="example.com/gpu=1", health="Unhealthy", message="hot")
    assert shown(pod({"name": "gpu"})) == [ResourceStatus(name="claim:gpu", resources=[healthy, hot])]


def test_a_request_of_a_claim_is_shown_with_its_devices() -> None:
    healthy = ResourceHealth(resourceID="example.com/gpu=0", health="Healthy")
    [one] = shown(pod({"name": "gpu", "request": "big"}))
    assert one == ResourceStatus(name="claim:gpu/big", resources=[healthy])


def test_devices_of_plugins_are_shown_by_their_resource() -> None:
    [one] = device_statuses({"v.test/x": {"a": "Healthy", "b": "Unhealthy"}})
    health = [ResourceHealth(resourceID="a", health="Healthy"), ResourceHealth(resourceID="b", health="Unhealthy")]
    assert one == ResourceStatus(name="v.test/x", resources=health)
    assert not is_claim(one)
    assert is_claim(shown(pod({"name": "gpu"}))[0])


def test_a_claim_without_devices_is_not_shown() -> None:
    assert shown(pod({"name": "nic"}, {"name": "gpu", "request": "none"})) == []


def test_an_ended_pod_shows_the_devices_that_it_had() -> None:
    """They are free by then, and the device manager has no more to say of them."""
    running = look(pod_of(), ran(), devices={"a": {"v.test/x": {"d": "Healthy"}}})
    ended = look(pod_of(), ran(code=0), before=running, devices={}, worker_phase="terminated")
    health = [ResourceHealth(resourceID="d", health="Healthy")]
    for status in (running, ended):
        [container] = status.containerStatuses
        assert container.allocatedResourcesStatus == [ResourceStatus(name="v.test/x", resources=health)]
