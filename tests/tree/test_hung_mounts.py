"""A mount that hangs among the volumes of pods: it is said, and everything else is measured."""

from __future__ import annotations

import asyncio
import logging
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.shared.linux import mountinfo
from actors.shared.stats.hanging_paths import RETRIES, HangingPaths
from actors.shared.stats.pod_disks import PodDisks
from supervision.actor import DisposableTimeout
from supervision.testing.virtual_clock import VirtualClock
from tests.support import hung_mount

pytestmark = [
    pytest.mark.tree,
    pytest.mark.skipif(not hung_mount.is_possible(), reason="needs root and /dev/fuse"),
]
CODE = """
import sys, msgspec
from supervision.class_names import load
arguments = msgspec.msgpack.decode(sys.stdin.buffer.read())
sys.stdout.buffer.write(msgspec.msgpack.encode(load(sys.argv[1])(**arguments)))
"""
AMPLE = 60.0
PATIENCE = {"actors.shared.stats.disk:measure_volumes": 5.0, "actors.eviction_manager.eviction_signals:read_disks": 5.0}
"""Seconds for what is known to hang here."""


class Processes:
    """Disposable processes, and what each was asked."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int]] = []

    async def __call__(self, function: str, arguments: dict[str, Any], deadline: float) -> Any:
        self.calls.append((function.rpartition(":")[2], len(next(iter(arguments.values())))))
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", CODE, function, stdin=pipe, stdout=pipe)
        try:
            async with asyncio.timeout(PATIENCE.get(function, AMPLE)):
                output, _ = await process.communicate(msgspec.msgpack.encode(arguments))
        except TimeoutError:
            process.kill()
            await process.wait()
            raise DisposableTimeout("Timeout", "") from None
        return msgspec.msgpack.decode(output)


def volume(home: Path, uid: str, plugin: str, name: str) -> Path:
    path = home / "pods" / uid / "volumes" / plugin / name
    path.mkdir(parents=True)
    return path


async def test_a_hanging_volume_leaves_the_figures_of_the_others(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    pods = [[uid, f"{tmp_path}/pods/{uid}", f"{tmp_path}/logs/{uid}"] for uid in ("u", "v")]
    (volume(tmp_path, "v", "kubernetes.io~empty-dir", "data") / "file").write_bytes(b"x" * 10000)
    scratch = volume(tmp_path, "u", "kubernetes.io~empty-dir", "scratch")
    (scratch / "file").write_bytes(b"x" * 20000)
    clock, processes = VirtualClock(), Processes()
    disks = PodDisks(processes, logging.getLogger("test"), clock)
    places = [volume(tmp_path, "u", "kubernetes.io~nfs", "dead"), volume(tmp_path, "v", "kubernetes.io~csi", "pv")]
    with hung_mount.hung_mount(places[0]), hung_mount.hung_mount(places[1] / "mount"):
        for _ in range(2):
            found = await disks.measure(pods)
            assert set(found["u"]["volumes"]) == {"scratch"}
            assert set(found["v"]["volumes"]) == {"data"}
            assert found["u"]["volumes"]["scratch"]["used_bytes"] >= 20000
        said = {one.getMessage() for one in caplog.records}
        assert said == {f"{place} hangs: it has no figures until it answers again" for place in places}
        assert len(caplog.records) == len(places)
        assert processes.calls == [
            *[("measure_pods", 2), ("measure_volumes", 2), ("measure_volumes", 1), ("measure_volumes", 1)],
            ("measure_pods", 2),
        ]
    clock.now += RETRIES.first
    found = await disks.measure(pods)
    assert set(found["u"]["volumes"]) == {"scratch", "dead"}


async def test_a_hung_mount_below_an_empty_dir_affects_only_that_volume(tmp_path):
    inside = volume(tmp_path, "u", "kubernetes.io~empty-dir", "scratch") / "inside"
    volume(tmp_path, "u", "kubernetes.io~empty-dir", "data")
    with hung_mount.hung_mount(inside):
        assert str(inside) in {mount.point for mount in mountinfo.read()}
        disks = PodDisks(Processes(), logging.getLogger("test"))
        found = await disks.measure([["u", f"{tmp_path}/pods/u", f"{tmp_path}/logs"]])
        assert set(found["u"]["volumes"]) == {"data"}


async def test_a_hanging_disk_of_the_runtime_leaves_all_signals_of_the_node(tmp_path, caplog):
    images = tmp_path / "images"
    with hung_mount.hung_mount(images):
        paths = HangingPaths(Processes(), logging.getLogger("test"))
        found = await paths.ask(
            "actors.eviction_manager.eviction_signals:read_disks", [str(tmp_path), str(images)], 1.0
        )
        assert list(found) == [str(tmp_path)]
        assert [one.getMessage() for one in caplog.records] == [
            f"{images} hangs: it has no figures until it answers again"
        ]
