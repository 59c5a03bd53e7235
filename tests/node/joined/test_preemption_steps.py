"""Each actor with a part in it is killed, twice, while a pod ends for a critical static pod: no other pod ends."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from actors.eviction_manager.pod_evictions import FILE, SavedState
from actors.shared.config.paths import run_dir_of
from supervision.state_file import StateFile
from tests.node.joined.test_admission import asks
from tests.node.joined.test_eviction import event
from tests.node.joined.test_pod_features import within
from tests.support.joined import NODE, Joined, joined, status
from tests.support.runtime import RealRuntime

SECONDS = 90.0
SLOW = ["sh", "-c", "trap 'sleep 8; exit 143' TERM; while :; do sleep 0.2; done"]


def kill(site: Joined, victim: str) -> None:
    """Until later incarnations are in service."""
    before = {name: one for name, one in site.node.actors().items() if name.startswith(victim)}
    for one in before.values():
        os.kill(one.pid, signal.SIGKILL)
    for name, one in before.items():
        site.node.wait_replaced(name, one.incarnation)


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["eviction_manager", "container_manager", "status_manager", "pod_workers/worker/"])
def test_one_pod_ends_for_a_critical_one_whoever_is_killed_meanwhile(real_runtime: RealRuntime, victim: str) -> None:
    name = f"ends-{victim[:6].strip('/')}"
    with joined(real_runtime, name, systemReserved={"cpu": "0"}) as site:
        file = StateFile(Path(run_dir_of(f"{site.node.home}/root"), FILE), SavedState, sync=False)
        large = asks("large", 0.5, terminationGracePeriodSeconds=30)
        large["spec"]["containers"][0]["command"] = SLOW
        site.create(asks("first", 0.2), large, asks("last", 0.25))
        site.wait_pods_ready("first", "large", "last")
        site.node.write("control", json.dumps(asks("control", 0.5)))

        def ending() -> bool:
            saved = file.load()
            return saved is not None and [one.name for one in saved.ending] == ["large"]

        within(SECONDS, ending, "the pod ends")
        for _ in range(2):
            kill(site, victim)
        site.wait_pods_ready(f"control-{NODE}", seconds=SECONDS)
        assert status(site.wait_phase("large", "Failed", SECONDS))["reason"] == "Preempting"
        assert [status(site.pod(name))["phase"] for name in ("first", "last")] == ["Running"] * 2
        assert [event(site, name, "Preempting") for name in ("first", "last")] == [{}, {}]
        assert event(site, "large", "Preempting").get("count", 1) == 1
        site.node.withdraw("control")
        site.wait_no_pod(f"control-{NODE}")
