from __future__ import annotations

import json
import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.agent.pod_logs import run
from actors.agent.subcommands import parser_of
from actors.config_controller.messages import Configz
from actors.http_servers.container_logs.lines import MAX_LINE_BYTES
from actors.pleg.messages import RuntimeSnapshot
from actors.pod_config.messages import PodSources, SourceState
from actors.shared.config.loading import load
from actors.shared.config.start import start_records
from actors.shared.cri.model import CriContainer, CriContainerState, PodRuntime, Sandbox
from actors.status_manager.messages import Pods
from supervision.cli.agent_files import AgentFiles
from supervision.cli.argument_types import since
from supervision.cli.command import NO_ANSWER, NOT_RUNNING, OK, REFUSED, USAGE, CommandError, Context
from supervision.protocol import ActorState, Tree


def line(seconds_ago: float, text: str) -> str:
    moment = datetime.fromtimestamp(time.time() - seconds_ago, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S.%fZ} stdout F {text}\n"


class _PodsContext(Context):
    """An agent with an actor `pleg` and some pods. `wedged`: actors that do not answer."""

    wedged: tuple[str, ...] = ()
    in_runtime: list[PodRuntime] = []

    def __init__(self, directory: Path, pods: list[dict[str, Any]], *words: str) -> None:
        super().__init__(
            parser_of(["logs"])[0].parse_args(["logs", *words]),
            lambda _: AgentFiles(directory, directory / "incidents"),
        )
        self.log = directory / "agent.log"
        self._pods, self._directory = pods, directory

    def ask(self, question: Any, reply: Any, name: str = "", timeout: float = 0.0) -> Any:
        if name in self.wedged:
            raise CommandError(NO_ANSWER, f"{name} does not answer")
        if reply is RuntimeSnapshot:
            return RuntimeSnapshot(at=1.0, runtime_ready=True, network_ready=True, pods=self.in_runtime)
        if reply is Pods:
            return Pods(json.dumps({"items": self._pods}).encode())
        if reply is PodSources:
            return PodSources(
                [SourceState("file", "/m", True, 0, ["/m/bad.yaml: spec.containers: required"])], ready=True
            )
        if reply is Configz:
            return Configz(json.dumps({"kubeletconfig": {"podLogsDir": str(self._directory)}}).encode())
        root = ActorState(name="root", parent="fork_server", kind="supervisor", state="running")
        actor = ActorState(name="pleg", parent="root", kind="actor", state="running")
        return Tree(pid=1, uptime=1.0, state="ready", actors=[root, actor], log_file=str(self.log))


def pod(name: str, *containers: str, restarts: int = 1) -> dict[str, Any]:
    statuses = [
        {
            "name": one,
            "ready": True,
            "image": "x",
            "imageID": "",
            "containerID": f"containerd://{one}",
            "restartCount": restarts,
            "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
            "lastState": {"terminated": {"containerID": "containerd://old", "exitCode": 1}},
        }
        for one in containers
    ]
    return {
        "metadata": {"name": name, "namespace": "shop", "uid": f"uid-{name}"},
        "spec": {"containers": [{"name": one, "image": "x"} for one in containers]},
        "status": {"containerStatuses": statuses},
    }


@pytest.fixture
def node(tmp_path: Path) -> Path:
    for name, containers in (("web", ("main",)), ("two", ("a", "b")), ("pleg", ("main",))):
        for container in containers:
            folder = tmp_path / f"shop_{name}_uid-{name}" / container
            folder.mkdir(parents=True)
            (folder / "0.log").write_text(line(900, f"{container} of {name} before"))
            (folder / "1.log").write_text(line(600, f"{container} of {name} early") + line(5, f"{container} of {name}"))
    (tmp_path / "agent.log").write_text('I1120 20:07:50.000000    1234 a.py:1] "of the actor" logger="pleg"\n')
    return tmp_path


def shown(node: Path, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    pods = [pod("web", "main"), pod("two", "a", "b"), pod("pleg", "main")]
    assert run(_PodsContext(node, pods, *words)) == OK
    return capsys.readouterr().out


def refusal(node: Path, *words: str, code: int = REFUSED) -> str:
    with pytest.raises(CommandError) as caught:
        run(_PodsContext(node, [pod("web", "main"), pod("two", "a", "b")], *words))
    assert caught.value.code == code
    return str(caught.value)


def test_the_log_of_the_only_container_is_shown(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(node, capsys, "web") == "main of web early\nmain of web\n"
    assert shown(node, capsys, "shop/web", "--tail", "1") == "main of web\n"
    assert shown(node, capsys, "web", "--tail", "0") == ""  # nothing, as in kubectl
    assert shown(node, capsys, "web", "--tail", "-1") == "main of web early\nmain of web\n"  # kubectl: all
    assert shown(node, capsys, "web", "--since", "1m") == "main of web\n"
    assert shown(node, capsys, "web", "--previous") == "main of web before\n"
    assert json.loads(shown(node, capsys, "web", "-o", "json")) == ["main of web early", "main of web"]


def test_a_line_may_have_a_carriage_return(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (node / "shop_web_uid-web" / "main" / "1.log").write_text(line(5, "10%\r20%\x0c") + line(5, ""))
    assert json.loads(shown(node, capsys, "web", "-o", "json")) == ["10%\r20%\x0c", ""]


def test_a_character_that_is_split_between_two_pieces_is_shown(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "." + "é" * MAX_LINE_BYTES
    (node / "shop_web_uid-web" / "main" / "1.log").write_text(line(5, text))
    assert shown(node, capsys, "web") == f"{text}\n"


WRITTEN = "\x1b[1;31mred\x1b[0m\x1b[2J\r\x1b]0;title\x07"


@pytest.mark.parametrize(
    ("is_terminal", "printed"), [(True, "\x1b[1;31mred\x1b[0m^[[2J\r^[]0;title^G"), (False, WRITTEN)]
)
def test_a_container_colours_a_terminal_and_controls_nothing_else_of_it(
    node: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, is_terminal: bool, printed: str
) -> None:
    (node / "shop_web_uid-web" / "main" / "1.log").write_text(line(5, WRITTEN))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)
    assert shown(node, capsys, "web") == f"{printed}\n"


def test_one_of_several_containers_is_chosen(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(node, capsys, "two", "-c", "b", "-n", "1") == "b of two\n"
    assert shown(node, capsys, "two", "-n", "1") == "a of two\n"
    assert shown(node, capsys, "two", "b", "-n", "1") == "b of two\n"
    assert refusal(node, "two", "-c", "z") == 'container "z" not found in pod "two": it has a, b'


def test_all_containers_are_shown_one_after_the_other(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(node, capsys, "two", "--all-containers", "-n", "1") == "a of two\nb of two\n"
    lines = json.loads(shown(node, capsys, "two", "--all-containers", "-o", "json"))
    assert lines == ["a of two early", "a of two", "b of two early", "b of two"]
    (node / "shop_two_uid-two" / "a" / "1.log").unlink()
    assert run(_PodsContext(node, [pod("two", "a", "b")], "two", "--all-containers", "-n", "1")) == OK
    out, said = capsys.readouterr()
    assert out == "b of two\n"
    assert "the log of a cannot be read" in said


def test_lines_since_a_moment_are_shown(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    moment = datetime.fromtimestamp(time.time() - 60, UTC)
    assert shown(node, capsys, "web", f"--since-time={moment:%Y-%m-%dT%H:%M:%SZ}") == "main of web\n"


@pytest.mark.parametrize(
    "words",
    [
        "two a -c b",
        "two --all-containers -f",
        "two a --all-containers",
        "two --since=1m --since-time=2026-01-01T00:00:00Z",
    ],
)
def test_options_that_exclude_each_other_are_refused(node: Path, words: str) -> None:
    with pytest.raises(CommandError) as caught:
        run(_PodsContext(node, [pod("two", "a", "b")], *words.split()))
    assert caught.value.code == USAGE


@pytest.mark.parametrize("time", ["yesterday", "2026-01-01", "2026-01-01T00:00:00"])
def test_a_moment_without_date_time_and_zone_is_refused(time: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser_of(["logs"])[0].parse_args(["logs", "web", f"--since-time={time}"])
    assert "--since-time" in capsys.readouterr().err


def test_without_a_choice_the_first_container_is_shown_and_stderr_names_it(
    node: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(_PodsContext(node, [pod("two", "a", "b")], "two", "-n", "1", "-o", "json")) == OK
    out, err = capsys.readouterr()
    assert json.loads(out) == ["a of two"]
    assert err == "supervise: the log of container a; -c shows another one (b), --all-containers each of them\n"


def test_a_pod_with_only_a_sandbox_has_no_log_yet(node: Path) -> None:
    with pytest.raises(CommandError, match="pod late has no container yet"):
        run(_PodsContext(node, [pod("late")], "late"))


def test_each_line_of_a_pod_may_begin_with_its_time(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = shown(node, capsys, "web", "--timestamps", "--tail", "1").splitlines()
    time_of_it, _, text = found.partition(" ")
    assert text == "main of web"
    assert abs(time.time() - 5 - datetime.fromisoformat(time_of_it).timestamp()) < 60
    assert "--timestamps" in refusal(node, "pleg", "--timestamps", code=USAGE)


def test_the_name_of_an_actor_wins_unless_the_kind_is_pod(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "of the actor" in shown(node, capsys, "pleg")
    assert shown(node, capsys, "--pod", "pleg", "--tail", "1") == "main of pleg\n"
    assert "of the actor" in shown(node, capsys)


def test_the_root_has_all_below_it_and_the_fork_server_its_own_lines(
    node: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = 'E1120 20:07:51.000000    1000 a.py:1] "pleg ended" logger="fork_server"\n'
    (node / "agent.log").write_text((node / "agent.log").read_text() + ended)
    assert "of the actor" in (said := shown(node, capsys, "root"))
    assert "pleg ended" not in said
    assert shown(node, capsys, "fork_server") == ended


def test_the_runtime_describes_the_pod_while_the_status_manager_is_wedged(
    node: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def container(at: int, state: CriContainerState) -> CriContainer:
        labels = {"io.kubernetes.container.restartCount": str(at)}
        annotations = {"io.kubernetes.container.restartCount": str(at)}
        return CriContainer(
            id=f"c{at}", name="main", pod_uid="uid-web", attempt=at, state=state, labels=labels, annotations=annotations
        )

    containers = [container(1, CriContainerState.RUNNING), container(0, CriContainerState.EXITED)]
    sandbox = Sandbox(id="s", pod_uid="uid-web", pod_name="web", pod_namespace="shop")
    for words, said in (([], "main of web early\nmain of web\n"), (["--previous"], "main of web before\n")):
        asked = _PodsContext(node, [], "web", *words)
        asked.wedged = ("status_manager",)
        asked.in_runtime = [
            PodRuntime(uid="uid-web", name="web", namespace="shop", sandboxes=[sandbox], containers=containers)
        ]
        assert run(asked) == OK
        assert capsys.readouterr().out == said


def test_the_directory_of_logs_is_known_from_the_start_while_the_config_controller_is_wedged(
    node: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = str(tmp_path / "root")
    agent = load([f"--root-dir={root}"], recover=False)
    config = msgspec.structs.replace(agent.config, podLogsDir=str(node))
    os.makedirs(agent.state_dir, 0o700)
    start_records.note(msgspec.structs.replace(agent, config=config), ())
    asked = _PodsContext(node, [pod("web", "main")], "web", "--tail", "1", "--root-dir", root)
    asked.wedged = ("config_controller",)
    assert run(asked) == OK
    assert capsys.readouterr().out == "main of web\n"
    asked = _PodsContext(node, [pod("web", "main")], "web", "--root-dir", str(tmp_path / "none"))
    asked.wedged = ("config_controller",)
    with pytest.raises(CommandError, match="config_controller does not answer"):
        run(asked)


def test_a_name_of_neither_pod_nor_actor_is_refused(node: Path) -> None:
    text = refusal(node, "wev")
    assert "there is no pod wev on this node, did you mean web?" in text
    assert "nor an actor of that name" in text
    assert "for logs of pods" in refusal(node, "pleg", "-c", "main", code=USAGE)


def test_a_pod_whose_manifest_is_refused_has_the_reason_in_place_of_a_log(node: Path) -> None:
    first, second = refusal(node, "bad").splitlines()
    assert first == "there is no pod bad on this node, because it is refused:"
    assert second == "/m/bad.yaml: spec.containers: required"
    assert "some manifests are refused: `supervise pods` shows them" in refusal(node, "nothing")


@pytest.mark.parametrize("option", ["--namespace", "-n"])
def test_a_namespace_is_given_as_to_kubectl(option: str, node: Path) -> None:
    assert "is in another one" in refusal(node, "web", option, "attic")
    assert 'container "none" not found in pod "web"' in refusal(node, "web", option, "shop", "-c", "none")
    with pytest.raises(CommandError, match="the pod of namespace shop is missing"):
        run(_PodsContext(node, [], option, "shop"))


def test_the_option_of_pods_wants_the_name_of_one(node: Path) -> None:
    with pytest.raises(CommandError, match="the name of the pod is missing: see `supervise pods`"):
        run(_PodsContext(node, [], "--pod"))


def test_a_log_that_is_gone_is_refused(node: Path) -> None:
    (node / "shop_web_uid-web" / "main" / "1.log").unlink()
    assert "the log of main cannot be read" in refusal(node, "web")


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("5m", 300), ("1h30m", 5400), ("2h", 7200)])
def test_since_is_a_duration(text: str, seconds: float) -> None:
    assert since(text) == seconds


def test_another_text_is_no_duration(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser_of(["logs"])[0].parse_args(["logs", "web", "--since", "soon"])
    assert (
        "soon is no duration: it is the age of the oldest line to show, as 90s, 5m or 1h30m" in capsys.readouterr().err
    )


def test_help_states_which_name_wins(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser_of(["logs"])[0].parse_args(["logs", "--help"])
    assert "an actor's name wins, unless --pod is given" in " ".join(capsys.readouterr().out.split())


class _WithoutAgent(Context):
    """The files of an agent that does not run."""

    def __init__(self, root: Path, *words: str) -> None:
        arguments = parser_of(["logs"])[0].parse_args(["logs", *words, "--root-dir", str(root)])
        super().__init__(arguments, lambda _: AgentFiles(root / "run", root / "incidents"))

    def tree(self, *, memory: bool = False) -> Tree:
        raise CommandError(NOT_RUNNING, "no agent is running")


@pytest.fixture
def stopped(tmp_path: Path) -> Path:
    """The root directory of an agent that has ended; its pod `web` has run twice."""
    root = tmp_path / "root"
    logs = root / "logs" / f"shop_web-n1_{'0' * 32}" / "main"
    logs.mkdir(parents=True)
    (logs / "0.log").write_text(line(9, "first"))
    (logs / "1.log").write_text(line(5, "second"))
    (root / "pods" / ("0" * 32)).mkdir(parents=True)
    config = tmp_path / "config.yaml"
    config.write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
        f"podLogsDir: {root}/logs\ncontainerRuntimeEndpoint: unix:///nowhere\n"
    )
    agent = load([f"--root-dir={root}", f"--config={config}"])
    start_records.note(agent, ())
    return root


def test_the_log_of_a_pod_is_shown_while_no_agent_runs(stopped: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, shown in (
        (["web"], "second\n"),
        (["web", "-p"], "first\n"),
        (["shop/web-n1", "-c", "main"], "second\n"),
    ):
        assert run(_WithoutAgent(stopped, *words)) == OK
        assert capsys.readouterr().out == shown


def test_without_an_agent_a_name_that_an_actor_has_is_the_actors(stopped: Path) -> None:
    for name in ("pleg", "worker/0", "pod_workers/worker/7", "container_runtime", "root", "fork_server"):
        with pytest.raises(CommandError, match="no agent is running") as raised:
            run(_WithoutAgent(stopped, name))
        assert raised.value.code == NOT_RUNNING
        assert "no pod" not in str(raised.value)
    with pytest.raises(CommandError, match=r"^no pod nope is known"):
        run(_WithoutAgent(stopped, "nope", "--pod"))


@pytest.mark.parametrize("words", ["nope", "nope -c main", "pleg/nope", "nope -o json"])
def test_without_an_agent_a_name_that_nothing_has_is_an_error(words: str, stopped: Path) -> None:
    with pytest.raises(CommandError, match=r"no actor has the name .*, and no pod .* is known: no agent") as raised:
        run(_WithoutAgent(stopped, *words.split()))
    assert raised.value.code == NOT_RUNNING
