"""The eight broken nodes of docs/transcript.md: how each is broken, and the one command that finds it."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from email.utils import formatdate
from pathlib import Path
from typing import Final, NamedTuple
from unittest import mock

from actors.shared.cri.remedies import RuntimeRemedies
from actors.shared.linux.services import set_clock
from tests.support.apiserver import ApiServer
from tests.support.broken_node import NODE, BrokenNode, broken_node
from tests.support.fake_cri import Fault
from tests.support.transcript import Step, as_if, only

ROOM: Final = "64m"


class Story(NamedTuple):
    title: str
    about: str
    breaks: Callable[[BrokenNode, ApiServer, AsyncExitStack], Awaitable[None]]
    """Starts the agent, too."""
    command: str
    until: str
    """What the answer has once the agent has seen it: it needs some seconds."""
    shows: tuple[str, ...] = ()
    """Parts of the findings of `doctor` that are shown: the others are of the host."""


async def no_runtime(node: BrokenNode, server: ApiServer, stack: AsyncExitStack) -> None:
    node.manifest()
    node.fake.faults.add("*", Fault(error="UNAVAILABLE"))
    await node.start(f"--container-runtime-endpoint=unix://{node.directory}/none.sock")


async def wrong_cni(node: BrokenNode, server: ApiServer, stack: AsyncExitStack) -> None:
    node.manifest()
    node.fake.network_ready = False
    await node.start()


async def expired_certificate(node: BrokenNode, server: ApiServer, stack: AsyncExitStack) -> None:
    await node.start(f"--kubeconfig={server.node_kubeconfig(NODE, seconds=-60)}")


async def full_disk(node: BrokenNode, server: ApiServer, stack: AsyncExitStack) -> None:
    """Its root directory is a small file system, and something has filled it."""
    node.root.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "tmpfs", node.root], check=True, timeout=10)
    await node.start()
    filler = node.root / "filler"
    with filler.open("wb") as file:
        file.write(b"x" * (61 << 20))


async def no_rights(node: BrokenNode, server: ApiServer, stack: AsyncExitStack) -> None:
    await node.start(f"--kubeconfig={server.kubeconfig('jane', 'developers')}")


async def wrong_clock(node: BrokenNode, server: ApiServer, stack: AsyncExitStack) -> None:
    def earlier(usegmt: bool) -> str:
        return formatdate(time.time() - 310, usegmt=usegmt)

    stack.enter_context(mock.patch("tests.support.apiserver.http.formatdate", earlier))
    await node.start(f"--kubeconfig={server.node_kubeconfig(NODE)}")


async def bad_manifest(node: BrokenNode, server: ApiServer, stack: AsyncExitStack) -> None:
    pod = """\
apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  containers:
  - name: main
    imag: nginx
"""
    (node.pods / "web.yaml").write_text(pod)
    await node.start()


async def hung_actor(node: BrokenNode, server: ApiServer, stack: AsyncExitStack) -> None:
    await node.start()
    await node.says("inject", "prober", "hang")


STORIES: Final = (
    Story("No runtime", "containerd is not running.", no_runtime, "status", "container runtime: "),
    Story(
        "Wrong CNI",
        "No network plugin is installed.",
        wrong_cni,
        "doctor",
        "NetworkNotReady",
        ("pod network:", "pods:"),
    ),
    Story(
        "Expired certificate",
        "The node was off for a year.",
        expired_certificate,
        "doctor",
        "expired on",
        ("client certificate",),
    ),
    Story(
        "Full disk",
        "Something has filled the file system of /var/lib/kubelet.",
        full_disk,
        "doctor",
        ": DiskPressure",
        ("disk",),
    ),
    Story("No rights (RBAC)", "The kubeconfig is a developer's.", no_rights, "doctor", "FAIL  rights", ("rights",)),
    Story("Wrong clock", "The node's clock is five minutes ahead.", wrong_clock, "doctor", "FAIL  clock", ("clock",)),
    Story("Bad manifest", "A field of a static pod is misspelt.", bad_manifest, "status", "unknown field"),
    Story("Hung actor", "The prober is in an endless loop.", hung_actor, "status", "hangs: no heartbeat"),
)


async def told(story: Story, directory: Path) -> Step:
    """What its command answers on such a node, with the names of an ordinary one."""
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(ApiServer(directory / "api"))
        node = await stack.enter_async_context(broken_node(directory))
        await story.breaks(node, server, stack)
        text = await node.until(lambda text: story.until in text, story.command)
        names = {
            f" --root-dir {node.root}": "",
            str(node.root): "/var/lib/kubelet",
            str(node.pods): "/etc/kubernetes/manifests",
            f"unix://{directory}/none.sock": "unix:///run/containerd/containerd.sock",
            f"unix://{directory}/cri.sock": "unix:///run/containerd/containerd.sock",
            f"{directory}/none.sock": "/run/containerd/containerd.sock",
            **{str(file): "/etc/kubernetes/kubelet.conf" for file in directory.rglob("*.kubeconfig")},
            server.url: "https://192.0.2.1:6443",
            RuntimeRemedies(f"unix://{directory}/none.sock").absent: (
                "systemctl start containerd, or set containerRuntimeEndpoint to the socket of another"
            ),
            set_clock(): "timedatectl set-ntp true, or chronyc makestep",
        }
        lines = as_if(text, names).splitlines()
        return Step(f"supervise {story.command}", tuple(only(lines, story.shows) if story.shows else lines))
