"""A whole agent on a pretended runtime, in a cluster or alone, and what its operator types."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from actors.shared.linux import mount_calls, mountinfo
from tests.support.agent_command import HARMLESS, SOURCES, START, AgentCommand
from tests.support.fake_cri import FakeRuntime, serve
from tests.support.tcp_ports import free_port

NODE = "n1"
SECONDS = 60.0
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web"},
    "spec": {"containers": [{"name": "main", "image": "busybox", "imagePullPolicy": "IfNotPresent"}]},
}


class BrokenNode:
    """`fake`: its runtime, to be broken before or while it runs."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.root = directory, directory / "root"
        self.pods = directory / "pods"
        self.pods.mkdir()
        self.fake = FakeRuntime("1.6")
        self.port = free_port()
        self.agent: AgentCommand | None = None

    def manifest(self, name: str = "web", **container: Any) -> None:
        """A static pod with one container."""
        made = msgspec.json.decode(msgspec.json.encode(POD))
        made["metadata"]["name"] = name
        made["spec"]["containers"][0].update(container)
        (self.pods / f"{name}.json").write_bytes(msgspec.json.encode(made))

    def command(self, *flags: str) -> list[str]:
        own = [
            f"--root-dir={self.root}", f"--pod-manifest-path={self.pods}", f"--port={self.port}", "--healthz-port=0",
            f"--hostname-override={NODE}", f"--container-runtime-endpoint=unix://{self.directory}/cri.sock",
            f"--cert-dir={self.root}/pki",
        ]  # fmt: skip
        return [*START, *HARMLESS, *own, *flags]

    async def start(self, *flags: str) -> None:
        """Until its tree is ready, whatever the node is."""
        self.agent = AgentCommand(self.command(*flags), self.root)
        await asyncio.to_thread(self.agent.wait_ready)

    async def says(self, *words: str) -> str:
        """What `supervise` with these words prints, errors too."""
        command = [sys.executable, "-m", "actors.agent.command", *words, f"--root-dir={self.root}"]
        environment = {**os.environ, "COLUMNS": "200"}

        def run() -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                command, cwd=SOURCES, env=environment, capture_output=True, text=True, timeout=60, check=False
            )

        done = await asyncio.to_thread(run)
        return f"{done.stdout}{done.stderr}"

    async def until(self, right: Callable[[str], bool], *words: str) -> str:
        """Repeats the command until what it prints is right; that."""
        end = time.monotonic() + SECONDS
        while not right(text := await self.says(*words)):
            assert time.monotonic() < end, f"supervise {' '.join(words)}:\n{text}"
            await asyncio.sleep(0.2)
        return text


@asynccontextmanager
async def broken_node(directory: Path, *, runtime: bool = True) -> AsyncIterator[BrokenNode]:
    """Not started yet. `runtime`: whether it has one."""
    async with AsyncExitStack() as stack:
        node = BrokenNode(directory)
        if runtime:
            await stack.enter_async_context(serve(node.fake, directory / "cri.sock"))
            stack.push_async_callback(node.fake.close)
        try:
            yield node
        finally:
            if node.agent is not None:
                await asyncio.to_thread(node.agent.__exit__, None, None, None)
            for mount in mountinfo.below(mountinfo.read(), str(directory)):
                mount_calls.umount(mount.point)
