"""What mends a runtime that does not work."""

from __future__ import annotations

import pytest

from actors.shared.cri.remedies import managed_network, of_runtime


@pytest.mark.parametrize(
    ("endpoint", "unit"),
    [
        ("unix:///run/containerd/containerd.sock", "containerd"),
        ("unix:///var/run/crio/crio.sock", "crio"),
        ("unix:///run/cri-dockerd.sock", "cri-docker"),
    ],
)
def test_a_remedy_names_the_unit_of_the_runtime(endpoint: str, unit: str) -> None:
    found = of_runtime(endpoint)
    assert f"systemctl start {unit}, " in found.absent
    assert f"systemctl status {unit}; journalctl -u {unit}; " in found.silent
    assert found.errors == f"journalctl -u {unit}"


def test_a_managed_runtime_is_no_unit_of_systemd() -> None:
    for remedy in of_runtime("unix:///run/x.sock", "/var/lib/a b/containerd.log"):
        assert remedy == "supervise incidents container_runtime; tail '/var/lib/a b/containerd.log'"


def test_the_network_of_a_managed_runtime_is_the_agents_own() -> None:
    found = managed_network("/var/lib/a b/containerd.log")
    assert "the agent makes the configuration again" in found
    assert found.endswith("apt-get install containernetworking-plugins; tail '/var/lib/a b/containerd.log'")
    assert "kubectl" not in found
