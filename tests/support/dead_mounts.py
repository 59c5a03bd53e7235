"""File systems whose server has died: each access fails with ENOTCONN, as that of a crashed FUSE driver does."""

import os

from actors.shared.linux import mount_calls


def mount_dead(target: str) -> None:
    """Mount one at the directory or file `target`."""
    kind = "40000" if os.path.isdir(target) else "100000"
    server = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    try:
        options = f"fd={server},rootmode={kind},user_id=0,group_id=0"
        mount_calls.mount("dead", target, "fuse", options=options)
    finally:
        os.close(server)
