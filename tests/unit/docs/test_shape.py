"""The shape of the project: what a reader may rely on in every file, and the tree that the README draws."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from actors.pod_workers.pod.phase_transitions import TRANSITIONS
from actors.shared.config.agent import Agent
from actors.shared.config.fields.duration import Duration
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.tree import tree
from supervision.spec import ChildSpec, walk
from tests.support.source_files import parsed

ROOT = Path(__file__).parents[3]
MOST_LINES = 400
MOST_LINES_OF_A_TEST = 500
MOST_LINES_OF_A_FUNCTION = 60
TABLES = {
    "actors/shared/config/flags/flag_table.py",
    "actors/shared/config/fields/kubelet_configuration.py",
    "actors/shared/config/feature_gates.py",
}
SOURCES = sorted(path for top in ("supervision", "actors") for path in (ROOT / top).rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
VAGUE = {"utils", "util", "helpers", "helper", "common", "misc", "manager"}
DOCUMENTS = {"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE"}
FILES = {*DOCUMENTS, "Makefile", "hatch_build.py", "pyproject.toml"}
FOLDERS = {"actors", "supervision", "proto", "tests", "etc", "docs", "typings"}


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.slow
def test_each_file_is_short_has_a_clear_name_and_says_what_it_knows():
    short = {*TABLES, *(relative(path) for path in SOURCES if len(path.read_text().splitlines()) <= MOST_LINES)}
    assert [relative(path) for path in SOURCES if relative(path) not in short] == []
    assert [relative(path) for path in SOURCES if path.stem in VAGUE] == []
    assert [relative(path) for path in SOURCES if not ast.get_docstring(parsed(path))] == []


def test_no_function_is_longer_than_a_screen():
    for path in SOURCES:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or 0) - node.lineno + 1
                assert lines <= MOST_LINES_OF_A_FUNCTION, f"{relative(path)}: {node.name} has {lines} lines"


def test_test_files_stay_small():
    assert [relative(path) for path in TESTS if len(path.read_text().splitlines()) > MOST_LINES_OF_A_TEST] == []


def test_the_root_has_the_intended_folders_and_files():
    found = {path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith((".", "__"))}
    assert found - {"dist", "build"} == FOLDERS
    files = {path.name for path in ROOT.iterdir() if path.is_file() and not path.name.startswith(".")}
    assert files - {"bench.json"} == FILES


def drawn() -> list[tuple[int, str]]:
    """(depth, name) of each box in the README's tree."""
    (block,) = re.findall(r"^```text\n(root .*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)
    lines = [re.match(r"([│├└─ ]*)(\S+)", line) for line in block.splitlines()]
    return [(len(line[1]) // 3, line[2]) for line in lines if line]


def test_the_tree_in_the_readme_is_the_tree_in_the_code():
    configuration = KubeletConfiguration(
        readOnlyPort=10255, shutdownGracePeriod=Duration(1), featureGates={"PodsAPI": True}
    )
    agent = Agent(workers=2, config=configuration, standalone=False)
    root = tree(agent, ChildSpec(name="container_runtime", program=("containerd",)))
    depths = {"root": 0}
    boxes = []
    for name, parent, spec in walk(root):
        depths.setdefault(name, depths.get(parent, -1) + 1)
        boxes.append((depths[name], spec.name))
    assert drawn() == boxes


def test_the_readme_is_short():
    lines = (ROOT / "README.md").read_text().splitlines()
    assert (
        len([line for line in lines if not line.startswith(("├─", "└─", "│"))]) < 130
    )  # an actor adds one to the tree


def test_the_life_of_a_pod_in_the_documents_is_the_table_in_the_code():
    (drawn,) = re.findall(r"^```mermaid\n(.*?)^```", (ROOT / "docs/architecture.md").read_text(), re.M | re.S)
    steps = [
        f"    {stage.value} --> {after.value}: {event.value}\n"
        for stage, events in TRANSITIONS.items()
        for event, after in events.items()
    ]
    assert drawn == "".join(["stateDiagram-v2\n", *steps])


@pytest.mark.parametrize("document", [*sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("*.md"))], ids=relative)
def test_each_path_in_a_document_exists(document: Path):
    text = document.read_text()
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
    assert [link for link in links if not (document.parent / link).exists()] == []
    paths = re.findall(r"`((?:actors|supervision|etc|proto|tests)/[\w/.]+)`", text)
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_unreadable_data_is_caught_by_one_name():
    """The parser raises three kinds of errors for it; who names one of them forgets the others."""
    naming = re.compile(r"^ *except .*\bmsgspec\.\w+Error", re.MULTILINE)
    found = {relative(path) for path in SOURCES if naming.search(path.read_text())}
    # the codec reads such objects once more
    assert found == {"actors/shared/kube/codec.py"}, "catch supervision.errors.UNREADABLE"
