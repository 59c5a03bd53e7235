"""The doctor looks at certificates, the runtime, the tree and manifests; and sums up."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from cryptography import x509

from actors.agent.doctor import agent_checks, runtime_checks
from actors.agent.doctor.certificate_checks import certificate, checks
from actors.agent.doctor.command import (
    _NAMED,
    _run_check,
    _run_checks,
    findings,
    once_each,
    summary,
    text,
)
from actors.agent.doctor.finding import Finding, Level, failure, ok, warning
from actors.agent.doctor.runtime_checks import of_status, runtime
from actors.config_controller.messages import Flagz
from actors.container_runtime.socket_check import Absence
from actors.pod_config.messages import POD_CONFIG, PodSources, SourceState
from actors.shared.config.agent import Agent
from actors.shared.cri.model import RuntimeStatus
from actors.status_manager.messages import STATUS_MANAGER, Pods
from supervision.cli.agent_files import AgentFiles, RefusedStart
from supervision.cli.command import NO_ANSWER, NOT_RUNNING, REFUSED, CommandError, Context
from supervision.cli.health import decide
from supervision.protocol import ActorState, Tree, Trouble
from tests.support.apiserver.authority import Authority

DAY = timedelta(days=1)


@pytest.fixture(scope="module")
def pem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    authority = Authority(tmp_path_factory.mktemp("pki"))
    return authority.client("system:node:n1", "system:nodes", seconds=30 * 86_400)[0]


def found_on(day: float, path: Path) -> Finding:
    end = x509.load_pem_x509_certificates(path.read_bytes())[0].not_valid_after_utc
    (found,) = certificate("client certificate", str(path), end + day * DAY, "renew it")
    return found


def test_a_certificate_for_a_day_ends_soon_in_its_last_hours_only(tmp_path: Path) -> None:
    path = Authority(tmp_path).client("system:node:n1", "system:nodes", seconds=86_400)[0]
    assert [found_on(-hours / 24, path).level for hours in (23, 3, 1)] == [Level.OK, Level.OK, Level.WARNING]


@pytest.mark.parametrize(
    ("day", "level", "said"),
    [
        (-20, Level.OK, "CN=system:node:n1"),
        (-2, Level.WARNING, "it ends soon"),
        (1, Level.FAILURE, "expired on"),
        (-400, Level.FAILURE, "is valid from"),
    ],
)
def test_a_certificate_is_held_against_the_clock(pem: Path, day: float, level: Level, said: str) -> None:
    found = found_on(day, pem)
    assert found.level is level
    assert said in found.text


def test_a_file_without_a_certificate_is_a_failure(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pem"
    empty.write_text("nothing\n")
    for path, said in (
        (empty, "holds no certificate in PEM"),
        (tmp_path / "none", "No such file"),
        (tmp_path, "Is a directory"),
    ):
        (found,) = certificate("serving certificate", str(path), datetime.now(UTC), "renew it")
        assert (found.level, found.remedy) == (Level.FAILURE, "renew it")
        assert said in found.text


@pytest.mark.parametrize(("written", "subjects"), [(False, ["client certificate"]), (True, [])])
def test_a_certificate_is_awaited_only_while_there_is_no_kubeconfig(
    tmp_path: Path, written: bool, subjects: list[str]
) -> None:
    kubeconfig = tmp_path / "kubelet.conf"
    if written:
        kubeconfig.touch()
    agent = Agent(
        root_dir=str(tmp_path), cert_dir=str(tmp_path / "pki"), standalone=False,
        kubeconfig=str(kubeconfig), bootstrap_kubeconfig=str(tmp_path / "bootstrap.conf"),
    )  # fmt: skip
    found = [one for each in checks(agent, running=True) for one in each]
    assert [one.subject for one in found] == subjects


@pytest.mark.parametrize(
    ("trouble", "remedy"),
    [
        (None, "kubectl get csr; kubectl certificate approve NAME"),
        (Trouble("client certificate", "Unauthorized", 5.0, "cert_manager", "kubeadm"), "kubeadm"),
        (Trouble("client certificate", "the signer has denied it", 5.0, "x"), "supervise logs cert_manager"),
    ],
)
def test_the_remedy_of_a_missing_certificate_is_that_of_the_agent(
    tmp_path: Path, trouble: Trouble | None, remedy: str
) -> None:
    agent = Agent(
        root_dir=str(tmp_path), cert_dir=str(tmp_path), standalone=False,
        kubeconfig=str(tmp_path / "none.conf"), bootstrap_kubeconfig=str(tmp_path / "bootstrap.conf"),
    )  # fmt: skip
    every = [one for each in checks(agent, running=True, trouble=trouble) for one in each]
    (found,) = [one for one in every if one.subject == "client certificate"]
    assert (found.level, found.remedy) == (Level.FAILURE, remedy)
    assert trouble is None or trouble.text in found.text


def test_a_rotation_that_fails_is_reported_beside_the_certificate(pem: Path, tmp_path: Path) -> None:
    (tmp_path / "kubelet-client-current.pem").write_bytes(pem.read_bytes())
    agent = Agent(root_dir=str(tmp_path), cert_dir=str(tmp_path), standalone=False, kubeconfig=str(tmp_path / "none"))
    trouble = Trouble("client certificate", "Forbidden: no", 5.0, "cert_manager")
    every = [one for each in checks(agent, running=True, trouble=trouble) for one in each]
    assert [one.level for one in every if one.subject == "client certificate"] == [Level.OK, Level.WARNING]


def test_a_missing_runtime_is_a_failure(tmp_path: Path) -> None:
    (found,) = runtime(Agent(runtime_endpoint=f"unix://{tmp_path}/none.sock"), running=False)
    assert found.level is Level.FAILURE
    assert "there is no container runtime" in found.text


def test_the_error_of_a_socket_that_may_not_be_opened_names_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        runtime_checks, "absence", lambda endpoint: Absence(f"{endpoint}: Permission denied", denied=True)
    )
    (found,) = runtime(Agent(runtime_endpoint="unix:///run/c.sock"), running=False)
    assert (found.level, found.remedy) == (Level.FAILURE, "sudo supervise doctor")


def test_a_runtime_that_a_signal_has_stopped_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def silent(endpoint: str) -> None:
        raise TimeoutError

    path = tmp_path / "c.sock"
    code = "import os, signal, socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); "
    stopping = "os.kill(os.getpid(), signal.SIGSTOP)"
    monkeypatch.setattr(runtime_checks, "_ask_runtime", silent)
    monkeypatch.setattr(runtime_checks, "absence", lambda endpoint: None)
    with subprocess.Popen([sys.executable, "-c", code + stopping, str(path)]) as process:
        try:
            os.waitid(os.P_PID, process.pid, os.WSTOPPED)
            (found,) = runtime(Agent(runtime_endpoint=f"unix://{path}"), running=True)
        finally:
            process.kill()
    assert found.remedy == f"kill -CONT {process.pid}"
    assert "is stopped by a signal" in found.text


@pytest.mark.parametrize("managed", [True, False])
def test_a_managed_runtime_is_not_searched_in_systemd(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, managed: bool
) -> None:
    async def silent(endpoint: str) -> None:
        raise TimeoutError

    agent = Agent(root_dir=str(tmp_path), runtime_endpoint=f"unix://{tmp_path}/none.sock", managed_runtime=managed)
    monkeypatch.setattr(runtime_checks, "_ask_runtime", silent)
    found = list(runtime(agent, running=True))
    monkeypatch.setattr(runtime_checks, "absence", lambda endpoint: None)
    found += runtime(agent, running=True)
    assert len(found) == 2
    for one in found:
        assert (f"tail {tmp_path}/troupelet/containerd/containerd.log" in one.remedy) is managed


def test_a_network_that_is_not_ready_is_reported_in_the_runtimes_words() -> None:
    status = RuntimeStatus(runtime_ready=True, network_ready=False, network_message="cni config uninitialized")
    (found,) = of_status(status)
    assert (found.subject, found.level) == ("pod network", Level.FAILURE)
    assert "cni config uninitialized" in found.text
    assert found.remedy.startswith("ls /etc/cni/net.d /opt/cni/bin: ")
    (managed,) = of_status(status, network_remedy="wait")
    assert managed.remedy == "wait", "no plugin of the cluster's"
    both = [one.level for one in of_status(RuntimeStatus(message="x"))]
    assert both == [Level.FAILURE, Level.FAILURE]


def test_the_directories_and_the_error_of_the_runtimes_cni_files_are_said() -> None:
    status = RuntimeStatus(runtime_ready=True, network_ready=False, network_message="cni plugin not initialized")
    info = {
        "lastCNILoadStatus": "cni config load failed: no network config found in /srv/net.d",
        "cniconfig": '{"PluginDirs": ["/usr/lib/cni", "/my plugins"], "PluginConfDir": "/srv/net.d", "Networks": []}',
    }
    (found,) = of_status(status, info=info)
    assert found.text.endswith(
        "cni plugin not initialized; cni config load failed: no network config found in /srv/net.d"
    )
    assert found.remedy.startswith("ls /srv/net.d /usr/lib/cni '/my plugins': ")
    (found,) = of_status(status, info={"lastCNILoadStatus": "OK", "cniconfig": "rubbish"})
    assert found.text == "not ready: cni plugin not initialized"
    assert found.remedy.startswith("ls /etc/cni/net.d /opt/cni/bin: ")


def test_the_tree_is_well_when_every_actor_is() -> None:
    actor = ActorState(name="pleg", parent="root", kind="actor", state="running", pid=5)
    wedged = ActorState(name="prober", parent="root", kind="actor", state="down", last_incident="hang 3s ago")
    (well,) = agent_checks.tree(Tree(pid=1, uptime=1.0, state="ready", actors=[actor]))
    (ill,) = agent_checks.tree(Tree(pid=1, uptime=1.0, state="degraded", actors=[actor, wedged]))
    (none,) = agent_checks.not_running(None, "--root-dir /r", ())
    assert (well.level, well.text) == (Level.OK, "ready, 1 actors in service")
    assert (ill.level, ill.text) == (Level.FAILURE, "degraded: prober: down, last incident: hang 3s ago")
    assert (none.level, none.remedy) == (Level.FAILURE, "supervise start --root-dir /r")


def test_a_start_that_would_be_refused_is_advised_only_once_its_cause_is_corrected() -> None:
    refused = RefusedStart(time.time() - 200, ("swap is on", "--nope: unknown flag"))
    (now,) = agent_checks.not_running(refused, "--root-dir /r", ["swap is on"])
    assert now.text == "not running; its last start was refused, 3m20s ago: --nope: unknown flag"
    assert now.remedy == "mend what has FAIL below; then supervise start --root-dir /r"
    (same,) = agent_checks.not_running(refused, "", [*refused.problems])
    assert same.text.endswith(" ago, as it would be now")
    (other,) = agent_checks.not_running(refused, "--x", ())
    assert other.text.endswith(" ago: swap is on; --nope: unknown flag")
    assert other.remedy == "supervise start --x"


@pytest.mark.parametrize("condition", ["MemoryPressure", "DiskPressure", "PIDPressure"])
def test_a_pressure_of_the_node_is_a_failure_with_what_ends_it(condition: str) -> None:
    trouble = Trouble(condition, "x is 5, below 10%", 60.0, "eviction_manager", "free space")
    (found,) = agent_checks.tree(Tree(pid=1, uptime=1.0, state="ready", actors=[], troubles=[trouble]))
    assert (found.level, found.text) == (Level.FAILURE, f"{condition}: x is 5, below 10%, for 1m")
    assert (found.subject, found.remedy) == ("pressure", "free space")


def test_each_refused_manifest_is_a_warning() -> None:
    states = [SourceState("file", "/p", True, 2, ["a.yaml: wrong"]), SourceState("api", "", False, 0)]
    found = list(agent_checks.manifests(PodSources(states, ready=False)))
    assert [one.text for one in found] == [
        "not read yet: api; until then only static pods are removed",
        "a.yaml: wrong",
    ]
    assert found[0].remedy.startswith("supervise logs kube_client: "), "the connection keeps them back, not pod_config"


def test_a_failed_check_does_not_prevent_others() -> None:
    def broken() -> Iterator[Finding]:
        yield ok("disk", "fine")
        raise RuntimeError("no such luck")

    found = list(_run_check("disk", broken))
    assert [one.level for one in found] == [Level.OK, Level.UNKNOWN]
    assert "RuntimeError: no such luck" in found[1].text


def test_a_finding_is_shown_with_its_remedy_and_all_are_counted() -> None:
    one = failure("swap", "on", "swapoff -a")
    assert text(one) == "FAIL  swap: on\n      -> swapoff -a"
    assert summary([one, ok("disk", "fine")]) == "2 findings: 1 failure, 0 warnings, 1 in order"


def test_a_remedy_that_several_findings_in_a_row_share_is_shown_once() -> None:
    one, two, other = (warning("manifests", name, "mend it") for name in ("a.yaml", "b.yaml", "c.yaml"))
    pod, fine = warning("pods", "web", "mend it"), ok("disk", "fine")
    found = [one, two, pod, fine, fine, other]
    assert [finding.remedy for finding in once_each(found)] == ["", "mend it", "mend it", "", "", "mend it"]
    assert [finding.text for finding in once_each(found)] == [finding.text for finding in found]


def actor(name: str, **fields: Any) -> ActorState:
    return ActorState(name=name, parent="root", kind="actor", state="running", pid=5, **fields)


def test_an_actor_that_hangs_or_was_just_replaced_is_a_warning() -> None:
    actors = [
        actor("pleg", heartbeat_age=6.4),
        actor("prober", last_incident="hang 12s ago", incident_age=12.5, restarts=2),
        actor("pod_config", last_incident="signal 9000s ago", incident_age=9000.1, restarts=1),
    ]
    found = list(agent_checks.tree(Tree(pid=1, uptime=1.0, state="ready", actors=actors)))
    assert [(one.level, one.text.partition(":")[0]) for one in found] == [
        (Level.WARNING, "pleg"),
        (Level.WARNING, "prober was replaced 12s ago, cause"),
    ]
    assert "hangs: no heartbeat for 6.4s" in found[0].text
    assert found[1].remedy == "supervise incidents prober --full"


@pytest.mark.parametrize("checked", [True, False])
def test_a_configuration_that_is_not_in_force_is_reported_unless_its_problems_are(checked: bool) -> None:
    flagz = Flagz({}, (), {}, "v", waiting=("cgroupRoot",), refused=("b is assigned, a is in force",))
    texts = [one.text for one in agent_checks.configuration(flagz, "restart", checked=checked)]
    waits = "cgroupRoot changed, and acts only after a restart of the agent"
    assert texts == [*([] if checked else ["b is assigned, a is in force"]), waits]


def test_a_runtime_with_another_network_than_the_nodes_has_its_remedy() -> None:
    trouble = Trouble("podCIDR", "pods have 10.1.0.0/24, and the Node 10.2.0.0/24", 3.0, "heartbeat", "drain the node")
    found = Tree(pid=1, uptime=1.0, state="ready", actors=[actor("pleg")], troubles=[trouble])
    assert list(agent_checks.tree(found)) == [
        failure("pod network", "pods have 10.1.0.0/24, and the Node 10.2.0.0/24", "drain the node")
    ]


def test_each_reason_of_status_has_a_remedy() -> None:
    taken = Trouble("port", "cannot listen", 3.0, "node_server", "ss -ltnp: end who listens")
    looked_at = Trouble("pod network", "not ready: no CNI", 3.0, "pleg")
    other = Trouble("systemd-logind", "does not answer", 3.0, "shutdown_manager")
    found = Tree(pid=1, uptime=1.0, state="ready", actors=[actor("pleg")], troubles=[taken, looked_at, other])
    port, stopped, logind = sorted(agent_checks.tree(found, {5}), key=lambda one: one.text.partition("port")[1])[::-1]
    assert (port.subject, port.level, port.remedy) == ("ports", Level.FAILURE, "ss -ltnp: end who listens")
    assert {stopped.remedy, logind.remedy} == {
        "kill -CONT 5, or wait: its supervisor replaces it",
        "supervise logs shutdown_manager",
    }


def test_what_is_down_for_status_is_a_failure_for_the_doctor() -> None:
    found = Tree(pid=1, uptime=1.0, state="ready", actors=[actor("root"), actor("pleg")])
    assert decide(found, {5}).state == "down"
    assert [one.level for one in agent_checks.tree(found, {5})] == [Level.FAILURE, Level.WARNING]


def pod(name: str, phase: str, *, ready: bool, **state: Any) -> dict[str, Any]:
    status = {"phase": phase, "containerStatuses": [{"name": "c", "ready": ready, "restartCount": 0, "state": state}]}
    return {"metadata": {"name": name, "namespace": "d"}, "spec": {"containers": [{"name": "c"}]}, "status": status}


def test_pods_that_do_not_run_or_are_not_ready_are_warnings() -> None:
    well = [pod("web", "Running", ready=True, running={})]
    ended = [pod("job", "Succeeded", ready=False, terminated={"reason": "Completed", "exitCode": 0})]
    ill = [
        pod("far", "Pending", ready=False, waiting={"reason": "ErrImagePull"}),
        pod("slow", "Running", ready=False, running={}),
    ]
    assert [one.text for one in agent_checks.pods([*well, *ended, *ill])] == [
        "d/far: ErrImagePull, 0 of 1 containers ready",
        "d/slow: Running, 0 of 1 containers ready",
    ]
    (fine,) = agent_checks.pods([*well, *ended])
    assert (fine.level, fine.text) == (Level.OK, "2, all of them well")


@pytest.mark.parametrize(
    ("ago", "reason", "level"),
    [(12, "Error", Level.WARNING), (700, "Error", Level.OK), (12, "Unknown", Level.OK)],
)
def test_a_pod_that_runs_and_failed_lately_is_a_warning(ago: int, reason: str, level: Level) -> None:
    again = pod("web", "Running", ready=True, running={})
    ended = {"exitCode": 3, "reason": reason, "finishedAt": "2027-01-15T08:00:00Z"}
    again["status"]["containerStatuses"][0] |= {"restartCount": 4, "lastState": {"terminated": ended}}
    (found,) = agent_checks.pods([again], (), 1_800_000_000 + ago)
    assert found.level is level
    if level is Level.WARNING:
        assert found.text == "d/web: Running, 4 restarts of c, it failed 12s ago; c ended with exit code 3"
        assert found.remedy == "supervise logs d/web -c c --previous"


def test_a_sidecar_that_failed_lately_is_a_warning_and_a_completed_init_container_is_not() -> None:
    failed = {"terminated": {"exitCode": 3, "reason": "Error", "finishedAt": "2027-01-15T08:00:00Z"}}
    runs = pod("web", "Running", ready=True, running={})
    again = {"ready": True, "started": True, "restartCount": 1, "lastState": failed}
    runs["spec"]["initContainers"] = [{"name": "init"}]
    side = {"name": "side", "state": {"running": {}}, **again}
    done = {"name": "init", "state": {"terminated": {"exitCode": 0}}, **again}
    runs["status"]["initContainerStatuses"] = [done]
    (found,) = agent_checks.pods([runs], (), 1_800_000_060)
    assert found.level is Level.OK
    runs["spec"]["initContainers"].append({"name": "side", "restartPolicy": "Always"})
    runs["status"]["initContainerStatuses"] = [done, side]
    (found,) = agent_checks.pods([runs], (), 1_800_000_060)
    assert found.level is Level.WARNING
    assert found.text.startswith("d/web: Running, 1 restart of side, it failed 60s ago; side ")


def test_a_static_pod_that_ends_because_its_manifest_is_gone_is_no_warning() -> None:
    ending = pod("web", "Running", ready=False, running={})
    ending["metadata"]["uid"] = "u"
    (found,) = agent_checks.pods([ending], removed=frozenset({"u"}))
    assert found.level is Level.OK
    (found,) = agent_checks.pods([ending])
    assert found.level is Level.WARNING


@pytest.mark.parametrize(("seconds", "level"), [(-5, Level.OK), (59, Level.OK), (300, Level.WARNING)])
def test_a_pod_that_is_still_there_a_minute_after_its_grace_period_is_a_warning(seconds: float, level: Level) -> None:
    going = pod("web", "Running", ready=False, running={})
    going["metadata"]["deletionTimestamp"] = "2027-01-15T08:00:00Z"
    (found,) = agent_checks.pods([going], (), 1_800_000_000 + seconds)
    assert found.level is level
    assert ("d/web: Terminating, 5m after its grace period" in found.text) == (level is Level.WARNING)


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (CommandError(REFUSED, "no way in", "sudo supervise doctor", "; try "), "sudo supervise doctor"),
        (CommandError(REFUSED, "it is not trusted"), "sudo supervise doctor"),
        (CommandError(NO_ANSWER, "it does not answer"), "restart the agent: pods keep running"),
        (CommandError(NO_ANSWER, "pid 7 is stopped by a signal", "kill -CONT 7"), "kill -CONT 7"),
    ],
)
def test_an_agent_that_does_not_answer_has_the_remedy_that_its_error_names(error: CommandError, remedy: str) -> None:
    class Closed:
        def tree(self) -> Tree:
            raise error

    found = next(findings(cast(Context, Closed())))
    assert (found.level, found.text, found.remedy) == (Level.FAILURE, error.cause, remedy)


def test_a_missing_file_is_reported_once(tmp_path: Path) -> None:
    class NoAgent:
        arguments = argparse.Namespace(
            root_dir=str(tmp_path),
            flags=[f"--{name}={tmp_path}/{name}" for name in ("client-ca-file", "tls-cert-file", "kubeconfig")],
        )
        files = AgentFiles(tmp_path, tmp_path)

        def tree(self) -> Tree:
            raise CommandError(NOT_RUNNING, "no agent is running")

    said = [one.text for one in findings(cast(Context, NoAgent())) if one.level is not Level.OK]
    for name in ("client-ca-file", "tls-cert-file", "kubeconfig"):
        assert len([text for text in said if f"{tmp_path}/{name}" in text]) == 1, said


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("accepted without effect: enableContentionProfiling (not done here: x)", "enableContentionProfiling"),
        ("accepted without effect: feature gate NativeHistograms (not done here: x), y (z)", "NativeHistograms"),
        ("authorization.mode: AlwaysAllow lets every authenticated caller do everything", "authorization.mode"),
        ("deprecated flags, set these in the file of --config instead: --address, --port", "--address"),
    ],
)
def test_a_warning_is_explained_by_its_first_flag_field_or_gate(said: str, name: str) -> None:
    found = _NAMED.search(said)
    assert found is not None
    assert name in found.groups()
    assert _NAMED.search("cgroup v1: Kubernetes is dropping it") is None


def test_a_group_of_checks_that_cannot_look_is_unknown() -> None:
    def closed() -> Iterator[Iterator[Finding]]:
        yield iter([ok("client CA", "fine")])
        raise PermissionError(13, "Permission denied")

    found = list(_run_checks("certificates", closed()))
    assert [one.level for one in found] == [Level.OK, Level.UNKNOWN]


def test_unknown_manifests_are_reported_with_the_actor_that_is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """The event client, which was asked before, does not answer either."""

    class Context:
        arguments = argparse.Namespace(flags=[], root_dir="/nowhere", timeout=5.0)

        def tree(self) -> Tree:
            actors = [ActorState(name=POD_CONFIG, parent="root", kind="actor", state="down")]
            return Tree(pid=os.getpid(), uptime=9.0, state="degraded", actors=actors)

        def ask(self, question: object, reply: object, name: str = "", timeout: float = 0.0) -> Pods:
            if name == STATUS_MANAGER:
                return Pods(b'{"items": []}')
            raise CommandError(NO_ANSWER, f"{name} did not answer")

    command = "actors.agent.doctor.command"
    monkeypatch.setattr(f"{command}._words", lambda context, tree, flagz: [])
    monkeypatch.setattr(f"{command}.validate", lambda words: ((), ()))
    monkeypatch.setattr(f"{command}._load_agent", lambda words: Agent(node_name="n"))
    for module in ("runtime_checks.runtime", "host_checks.checks", "certificate_checks.checks", "agent_checks.tree"):
        monkeypatch.setattr(f"{command}.{module}", lambda *given, **more: iter(()))
    (found,) = [one for one in findings(cast(Any, Context())) if one.subject == "manifests"]
    assert (found.level, found.text) == (Level.UNKNOWN, f"{POD_CONFIG} is down")
