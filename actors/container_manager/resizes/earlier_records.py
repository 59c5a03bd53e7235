"""Takes over the resources of pods from the files `pods/<uid>/allocated-resources`, which versions before 0.3 kept.

This happens before the tree starts, once: then the files are removed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec import UNSET

from actors.shared.kube.container import ResourceRequirements
from actors.shared.pod_records import ALLOCATED, PodRecord, encode, read
from supervision.errors import UNREADABLE
from supervision.state_file import read_private, write_private

EARLIER: Final = "allocated-resources"
_POD: Final = ""
"""The key of the resources of the pod itself."""


class _Earlier(msgspec.Struct):
    allocated: dict[str, ResourceRequirements]
    under_way: bool = False


def take_over(root_dir: str) -> None:
    """If both files have a pod, the one that was written later counts: the other is from before a change of the agent.
    Raises RecordError, OSError."""
    found = list(_read_records(Path(root_dir, "pods")))
    if not found:
        return
    path = Path(root_dir, ALLOCATED)
    written = path.stat().st_mtime_ns if path.exists() else 0
    records = read(path)
    for file, record in found:
        uid = file.parent.name
        if record is not None and (uid not in records or file.stat().st_mtime_ns > written):
            records[uid] = record
    write_private(path, encode(records))
    for file, _ in found:
        file.unlink(missing_ok=True)


def _read_records(pods: Path) -> Iterator[tuple[Path, PodRecord | None]]:
    """Each file with its content; None if it cannot be read."""
    for file in sorted(pods.glob(f"*/{EARLIER}")):
        record = None
        with suppress(OSError, *UNREADABLE):
            kept = msgspec.json.decode(read_private(file), type=_Earlier)
            record = PodRecord(
                ContainerResources={name: one for name, one in kept.allocated.items() if name != _POD},
                PodLevelResources=kept.allocated.get(_POD),
                ResizeUnderWay=kept.under_way or UNSET,
            )
        yield file, record
