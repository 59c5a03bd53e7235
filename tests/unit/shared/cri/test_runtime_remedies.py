"""What mends a runtime that does not work."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from actors.shared.cri.remedies import RuntimeRemedies, managed_network


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The root directory of a host that systemd runs, with every runtime installed."""
    tmp_path.joinpath("run/systemd/system").mkdir(parents=True)
    monkeypatch.setattr("shutil.which", lambda program: f"/usr/bin/{program}")
    return tmp_path


@pytest.mark.parametrize(
    ("endpoint", "unit"),
    [
        ("unix:///run/containerd/containerd.sock", "containerd"),
        ("unix:///var/run/crio/crio.sock", "crio"),
        ("unix:///run/cri-dockerd.sock", "cri-docker"),
    ],
)
def test_a_remedy_names_the_unit_of_the_runtime(host: Path, endpoint: str, unit: str) -> None:
    found = RuntimeRemedies(endpoint, root=str(host))
    assert found.absent == f"systemctl start {unit}, or set containerRuntimeEndpoint to the socket of another"
    assert f"systemctl status {unit}; journalctl -u {unit}; " in found.silent
    assert found.errors == f"journalctl -u {unit}"


def test_no_unit_is_started_for_a_socket_that_none_makes(host: Path) -> None:
    found = RuntimeRemedies("unix:///run/containerd/containred.sock", root=str(host))
    assert found.absent == (
        "start the runtime that listens there, or set containerRuntimeEndpoint to the socket of another"
    )


def test_a_runtime_that_answers_elsewhere_is_named(host: Path) -> None:
    host.joinpath("run/crio").mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{host}/run/crio/crio.sock")
        listener.listen()
        wrong, other = (
            RuntimeRemedies(f"unix:///run/{name}", root=str(host)).absent for name in ("x.sock", "cri-dockerd.sock")
        )
    answers = "containerRuntimeEndpoint: unix:///run/crio/crio.sock, where one answers"
    assert wrong == f"{answers}; or start the runtime that listens there"
    assert other == f"systemctl start cri-docker, or {answers}"


def test_a_runtime_that_is_not_installed_is_installed_first(host: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda program: None)
    found = RuntimeRemedies("unix:///run/cri-dockerd.sock", root=str(host))
    assert found.absent.startswith("install cri-dockerd, then systemctl start cri-docker, or ")


def test_a_host_without_systemd_is_not_asked_for_its_units(host: Path) -> None:
    host.joinpath("run/systemd/system").rmdir()
    found = RuntimeRemedies("unix:///run/containerd/containerd.sock", root=str(host))
    assert found.absent.startswith("setsid containerd >>/var/log/containerd.log 2>&1 &, or ")
    assert not [one for one in (found.absent, found.silent, found.errors) if "systemctl" in one or "journalctl" in one]


def test_a_managed_runtime_is_no_service_of_the_host() -> None:
    look = "supervise incidents container_runtime; tail '/var/lib/a b/containerd.log'"
    found = RuntimeRemedies("unix:///run/x.sock", "/var/lib/a b/containerd.log")
    assert found.absent == f"wait: the agent starts its runtime again; if it stays: {look}"
    assert (found.silent, found.errors) == (look, look)


def test_the_network_of_a_managed_runtime_is_the_agents_own() -> None:
    found = managed_network("/var/lib/a b/containerd.log")
    assert "the agent makes the configuration again" in found
    assert found.endswith("apt-get install containernetworking-plugins; tail '/var/lib/a b/containerd.log'")
    assert "kubectl" not in found


def test_the_network_of_a_managed_runtime_in_a_cluster_waits_for_the_pod_cidr(tmp_path: Path) -> None:
    log = str(tmp_path / "containerd.log")
    assert managed_network(log, cluster=True).endswith("once the cluster has given this node a podCIDR")
    tmp_path.joinpath("net.d").mkdir()
    tmp_path.joinpath("net.d/10-pods.conflist").touch()
    assert managed_network(log, cluster=True) == managed_network(log)
