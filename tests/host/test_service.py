"""The agent as a service of systemd: what it says of itself, and that its ends and starts harm no pod."""

from __future__ import annotations

import json
import re

import pytest
import yaml

from tests.host.site import CONFIGURATION, READY, SECONDS, Site
from tests.support.joined import pod

pytestmark = [pytest.mark.host, pytest.mark.timeout(3 * SECONDS)]


def test_the_node_is_ready_and_the_doctor_finds_nothing(site: Site) -> None:
    assert site.supervise("status").startswith("ready: ")
    assert ": 0 failures, 0 warnings, " in site.supervise("doctor")
    healthz = r'exec 3<>/dev/tcp/127.0.0.1/10248; printf "GET /healthz HTTP/1.0\r\n\r\n" >&3; cat <&3'
    answer = site.machine.out(healthz)
    assert answer.startswith("HTTP/1.1 200"), answer
    assert answer.endswith("ok")


def test_a_slow_machine_is_found_to_be_slow_and_nothing_is_late_on_it(site: Site) -> None:
    assert re.search(r"deadlines are multiplied by [0-9.]+: this machine took", site.log())
    assert json.loads(site.supervise("incidents", "-o", "json")) == []


def test_each_process_has_the_name_of_its_actor(site: Site) -> None:
    shown = site.machine.out("systemctl status --no-pager --lines=0 kubelet")
    names = re.findall(r'"troupelet: ([^"]+)"', shown)
    assert {"root", "pleg", "container_manager", "pod_workers/worker/0", "http_servers/node_server"} <= set(names)
    assert len(names) == len(set(names)) == len(site.actors())


def test_containers_outlive_any_end_of_the_agent(site: Site) -> None:
    site.create(pod("lasting"), pod("other"))
    site.wait_pods_ready("lasting", "other", seconds=SECONDS)
    before, restarts = site.tasks(), int(site.unit("NRestarts"))
    assert len(before) == 4

    site.machine.out(f"systemctl restart kubelet; {READY}")
    assert int(site.unit("NRestarts")) == restarts
    main = site.unit("MainPID")
    site.machine.out(
        f'kill -9 {main}; while [ "$(systemctl show -P NRestarts kubelet)" = {restarts} ]; do sleep 0.2; done; {READY}'
    )
    site.machine.out(f"systemctl stop kubelet; ! pgrep -f '^troupelet: '; systemctl start kubelet; {READY}")
    for name in ("pod_workers/worker/0", "container_manager", "pleg", "eviction_manager"):
        site.machine.out(f"kill -9 $(pgrep -fx 'troupelet: {name}')")
    site.wait_agent()
    site.create(pod("late"))
    site.wait_pods_ready("lasting", "other", "late", seconds=SECONDS)
    assert before <= site.tasks()
    assert len(site.tasks()) == 6
    assert set(site.restarts().values()) == {0}


def test_a_cgroup_with_processes_is_no_root_for_pods(site: Site) -> None:
    occupied = "/system.slice/qemu-guest-agent.service"
    document = {**CONFIGURATION, "cgroupDriver": "cgroupfs", "cgroupRoot": occupied}
    site.machine.write("/root/refused.yaml", yaml.safe_dump(document), "0600")
    flags = "--config=/root/refused.yaml --root-dir=/var/lib/refused --kubeconfig=/etc/kubernetes/kubelet.conf"
    done = site.machine.run(f"supervise start {flags}")
    assert done.code == 1, done
    assert f"must not be below a cgroup with processes on cgroup v2: {occupied} has some" in done.err
