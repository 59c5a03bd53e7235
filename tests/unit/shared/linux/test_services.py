"""The commands for services, by what runs the host."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.shared.linux.services import log_of, ordered, set_clock


@pytest.mark.parametrize(
    ("there", "start", "log"),
    [
        ("run/systemd/system", "systemctl start cri-docker", "journalctl -u cri-docker"),
        ("run/openrc", "rc-service cri-docker start", "tail /var/log/cri-dockerd.log"),
        ("etc/init.d/cri-docker", "service cri-docker start", "tail /var/log/cri-dockerd.log"),
        ("tmp", "setsid cri-dockerd >>/var/log/cri-dockerd.log 2>&1 &", "tail /var/log/cri-dockerd.log"),
    ],
)
def test_a_service_is_started_by_what_runs_the_host(tmp_path: Path, there: str, start: str, log: str) -> None:
    tmp_path.joinpath(there).mkdir(parents=True)
    assert ordered("cri-docker", "start", "cri-dockerd", str(tmp_path)) == start
    assert log_of("cri-docker", "cri-dockerd", str(tmp_path)) == log


def test_the_clock_is_set_by_what_the_host_has(tmp_path: Path) -> None:
    assert "timedatectl" not in set_clock(str(tmp_path))
    tmp_path.joinpath("run/systemd/system").mkdir(parents=True)
    assert set_clock(str(tmp_path)).startswith("timedatectl set-ntp true")
