"""The default policy of the managed containerd, which is a program and declares nothing else."""

from __future__ import annotations

from typing import Final

from supervision.spec import Policy

POLICY: Final = Policy(memory_mib=0, start_seconds=30.0, shutdown_seconds=10.0)
"""About 110 MiB with 110 pods, more while it pulls; a disk that has just been mounted may make its start slow.
Containers keep running while it is replaced."""
