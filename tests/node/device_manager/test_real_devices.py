"""Devices of a real plugin process in real containers, while device manager and agent are killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.container_runtime.images import BUSYBOX_IMAGE
from actors.device_manager.messages import Devices, GetDevices
from actors.status_manager.messages import GetPods, Pods
from tests.support.faulty_node import NODE_NAME, FaultyNode
from tests.support.runtime import RealRuntime

ROOT = Path(__file__).parents[3]
THING = "vendor.test/thing"
SCRIPT = (
    "echo things $THINGS; for one in /dev/thing-*; do echo device $one; echo gone > $one; done; ls -d /things; "
    "trap 'exit 0' TERM; sleep 100000 & wait"
)


class DeviceNode(FaultyNode):
    """Pods that ask for devices."""

    def run(self, name: str) -> None:
        container = {
            "name": "main", "image": BUSYBOX_IMAGE, "imagePullPolicy": "IfNotPresent",
            "command": ["sh", "-c", SCRIPT], "resources": {"limits": {THING: "1"}},
        }  # fmt: skip
        spec = {"terminationGracePeriodSeconds": 5, "containers": [container]}
        metadata = {"name": name, "namespace": "test"}
        self.write(name, json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}))

    def pod(self, name: str) -> dict[str, Any]:
        client = self.client()
        try:
            answer = client.ask(GetPods(), Pods, name="status_manager", timeout=5.0)
        finally:
            client.close()
        items = msgspec.json.decode(answer.data)["items"] or []
        return next((one for one in items if one["metadata"]["name"] == f"{name}-{NODE_NAME}"), {})

    def status(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.pod(name).get("status", {})
        return found

    def wait_phase(self, name: str, phase: str) -> None:
        self.until(lambda: self.status(name).get("phase") == phase, f"{name} {phase}")

    def said(self, name: str) -> list[str]:
        uid = self.pod(name)["metadata"]["uid"]
        path = self.home / "logs" / f"test_{name}-{NODE_NAME}_{uid}" / "main" / "0.log"
        return [line.split(" ", 3)[3] for line in path.read_text().splitlines()]

    def devices(self) -> Devices:
        client = self.client()
        try:
            return client.ask(GetDevices(), Devices, name="device_manager", timeout=5.0)
        finally:
            client.close()

    def wait_devices(self, count: int) -> None:
        self.until(lambda: len(self.devices().allocatable) == count, f"{count} devices")

    @contextmanager
    def plugin(self) -> Iterator[subprocess.Popen[bytes]]:
        command = [sys.executable, "-m", "tests.support.device_plugin", f"{self.home}/root", THING, "d0", "d1"]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
        try:
            yield process
        finally:
            process.kill()
            process.wait()


@pytest.fixture
def node(session_runtime: RealRuntime) -> Iterator[DeviceNode]:
    with DeviceNode(session_runtime).serving() as agent:
        yield agent


def test_containers_have_exclusive_devices_despite_kills(node: DeviceNode) -> None:
    with node.plugin():
        node.wait_devices(2)
        node.run("first")
        node.wait_phase("first", "Running")
        node.until(lambda: len(node.said("first")) == 3, "its log")
        assert node.said("first") == ["things d0", "device /dev/thing-d0", "/things"]

        manager = node.actors()["device_manager"]
        os.kill(manager.pid, signal.SIGKILL)
        node.wait_replaced("device_manager", manager.incarnation)
        node.wait_devices(2)
        node.run("second")
        node.wait_phase("second", "Running")
        node.until(lambda: len(node.said("second")) == 3, "its log")
        assert node.said("second")[0] == "things d1"

        node.run("third")
        node.wait_phase("third", "Failed")
        status = node.status("third")
        text = f"requested number of devices unavailable for {THING}. Requested: 1, Available: 0"
        assert status["reason"] == "UnexpectedAdmissionError"
        assert f"Allocate failed due to {text}, which is unexpected" in status["message"]

        before = node.running()
        node.kill_fork_server_and_start()
        node.wait_whole()
        node.wait_devices(2)
        assert node.running() == before
        node.withdraw("first")
        node.withdraw("third")
        node.wait_gone("first", "third")
        node.until(lambda: len(node.devices().containers) == 1, "its device is free")
        node.run("fourth")
        node.wait_phase("fourth", "Running")
        node.until(lambda: len(node.said("fourth")) == 3, "its log")
        assert node.said("fourth")[0] == "things d0"
    node.wait_devices(0)
    assert len(node.devices().containers) == 2
