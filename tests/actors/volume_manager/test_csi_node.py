"""The CSINode object of a joined node: it is there without drivers, belongs to the Node, and lists who registers."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from actors.api_clients.heartbeat_client.messages import HEARTBEAT_CLIENT, VolumesInUse
from actors.api_clients.kube_client.messages import KUBE_CLIENT, ApiAnswer, ApiCall
from actors.container_manager.messages import GetNodeResources, NodeResources
from actors.shared.config.agent import Agent
from actors.volume_manager.actor import VolumeManager
from actors.volume_manager.csi.api_objects import ApiObjects
from actors.volume_manager.csi.csi_node import MIGRATED, NODE_IDS, new_csi_node, with_driver
from actors.volume_manager.csi.errors import CsiError
from actors.volume_manager.csi.model import Driver
from actors.volume_manager.csi.node_objects import NodeObjects
from actors.volume_manager.host import mount_propagation
from supervision.actor import Actor
from supervision.process_messages import Hello
from supervision.testing.harness import Harness

NODE, LIST = "/api/v1/nodes/n1", "/apis/storage.k8s.io/v1/csinodes"
MINE = f"{LIST}/n1"
DRIVER = Driver(name="d.test", endpoint="/s", node_id="id", topology={"zone": "z"})


class Nobody(Actor):
    pass


class Server:
    """Objects by path, and each write as (method, path)."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.writes: list[tuple[str, str]] = []
        self.patches: list[dict[str, Any]] = []
        """Of the Node."""
        self.conflicts = 0
        """So many writes of a CSINode are conflicts."""

    def register(self, uid: str = "u1", **labels: str) -> None:
        self.objects[NODE] = {"metadata": {"name": "n1", "uid": uid, "labels": labels}}

    def answer(self, call: ApiCall) -> ApiAnswer:
        if call.method == "GET":
            found = self.objects.get(call.path)
            return _found(found) if found is not None else ApiAnswer(status=404, reason="NotFound")
        self.writes.append((call.method, call.path))
        if call.method == "DELETE":
            return _found(self.objects.pop(call.path))
        body = json.loads(call.body)
        if call.method == "PATCH":
            self.patches.append(body)
            return _found(self.objects[call.path])
        if self.conflicts:
            self.conflicts -= 1
            return ApiAnswer(status=409, reason="Conflict")
        self.objects[MINE] = body
        return _found(body)

    def node_objects(self) -> tuple[Harness[Nobody], NodeObjects]:
        harness = Harness(Nobody, name="volume_manager", context=None)
        harness.answer(ApiCall, self.answer)
        return harness, NodeObjects(ApiObjects(harness.actor), "n1")


def _found(body: dict[str, Any]) -> ApiAnswer:
    return ApiAnswer(status=200, body=json.dumps(body).encode())


def manager(root: Path, server: Server) -> Harness[VolumeManager]:
    context = Agent(root_dir=str(root), run_dir=f"{root}/run", workers=1, standalone=False, node_name="n1")
    harness = Harness(VolumeManager, name="volume_manager", context=context)
    harness.answer(GetNodeResources, NodeResources({}, {}, {}, 0, "cgroupfs", 1))
    harness.answer(ApiCall, server.answer)
    return harness


async def test_a_csi_node_is_created_without_drivers_once_the_node_is_registered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(mount_propagation, "make_shared", lambda path: False)
    server = Server()
    harness = manager(tmp_path, server)
    with caplog.at_level(logging.WARNING):
        async with harness:
            await harness.advance(60.0)
            assert server.writes == []
            assert caplog.text.count("the CSINode object is not made yet: node: NotFound") == 1
            server.register()
            await harness.advance(6.0)
    assert server.writes == [("POST", LIST)]
    made = server.objects[MINE]
    owner = {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "u1"}
    assert made["metadata"]["ownerReferences"] == [owner]
    assert "kubernetes.io/gce-pd" in made["metadata"]["annotations"][MIGRATED].split(",")
    assert made["spec"] == {"drivers": []}


async def test_a_correct_csi_node_is_not_written() -> None:
    server = Server()
    server.register()
    server.objects[MINE] = new_csi_node("n1", "u1")
    harness, objects = server.node_objects()
    async with harness:
        await objects.ensure()
    assert server.writes == []


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"7", b"[" * 100_000, b"{}", b'{"metadata":{"uid":7,"name":7}}'], ids=range(6)
)
@pytest.mark.parametrize("path", ["/api/v1/nodes/n1", MINE])
async def test_an_answer_of_another_kind_is_an_error_of_the_call(path: str, body: bytes) -> None:
    server = Server()
    server.register()
    server.objects[MINE] = new_csi_node("n1", "u1")
    harness, objects = server.node_objects()
    harness.answer(ApiCall, lambda call: ApiAnswer(status=200, body=body) if call.path == path else server.answer(call))
    async with harness:
        with pytest.raises(CsiError, match="the answer is none"):
            await objects.ensure()


@pytest.mark.parametrize("owners", [[{"kind": "Node", "name": "n1", "uid": "u1"}], []])
async def test_the_csi_node_of_an_earlier_node_of_this_name_is_replaced_with_its_drivers(
    owners: list[dict[str, str]],
) -> None:
    server = Server()
    server.register("u2")
    server.objects[MINE] = with_driver(new_csi_node("n1", "u1"), DRIVER)
    server.objects[MINE]["metadata"]["ownerReferences"] = owners
    harness, objects = server.node_objects()
    async with harness:
        await objects.ensure()
    assert server.writes == [("DELETE", MINE), ("POST", LIST)]
    assert server.objects[MINE] == new_csi_node("n1", "u2")


async def test_entries_of_others_stay_and_a_conflicting_write_is_repeated() -> None:
    server = Server()
    server.register()
    server.objects[MINE] = new_csi_node("n1", "u1")
    meta = server.objects[MINE]["metadata"]
    meta["annotations"]["mine"] = "kept"
    meta["ownerReferences"].append({"kind": "Machine", "name": "m", "uid": "m1"})
    server.conflicts = 1
    harness, objects = server.node_objects()
    async with harness:
        await objects.add(DRIVER)
    assert server.writes[-2:] == [("PUT", MINE), ("PUT", MINE)]
    meta = server.objects[MINE]["metadata"]
    assert [one["uid"] for one in meta["ownerReferences"]] == ["u1", "m1"]
    assert meta["annotations"]["mine"] == "kept"


async def test_a_driver_that_leaves_takes_its_entry_and_its_id_and_no_others() -> None:
    other = Driver(name="other.test", endpoint="/o", node_id="other")
    server = Server()
    server.register(zone="z")
    server.objects[NODE]["metadata"]["annotations"] = {NODE_IDS: '{"d.test":"id","other.test":"other"}'}
    server.objects[MINE] = with_driver(with_driver(new_csi_node("n1", "u1"), DRIVER), other)
    harness, objects = server.node_objects()
    async with harness:
        await objects.remove(DRIVER.name)
        assert server.writes == [("PATCH", NODE), ("PUT", MINE)]
        (patch,) = server.patches
        assert json.loads(patch["metadata"]["annotations"][NODE_IDS]) == {"other.test": "other"}
        assert [one["name"] for one in server.objects[MINE]["spec"]["drivers"]] == ["other.test"]
        server.objects[NODE]["metadata"] |= patch["metadata"]
        await objects.remove(DRIVER.name)
    assert len(server.writes) == 2, "what is gone is not removed again"


async def test_volumes_in_use_are_told_again_to_a_new_heartbeat_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mount_propagation, "make_shared", lambda path: False)
    server = Server()
    server.register()
    async with manager(tmp_path, server) as harness:
        harness.clear()
        await harness.deliver(Hello(KUBE_CLIENT, 2))
        assert harness.sent(VolumesInUse) == []
        await harness.deliver(Hello(HEARTBEAT_CLIENT, 2))
        assert harness.sent(VolumesInUse, HEARTBEAT_CLIENT) == [VolumesInUse([])]


@pytest.mark.parametrize(
    ("driver", "labels", "text"),
    [
        (
            DRIVER,
            {"zone": "elsewhere"},
            "error updating Node object with CSI driver node info: detected topology value collision: driver "
            'reported "zone":"z" but existing label is "zone":"elsewhere"',
        ),
        (
            Driver(name="d.test", endpoint="/s", node_id=""),
            {},
            "error adding CSI driver node info: driverNodeID must not be empty",
        ),
        (
            Driver(name="d.test", endpoint="/s", node_id="é" * 150),
            {},
            "error adding CSI driver node info: driverNodeID has 300 bytes, and 256 are the most",
        ),
    ],
)
async def test_a_driver_with_another_topology_or_no_usable_node_id_is_not_listed(
    driver: Driver, labels: dict[str, str], text: str
) -> None:
    server = Server()
    server.register(**labels)
    harness, objects = server.node_objects()
    async with harness:
        with pytest.raises(CsiError) as caught:
            await objects.add(driver)
    assert str(caught.value) == text
    assert server.writes == []


async def test_a_driver_is_listed_where_its_labels_agree() -> None:
    server = Server()
    server.register(zone="z")
    harness, objects = server.node_objects()
    async with harness:
        await objects.add(DRIVER)
    assert [one["name"] for one in server.objects[MINE]["spec"]["drivers"]] == ["d.test"]
