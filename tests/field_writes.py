"""Which modules write fields of objects that are not theirs: a part of `python -m tests.shape`.

A module writes the fields of the classes that it defines, and of what it has just built. Whatever else is to change is
changed by a method of its owner. A write is an assignment, a deletion, or a call that changes a container in place.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

from tests.support.source_files import tree_of

CHANGES: Final = frozenset(
    ("add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popitem", "popleft", "remove")
) | {"setdefault", "sort", "update"}
"""Methods that change a container of Python in place."""
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Whose = Literal["own", "free", "theirs"]
"""Whose an object is: of a class of the module; foreign or just built, with all that it holds; of another module."""
_Known = Mapping[str, _Whose]
"""Names, and `self.NAME`, to whose they are. Nothing is known of others."""


def field_writes(sources: Mapping[str, str], ours: Sequence[str]) -> Iterator[tuple[str, int, str]]:
    """(path, line, what is written) of each field of a class of these modules (path to text) that another module
    writes. `ours`: the packages whose classes count. Where the text does not say of which class an object is, the name
    of the field decides."""
    modules = {path: _module(tree_of(source), ours) for path, source in sources.items()}
    of_anyone = frozenset[str]().union(*(module.fields for module in modules.values()))
    makers = frozenset[str]().union(*(module.makers for module in modules.values()))
    objects = frozenset[str]().union(*(module.objects for module in modules.values()))
    for path, module in modules.items():
        reading = _Reading(module, makers, objects)
        of_others = of_anyone - module.fields
        for line, target, whose in reading.writes(module.tree, {}):
            if whose == "theirs" or (whose is None and target.attr in of_others):
                yield path, line, ast.unparse(target)


@dataclass(frozen=True)
class _Module:
    tree: ast.Module
    classes: frozenset[str]
    fields: frozenset[str]
    """What its classes declare, or set on themselves."""
    imported: frozenset[str]
    """What it has from our packages."""
    foreign: frozenset[str]
    """What it has from other packages, and from modules that protoc has generated."""
    makers: frozenset[str]
    """Its functions that return something foreign."""
    objects: frozenset[str]
    """Fields of its classes that hold an object of ours: what changes that is the object's own method."""


def _module(tree: ast.Module, ours: Sequence[str]) -> _Module:
    classes: set[str] = set()
    fields: set[str] = set()
    held: dict[str, str] = {}
    """Fields, and the class of what they hold."""
    imported: dict[bool, set[str]] = {True: set(), False: set()}
    functions: list[ast.FunctionDef | ast.AsyncFunctionDef] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            classes.add(node.name)
            declared = {
                ast.unparse(one.target): _class_of(one.annotation)
                for one in node.body
                if isinstance(one, ast.AnnAssign)
            }
            held |= declared
            fields |= declared.keys()
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_self(node.value):
            fields.add(node.attr)
        elif isinstance(node, ast.Import):
            for one in node.names:
                imported[one.name.split(".")[0] in ours].add((one.asname or one.name).split(".")[0])
        elif isinstance(node, ast.ImportFrom):
            source = node.module or ""
            is_ours = (node.level > 0 or source.split(".")[0] in ours) and not source.endswith("_pb2")
            for one in node.names:
                imported[is_ours and not one.name.endswith("_pb2")].add(one.asname or one.name)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            functions.append(node)
            for target, value, annotation in _bindings(node):
                if isinstance(target, ast.Attribute) and _is_self(target.value):
                    held[target.attr] = _class_of(annotation) or _called(value)
    foreign = frozenset(imported[False])
    makers = frozenset(one.name for one in functions if _class_of(one.returns) in foreign)
    objects = frozenset(name for name, of in held.items() if of in classes or of in imported[True])
    return _Module(tree, frozenset(classes), frozenset(fields), frozenset(imported[True]), foreign, makers, objects)


class _Reading:
    """One module, read from the outermost scope inwards."""

    def __init__(self, module: _Module, makers: frozenset[str], objects: frozenset[str]) -> None:
        self._module, self._makers, self._objects = module, makers, objects

    def writes(self, node: ast.AST, known: _Known) -> Iterator[tuple[int, ast.Attribute, _Whose | None]]:
        for child in ast.iter_child_nodes(node):
            inside = known
            if isinstance(child, ast.ClassDef):
                inside = self._of_class_body(child, known)
            elif isinstance(child, _Function):
                inside = self._of_function(child, known)
            if isinstance(child, ast.stmt | ast.expr):
                for target in _changed(child):
                    if not (isinstance(child, ast.Call) and target.attr in self._objects):
                        yield child.lineno, target, self._whose(target.value, inside)
            yield from self.writes(child, inside)

    def _of_class_body(self, node: ast.ClassDef, known: _Known) -> _Known:
        found = dict(known)
        for method in node.body:
            if isinstance(method, _Function):
                inside = self._of_function(method, known)
                for target, value, annotation in _bindings(method):
                    if isinstance(target, ast.Attribute) and _is_self(target.value):
                        self._learn(found, f"self.{target.attr}", value, annotation, inside)
                        if _called(value) in self._module.imported:
                            found[f"self.{target.attr}"] = "theirs"
        return found

    def _of_function(self, node: _Function, known: _Known) -> _Known:
        found = dict(known)
        for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            found.pop(one.arg, None)
            self._learn(found, one.arg, None, one.annotation, known)
        for target, value, annotation in _bindings(node):
            if isinstance(target, ast.Name):
                self._learn(found, target.id, value, annotation, found)
        return found

    def _learn(
        self, found: dict[str, _Whose], name: str, value: ast.expr | None, annotation: ast.expr | None, known: _Known
    ) -> None:
        told = self._of_annotation(annotation)
        if told is None and value is not None:
            told = self._whose(value, known)
        if told is not None:
            found[name] = told

    def _of_annotation(self, annotation: ast.expr | None) -> _Whose | None:
        name = _class_of(annotation)
        if name in self._module.foreign:
            return "free"
        if name in self._module.classes:
            return "own"
        return "theirs" if name in self._module.imported else None

    def _whose(self, owner: ast.expr, known: _Known) -> _Whose | None:
        if isinstance(owner, ast.Name):
            if owner.id in ("self", "cls"):
                return "own"
            return "free" if owner.id in self._module.foreign else known.get(owner.id)
        if isinstance(owner, ast.Attribute) and _is_self(owner.value):
            return known.get(f"self.{owner.attr}")
        if isinstance(owner, ast.Call):
            name = _called(owner)
            if name in ("cls", "__new__") or name in self._makers or name.lstrip("_")[:1].isupper():
                return "free"
            return "free" if self._whose(owner.func, known) == "free" else None
        if isinstance(owner, ast.Await | ast.Subscript | ast.Attribute):
            return "free" if self._whose(owner.value, known) == "free" else None
        return None


def _changed(node: ast.stmt | ast.expr) -> Iterator[ast.Attribute]:
    """The attributes that a statement or a call changes."""
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign | ast.Delete):
        targets = [*node.targets]
    elif isinstance(node, ast.AugAssign | ast.AnnAssign | ast.For | ast.AsyncFor):
        targets = [node.target]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGES:
        targets = [node.func.value]
    while targets:
        one = _without_keys(targets.pop())
        if isinstance(one, ast.Tuple | ast.List):
            targets += one.elts
        elif isinstance(one, ast.Attribute):
            yield one


@cache
def _bindings(function: _Function) -> list[tuple[ast.expr, ast.expr | None, ast.expr | None]]:
    return list(_each_binding(function))


def _each_binding(function: _Function) -> Iterator[tuple[ast.expr, ast.expr | None, ast.expr | None]]:
    """(target, value, annotation) of each assignment in a function."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    yield from ((name, value, None) for name, value in zip(target.elts, node.value.elts, strict=False))
                else:
                    yield target, node.value, None
        elif isinstance(node, ast.AnnAssign):
            yield node.target, node.value, node.annotation
        elif isinstance(node, ast.NamedExpr):
            yield node.target, node.value, None


def _class_of(annotation: ast.expr | None) -> str:
    """What an annotation begins with: `pb2` of `pb2.Config`, `Order` of `Order[T] | None`; '' without one."""
    if annotation is None:
        return ""
    text = annotation.value if isinstance(annotation, ast.Constant) else ast.unparse(annotation)
    return str(text).replace("[", ".").replace("|", ".").split(".")[0].strip()


def _called(value: ast.expr | None) -> str:
    """The last name of what a call calls; '' for anything else."""
    function = value.func if isinstance(value, ast.Call) else None
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def _without_keys(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Subscript):
        node = node.value
    return node
