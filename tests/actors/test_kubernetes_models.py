"""Every kind of object that the agent writes is read by the `kubernetes` package's models without loss."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from actors.api_clients.event_client.correlation import CorrelatedEvent
from actors.api_clients.event_client.event_object import event_object
from actors.api_clients.event_client.messages import RecordEvent
from actors.cert_manager import signing_request
from actors.volume_manager.csi import csi_node
from actors.volume_manager.csi.model import Driver
from tests.support.api_joined import joined, pod, seen
from tests.support.api_neighbour import ApiNeighbour
from tests.support.apiserver import ApiServer
from tests.support.heartbeat import Heartbeat
from tests.support.kubernetes_oracle import plain, read


async def test_the_node_and_its_lease_are_read_whole(tmp_path: Path) -> None:
    flags = {"node-labels": {"role": "db"}}
    async with ApiServer(tmp_path, node_lifecycle=False) as server, Heartbeat(server, agent={"flags": flags}) as node:
        await node.ready()
        await node.until(lambda: node.lease is not None, "lease")
        assert read("V1Node", node.node) == plain(node.node)
        assert read("V1Lease", node.lease) == plain(node.lease)


@pytest.mark.parametrize("kind", ["Pod", "Node"])
def test_an_event_is_read_whole(kind: str) -> None:
    content = RecordEvent(
        kind=kind, namespace="n" if kind == "Pod" else "", name="p", uid="u", field="spec.containers{a}",
        type="Warning", reason="BackOff", message="Back-off restarting", annotations={"a": "b"},
    )  # fmt: skip
    correlated = CorrelatedEvent(key=("k",), content=content, event_name="p.1", count=2, first=1.7e9, last=1.8e9)
    made = event_object(correlated, "n1")
    assert read("CoreV1Event", made) == plain(made)


def test_a_signing_request_is_read_whole() -> None:
    made = json.loads(signing_request.body("csr-1", b"PEM", signing_request.CLIENT_SIGNER, ["client auth"]))
    assert read("V1CertificateSigningRequest", made) == plain(made)
    assert base64.b64decode(made["spec"]["request"]) == b"PEM"


def test_a_csi_node_is_read_whole() -> None:
    driver = Driver(name="d.example", endpoint="/sock", node_id="n-1", topology={"zone": "a"}, max_volumes=7)
    made = csi_node.with_driver(csi_node.new_csi_node("n1", "uid"), driver)
    assert read("V1CSINode", made) == plain(made)


async def test_the_status_of_a_pod_is_read_whole(tmp_path: Path) -> None:
    store = ApiNeighbour()
    made = store.put(pod())
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        await harness.deliver(seen(made, code=3))
        await harness.settle()
    written = store.find("p")
    assert written["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 3
    assert read("V1Pod", written) == plain(written)
