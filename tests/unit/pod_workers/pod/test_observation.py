"""What is told of a pod."""

from __future__ import annotations

from actors.pod_workers.pod.observation import with_addresses
from actors.shared.cri.model import PodRuntime, Sandbox


def runtime(*boxes: tuple[str, bool, list[str]]) -> PodRuntime:
    sandboxes = [
        Sandbox(id=id, pod_uid="u", pod_name="p", pod_namespace="d", ready=ready, ips=ips) for id, ready, ips in boxes
    ]
    return PodRuntime(uid="u", sandboxes=sandboxes)


def test_a_stopped_sandbox_keeps_the_addresses_it_had():
    before = runtime(("s", True, ["10.0.0.2"]))
    assert with_addresses(runtime(("s", False, [])), before) == runtime(("s", False, ["10.0.0.2"]))


def test_a_ready_sandbox_without_an_address_has_lost_it():
    before = runtime(("s", True, ["10.0.0.2"]))
    assert with_addresses(runtime(("s", True, [])), before) == runtime(("s", True, []))


def test_another_sandbox_has_addresses_of_its_own():
    before = runtime(("s", True, ["10.0.0.2"]))
    after = runtime(("t", False, []), ("s", False, ["10.0.0.3"]))
    assert with_addresses(after, before) == after
    assert with_addresses(after, None) == after
