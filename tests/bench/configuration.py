"""How long the largest configuration takes: read, merged with a drop-in and flags, and judged."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Final

from actors.shared.config.loading import load
from actors.shared.config.start.host import HostFacts
from actors.shared.config.validation.rule_kinds import ValidationContext
from tests.support.fork_server_process import ROOT_DIR

from .report import Figure

SAMPLE: Final = ROOT_DIR / "tests/unit/shared/config/samples/everything.yaml"
DROP_IN: Final = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: 50\n"
TIMES: Final = 30
HOST: Final = HostFacts(hostname="n", directory="/", context=ValidationContext(cgroup_v2=True))


def figures() -> list[Figure]:
    """One: the median, in seconds."""
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "50-pods.conf").write_text(DROP_IN)
        argv = [f"--config={SAMPLE}", f"--config-dir={directory}", "--v=2", "--node-labels=a=b"]
        load(argv, HOST)
        measured = [_seconds(argv) for _ in range(TIMES)]
    return [Figure("config.load", "largest configuration read", statistics.median(measured), "s", count=TIMES)]


def _seconds(argv: list[str]) -> float:
    started_at = time.perf_counter()
    load(argv, HOST)
    return time.perf_counter() - started_at
