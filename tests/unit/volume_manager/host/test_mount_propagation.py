"""Whether the directory of the pods is bound to itself, by the mount table."""

from __future__ import annotations

import pytest

from actors.shared.linux import mountinfo
from actors.volume_manager.host.mount_propagation import is_bound_to_itself

ROOT = "22 1 8:1 / / rw shared:1 - ext4 /dev/a rw"
DISK = "40 22 8:2 /data /var/lib/agent rw shared:3 - ext4 /dev/b rw"
PODS = "/var/lib/agent/pods"


@pytest.mark.parametrize(
    ("lines", "is_bound"),
    [
        ([], False),
        (["50 22 8:1 /var/lib/agent/pods /var/lib/agent/pods rw shared:9 - ext4 /dev/a rw"], True),
        ([DISK, "50 40 8:2 /data/pods /var/lib/agent/pods rw shared:9 - ext4 /dev/b rw"], True),
        ([DISK, "50 40 8:2 / /var/lib/agent/pods rw shared:9 - ext4 /dev/b rw"], False),
        (["50 22 8:3 / /var/lib/agent/pods rw shared:9 - xfs /dev/c rw"], False),
        (["50 22 0:44 / /var/lib/agent/pods rw - tmpfs tmpfs rw"], False),
        (
            [
                "50 22 8:3 / /var/lib/agent/pods rw - xfs /dev/c rw",
                "51 50 8:3 / /var/lib/agent/pods rw shared:9 - xfs /dev/c rw",
            ],
            True,
        ),
        (["50 22 8:1 /other /var/lib/agent/pods rw shared:9 - ext4 /dev/a rw"], False),
    ],
)  # fmt: skip
def test_only_a_mount_that_shows_what_is_beneath_it_is_bound_to_itself(lines: list[str], is_bound: bool) -> None:
    table = mountinfo.parse("\n".join([ROOT, *lines, ""]).encode())
    assert is_bound_to_itself(table, PODS) is is_bound
