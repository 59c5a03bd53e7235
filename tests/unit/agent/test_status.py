"""What `supervise status` says beyond the tree."""

from __future__ import annotations

import argparse
import errno
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from actors.agent import host_files, status
from actors.agent.runtime_limits import FileShortage
from actors.agent.status import (
    CertificateInUse,
    StatusInput,
    agent_reasons,
    certificates,
    read,
    reasons,
    runtime_reasons,
)
from actors.config_controller.messages import CONFIG_CONTROLLER, Flagz
from actors.container_runtime.messages import CONTAINER_RUNTIME
from actors.pod_config.messages import POD_CONFIG, PodSources, SourceState
from actors.shared.config.version import git_version
from actors.shared.cri.remedies import RuntimeRemedies
from actors.shared.linux.presence import is_missing
from supervision.cli.agent_files import AgentFiles
from supervision.cli.command import NO_ANSWER, CommandError, Context
from supervision.cli.health import Reason
from supervision.errors import OtherVersion
from supervision.hanging_disks import Hangs
from supervision.protocol import ActorState, Tree, Trouble
from tests.support.apiserver.authority import Authority

NOW = datetime(2026, 5, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def said(**facts: Any) -> list[str]:
    return [str(reason) for reason in reasons(StatusInput(now=NOW, **facts))]


def test_without_anything_wrong_there_is_no_reason() -> None:
    good = CertificateInUse("serving certificate", "/c.pem", NOW - 10 * DAY, NOW + 355 * DAY)
    sources = PodSources([SourceState("file", "/p", True, 2)], ready=True)
    assert said(sources=sources, certificates=(good,)) == []


@pytest.mark.parametrize(
    ("begin", "end", "text"),
    [
        (-360, 5, "/c.pem ends on 2026-05-06 00:00 UTC, and no other has taken its place"),
        (-360, -1, "/c.pem expired on 2026-04-30 00:00 UTC"),
        (1, 9, "/c.pem is valid from 2026-05-02 00:00 UTC only"),
        (-29, 3, "/c.pem ends on 2026-05-04 00:00 UTC, and no other has taken its place"),
        (-360, 8, ""),
        (-1, 1, ""),
    ],
)
def test_a_certificate_is_near_its_end_in_its_last_week_and_its_last_tenth(begin: int, end: int, text: str) -> None:
    found = said(certificates=(CertificateInUse("client certificate", "/c.pem", NOW + begin * DAY, NOW + end * DAY),))
    assert found == ([f"client certificate: {text}"] if text else [])


def test_manifests_that_were_refused_and_pods_that_were_set_aside_are_reported() -> None:
    states = [SourceState("file", "/p", True, 1, ["a.yaml: wrong"]), SourceState("api", "", False, 0, ["d/p: no"])]
    assert said(sources=PodSources(states, ready=False)) == [
        "manifest: a.yaml: wrong",
        "pod: d/p: no",
        "pods of api: not read yet; until then only static pods are removed",
    ]


@pytest.mark.parametrize(
    ("rolled_back", "remedy"),
    [
        ("", "supervise config check; mend what it names: the agent reads it again by itself"),
        ("5284", "supervise config history: why; change it, or try it again: supervise config rollback 5284"),
    ],
)
def test_a_configuration_that_is_not_in_force_degrades_the_agent(rolled_back: str, remedy: str) -> None:
    flagz = Flagz({}, (), {}, git_version(), refused=("maxPods = -4: must be 0 or more",), rolled_back=rolled_back)
    context = _AnswersContext({POD_CONFIG: PodSources([], ready=True), CONFIG_CONTROLLER: flagz})
    (found,) = agent_reasons(context, tree())
    assert str(found) == "configuration: not in force: maxPods = -4: must be 0 or more"
    assert found.remedy == remedy


def test_settings_that_wait_for_a_restart_are_named() -> None:
    assert said(waiting=("port", "address")) == [
        "configuration: port, address changed, and acts only after a restart of the agent"
    ]


def test_an_agent_that_was_not_restarted_after_an_upgrade_is_restarted_by_the_remedy() -> None:
    sources, old = PodSources([], ready=True), Flagz({}, (), {}, "v1.36.0+troupelet.0.1.0")
    (found,) = agent_reasons(_AnswersContext({POD_CONFIG: sources, CONFIG_CONTROLLER: old}), tree())
    assert (found.subject, found.remedy) == (
        "agent",
        "supervise stop --root-dir /none && supervise start --root-dir /none",
    )
    assert found.text.startswith(f"version v1.36.0+troupelet.0.1.0 runs, and {git_version()} is installed")

    class Unreadable(_AnswersContext):
        def ask(self, question: Any, reply: Any, name: str = "", timeout: float = 0.0) -> Any:
            if name == CONFIG_CONTROLLER:
                raise self._no_answer(name, OtherVersion(f"{name} runs another version"))
            return super().ask(question, reply, name, timeout)

    (unreadable,) = agent_reasons(Unreadable({POD_CONFIG: sources}), tree())
    assert str(unreadable) == "agent: config_controller runs another version"
    assert unreadable.remedy == found.remedy


def test_an_unavailable_runtime_is_reported_once() -> None:
    assert said(runtime="gone") == ["container runtime: gone"]
    assert said(runtime="gone", runtime_reported=True) == []
    (reason,) = reasons(StatusInput(now=NOW, endpoint="unix:///run/crio/crio.sock", runtime="gone"))
    assert reason.remedy == RuntimeRemedies("unix:///run/crio/crio.sock").absent
    managed = StatusInput(now=NOW, endpoint="unix:///run/x.sock", runtime="gone", runtime_log="/x/containerd.log")
    (reason,) = reasons(managed)
    assert "tail /x/containerd.log" in reason.remedy


def test_a_managed_runtime_that_does_not_run_is_explained_by_the_end_of_its_log(tmp_path: Path) -> None:
    log = tmp_path / "troupelet/containerd/containerd.log"
    log.parent.mkdir(parents=True)
    log.write_text("earlier\ncontainerd: the key was defined twice\n\n")
    context = _AnswersContext({})
    context.arguments.root_dir = str(tmp_path)
    down, up = (
        ActorState(name=CONTAINER_RUNTIME, parent="root", kind="program", state=state) for state in ("down", "running")
    )
    (found,) = runtime_reasons(context, tree(down), None)
    assert str(found) == "container runtime: its log ends with: containerd: the key was defined twice"
    assert found.remedy == f"tail {log}"
    assert [*runtime_reasons(context, tree(up), None)] == []


def test_a_runtime_that_is_short_of_open_files_degrades_the_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    short = FileShortage("it has 123 of 128 files open", "a higher limit")
    asked: list[tuple[str, bool]] = []

    def shortage(endpoint: str, *, managed: bool, pid: int) -> FileShortage:
        asked.append((endpoint, managed))
        return short

    monkeypatch.setattr(status, "file_shortage", shortage)
    context = _AnswersContext({})
    flagz = Flagz({"container-runtime-endpoint": "unix:///own.sock"}, (), {}, "v")
    (found,) = runtime_reasons(context, tree(), flagz)
    managed = ActorState(name=CONTAINER_RUNTIME, parent="root", kind="program", state="running")
    (same,) = runtime_reasons(context, tree(managed), flagz)
    assert found == same == Reason("container runtime", short.text, remedy=short.remedy)
    assert asked == [("unix:///own.sock", False), ("unix:///none-containerd/containerd.sock", True)]


def test_certificates_are_those_of_the_running_agent(tmp_path: Path) -> None:
    pem = Authority(tmp_path / "ca").client("system:node:n1", "system:nodes", seconds=30 * 86_400)[0]
    (tmp_path / "pki").mkdir()
    for name in ("kubelet.crt", "kubelet-client-current.pem", "kubelet-server-current.pem"):
        (tmp_path / "pki" / name).write_bytes(pem.read_bytes())

    def names(given: tuple[str, ...] = (), **flags: str) -> list[str]:
        flagz = Flagz({name.replace("_", "-"): value for name, value in flags.items()}, given, {}, "v")
        return [Path(one.path).name for one in certificates(flagz, str(tmp_path))]

    assert names(cert_dir="/elsewhere") == ["kubelet.crt"]
    assert names(kubeconfig="/k", rotate_server_certificates="true") == [
        "kubelet-server-current.pem",
        "kubelet-client-current.pem",
    ]
    assert names(("cert-dir",), cert_dir="/elsewhere") == []
    assert names(tls_cert_file=str(pem)) == [pem.name]
    found = read("serving certificate", str(pem))
    assert found.begin is not None
    assert found.end is not None
    assert timedelta(days=29) < found.end - found.begin < timedelta(days=31)
    (tmp_path / "bad.pem").write_text("nothing")
    assert read("serving certificate", f"{tmp_path}/bad.pem").error == "it holds no certificate in PEM"


class _AnswersContext(Context):
    """Answers for some actors."""

    def __init__(self, answers: dict[str, Any]) -> None:
        arguments = argparse.Namespace(root_dir="/none", run_dir="", output="text", timeout=1.0)
        super().__init__(arguments, lambda _: AgentFiles(Path("/none"), Path("/none/incidents")))
        self.answers, self.calls = answers, list[str]()

    def ask(self, question: Any, reply: Any, name: str = "", timeout: float = 0.0) -> Any:
        self.calls.append(name)
        if name not in self.answers:
            raise CommandError(NO_ANSWER, f"{name} does not answer")
        return self.answers[name]


def tree(*actors: ActorState, troubles: tuple[Trouble, ...] = ()) -> Tree:
    return Tree(pid=1, uptime=60.0, state="ready", actors=list(actors), troubles=list(troubles))


FLAGZ = Flagz(
    {"container-runtime-endpoint": "unix:///none/r.sock", "pod-manifest-path": "/none/pods"},
    (),
    {},
    git_version(),
    waiting=("port",),
)


def test_status_asks_a_running_agent() -> None:
    context = _AnswersContext({POD_CONFIG: PodSources([], ready=True), CONFIG_CONTROLLER: FLAGZ})
    subjects = [reason.subject for reason in agent_reasons(context, tree())]
    assert subjects == ["container runtime", "staticPodPath", "configuration"]
    told = tree(troubles=(Trouble("container runtime", "does not answer", 20.0, "pleg"),))
    assert [reason.subject for reason in agent_reasons(context, told)] == ["staticPodPath", "configuration"]


def test_a_silent_actor_is_reported_unless_the_tree_shows_it_already() -> None:
    context = _AnswersContext({CONFIG_CONTROLLER: Flagz({}, (), {}, git_version())})
    assert [str(reason) for reason in agent_reasons(context, tree())] == ["agent: pod_config does not answer"]
    hung = ActorState(name=POD_CONFIG, parent="root", kind="actor", state="running", heartbeat_age=30.0)
    context.calls.clear()
    assert list(agent_reasons(context, tree(hung))) == []
    assert context.calls == [CONFIG_CONTROLLER]


def test_what_cannot_be_looked_at_is_not_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: object, **_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))

    assert is_missing(f"{tmp_path}/none")
    assert is_missing("/dev/null/none")
    assert not is_missing(str(tmp_path))
    assert host_files.missing_manifests(f"{tmp_path}/none").endswith("no static pod runs")
    monkeypatch.setattr(os, "stat", fail)
    assert not is_missing(f"{tmp_path}/none")
    assert host_files.missing_manifests(f"{tmp_path}/none") == ""


def test_a_disk_that_hangs_is_told_instead_of_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(*_: object) -> None:
        raise Hangs

    monkeypatch.setattr(status, "in_time", hang)
    context = _AnswersContext({CONFIG_CONTROLLER: Flagz({}, (), {}, git_version())})
    assert any(reason.subject == "disk" and "hangs" in reason.text for reason in agent_reasons(context, tree()))
