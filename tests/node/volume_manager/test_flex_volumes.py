"""A FlexVolume driver that mounts a file system, with a whole agent and real containers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.shared.linux import mountinfo
from tests.support.faulty_node import FaultyNode
from tests.support.runtime import RealRuntime

pytestmark = [pytest.mark.node, pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")]
DRIVER = """#!/bin/sh
case "$1" in
init) echo '{"status": "Success", "capabilities": {"attach": false}}' ;;
mount) mount -t tmpfs of-the-driver "$2" && echo content > "$2/file" && echo '{"status": "Success"}' ;;
unmount) umount "$2" && echo '{"status": "Success"}' ;;
*) echo '{"status": "Not supported"}'; exit 1 ;;
esac
"""
POD = """apiVersion: v1
kind: Pod
metadata: {name: flex}
spec:
  terminationGracePeriodSeconds: 1
  volumes: [{name: v, flexVolume: {driver: acme/disk}}]
  containers:
  - name: main
    image: docker.io/library/busybox:latest
    imagePullPolicy: IfNotPresent
    command: [sh, -c, 'grep -q content /v/file || exit 1; trap "exit 0" TERM; sleep 1000000 & wait']
    volumeMounts: [{name: v, mountPath: /v}]
"""


class NodeWithDriver(FaultyNode):
    def _configuration(self) -> dict[str, object]:
        return {**super()._configuration(), "volumePluginDir": f"{self.home}/drivers"}


@pytest.fixture
def node(real_runtime: RealRuntime) -> Iterator[NodeWithDriver]:
    made = NodeWithDriver(real_runtime, "flex")
    program = Path(made.home, "drivers", "acme~disk", "disk")
    program.parent.mkdir(parents=True)
    program.write_text(DRIVER)
    program.chmod(0o755)
    with made.serving() as found:
        yield found


def mounted() -> list[str]:
    return [mount.point for mount in mountinfo.read() if "/acme~disk/" in mount.point]


def test_what_a_driver_mounts_is_in_the_container_and_gone_after_the_pod(node: NodeWithDriver) -> None:
    manifest = node.manifests / "flex.yaml"
    manifest.write_text(POD)
    node.wait_running("flex")
    before = node.running()
    assert len(mounted()) == 1
    node.kill_fork_server_and_start()
    node.wait_whole()
    node.until(lambda: node.running() == before, "the container runs on under the next agent")
    manifest.unlink()
    node.wait_gone("flex")
    node.until(lambda: not mounted(), "the driver has unmounted it")
