"""The guest as a node of a cluster: the agent is its service `kubelet`, the API server for tests runs outside."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.host.guest.machine import HOST_AS_SEEN_INSIDE, Machine
from tests.support.api_connection import ApiConnection, Obj
from tests.support.api_process import ApiProcess
from tests.support.joined import NODE, JoinedView

SECONDS = 600.0
"""For anything, on a processor that is emulated beside other work."""
CONFIG = "/var/lib/kubelet/config.yaml"
CGROUPS = "/sys/fs/cgroup"
READY = 'until [ "$(systemctl show -P StatusText kubelet)" = ready ]; do sleep 1; done'
CONFIGURATION: dict[str, Any] = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "kind": "KubeletConfiguration",
    "authentication": {"x509": {"clientCAFile": "/etc/kubernetes/pki/ca.crt"}, "anonymous": {"enabled": False}},
    "authorization": {"mode": "Webhook"},
    "cgroupDriver": "systemd",
    "clusterDNS": ["10.96.0.10"],
    "clusterDomain": "cluster.local",
    "cpuManagerPolicy": "static",
    "kubeReserved": {"cpu": "500m"},
    "evictionHard": {"memory.available": "300Mi"},
    "evictionPressureTransitionPeriod": "5s",
    "failSwapOn": False,
    "featureGates": {"MemoryQoS": True},
    "memoryReservationPolicy": "TieredReservation",
    "memorySwap": {"swapBehavior": "LimitedSwap"},
    "podPidsLimit": 300,
    "runtimeRequestTimeout": "15m",
    "shutdownGracePeriod": "120s",
    "shutdownGracePeriodCriticalPods": "40s",
}


class Task(NamedTuple):
    """A process of a container; pid and start time are those of no other one."""

    id: str
    pid: int
    started: int
    """In ticks since the boot."""


class Site(JoinedView):
    clear_seconds = SECONDS

    def __init__(self, cluster: ApiProcess, machine: Machine, api: ApiConnection) -> None:
        super().__init__(cluster, api)
        self.machine = machine

    # -- the agent ------------------------------------------------------------------------------------------------
    def configure(self, **more: object) -> None:
        """Write its configuration again, with these fields changed."""
        self.machine.write(CONFIG, yaml.safe_dump({**CONFIGURATION, **more}), "0600")

    def unit(self, name: str) -> str:
        """A property of its unit."""
        return self.machine.out(f"systemctl show -P {name} kubelet")

    def wait_agent(self) -> None:
        """Until the unit says that it is ready, and the node is."""
        self.machine.out(READY, seconds=SECONDS)
        self.wait_ready(SECONDS)

    def supervise(self, *words: str) -> str:
        return self.machine.out(f"supervise {' '.join(words)}")

    def actors(self) -> list[Obj]:
        """The processes of the tree."""
        found: list[Obj] = json.loads(self.supervise("tree", "-o", "json"))["actors"]
        return found

    def log(self) -> str:
        return self.machine.out("journalctl -u troupelet -o cat --no-pager")

    # -- pods -----------------------------------------------------------------------------------------------------
    def uid(self, name: str) -> str:
        return str(self.pod(name)["metadata"]["uid"])

    def pod_files(self, name: str, *files: str) -> dict[str, str]:
        """Of the pod's own cgroup."""
        return self._files(
            f"$(find {CGROUPS}/kubepods.slice -name '*-pod{self.uid(name).replace('-', '_')}.slice')", files
        )

    def container_files(self, name: str, container: str, *files: str) -> dict[str, str]:
        """Of the cgroup of a container that runs."""
        return self._files(
            f"$(find {CGROUPS}/kubepods.slice -name '*{self.container_id(name, container)}.scope')", files
        )

    def class_files(self, path: str, *files: str) -> dict[str, str]:
        """Of a cgroup below kubepods.slice, or of that one."""
        return self._files(f"{CGROUPS}/kubepods.slice/{path}", files)

    def container_id(self, name: str, container: str) -> str:
        (found,) = (c for c in self.pod(name)["status"]["containerStatuses"] if c["name"] == container)
        return str(found["containerID"].rpartition("/")[2])

    def inside(self, name: str, container: str, command: str) -> str:
        """What a command prints that runs in a container."""
        exec_id = "seen"
        return self.machine.out(
            f"ctr -n k8s.io task exec --exec-id {exec_id} {self.container_id(name, container)} sh -c '{command}'"
        )

    def tasks(self) -> set[Task]:
        """Of all containers, as the runtime and /proc have them."""
        lines = self.machine.out(
            "ctr -n k8s.io task ls | while read id pid state; do"
            ' [ "$state" != RUNNING ] || echo $id $pid $(cut -d" " -f22 /proc/$pid/stat); done'
        ).splitlines()
        return {Task(task, int(pid), int(started)) for task, pid, started in (line.split() for line in lines)}

    def _files(self, directory: str, files: tuple[str, ...]) -> dict[str, str]:
        names = " ".join(files)
        lines = self.machine.out(
            f'cd {directory} && for f in {names}; do echo "$f $(tr "\\n" " " <$f)"; done'
        ).splitlines()
        return {file: value.strip() for file, _, value in (line.partition(" ") for line in lines)}


@contextmanager
def serving(machine: Machine, folder: Path) -> Iterator[Site]:
    """The agent is installed as for kubeadm, starts, and is Ready."""
    with ApiProcess(folder, NODE, lease_grace_seconds=SECONDS) as cluster, ApiConnection(cluster.admin) as api:
        machine.write("/etc/kubernetes/pki/ca.crt", Path(cluster.ca).read_text())
        machine.write("/etc/kubernetes/kubelet.conf", seen_inside(Path(cluster.node_kubeconfig(NODE))), "0600")
        site = Site(cluster, machine, api)
        site.configure()
        machine.out(
            "ln -sf /opt/troupelet/bin/kubelet /usr/bin/kubelet"
            " && cp -r /opt/troupelet/share/troupelet/etc/systemd/kubelet.service.d /etc/systemd/system/"
            " && systemctl enable troupelet && ctr -n k8s.io images import /root/images.tar"
            " && systemctl start kubelet",
            seconds=SECONDS,
        )
        try:
            site.wait_agent()
            yield site
        except AssertionError as error:
            error.add_note(machine.run("journalctl -u troupelet -o cat --no-pager | tail -40").out)
            raise


def seen_inside(kubeconfig: Path) -> str:
    """With the address by which the guest reaches this host, and the keys in the file itself."""
    document = json.loads(kubeconfig.read_bytes())
    cluster, user = document["clusters"][0]["cluster"], document["users"][0]["user"]
    found = re.fullmatch(r"https://([^:]+):(\d+)", cluster["server"])
    assert found is not None
    cluster |= {"server": f"https://{HOST_AS_SEEN_INSIDE}:{found[2]}", "tls-server-name": found[1]}
    for key in ("client-certificate", "client-key"):
        user[f"{key}-data"] = base64.b64encode(Path(user.pop(key)).read_bytes()).decode()
    return json.dumps(document)
