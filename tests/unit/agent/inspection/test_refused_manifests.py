"""Which manifests are refused without an agent, and the names of their pods."""

from __future__ import annotations

import os
from argparse import Namespace
from pathlib import Path

import pytest

from actors.agent.inspection.chosen_pod import pod_of
from actors.agent.inspection.node_pods import NodePods
from actors.agent.inspection.refused_manifests import names_in_refused, refused_without_agent
from supervision.cli.agent_files import AgentFiles, LastStart
from supervision.cli.command import REFUSED, CommandError, Context

BAD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: main, imag: x}]}\n"


@pytest.fixture
def manifests(tmp_path: Path) -> Path:
    directory = tmp_path / "manifests"
    directory.mkdir()
    (directory / "other.yaml").write_text(BAD)
    return directory


def context(tmp_path: Path, last: LastStart | None) -> Context:
    files = AgentFiles(tmp_path, tmp_path / "incidents", last_start=lambda: last)
    return Context(Namespace(output="text", timeout=1.0, root_dir=str(tmp_path / "root")), lambda _: files)


def started(tmp_path: Path, path: str) -> LastStart:
    config = tmp_path / "config.yaml"
    config.write_text(f"apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nstaticPodPath: {path}\n")
    return LastStart((f"--config={config}",), str(tmp_path), "")


def test_the_manifests_of_the_last_start_are_checked_as_the_agent_checks_them(tmp_path: Path, manifests: Path) -> None:
    found = refused_without_agent(context(tmp_path, started(tmp_path, str(manifests))))
    assert f"{manifests}/other.yaml: line 4: spec.containers[0].imag: unknown field, did you mean image?" in found


def test_where_no_start_or_no_path_is_known_none_is_refused(tmp_path: Path) -> None:
    assert refused_without_agent(context(tmp_path, None)) == []
    assert refused_without_agent(context(tmp_path, started(tmp_path, str(tmp_path / "nowhere")))) == []
    wrong = LastStart(("--config=/nowhere.yaml",), "", "")
    assert refused_without_agent(context(tmp_path, wrong)) == []


def test_a_refused_manifest_is_found_by_the_name_of_its_pod(manifests: Path) -> None:
    refused = [f"{manifests}/other.yaml: line 4: spec.containers[0].image: required"]
    for name in ("web", "shop/web", "other", "other.yaml"):
        with pytest.raises(CommandError, match="because it is refused") as raised:
            pod_of(NodePods([], refused), name, "")
        assert raised.value.code == REFUSED


def test_names_are_read_of_files_alone_and_a_fifo_does_not_block(manifests: Path) -> None:
    os.mkfifo(manifests / "fifo")
    (manifests / "broken.yaml").write_text("metadata: [")
    (manifests / "list.yaml").write_text("- metadata: {name: x}")
    places = [*(f"{manifests}/{name}" for name in ("other.yaml", "fifo", "broken.yaml", "list.yaml", "gone"))]
    refused = [f"{place}: x" for place in (*places, "https://host/pods", "")]
    assert names_in_refused(refused) == {f"{manifests}/other.yaml": "web"}
