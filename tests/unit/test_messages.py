"""Every message has a sender and a receiver in the product, and is either told or a question."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import supervision
from actors import tree as tree_module
from actors.tree import declarations
from supervision.actor import Actor
from supervision.message import Message, Question, known_types, registered, reply_of
from supervision.supervisor.supervisor import Supervisor
from supervision.system_base import SystemRoot
from supervision.system_messages import SYSTEM_HANDLERS
from tests.support.source_files import parsed

ACTORS, ENGINE = Path(tree_module.__file__).parent, Path(supervision.__file__).parent
SOURCES = [path for top in (ACTORS, ENGINE) for path in sorted(top.rglob("*.py")) if "_pb2" not in path.stem]
for declaration in declarations():
    import_module(declaration.module)


def product_messages() -> list[type[Message]]:
    found = [registered(name) for name in known_types() if name.startswith(("actors.", "supervision."))]
    return [one for one in found if one is not None and one is not Question]


@cache
def calls(path: Path) -> list[tuple[ast.Call, str]]:
    """Each call with the last part of what is called. It takes seconds for all sources, so no module asks on import."""
    return [(node, called(node.func)) for node in ast.walk(parsed(path)) if isinstance(node, ast.Call)]


def called(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""  # what another call or an index gives


def in_isinstance(path: Path) -> Iterator[str]:
    for node, name in calls(path):
        if name == "isinstance":
            yield from (inner.id for inner in ast.walk(node.args[1]) if isinstance(inner, ast.Name))


@cache
def all_called() -> set[str]:
    return {name for path in SOURCES for _, name in calls(path)}


@cache
def all_looked_for() -> set[str]:
    return {name for path in SOURCES for name in in_isinstance(path)}


ACTOR_CLASSES: list[type[Actor]] = [
    Supervisor,
    SystemRoot,
    *(
        getattr(import_module(declaration.module), declaration.actor.partition(":")[2])
        for declaration in declarations()
    ),
]
HANDLED = {message for one in ACTOR_CLASSES for message in one._handlers} | SYSTEM_HANDLERS.keys()
REPLIES = {
    reply for one in product_messages() if issubclass(one, Question) for reply in getattr(reply_of(one), "__args__", ())
} | {reply_of(one) for one in product_messages() if issubclass(one, Question)}


def type_names(node: ast.expr | None) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)} if node is not None else set()


@pytest.mark.parametrize("message", product_messages(), ids=lambda one: one.__name__)
def test_a_message_is_sent_by_the_product(message: type[Message]):
    assert message.__name__ in all_called()


@pytest.mark.parametrize("message", product_messages(), ids=lambda one: one.__name__)
def test_a_message_is_received_by_the_product(message: type[Message]):
    assert message in HANDLED | REPLIES or message.__name__ in all_looked_for()


def test_the_handler_of_a_question_answers_what_the_question_declares_and_others_answer_nothing():
    wrong = []
    handlers = [(message, getattr(one, name)) for one in ACTOR_CLASSES for message, name in one._handlers.items()]
    for message, handler in (*handlers, *SYSTEM_HANDLERS.items()):
        returns = handler.__annotations__["return"]
        declared = reply_of(message) if issubclass(message, Question) else None
        expected = getattr(declared, "__name__", str(declared)).replace(f"{message.__module__}.", "")
        if returns != expected:
            wrong.append(f"{handler.__qualname__} answers {message.__name__} with {returns}, not {expected}")
    assert sorted(set(wrong)) == []


def test_no_question_is_sent_as_a_message():
    questions = {one.__name__ for one in product_messages() if issubclass(one, Question)}
    told = [
        f"{path.name}:{node.lineno}"
        for path in SOURCES
        for node, name in calls(path)
        if name == "tell"
        for argument in node.args
        if isinstance(argument, ast.Call) and type_names(argument.func) & questions
    ]
    assert told == []
