"""What a server, or a proxy before it, may answer when it is asked for the node's Node or Lease."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.api_clients.heartbeat_client.lease import renewed
from actors.api_clients.heartbeat_client.lease_renewal import LeaseRenewal
from actors.api_clients.heartbeat_client.node_events import NodeEvents
from actors.api_clients.heartbeat_client.node_status.facts import (
    NodeSettings,
    NodeStatusInput,
    NodeStatusResources,
    NodeSystemInfo,
    pod_cidr,
)
from actors.api_clients.heartbeat_client.node_status.runtime_state import RuntimeState
from actors.api_clients.heartbeat_client.node_status.status import compute, difference
from actors.api_clients.heartbeat_client.own_objects import read_lease, read_node
from actors.api_clients.heartbeat_client.registered_node import RegistrationPlan, reconciled
from actors.shared.api.errors import ApiError, NotFound, Unreachable

Json = dict[str, Any]
NODE: Json = {
    "kind": "Node",
    "metadata": {"name": "n1", "uid": "u", "resourceVersion": "7", "labels": {"a": "b"}, "annotations": {"c": "d"}},
    "spec": {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"], "unschedulable": True},
    "status": {
        "capacity": {"cpu": "2", "hugepages-2Mi": "0", "x.y/z": "1"},
        "allocatable": {"cpu": "2"},
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
        "addresses": [{"type": "InternalIP", "address": "192.0.2.1"}],
        "nodeInfo": {"bootID": "b", "containerRuntimeVersion": "x://1"},
        "images": [{"names": ["i"], "sizeBytes": 1}],
    },
}
FACTS = NodeStatusInput(
    machine=NodeSystemInfo(),
    runtime=RuntimeState(started_at=0.0),
    resources=NodeStatusResources(capacity={"cpu": 2000}, allocatable={"cpu": 1000}),
)
LEASE: Json = {
    "metadata": {"name": "n1", "resourceVersion": "1", "ownerReferences": []},
    "spec": {"holderIdentity": "n1", "unknown": 1},
}
VALUES: list[Any] = [None, "", -1, 10**30, 1e300, [], {}, True, [None], {"": None}, [[[[]]]], "x" * 70_000]
NOT_THE_OBJECT = [
    *[b"", b"null", b"[]", b"7", b"{}", b"<html>log in</html>", b"[" * 100_000, b'{"metadata":{"name":"n\xff"}}'],
    *[b'{"metadata":{"name":"n2"}}', b'{"metadata":{"name":"n1"},"spec":7}', b'{"metadata":{"name":"n1"'],
]


@pytest.mark.parametrize("body", NOT_THE_OBJECT, ids=range(len(NOT_THE_OBJECT)))
def test_an_object_of_another_node_is_not_accepted(body: bytes) -> None:
    for read, kind in ((read_node, "Node"), (read_lease, "Lease")):
        with pytest.raises(Unreachable, match=f"the answer is not the {kind} n1"):
            read(body, "n1")


def test_an_object_is_reported_unchanged_except_for_nulls() -> None:
    assert read_node(json.dumps(NODE).encode(), "n1") == NODE
    assert read_lease(json.dumps({**LEASE, "status": None}).encode(), "n1") == LEASE


def changed_somewhere(whole: Json, rng: random.Random) -> Json:
    """A copy of which one value, at any depth, is another one or gone."""
    made: Json = json.loads(json.dumps(whole))
    places: list[tuple[Any, Any]] = []

    def walk(value: Any) -> None:
        for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
            places.append((value, key))
            walk(value[key])

    walk(made)
    where, key = rng.choice(places)
    if rng.random() < 0.2:
        del where[key]
    else:
        where[key] = rng.choice(VALUES)
    return made


@given(st.randoms(use_true_random=False))
def test_any_node_that_is_read_can_be_processed(rng: random.Random) -> None:
    body = json.dumps(changed_somewhere(changed_somewhere(NODE, rng), rng)).encode()
    try:
        node = read_node(body, "n1")
    except Unreachable:
        return
    settings = NodeSettings(name="n1", kubelet_version="v1", kubelet_port=1)
    after = reconciled(node, RegistrationPlan(name="n1"))
    computed = compute(after, FACTS, settings, now="2026-01-01T00:00:00Z", clock=0.0)
    difference(node, computed.node)
    difference(computed.node, node)
    events = NodeEvents("n1", first=True)
    assert len([*events.seen(node), *events.booted(node, "b")]) <= 2
    assert isinstance(pod_cidr(node), str)


@given(st.randoms(use_true_random=False))
def test_any_lease_that_is_read_can_be_renewed(rng: random.Random) -> None:
    try:
        lease = read_lease(json.dumps(changed_somewhere(changed_somewhere(LEASE, rng), rng)).encode(), "n1")
    except Unreachable:
        return
    assert renewed(lease, "n1", 40, 0.0, "u")["spec"]["holderIdentity"] == "n1"


class Rubbish:
    """A server that answers each request with the next of these bodies, and then with the Lease."""

    def __init__(self, *bodies: bytes) -> None:
        self.bodies, self.calls = list(bodies), list[str]()

    async def call(self, method: str, path: str, **_: Any) -> Any:
        self.calls.append(method)
        body = self.bodies.pop(0) if self.bodies else json.dumps(LEASE).encode()
        if body == b"404":
            raise NotFound(404, "NotFound", "")
        return type("Reply", (), {"body": body})

    async def drop(self) -> None:
        return


async def test_a_lease_is_renewed_once_the_server_answers_with_it() -> None:
    server, failed, done = Rubbish(b"404", b"{}", *NOT_THE_OBJECT), list[ApiError](), list[int]()

    async def pause(seconds: float) -> None:
        return

    renewal = LeaseRenewal(
        server, "n1", 40, wall=lambda: 0.0, pause=pause, on_failure=failed.append, on_success=lambda: done.append(1)
    )
    await renewal.renew()
    assert len(failed) == 1 + len(NOT_THE_OBJECT)
    assert done == [1]
    assert server.calls[-2:] == ["GET", "PUT"]


async def test_a_lease_without_an_owner_gets_the_node_as_its_owner() -> None:
    sent = list[dict[str, Any]]()

    class Server(Rubbish):
        async def call(self, method: str, path: str, **given: Any) -> Any:
            if method == "PUT":
                sent.append(json.loads(given["body"]))
            return await super().call(method, path, **given)

    async def pause(seconds: float) -> None:
        return

    node = json.dumps({"metadata": {"name": "n1", "uid": "u1"}}).encode()
    await LeaseRenewal(Server(json.dumps(LEASE).encode(), node), "n1", 40, wall=lambda: 0.0, pause=pause).renew()
    (lease,) = sent
    assert lease["metadata"]["ownerReferences"] == [{"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "u1"}]


def test_the_event_of_old_cgroups_has_a_remedy_and_a_link():
    event = NodeEvents("n1", first=True).old_cgroups()
    assert (event.type, event.reason) == ("Warning", "CgroupV1")
    assert event.message.startswith("cgroup v1 detected. ")
    assert event.message.endswith("5573-remove-cgroup-v1")
