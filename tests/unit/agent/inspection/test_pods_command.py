"""What `supervise pods` prints, and which pods it chooses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from actors.agent.inspection.pods_command import pods
from actors.agent.subcommands import parser_of
from actors.pod_config.messages import PodSources, SourceState
from actors.status_manager.messages import Pods
from supervision.cli.command import OK, REFUSED, CommandError
from supervision.cli.document import form_of
from supervision.protocol import Tree


def pod(name: str, namespace: str, **labels: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{name}", "labels": labels}
    return {"metadata": metadata, "spec": {"containers": [{"name": "main"}]}, "status": {"phase": "Running"}}


PODS = [pod("web", "shop", app="web"), pod("db", "shop", app="db", old="yes"), pod("dns", "system")]


class Asked:
    """A command's context at an agent with PODS and a refused manifest."""

    def __init__(self, *words: str) -> None:
        self.arguments = parser_of(["pods"])[0].parse_args(["pods", *words])
        self.form = form_of(self.arguments.output)

    def tree(self) -> Tree:
        return Tree(pid=1, uptime=1.0, state="ready", actors=[])

    def ask(self, question: Any, reply: Any, name: str = "", timeout: float = 0.0) -> Any:
        if reply is Pods:
            return Pods(json.dumps({"items": PODS}).encode())
        source = SourceState("file", "/m", True, 0, ["/m/bad.yaml: spec.containers: required"])
        return PodSources([source], ready=True)


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*words: str) -> tuple[list[str], str]:
        assert pods(Asked(*words)) == OK  # type: ignore[arg-type]
        out, said = capsys.readouterr()
        return out.splitlines(), said

    return run


def names(lines: list[str]) -> list[str]:
    return [line.split()[1] for line in lines if not line.startswith(("NAMESPACE", "refused"))]


def test_labels_are_the_last_column_if_requested(shown: Any) -> None:
    header, *rows = [line.split() for line in shown("--show-labels")[0] if not line.startswith("refused")]
    assert header[-1] == "LABELS"
    assert {row[1]: row[-1] for row in rows} == {"db": "app=db,old=yes", "web": "app=web", "dns": "<none>"}


def test_labels_and_namespaces_choose_pods(shown: Any) -> None:
    assert names(shown()[0]) == ["db", "web", "dns"]
    assert names(shown("-l", "app")[0]) == ["db", "web"]
    assert names(shown("-l", "app,!old")[0]) == ["web"]
    assert names(shown("-n", "system", "-l", "app!=web")[0]) == ["dns"]
    assert shown("-l", "app=x")[0][:1] == ["no pods on this node with these labels"]


@pytest.mark.parametrize("form", ["json", "yaml", "name"])
def test_programs_read_refused_manifests_on_stderr(shown: Any, form: str) -> None:
    lines, said = shown("-o", form)
    assert said == "supervise: refused: /m/bad.yaml: spec.containers: required\n"
    assert not any("refused" in line for line in lines)
    assert shown("-o", form, "web")[1] == ""


def test_several_names_are_several_pods_and_those_that_are_none_are_reported(
    shown: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert names(shown("dns", "web", "web")[0]) == ["web", "dns"]
    assert [one["metadata"]["name"] for one in json.loads("".join(shown("dns", "web", "-o", "json")[0]))["items"]] == [
        "dns",
        "web",
    ]
    with pytest.raises(CommandError, match=r"no pod nope on this node[^\n]*\n.*no pod neither") as raised:
        pods(Asked("nope", "dns", "neither"))  # type: ignore[arg-type]
    assert raised.value.code == REFUSED
    assert names(capsys.readouterr().out.splitlines()) == ["dns"]


def test_a_static_pod_whose_manifest_is_gone_is_terminating(shown: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(self: Asked, question: Any, reply: Any, name: str = "", timeout: float = 0.0) -> Any:
        if reply is Pods:
            return Pods(json.dumps({"items": PODS}).encode(), ["uid-db"])
        return PodSources([], ready=True)

    monkeypatch.setattr(Asked, "ask", ask)
    assert {line.split()[1]: line.split()[3] for line in shown("--no-headers")[0]} == {
        "db": "Terminating",
        "web": "Running",
        "dns": "Running",
    }


def test_without_headers_the_first_line_is_a_pod(shown: Any) -> None:
    assert shown()[0][0].startswith("NAMESPACE")
    assert shown("--no-headers")[0][0].startswith("shop")


def test_names_alone_are_on_stdout_and_refused_manifests_on_stderr(shown: Any) -> None:
    assert shown("-o", "name") == (
        ["pod/db", "pod/web", "pod/dns"],
        "supervise: refused: /m/bad.yaml: spec.containers: required\n",
    )


def test_a_wrong_selector_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        Asked("-l", "a>b")
    assert "'a>b' is no label selector" in capsys.readouterr().err


def test_a_namespace_without_pods_is_said_even_where_manifests_are_refused(shown: Any) -> None:
    assert shown("-n", "none")[0] == ["no pods in namespace none", "refused: /m/bad.yaml: spec.containers: required"]
