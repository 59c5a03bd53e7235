"""The default policy of the managed containerd, which is a program and declares nothing else."""

from __future__ import annotations

from typing import Final

from supervision.spec import PolicySettings

POLICY: Final = PolicySettings(memory_mib=0, start_seconds=300.0, shutdown_seconds=10.0)
"""About 110 MiB with 110 pods, more while it pulls. Its start is slow on a disk that has just been mounted, and with
shims that do not answer: it asks for the state of each container, one after the other, and a start that is cut short
starts again. Containers keep running while it is replaced."""
