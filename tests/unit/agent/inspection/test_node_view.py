"""What `pods`, `describe pod` and `events` know with and without an agent."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import pytest

from actors.agent.inspection import node_view
from actors.agent.inspection.describe_command import describe
from actors.agent.inspection.node_pods import NodePods
from actors.agent.inspection.node_view import NodeSight, view
from supervision.cli.agent_files import AgentFiles
from supervision.cli.command import NO_ANSWER, NOT_RUNNING, REFUSED, CommandError, Context

POD = {
    "metadata": {"name": "web-n1", "namespace": "shop", "uid": "u"},
    "spec": {"containers": [{"name": "main", "image": "x"}]},
    "status": {"phase": "Running", "containerStatuses": [{"name": "main", "state": {"running": {}}}]},
}
GONE = CommandError(NOT_RUNNING, "no agent is running")


class Silent(Context):
    """Of an agent that is not asked, for this reason."""

    def __init__(self, error: CommandError, directory: Path, name: str = "") -> None:
        arguments = Namespace(
            root_dir=str(directory), name=name, namespace="", watch=False, output="text", timeout=1.0, all=False
        )
        super().__init__(arguments, lambda _: AgentFiles(directory, directory / "incidents"))
        self._error = error

    def tree(self) -> None:  # type: ignore[override]
        raise self._error


@pytest.fixture(autouse=True)
def _on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    def known(root_dir: str, error: CommandError, seconds: float) -> NodePods:
        return NodePods([POD], [], [str(error), "what follows is what files say"], by_runtime=True)

    monkeypatch.setattr(node_view, "pods_without_agent", known)
    monkeypatch.setattr(node_view, "refused_without_agent", lambda _: ["/m/bad.yaml: spec: required"])


@pytest.mark.parametrize("code", [NOT_RUNNING, NO_ANSWER])
def test_without_an_agent_the_pods_are_those_of_the_runtime_and_the_code_that_of_the_error(
    tmp_path: Path, code: int
) -> None:
    seen = view(Silent(CommandError(code, "why"), tmp_path))
    assert (seen.pods.pods, seen.pods.refused, seen.code) == ([POD], ["/m/bad.yaml: spec: required"], code)
    assert seen.answers is None


def test_an_agent_of_another_user_stays_an_error(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="denied"):
        view(Silent(CommandError(REFUSED, "permission denied"), tmp_path))
    with pytest.raises(CommandError, match="no agent"):
        view(Silent(GONE, tmp_path), or_without_agent=False)


def test_a_pod_that_is_not_known_without_an_agent_has_the_error_of_the_agent() -> None:
    seen = NodeSight(NodePods([POD], ["/m/bad.yaml: spec: required"], by_runtime=True), error=GONE)
    assert seen.pod("shop/web-n1", "") is POD
    with pytest.raises(CommandError, match="no pod nope is known: no agent is running") as raised:
        seen.pod("nope", "")
    assert raised.value.code == NOT_RUNNING
    with pytest.raises(CommandError, match="because it is refused") as raised:
        seen.pod("bad", "")
    assert raised.value.code == REFUSED


def test_a_pod_is_described_without_an_agent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert describe(Silent(GONE, tmp_path, "web-n1")) == NOT_RUNNING
    shown = capsys.readouterr().out
    assert "warning: no agent is running" in shown
    assert "shop/web-n1" in shown
    assert "Events: not known" in shown
    assert "    State:    running\n" in shown
    assert describe(Silent(GONE, tmp_path)) == NOT_RUNNING
    shown = capsys.readouterr().out
    assert shown.count("warning: no agent is running") == 1
    assert "refused: /m/bad.yaml: spec: required" in shown
