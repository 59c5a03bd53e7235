"""The storage driver of the tests mounts nothing through a link."""

import os
from pathlib import Path

import pytest

from tests.support.csi_driver import FakeDriver


@pytest.mark.parametrize("link", ["pods", "pods/uid/mount"])
def test_a_link_on_the_way_to_a_mount_is_refused(link: str, tmp_path: Path) -> None:
    outside, root = tmp_path / "outside", tmp_path / "root"
    (outside / "uid" / "mount").mkdir(parents=True)
    place = root / link
    place.parent.mkdir(parents=True)
    place.symlink_to(outside)
    driver = FakeDriver(str(root))
    with pytest.raises(OSError), driver.place(f"{root}/pods/uid/mount") as target, target.opened():
        pass


def test_a_place_below_a_root_directory_that_is_a_link_is_the_agents_own(tmp_path: Path) -> None:
    (tmp_path / "real" / "pods").mkdir(parents=True)
    (tmp_path / "root").symlink_to("real")
    with FakeDriver(f"{tmp_path}/root").place(f"{tmp_path}/root/pods") as target, target.opened() as there:
        assert os.path.samefile(there, tmp_path / "real" / "pods")
