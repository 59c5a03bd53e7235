"""A real containerd for tests: private (own directories, bridge, subnet, cgroups), one a test process, gone afterwards.

    async def test_x(real_runtime): client = CriClient(real_runtime.endpoint) ...

Also gone is, at the next session, what a test process left that was killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from actors.container_runtime import cleanup, image_import, images
from actors.container_runtime.errors import MissingPrograms
from actors.container_runtime.host import RuntimeHost, look
from actors.container_runtime.host_setup import prepare
from actors.container_runtime.instance import ManagedRuntime
from actors.shared.config.paths import run_dir_of
from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import CriError
from tests.support import remains

log = logging.getLogger(__name__)

SANDBOX_IMAGE = images.SANDBOX_IMAGE
BUSYBOX_IMAGE = images.BUSYBOX_IMAGE
READY_SECONDS = 60.0
REMOVE_SECONDS = 30.0
"""Deadline of one call."""
DISK_BYTES = 600 << 20
POLL_SECONDS = 0.02
PREFIX = "troupelet-test-"
RUNS = "t[0-9]*"
"""Pattern of the directories of tests/run.py."""
SEARCH = "TROUPELET_TEST_PATH"
"""Environment variable: directories to look for containerd in first, to test with another version."""


class RealRuntime:
    """One containerd, its pods and all that belongs to them."""

    def __init__(self, base: Path, host: RuntimeHost) -> None:
        self.base, self.host = base, host
        self.instance = ManagedRuntime(root=f"{base}/root", state=f"{base}/run")
        self.process: subprocess.Popen[bytes] | None = None
        self.spoiled_by = ""
        """The first test after which not all could be removed."""

    @property
    def endpoint(self) -> str:
        return self.instance.endpoint

    @property
    def configured_endpoint(self) -> str:
        """What an agent that is to use it is told."""
        return self.endpoint

    @property
    def socket(self) -> str:
        return self.instance.socket

    @property
    def cgroup_parent(self) -> str:
        """Put each pod's cgroup below it."""
        return f"/{self.base.name}"

    def start(self) -> None:
        """Start it, or start it again; CRI may not answer yet (`ready`)."""
        self.process = image_import.spawn(self.instance, self.host)

    def stop(self) -> None:
        """End it in good order. Containers go on."""
        self._end(subprocess.Popen.terminate)

    def kill(self) -> None:
        """As a crash would. Containers go on."""
        self._end(subprocess.Popen.kill)

    def restart(self) -> None:
        """Crash and start again."""
        self.kill()
        self.start()

    async def ready(self) -> None:
        """Wait until runtime and network are ready."""
        client = CriClient(self.endpoint)
        try:
            async with asyncio.timeout(READY_SECONDS):
                while not await _is_ready(client):
                    await asyncio.sleep(POLL_SECONDS)
        finally:
            await client.close()

    async def clear(self, test: str) -> None:
        """Remove all pods after a test. What containerd itself has wedged, such as a start that never ends, goes when
        containerd is started again. Raises AssertionError, which names the first test that left what cannot be removed.
        """
        try:
            await self.remove_pods()
        except CriError as failure:
            log.warning("containerd is started again, since after %s: %s", test, failure)
            self.restart()
            await self.ready()
            try:
                await self.remove_pods()
            except CriError as error:
                self.spoiled_by = self.spoiled_by or test
                raise AssertionError(f"{self.spoiled_by} left what cannot be removed: {error}") from error

    async def remove_pods(self) -> None:
        """Stop and remove every sandbox, through CRI. Raises CriError."""
        client = CriClient(self.endpoint, request_seconds=REMOVE_SECONDS)
        try:
            for sandbox in await client.list_pod_sandboxes():
                await client.stop_pod_sandbox(sandbox.id)
                await client.remove_pod_sandbox(sandbox.id)
        finally:
            await client.close()

    def purge(self) -> list[str]:
        """Take everything away. Answers what could not be."""
        if self.process is not None:
            self.kill()
        return _purge(self.base, self.instance, self.cgroup_parent)

    def _end(self, how: Callable[[subprocess.Popen[bytes]], None]) -> None:
        assert self.process is not None
        how(self.process)
        self.process.wait(READY_SECONDS)
        self.process = None


def sweep() -> None:
    """Take away what test processes left that are no more."""
    own = Path(tempfile.gettempdir())
    # `make test` has a directory of its own for temporary files in the usual one, and so had those before it
    places = [own, *own.glob(RUNS), *own.parent.glob(RUNS)]
    for base in {base for place in places for base in place.glob(f"{PREFIX}*")}:
        found = re.fullmatch(rf"{PREFIX}(\d+)-\w+", base.name)
        if found and not os.path.exists(f"/proc/{found[1]}"):
            _purge(base, ManagedRuntime(root=f"{base}/root", state=f"{base}/run"), f"/{base.name}")


def _purge(base: Path, instance: ManagedRuntime, cgroup: str) -> list[str]:
    """Of a runtime, and of the agents below its directory, which have ended. Answers what stayed."""
    agents = remains.root_dirs(base)
    for one in (instance, *map(remains.managed, agents)):
        cleanup.purge(one, [cgroup])
    mounted = remains.take_away(base)
    for directory in map(run_dir_of, agents):
        shutil.rmtree(directory, ignore_errors=True)
    if not mounted:  # never delete what lies on the other side of a mount
        shutil.rmtree(base, ignore_errors=True)
    left = remains.remains(instance, cgroup, str(base), *map(run_dir_of, agents))
    for managed in map(remains.managed, agents):
        left |= remains.remains(managed, cgroup)
    return [f"{kind}: {value}" for kind, values in left.items() for value in values]


@contextlib.contextmanager
def runtime_running(disk: str = "", inodes: int = 0) -> Iterator[RealRuntime]:
    """A runtime that is ready, with both images. Skips where there cannot be one, saying why. `disk`: options of a file
    system in memory for its images and writable layers, `inodes`: that one is a disk with so many; without both they
    are where all other files are."""
    if os.geteuid() != 0:
        pytest.skip("NOT TESTED with real containers: this needs root")
    try:
        host = look(tempfile.gettempdir(), os.environ.get(SEARCH, ""))
    except MissingPrograms as error:
        pytest.skip(f"NOT TESTED with real containers: {error}")
    sweep()
    # a short path: a socket's has at most 107 bytes
    runtime = RealRuntime(Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-")), host)
    runtime.base.chmod(0o711)  # containers in user namespaces pass through it
    try:
        if disk or inodes:
            Path(runtime.instance.root).mkdir()
        if disk:
            subprocess.run(["mount", "-t", "tmpfs", "-o", disk, "tmpfs", runtime.instance.root], check=True)
        if inodes:
            _mount_disk(runtime.base / "disk", inodes, runtime.instance.root)
        prepare(runtime.instance, host)
        runtime.start()
        image_import.import_layout(runtime.instance, host, images.first_images(host.machine))
        asyncio.run(runtime.ready())
        yield runtime
    finally:
        left = runtime.purge()
    assert not left, f"left behind: {left}"


def _mount_disk(file: Path, inodes: int, point: str) -> None:
    """A disk with ext4 on a loop device. Skips where there can be none."""
    file.touch()
    os.truncate(file, DISK_BYTES)
    subprocess.run(["mkfs.ext4", "-q", "-F", "-N", str(inodes), str(file)], check=True)
    done = subprocess.run(["mount", "-o", "loop", str(file), point], check=False, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"NOT TESTED on a disk of its own: {done.stderr.strip()}")


@pytest.fixture(scope="session")
def session_runtime() -> Iterator[RealRuntime]:
    """The runtime of this test process."""
    with runtime_running() as runtime:
        yield runtime


@pytest.fixture
def real_runtime(session_runtime: RealRuntime, request: pytest.FixtureRequest) -> Iterator[RealRuntime]:
    """A running containerd without pods; what the test leaves in it is removed."""
    if session_runtime.process is None:
        session_runtime.start()
        asyncio.run(session_runtime.ready())
    yield session_runtime
    if session_runtime.process is None:
        session_runtime.start()
        asyncio.run(session_runtime.ready())
    asyncio.run(session_runtime.clear(request.node.nodeid))


async def _is_ready(client: CriClient) -> bool:
    try:
        status = await client.status()
    except CriError:
        return False
    return status.runtime_ready and status.network_ready
