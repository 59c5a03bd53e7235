"""Pods with volumes that need no API server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from actors.shared.config.agent import Agent
from actors.volume_manager.actor import VolumeManager
from supervision.testing.harness import Harness
from tests.support.volumes import user_of

UID = "0a1b"


def pod(*volumes: dict[str, Any], **spec: Any) -> bytes:
    spec = {"volumes": list(volumes), "containers": [user_of(volumes)], **spec}
    return json.dumps({"metadata": {"name": "p", "uid": UID}, "spec": spec}).encode()


def start(root: Path) -> Harness:
    agent = Agent(root_dir=str(root), run_dir=f"{root}/run", workers=2)
    harness = Harness(VolumeManager, name="volume_manager", context=agent)
    harness.actor._clock = lambda: harness.clock.now
    return harness
