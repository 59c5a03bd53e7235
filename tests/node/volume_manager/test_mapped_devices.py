"""The device of a pod that a kubelet has started, when the pod ends here: nothing holds it open any more."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from actors.shared.linux import mount_calls, mountinfo
from actors.volume_manager.host.mapped_devices import loop_devices, unmap

pytestmark = [pytest.mark.node, pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")]


def loop_on(file: str) -> str:
    made = subprocess.run(["losetup", "-f", "--show", file], capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"no loop device: {made.stderr.strip()}")
    return made.stdout.strip()


@pytest.fixture
def device(tmp_path: Path) -> Iterator[str]:
    image = tmp_path / "image"
    image.write_bytes(bytes(1 << 20))
    made = loop_on(str(image))
    yield made
    subprocess.run(["losetup", "-d", made], check=True)


@pytest.fixture
def file(tmp_path: Path, device: str) -> Iterator[str]:
    """As a kubelet makes it: the device bound to a file, and a loop device on that."""
    path = tmp_path / "pv/dev/uid"
    path.parent.mkdir(parents=True)
    path.touch()
    mount_calls.bind(device, str(path))
    loop_on(str(path))
    yield str(path)
    for left in loop_devices(str(path)):
        subprocess.run(["losetup", "-d", left], check=True)
    with suppress(OSError):
        mount_calls.umount(str(path))


def test_the_device_that_a_kubelet_has_mapped_is_released(file: str) -> None:
    assert len(loop_devices(file)) == 1
    unmap([file])
    assert loop_devices(file) == []
    assert not mountinfo.at(file)
    assert not os.path.lexists(os.path.dirname(file))
    unmap([file])  # again, as after a death in between
