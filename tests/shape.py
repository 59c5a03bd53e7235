"""`python -m tests.shape`, a part of `make check`: no import circle, no class that is two things, one class for a name,
no module that writes another's objects, and a map in each package's docstring.

Imports that only a type checker follows count too: a circle that is hidden behind TYPE_CHECKING is one all the same.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import grimp

from tests.field_writes import field_writes
from tests.support.source_files import tree_of

PACKAGES: Final = ("supervision", "actors", "proto")
MAPPED: Final = ("supervision", "actors")
ROOT: Final = Path(__file__).parents[1]
MOST_ATTRIBUTES: Final = 15
FORMATS: Final[dict[str, str]] = {
    "actors/shared/kube/container.py:Container": "an object of the API",
    "actors/shared/kube/pod.py:PodSpec": "an object of the API",
    "actors/shared/kube/pod.py:PodStatus": "an object of the API",
    "actors/shared/kube/volumes.py:Volume": "an object of the API",
    "actors/shared/config/fields/kubelet_configuration.py:KubeletConfiguration": "an object of the API",
    "actors/shared/config/agent.py:Agent": "the flags of a start",
    "actors/shared/api/access.py:ServerAccess": "what a kubeconfig says of a server and a user",
    "actors/shared/cri/model.py:CriContainer": "a container as CRI has it",
    "actors/shared/stats/cgroup_usage.py:CgroupUsage": "the figures of a cgroup",
    "actors/status_manager/messages.py:PodObserved": "a message: all that a pod's status is made of",
    "supervision/protocol.py:ActorState": "a message: a line of `supervise tree`",
    "supervision/spec.py:Policy": "an entry of the policy file",
    "supervision/spec.py:PolicySettings": "the settings of an entry of the policy file",
}
"""Frozen values whose fields somebody else has fixed, and who."""
SAME_IDEA: Final[dict[str, str]] = {
    "NotFound": "the same answer of two services: 404 of the API server, NOT_FOUND of the runtime",
}
"""Class names that several modules may define, each with the reason."""

FEW_MODULES: Final = 5
"""So many are found without a map in the package's docstring."""
OF_EACH_ACTOR: Final = {"messages", "declaration", "actor"}
"""docs/architecture.md says what these are."""
ONE_KIND: Final = {
    "actors",
    "actors/http_servers/endpoints",
    "actors/shared/admission/checks",
    "actors/volume_manager/types",
}
"""Packages whose modules are of one kind, and named by what they are."""


def circles(imports: Mapping[str, set[str]]) -> list[list[str]]:
    """Groups of modules that import each other, by any number of steps (Tarjan's algorithm)."""
    index: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        index[module] = lowest[module] = len(index)
        stack.append(module)
        for other in imports[module]:
            if other not in index:
                visit(other)
                lowest[module] = min(lowest[module], lowest[other])
            elif other in stack:
                lowest[module] = min(lowest[module], index[other])
        if lowest[module] == index[module]:
            at = stack.index(module)
            group, stack[at:] = sorted(stack[at:]), []
            if len(group) > 1:
                found.append(group)

    for module in imports:
        if module not in index:
            visit(module)
    return found


def attributes(source: str) -> Iterator[tuple[str, int]]:
    """(class, number of attributes) of each class in a module's text: those that its methods set on themselves, and
    the fields that it declares."""
    for node in ast.walk(tree_of(source)):
        if isinstance(node, ast.ClassDef):
            names = {
                inner.attr
                for inner in ast.walk(node)
                if isinstance(inner, ast.Attribute)
                and isinstance(inner.ctx, ast.Store)
                and isinstance(inner.value, ast.Name)
                and inner.value.id == "self"
            }
            declared = (inner for inner in node.body if isinstance(inner, ast.AnnAssign))
            names |= {ast.unparse(one.target) for one in declared if "ClassVar" not in ast.unparse(one.annotation)}
            yield node.name, len(names)


def shared_names(sources: Mapping[str, str]) -> dict[str, list[str]]:
    """Each name of public classes that several of the modules (path to text) define, with the paths."""
    found: dict[str, list[str]] = {}
    for path, source in sources.items():
        for node in tree_of(source).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault(node.name, []).append(path)
    return {name: paths for name, paths in found.items() if len(paths) > 1}


def map_problems(docstring: str, modules: set[str]) -> Iterator[str]:
    """What is wrong with the map of a package with these modules and sub-packages. An entry is `name.py`, `name/`, a
    name in backticks, or a name in the first column of a table; `*_probe` stands for all names that end so."""
    endings = tuple(re.findall(r"\*(_\w+)", docstring))
    cells = ", ".join(re.findall(r"^\| ([^|]*) \|", docstring, re.MULTILINE)).split(", ")
    for name in sorted(modules - OF_EACH_ACTOR):
        entry = re.search(rf"(?<![\w/]){name}(\.py\b|/)|`{name}`", docstring)
        if entry is None and name not in cells and not name.endswith(endings):
            yield f"its docstring does not say what {name} is"
    named = set(re.findall(r"^(\w+)(?:\.py|/) ", docstring, re.MULTILINE))
    for name in sorted(named - modules):
        yield f"its docstring names {name}, which is not there"


def borrowed_targets(path: str, source: str) -> Iterator[str]:
    """Functions of another actor's package that a module names by a text such as `actors.pleg.relist:run`, for a
    process that imports it: import-linter does not see them. `agent` and the tree may, they are above the actors."""
    place = re.match(r"actors/(\w+)/", path)
    for target in re.findall(r'"(actors\.(?:\w+\.)+\w+:\w+)"', source):
        if place is not None and target.split(".")[1] not in (place[1], "shared") and place[1] != "agent":
            yield target


def import_graph() -> dict[str, set[str]]:
    """Each module of ours to those of ours that it imports."""
    graph = grimp.build_graph(*PACKAGES)
    return {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}


def problems() -> Iterator[str]:
    """What is wrong with the shape of the tree, a line each."""
    for group in circles(import_graph()):
        yield f"import circle: {', '.join(group)}"
    sources = {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        if not path.stem.endswith(("_pb2", "_pb2_grpc"))
    }
    for path, source in sources.items():
        for target in borrowed_targets(path, source):
            yield f"{path}: {target} is another actor's: actors share messages only"
        for name, count in attributes(source):
            place = f"{path}:{name}"
            if count > MOST_ATTRIBUTES and place not in FORMATS:
                yield f"{place} has {count} attributes: more than {MOST_ATTRIBUTES} are two things"
            elif count <= MOST_ATTRIBUTES and place in FORMATS:
                yield f"{place} has {count} attributes only: take it out of FORMATS"
    for path, line, target in field_writes(sources, PACKAGES):
        yield f"{path}:{line}: {target} is a field of another module's class: let that have a method for it"
    for package in sorted({path.parent for root in MAPPED for path in (ROOT / root).rglob("__init__.py")}):
        place = str(package.relative_to(ROOT))
        modules = {path.stem for path in package.glob("*.py")} - {"__init__"}
        modules |= {path.parent.name for path in package.glob("*/__init__.py")}
        if len(modules - OF_EACH_ACTOR) > FEW_MODULES and place not in ONE_KIND:
            text = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8"))) or ""
            yield from (f"{place}/__init__.py: {problem}" for problem in map_problems(text, modules))
    shared = shared_names(sources)
    for name, paths in shared.items():
        if name not in SAME_IDEA:
            yield f"{name} is the name of several classes: {', '.join(paths)}"
    for name in SAME_IDEA.keys() - shared.keys():
        yield f"{name} is the name of one class only: take it out of SAME_IDEA"


def main() -> int:
    found = list(problems())
    for problem in found:
        print(problem)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
