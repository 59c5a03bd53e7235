"""Links of devices in a pod's directory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from actors.volume_manager.host.device_links import link_device


@pytest.mark.parametrize("name", ["pv", "p" * 253])
def test_a_device_with_any_name_is_linked_again_after_a_crash(tmp_path: Path, name: str) -> None:
    link = f"{tmp_path}/pods/u/volumeDevices/kubernetes.io~csi/{name}"
    link_device(link, "/dev/one")
    assert os.readlink(link) == "/dev/one"
    os.symlink("/dev/dead", f"{os.path.dirname(link)}/.new")  # whoever made it died before it was renamed
    link_device(link, "/dev/two")
    assert os.readlink(link) == "/dev/two"
    assert os.listdir(os.path.dirname(link)) == [name]
