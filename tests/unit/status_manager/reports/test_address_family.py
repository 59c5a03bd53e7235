"""The event of a pod whose node has an address of another family."""

from __future__ import annotations

import json

import msgspec
import pytest

from actors.shared.kube.pod import PodStatus
from actors.status_manager.messages import PodObserved
from actors.status_manager.pods.tracked_pod import TrackedPod, tracked
from actors.status_manager.reports.address_family import family_event

DATA = json.dumps({"metadata": {"uid": "u", "name": "p", "namespace": "n"}, "spec": {"containers": [{"name": "a"}]}})


def pod(address: str | None) -> TrackedPod:
    status = PodStatus(hostIP=address) if address is not None else None
    return msgspec.structs.replace(tracked(PodObserved("u", DATA.encode(), worker_phase="running"), 1.0), status=status)


@pytest.mark.parametrize(("old", "new"), [("10.0.0.1", "fd00::1"), ("fd00::1", "10.0.0.1")])
def test_an_address_of_another_family_is_an_event(old: str, new: str) -> None:
    event = family_event(pod(old), pod(new))
    assert event is not None
    assert (event.type, event.reason, event.name) == ("Warning", "HostIPsIPFamilyMismatch", "p")
    four, six = ("IPv4 node IP (10.0.0.1)", "IPv6 node IP (fd00::1)")
    first, second = (four, six) if old == "10.0.0.1" else (six, four)
    assert event.message.startswith(f"Kubelet detected an {first}, but the cloud provider selected an {second}")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("10.0.0.1", "10.0.0.2"),
        ("fd00::1", "fd00::2"),
        ("", "fd00::1"),
        (None, "fd00::1"),
        ("fd00::1", ""),
        ("fd00::1", None),
        (None, None),
    ],
)
def test_an_address_of_the_same_family_or_an_unknown_one_is_none(old: str | None, new: str | None) -> None:
    assert family_event(pod(old), pod(new)) is None
