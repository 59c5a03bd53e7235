"""A node changes from the kubelet to this agent: what the kubelet has started, and knows, goes on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import msgspec

from actors.pod_workers.messages import ProbeVerdict
from actors.prober.messages import ProbedPod
from actors.shared.kube.codec import decode_pod
from actors.shared.kube.pod import Pod
from tests.support.shard_harness import Driven, container, pod

STARTUP: dict[str, Any] = {"exec": {"command": ["true"]}}
SPEC: dict[str, Any] = {
    "initContainers": [container("s", restartPolicy="Always", startupProbe=STARTUP)],
    "containers": [container("a", startupProbe=STARTUP), container("b", startupProbe=STARTUP)],
}
MESSAGE_FILE = "5f3a91c2"


def with_status(wanted: Pod, node: Driven, started: dict[str, bool]) -> Pod:
    """The pod as the API server has it, with the status that the kubelet has written."""
    found: dict[str, Any] = json.loads(msgspec.json.encode(wanted))
    lists = {"initContainerStatuses": ["s"], "containerStatuses": ["a", "b"]}
    found["status"] = {field: [status(node, name, started[name]) for name in names] for field, names in lists.items()}
    return decode_pod(json.dumps(found).encode())


def status(node: Driven, name: str, started: bool) -> dict[str, Any]:
    known = {"name": name, "image": "busybox", "imageID": "", "ready": started, "restartCount": 0, "lastState": {}}
    running = {"running": {"startedAt": "2023-11-14T22:13:20Z"}}
    return {
        **known,
        "state": running,
        "started": started,
        "containerID": f"containerd://{node.containers(name)[-1].id}",
    }


def as_of_the_kubelet(node: Driven) -> None:
    """Give the runtime's containers the form in which the kubelet makes them: without the annotations and the marks of
    this agent, and with files of other names for their termination messages."""
    for one in node.fake.world.containers.values():
        for key in [key for key in one.config.annotations if key.startswith("troupelet.io/")]:
            del one.config.annotations[key]
        for mount in one.config.mounts:
            if mount.container_path == "/dev/termination-log":
                shutil.rmtree(Path(mount.host_path).parent)
                Path(mount.host_path).parent.mkdir()
                mount.host_path = str(Path(mount.host_path).with_name(MESSAGE_FILE))


async def test_what_the_kubelet_started_is_adopted_with_its_passed_startup_probes_and_messages(tmp_path: Path) -> None:
    wanted = pod(**SPEC)
    async with Driven(tmp_path) as first:
        await first.want(wanted)
        await first.until(lambda: first.running("s"))
        await first.harness.deliver(ProbeVerdict("u", "s", first.containers("s")[-1].id, "startup", True))
        await first.until(lambda: first.running("a") and first.running("b"))
    as_of_the_kubelet(first)
    made = first.count_of("CreateContainer")
    known = with_status(wanted, first, {"s": True, "a": True, "b": False})
    async with Driven(tmp_path, first.fake, first.clock) as second:
        await second.sources(known)
        await second.first_look()
        await second.settled()
        assert (second.count_of("CreateContainer"), second.count_of("StopContainer")) == (made, 0)
        probed = second.harness.sent(ProbedPod, "prober")[-1]
        assert {one.name: one.started for one in probed.containers} == {"s": True, "a": True, "b": False}
        Path(tmp_path, f"root/pods/u/containers/a/{MESSAGE_FILE}").write_text("no database")
        await second.end("a", 1)
        await second.settled()
        runtime = second.observed().runtime
        assert runtime is not None
        assert [one.message for one in runtime.containers if one.exit_code] == ["no database"]
