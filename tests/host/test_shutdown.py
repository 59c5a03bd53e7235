"""The machine is switched off: systemd-logind waits until the pods have ended in good order."""

from __future__ import annotations

import pytest

from tests.host.guest.machine import BOOT_SECONDS
from tests.host.site import SECONDS, Site
from tests.support.api_connection import Obj
from tests.support.joined import condition, container, pod, status

pytestmark = [pytest.mark.host, pytest.mark.timeout(3 * SECONDS + BOOT_SECONDS)]
LOG = "/var/tmp/seen/log"


def recorder(name: str, **spec: object) -> Obj:
    """Writes down that it is told to end, and that it has ended a moment later."""
    told = f"echo {name} told >>/seen/log; sleep 2; echo {name} ended >>/seen/log; sync; exit 0"
    run = f"trap '{told}' TERM; while :; do sleep 0.5; done"
    main = container("main", "sh", "-c", run, volumeMounts=[{"name": "seen", "mountPath": "/seen"}])
    volume = {"name": "seen", "hostPath": {"path": "/var/tmp/seen", "type": "DirectoryOrCreate"}}
    return pod(name, main, volumes=[volume], terminationGracePeriodSeconds=60, **spec)


def test_pods_end_in_the_order_of_their_priority_and_are_reported_so_before_the_power_is_off(site: Site) -> None:
    assert "node shutdown" in site.machine.out("systemd-inhibit --list --no-pager")
    site.create(
        recorder("usual"), recorder("critical", priorityClassName="system-node-critical", priority=2_000_001_000)
    )
    site.wait_pods_ready("usual", "critical", seconds=SECONDS)
    site.machine.out("systemctl poweroff --no-block")
    site.machine.wait_off()
    told = site.machine.file_on_disk(LOG).splitlines()
    assert told == ["usual told", "usual ended", "critical told", "critical ended"]
    for name in ("usual", "critical"):
        found = status(site.pod(name))
        assert (found["phase"], found["reason"]) == ("Failed", "Terminated"), found
        assert found["message"] == "Pod was terminated in response to imminent node shutdown."
        assert condition(site.pod(name), "DisruptionTarget")["reason"] == "TerminationByKubelet"

    site.machine.boot()
    site.wait_agent()
    assert site.tasks() == set()
