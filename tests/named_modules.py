"""Modules, and members of modules, that a text names: which of them are not there.

Such a text is the target of a disposable process (`package.module:function`), or code that a test hands to a process of
its own. No type checker sees that it is wrong once the module has another name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tests.support.source_files import tree_of

_TARGET: Final = re.compile(r"([A-Za-z_][\w.]*\.\w+):([A-Za-z_]\w*)")
_FROM: Final = re.compile(r"\bfrom ([A-Za-z_][\w.]*) import \(?([\w, ]+)")
_IMPORT: Final = re.compile(r"(?:^|[;\n])[ \t]*import ([A-Za-z_][\w.]*)")
_PROGRAM: Final = "-m"
"""Python's option: the next argument is a module."""


def unknown_names(sources: Mapping[str, str], ours: Sequence[str]) -> Iterator[tuple[str, int, str]]:
    """(path, line, name) of each module, or member of one, that a text names and that is not there. `sources`: path to
    text, of all modules below the top-level packages `ours`."""
    members = {_module(path): _members(tree_of(source)) for path, source in sources.items()}
    packages = {module.rpartition(".")[0] for module in members}
    for path, source in sources.items():
        for line, module, names in _named(tree_of(source)):
            if module.partition(".")[0] not in ours:
                continue
            if module not in members and module not in packages:
                yield path, line, module
            for name in names:
                if name not in members.get(module, ()) and f"{module}.{name}" not in members.keys() | packages:
                    yield path, line, f"{module}.{name}"


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _members(tree: ast.Module) -> frozenset[str]:
    """All that a module defines or imports, at any depth: a test may define what it names in a condition."""
    found = set[str]()
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                found |= {alias.asname or alias.name for alias in aliases}
    return frozenset(found)


def _named(tree: ast.Module) -> Iterator[tuple[int, str, list[str]]]:
    """(line, module, members) of each text that names some."""
    for node in ast.walk(tree):
        if isinstance(node, ast.List | ast.Tuple | ast.Call):
            yield from _programs(node.args if isinstance(node, ast.Call) else node.elts)
        if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            continue
        if whole := _TARGET.fullmatch(node.value):
            yield node.lineno, whole[1], [whole[2]]
        for found in _FROM.finditer(node.value):
            yield node.lineno, found[1], [each.split()[0] for each in found[2].split(",") if each.strip()]
        for found in _IMPORT.finditer(node.value):
            yield node.lineno, found[1], []


def _programs(values: Sequence[ast.expr]) -> Iterator[tuple[int, str, list[str]]]:
    texts = [value.value if isinstance(value, ast.Constant) else None for value in values]
    for value, option, module in zip(values[1:], texts, texts[1:], strict=False):
        if option == _PROGRAM and isinstance(module, str):
            yield value.lineno, module, []
