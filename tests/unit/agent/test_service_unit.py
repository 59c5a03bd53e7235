"""The unit of a running agent, by its cgroup and by what systemd says."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.agent.service_unit import unit_of


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A host with systemd, where the process 7 is the main one of kubelet.service."""
    (tmp_path / "run/systemd/system").mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    systemctl = tmp_path / "bin/systemctl"
    systemctl.write_text('#!/bin/sh\ncase "$*" in *" kubelet.service") echo 7;; *) echo 1;; esac\n')
    systemctl.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin", prepend=":")
    return tmp_path


def in_cgroup(host: Path, pid: int, lines: str) -> str:
    (host / f"proc/{pid}").mkdir(parents=True)
    (host / f"proc/{pid}/cgroup").write_text(lines)
    return unit_of(pid, str(host))


@pytest.mark.parametrize(
    "lines",
    ["0::/system.slice/kubelet.service\n", "4:cpu:/\n1:name=systemd:/runtime.slice/kubelet.service\n0::/\n"],
)
def test_the_main_process_of_a_service_is_restarted_by_its_service(host: Path, lines: str) -> None:
    assert in_cgroup(host, 7, lines) == "kubelet.service"


def test_an_agent_started_in_a_session_of_another_service_is_none_of_that_service(host: Path) -> None:
    assert in_cgroup(host, 8, "0::/system.slice/ssh.service\n") == ""
    assert in_cgroup(host, 9, "0::/user.slice/user-0.slice/session-1.scope\n") == ""


def test_without_systemd_or_without_the_process_there_is_no_service(host: Path, tmp_path: Path) -> None:
    assert unit_of(10, str(host)) == ""
    (host / "run/systemd/system").rmdir()
    assert in_cgroup(host, 7, "0::/system.slice/kubelet.service\n") == ""
