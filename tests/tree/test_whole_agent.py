"""The whole agent without a runtime: what systemd hears, what changes while it runs, what a storm of changes does."""

from __future__ import annotations

import json
import os
import signal
import socket
import ssl
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.config_controller.messages import Configz, Flagz, GetConfigz, GetFlagz
from actors.shared.config.sources.checkpoints import ConfigCheckpoints
from actors.shared.linux import mount_calls, mountinfo
from actors.shared.linux.cgroup_tree import find
from actors.status_manager.messages import GetPods, Pods
from supervision.incidents.incident import read
from supervision.metrics import UNDECLARED
from supervision.protocol import GetMetrics, MetricsSnapshot
from tests.support.agent_command import HARMLESS, START, AgentCommand
from tests.support.service_manager import ServiceManager
from tests.support.tcp_ports import free_port, held_port
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.tree, pytest.mark.slow]
HEADER = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


class AgentFiles:
    """The files of one agent."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.root_dir = directory, directory / "root"
        self.store = ConfigCheckpoints(str(self.root_dir / "troupelet/config"))
        self.file, self.log_file = directory / "config.yaml", directory / "agent.log"
        self.ports = free_port(), free_port()
        (directory / "pods").mkdir()

    def configure(self, text: str = "") -> None:
        temporary = self.file.with_suffix(".new")
        temporary.write_text(f"{HEADER}staticPodPath: {self.directory}/pods\n{text}")
        temporary.replace(self.file)

    def start(self, *flags: str, before: tuple[str, ...] = (), **environment: str) -> AgentCommand:
        """`before`: words of a command that runs the rest."""
        if not self.file.exists():
            self.configure()
        own = [
            f"--config={self.file}", f"--root-dir={self.root_dir}", f"--log-file={self.log_file}",
            f"--healthz-port={self.ports[0]}", f"--port={self.ports[1]}", "--hostname-override=n1",
            f"--container-runtime-endpoint=unix://{self.directory}/none.sock",
        ]  # fmt: skip
        return AgentCommand([*before, *START, *HARMLESS, *own, *flags], self.root_dir, environment)

    def lines(self) -> list[str]:
        return self.log_file.read_text().splitlines() if self.log_file.exists() else []


@pytest.fixture
def files() -> Iterator[AgentFiles]:
    # a short path: a socket's has at most 107 bytes
    with tempfile.TemporaryDirectory(prefix="agent-") as directory:
        yield AgentFiles(Path(directory))


def configz(agent: AgentCommand) -> dict[str, object]:
    found = json.loads(agent.ask(GetConfigz(), Configz, "config_controller").body)["kubeletconfig"]
    assert isinstance(found, dict)
    return found


def test_systemd_gets_ready_once_all_is_in_service_then_its_watchdog_then_stopping(files: AgentFiles) -> None:
    with (
        ServiceManager(files.directory / "notify") as systemd,
        files.start(**systemd.environment, WATCHDOG_USEC="1500000") as agent,
    ):
        agent.wait_ready()
        wait_for(lambda: systemd.count("READY=1") == 1)
        assert systemd.count(f"MAINPID={agent.process.pid}") == 1
        systemd.wait_for("WATCHDOG=1", count=4, within=3.2)
        assert all(actor.state == "running" for actor in agent.tree().values())
        # a root that hangs is no reason to be fed, until another has taken its place
        os.kill(agent.tree()["pleg"].pid, signal.SIGKILL)
        systemd.wait_for("WATCHDOG=1")
        assert systemd.count("READY=1") == 1
        assert agent.stop() == 0
        wait_for(lambda: systemd.count("STOPPING=1") == 1)


def test_verbosity_format_and_the_rules_by_actor_change_while_it_runs(files: AgentFiles) -> None:
    with files.start() as agent:
        agent.wait_ready()
        before = [actor.pid for actor in agent.tree().values()]
        first = files.store.state().current
        files.configure("logging: {format: json, verbosity: 5}\n")
        agent.until(lambda: files.store.state().current != first, "the change")
        os.kill(agent.tree()["pleg"].pid, signal.SIGKILL)  # whose replacement, and whose supervisor, log as they do now
        agent.until(lambda: agent.tree()["pleg"].incarnation == 2, "another pleg")
        agent.wait_ready()
        after = [actor.pid for actor in agent.tree().values()]
        assert len(set(before) - set(after)) == 1
        agent.until(
            lambda: any(
                '"logger":"root"' in line and "in service: pleg, incarnation 2" in line for line in files.lines()
            ),
            "a line of the root in JSON",
        )
        files.configure("logging: {vmodule: [{filePattern: 'image_*', verbosity: 6}]}\n")
        agent.until(lambda: "vmodule" in configz(agent)["logging"], "the rules by actor")  # type: ignore[operator]
        os.kill(agent.tree()["pleg"].pid, signal.SIGKILL)
        agent.until(
            lambda: any("pleg, incarnation 3" in line for line in files.lines() if line.startswith("I")), "text"
        )


def test_buffered_lines_below_error_go_to_stdout_once_each(files: AgentFiles) -> None:
    out = files.directory / "stdout"
    flags = ("--feature-gates=LoggingAlphaOptions=true", "--log-text-split-stream", "--log-text-info-buffer-size=64Ki")
    # nothing is due for a long time: only what is full, an error, or the end of a process writes what is held back
    with files.start(*flags, "--log-flush-frequency=10m", before=("sh", "-c", f'exec "$@" >{out}', "sh")) as agent:
        agent.wait_ready()
        assert agent.stop() == 0
        lines = [line for line in files.lines() if line[:1] in "IWEF"]
        written, errors = out.read_text().splitlines(), agent.log.splitlines()
        assert Counter(line for line in lines if line.startswith("I")) == Counter(written)
        assert [line for line in errors if line.startswith("I")] == []
        assert Counter(line for line in lines if not line.startswith("I")) <= Counter(errors)
        assert len(written) > 20


def test_buffered_lines_are_written_when_they_are_due(files: AgentFiles) -> None:
    out = files.directory / "stdout"
    files.configure(
        "featureGates: {LoggingAlphaOptions: true}\n"
        "logging: {format: json, flushFrequency: 1s, options: {json: {splitStream: true, infoBufferSize: 1Mi}}}\n"
    )
    with files.start(before=("sh", "-c", f'exec "$@" >{out}', "sh")) as agent:
        agent.wait_ready()

        def all_are_there() -> bool:
            wanted = {line for line in files.lines() if '"severity":"error"' not in line}
            return len(wanted) > 10 and wanted <= set(out.read_text().splitlines())

        agent.until(all_are_there, "every line of the log on stdout", 30)


def test_metrics_and_flagz_show_gates_and_flags(files: AgentFiles) -> None:
    with files.start("--feature-gates=EventedPLEG=true") as agent:
        agent.wait_ready()
        told = agent.ask(GetFlagz(), Flagz, "config_controller")
        assert told.flags["config"] == str(files.file)
        assert told.gates["EventedPLEG"]
        samples = agent.ask(GetMetrics(), MetricsSnapshot, "config_controller").samples
        labels = [(one.labels["name"], one.value) for one in samples if one.name == "kubernetes_feature_enabled"]
        assert ("EventedPLEG", 1.0) in labels


def test_no_actor_uses_a_metric_that_is_not_declared(files: AgentFiles) -> None:
    with files.start() as agent:
        agent.wait_ready()
        names = [name for name, actor in agent.tree().items() if actor.kind == "actor"]
        for name in names:
            samples = agent.ask(GetMetrics(), MetricsSnapshot, name).samples
            assert not [one.labels for one in samples if one.name == UNDECLARED], name


def test_a_storm_of_changes_while_pods_come_and_actors_die_loses_nothing(files: AgentFiles) -> None:
    """Each pod that was given meanwhile is known at the end; the last configuration is in force; nothing gave up."""
    killed: Counter[str] = Counter()
    with files.start() as agent:
        agent.wait_ready()
        end, rounds = time.monotonic() + 6.0, 0
        while time.monotonic() < end:
            rounds += 1
            files.configure(f"maxPods: {100 + rounds}\nimageGCHighThresholdPercent: {86 + rounds % 10}\n")
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{rounds}"}}
            pod["spec"] = {"containers": [{"name": "c", "image": "x"}]}
            (files.directory / f"pods/{rounds}.json").write_text(json.dumps(pod))
            if rounds % 10 == 5:
                victim = ("config_controller", "pod_config", "pleg")[rounds // 10 % 3]
                if pid := agent.tree()[victim].pid:
                    os.kill(pid, signal.SIGKILL)
                    killed[victim] += 1
            time.sleep(0.1)
        wanted = {f"p{number}-n1" for number in range(1, rounds + 1)}
        agent.until(lambda: configz(agent)["maxPods"] == 100 + rounds, "the last configuration", 30)
        agent.until(lambda: {pod["metadata"]["name"] for pod in pods(agent)} == wanted, "every pod", 30)
        agent.wait_ready()
        assert rounds > 20
        assert all(actor.restarts == 0 for actor in agent.tree().values() if actor.kind == "supervisor")
        # an actor restarts as often as the files that it reads pause in changing: that is no fault
        found = read(files.root_dir / "troupelet/incidents.jsonl").incidents
        assert Counter(one.actor for one in found) <= killed
        assert agent.stop() == 0


def pods(agent: AgentCommand) -> list[dict[str, dict[str, str]]]:
    found = json.loads(agent.ask(GetPods(), Pods, "status_manager").data)["items"]
    assert isinstance(found, list)
    return found


def test_the_first_log_lines_show_version_and_flags_without_secrets(files: AgentFiles) -> None:
    flags = ["--v=1", "--manifest-url=http://127.0.0.1:1/", "--manifest-url-header=Authorization:Bearer-hunter2"]
    with files.start(*flags) as agent:
        agent.wait_ready()
        lines = files.lines()
        assert "kubelet version v1.36." in lines[0]
        assert any(f'flag --config=\\"{files.file}\\"' in line for line in lines)
        assert any("flag --manifest-url-header=" in line for line in lines)
        assert "hunter2" not in "\n".join(lines)
        assert any("no API server and no clientCAFile" in line for line in lines)


def test_every_process_has_the_limits_that_are_configured(files: AgentFiles) -> None:
    with files.start("--max-open-files=4000", "--oom-score-adj=7") as agent:
        agent.wait_ready()
        for pid in (agent.process.pid, *(actor.pid for actor in agent.tree().values())):
            limits = Path(f"/proc/{pid}/limits").read_text()
            (opened,) = [line.split() for line in limits.splitlines() if line.startswith("Max open files")]
            assert opened[3] == "4000"
            assert Path(f"/proc/{pid}/oom_score_adj").read_text().strip() == "7"


def test_the_agent_is_in_the_cgroup_that_was_named(files: AgentFiles) -> None:
    if os.geteuid() != 0:
        pytest.skip("NOT TESTED: cgroups need root")
    cgroup = f"/{files.directory.name}"
    try:
        with files.start(f"--kubelet-cgroups={cgroup}") as agent:
            agent.wait_ready()
            pids = {agent.process.pid, *(actor.pid for actor in agent.tree().values())}
            assert pids <= find().processes(cgroup)
            assert agent.stop() == 0
    finally:
        wait_for(lambda: find().remove(cgroup) == [])


def test_an_agent_makes_way_for_the_next_that_wants_its_lock(files: AgentFiles) -> None:
    lock = f"--lock-file={files.directory}/lock"
    with files.start(lock, "--exit-on-lock-contention") as first:
        first.wait_ready()
        with files.start(lock) as second:
            assert first.process.wait(20) == 0
            second.wait_ready()
            assert any("another agent opened" in line for line in files.lines())


needs_mounts = pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root")
MS_PRIVATE = 1 << 18


def is_mounted(path: Path) -> bool:
    return any(mount.point == str(path) for mount in mountinfo.read())


@pytest.fixture
def private_root(files: AgentFiles) -> Iterator[None]:
    """The root directory on a private mount: below a shared one, as with systemd, nothing has to be mounted."""
    root = str(files.root_dir)
    files.root_dir.mkdir(parents=True, exist_ok=True)
    mount_calls.mount("tmpfs", root, kind="tmpfs")
    mount_calls.mount("none", root, flags=MS_PRIVATE)
    yield
    mount_calls.umount(root, mount_calls.MNT_DETACH)


@needs_mounts
@pytest.mark.usefixtures("private_root")
def test_shared_directories_are_unmounted_at_the_end_whatever_became_of_who_mounted_them(files: AgentFiles) -> None:
    shared = [files.root_dir / "pods", files.root_dir / "plugins"]
    with files.start() as agent:
        agent.wait_ready()
        assert all(map(is_mounted, shared))
        os.kill(agent.tree()["volume_manager"].pid, signal.SIGSTOP)
        os.kill(agent.tree()["root"].pid, signal.SIGKILL)
        assert agent.stop() == 0
        assert not any(map(is_mounted, shared))


@needs_mounts
def test_a_mount_of_the_administrator_is_there_after_the_agent(files: AgentFiles) -> None:
    pods = files.root_dir / "pods"
    pods.mkdir(parents=True)
    mount_calls.mount("tmpfs", str(pods), kind="tmpfs")
    try:
        with files.start() as agent:
            agent.wait_ready()
            assert agent.stop() == 0
        assert is_mounted(pods)
    finally:
        mount_calls.umount(str(pods), mount_calls.MNT_DETACH)


def test_configz_shows_what_is_in_force_and_the_node_has_the_name_that_was_given(files: AgentFiles) -> None:
    open_to_all = ["--anonymous-auth=true", "--authorization-mode=AlwaysAllow", "--max-pods=42"]
    with files.start(*open_to_all) as agent:
        agent.wait_ready()
        agent.until(lambda: served(files, "/configz")["kubeletconfig"] == configz(agent), "the same at /configz")
        assert configz(agent)["maxPods"] == 42
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
        pod["spec"] = {"containers": [{"name": "c", "image": "x"}]}
        (files.directory / "pods/p.json").write_text(json.dumps(pod))
        agent.until(lambda: [one["metadata"]["name"] for one in pods(agent)] == ["p-n1"], "the pod")
        (shown,) = pods(agent)
        assert shown["spec"]["nodeName"] == "n1"


def test_an_optional_part_that_cannot_start_is_reported_and_the_rest_runs(files: AgentFiles) -> None:
    """The port of the main server is another's: it is tried again until it is free."""
    with held_port("0.0.0.0", files.ports[1]) as taken:
        taken.listen()
        with files.start() as agent:
            agent.until(lambda: agent.tree()["pleg"].state == "running", "the others run")
            agent.until(
                lambda: any(str(files.ports[1]) in line for line in files.lines() if line[:1] in ("E", "W")),
                "it is said",
            )
            taken.close()
            agent.wait_ready(60)
            agent.until(lambda: reachable(files.ports[1]), "the server serves", 60)


def reachable(port: int) -> bool:
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port)) == 0


def served(files: AgentFiles, path: str) -> dict[str, object]:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with urllib.request.urlopen(f"https://127.0.0.1:{files.ports[1]}{path}", context=context, timeout=5) as answer:
        found = json.loads(answer.read())
    assert isinstance(found, dict)
    return found
