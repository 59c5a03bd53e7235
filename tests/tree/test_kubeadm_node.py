"""A node's files as kubeadm writes them, and its systemd drop-in, start the agent as they are."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.config_controller.messages import Configz, GetConfigz
from tests.support.agent_command import HARMLESS, SOURCES, AgentCommand
from tests.support.api_connection import ApiConnection
from tests.support.api_process import ApiProcess
from tests.support.tcp_ports import free_port
from tests.support.unit_file import command_of

pytestmark = [pytest.mark.tree, pytest.mark.slow]
SAMPLES = SOURCES / "tests/unit/shared/config/samples"
DROP_IN = SOURCES / "etc/systemd/kubelet.service.d/10-kubeadm.conf"
OURS = ("/etc/kubernetes", "/etc/default", "/etc/sysconfig", "/var/lib/kubelet", "/usr/bin/kubelet", "/run/containerd")
FLAGS = {
    "1.21": 'KUBELET_KUBEADM_ARGS="--container-runtime=remote '
    "--container-runtime-endpoint=/run/containerd/containerd.sock --pod-infra-container-image=k8s.gcr.io/pause:3.4.1 "
    '--network-plugin=cni"\n',
    "1.36": 'KUBELET_KUBEADM_ARGS="--node-labels=node.kubernetes.io/pool=blue '
    '--register-with-taints=node-role.kubernetes.io/control-plane:NoSchedule"\n',
}
KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters: [{{name: kubernetes, cluster: {{server: "https://127.0.0.1:{port}"}}}}]
contexts: [{{name: system:node:n1@kubernetes, context: {{cluster: kubernetes, user: system:node:n1}}}}]
current-context: system:node:n1@kubernetes
users: [{{name: system:node:n1, user: {user}}}]
"""
TOKEN = "{token: abcdef.0123456789abcdef}"


class KubeadmNode:
    """The files of a node below a directory, each at the place it has on a node."""

    def __init__(self, directory: Path, version: str, *more: str) -> None:
        """`more`: flags that the administrator adds."""
        self.directory, self.port = directory, free_port()
        self.root_dir = Path(self.place("/var/lib/kubelet"))
        self._write("/var/lib/kubelet/config.yaml", (SAMPLES / f"kubeadm-{version}.yaml").read_text())
        self._write("/var/lib/kubelet/kubeadm-flags.env", FLAGS[version])
        self._write("/etc/kubernetes/manifests/.keep", "")
        extra = [
            *HARMLESS, "--root-dir=/var/lib/kubelet", f"--healthz-port={free_port()}", f"--port={free_port()}",
            f"--log-file={directory}/agent.log", "--hostname-override=n1", *(more or ["--client-ca-file="]),
        ]  # fmt: skip
        self._write("/etc/default/kubelet", f'KUBELET_EXTRA_ARGS="{" ".join(extra)}"\n')
        kubelet = Path(self.place("/usr/bin/kubelet"))
        kubelet.parent.mkdir(parents=True)
        kubelet.symlink_to(Path(sys.executable).with_name("kubelet"))

    def joined(self, file: str, user: str) -> None:
        self._write(f"/etc/kubernetes/{file}", KUBECONFIG.format(port=self.port, user=user))

    def place(self, path: str) -> str:
        return f"{self.directory}{path}" if path.startswith(OURS) else path

    def _write(self, path: str, text: str) -> None:
        file = Path(self.place(path))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self._moved(text))

    def _moved(self, text: str) -> str:
        return re.sub("|".join(OURS), lambda found: self.place(found[0]), text)

    def command(self) -> list[str]:
        return command_of(self._moved(DROP_IN.read_text()))

    def start(self) -> AgentCommand:
        return AgentCommand(self.command(), self.root_dir)


@pytest.fixture(params=["1.21", "1.36"])
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def node(version: str) -> Iterator[KubeadmNode]:
    # a short path: a socket's has at most 107 bytes
    with tempfile.TemporaryDirectory(prefix="node-") as directory:
        yield KubeadmNode(Path(directory), version)


def test_the_files_of_kubeadm_start_the_agent_to_a_running_tree(node: KubeadmNode, version: str) -> None:
    node.joined("bootstrap-kubelet.conf", TOKEN)
    with node.start() as agent:
        agent.wait_ready()
        config = configz(agent)
        assert config["clusterDNS"] == ["10.96.0.10"]
        assert config["staticPodPath"] == node.place("/etc/kubernetes/manifests")
        assert config["rotateCertificates"] is True
        shown = agent.log
        warned = ("--pod-infra-container-image", "--network-plugin", "--container-runtime ")
        assert all((flag in shown) == (version == "1.21") for flag in warned[:2])
        assert "Traceback" not in shown
        assert agent.stop() == 0


@pytest.fixture
def cluster() -> Iterator[ApiProcess]:
    with tempfile.TemporaryDirectory(prefix="api-") as directory, ApiProcess(Path(directory), "n1") as server:
        yield server


def given(node: KubeadmNode, cluster: ApiProcess) -> None:
    """What `kubeadm join` writes before it starts the service."""
    node._write("/etc/kubernetes/pki/ca.crt", Path(cluster.ca).read_text())
    node._write("/etc/kubernetes/bootstrap-kubelet.conf", Path(cluster.ready["bootstrap"]).read_text())


def test_a_node_joins_by_what_kubeadm_writes_and_comes_back_without_the_bootstrap_file(
    cluster: ApiProcess, version: str
) -> None:
    with tempfile.TemporaryDirectory(prefix="node-") as directory, ApiConnection(cluster.admin) as api:
        node = KubeadmNode(Path(directory), version, "--node-ip=127.0.0.1")
        given(node, cluster)
        with node.start() as agent:
            agent.until(lambda: api.find("/api/v1/nodes/n1") is not None, "the node is registered", 60)
            registered = api.find("/api/v1/nodes/n1") or {}
            written = Path(node.place("/etc/kubernetes/kubelet.conf"))
            assert "bootstrap" not in written.read_text()
            assert Path(node.place("/var/lib/kubelet/pki/kubelet-client-current.pem")).exists()
            labels, taints = registered["metadata"]["labels"], registered["spec"].get("taints", [])
            assert labels["kubernetes.io/hostname"] == "n1"
            assert (labels.get("node.kubernetes.io/pool") == "blue") == (version == "1.36")
            keys = {taint["key"] for taint in taints}
            assert ("node-role.kubernetes.io/control-plane" in keys) == (version == "1.36")
            info = registered["status"]["nodeInfo"]
            assert info["kubeletVersion"].startswith("v1.36.")
            assert agent.stop() == 0
        Path(node.place("/etc/kubernetes/bootstrap-kubelet.conf")).unlink()
        with node.start() as agent:
            agent.wait_ready()
            lease = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1"
            agent.until(lambda: api.find(lease) is not None, "its lease")
            before = (api.find(lease) or {})["spec"]["renewTime"]
            agent.until(lambda: (api.find(lease) or {})["spec"]["renewTime"] > before, "its lease is renewed", 30)
            assert agent.stop() == 0


def test_an_assigned_config_map_replaces_the_file_until_it_is_unassigned(cluster: ApiProcess) -> None:
    with tempfile.TemporaryDirectory(prefix="node-") as directory, ApiConnection(cluster.admin) as api:
        node = KubeadmNode(Path(directory), "1.36", "--feature-gates=DynamicKubeletConfig=true")
        given(node, cluster)
        with node.start() as agent:
            agent.until(lambda: api.find("/api/v1/nodes/n1") is not None, "the node is registered", 60)
            readers = {"subject": "system:nodes", "verbs": ["get", "list", "watch"], "resources": ["configmaps"]}
            cluster.order("POST", "grants", readers)
            text = (SAMPLES / "kubeadm-1.36.yaml").read_text() + "maxPods: 33\n"
            metadata = {"name": "workers", "namespace": "kube-system"}
            config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"kubelet": text}}
            api.call("POST", "/api/v1/namespaces/kube-system/configmaps", config)
            annotate(api, "kube-system/workers")
            agent.until(lambda: configz(agent)["maxPods"] == 33, "the ConfigMap is in force", 40)
            annotate(api, None)
            agent.until(lambda: configz(agent)["maxPods"] == 110, "the file again", 40)


def annotate(api: ApiConnection, value: str | None) -> None:
    api.merge("/api/v1/nodes/n1", {"metadata": {"annotations": {"troupelet.io/kubelet-config": value}}})


def configz(agent: AgentCommand) -> dict[str, object]:
    found = json.loads(agent.ask(GetConfigz(), Configz, "config_controller").body)["kubeletconfig"]
    assert isinstance(found, dict)
    return found


def test_a_node_that_has_joined_before_starts_again_without_its_bootstrap_file(node: KubeadmNode) -> None:
    node.joined("kubelet.conf", TOKEN)
    with node.start() as agent:
        agent.wait_ready()
        assert agent.stop() == 0


def test_an_audit_tool_finds_the_process_by_its_name_and_reads_its_flags(node: KubeadmNode) -> None:
    node.joined("kubelet.conf", TOKEN)
    with node.start() as agent:
        agent.wait_ready()
        process = Path(f"/proc/{agent.process.pid}")
        assert process.joinpath("comm").read_text() == "kubelet\n"
        words = process.joinpath("cmdline").read_text().split("\0")
        assert node.command()[0] in words
        assert f"--config={node.place('/var/lib/kubelet/config.yaml')}" in words
        # a child that was forked this moment, or ends, bears the name of its parent for so long
        agent.until(lambda: _named(agent) == [str(agent.process.pid)], "one process of that name")


def test_a_unit_that_signals_every_process_at_once_stops_the_agent_in_order(node: KubeadmNode) -> None:
    """As the kubelet's own unit does, which has systemd's default KillMode."""
    node.joined("kubelet.conf", TOKEN)
    with node.start() as agent:
        agent.wait_ready()
        for actor in agent.tree().values():
            os.kill(actor.pid, signal.SIGTERM)
        assert agent.stop() == 0
        incidents = agent.root_dir / "troupelet/incidents.jsonl"
        assert not incidents.exists() or incidents.read_text() == ""


def _named(agent: AgentCommand) -> list[str]:
    return [path.name for path in Path("/proc").glob("[0-9]*") if _is_kubelet(path) and _below(path, agent)]


def _is_kubelet(path: Path) -> bool:
    try:
        return path.joinpath("comm").read_text() == "kubelet\n"
    except OSError:
        return False


def _below(path: Path, agent: AgentCommand) -> bool:
    return str(agent.root_dir).encode() in path.joinpath("cmdline").read_bytes()


def test_kubelet_has_the_version_and_help_that_kubeadm_reads(tmp_path: Path) -> None:
    kubelet = Path(sys.executable).with_name("kubelet")
    done = subprocess.run([kubelet, "--version"], capture_output=True, text=True, timeout=30, check=True)
    assert re.fullmatch(r"Kubernetes v1\.36\.\d+\S*\n", done.stdout)
    help_text = subprocess.run([kubelet, "-h"], capture_output=True, text=True, timeout=30, check=True).stdout
    assert help_text.startswith("Usage: kubelet [flags]")
    assert "--bootstrap-kubeconfig" in help_text


def test_the_unit_and_the_drop_in_are_what_systemd_takes(tmp_path: Path) -> None:
    analyze = "/usr/bin/systemd-analyze"
    if not os.access(analyze, os.X_OK):
        pytest.skip("no systemd-analyze here")
    unit = (SOURCES / "etc/systemd/troupelet.service").read_text()
    unit = unit.replace("/opt/troupelet/bin/supervise", str(Path(sys.executable).with_name("supervise")))
    drop_in = DROP_IN.read_text().replace("/usr/bin/kubelet", str(Path(sys.executable).with_name("kubelet")))
    tmp_path.joinpath("kubelet.service").write_text(unit.replace("Alias=kubelet.service\n", ""))
    tmp_path.joinpath("kubelet.service.d").mkdir()
    tmp_path.joinpath("kubelet.service.d/10-kubeadm.conf").write_text(drop_in)
    done = subprocess.run(
        [analyze, "verify", "--man=no", str(tmp_path / "kubelet.service")],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    about_it = [line for line in done.stderr.splitlines() if str(tmp_path) in line]
    assert (done.returncode, about_it) == (0, []), done.stderr
