"""Each deadline in the code follows the speed of the machine (`supervision/time_scale.py`), or says here why not."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from actors.status_manager.reports.first_reports import WAIT_SECONDS
from supervision.cli.answers import PATIENCE_SECONDS

ROOT = Path(__file__).parents[2]
SCALED_BY_ITS_RECEIVER = {"ask", "tell", "disposable", "call", "ApiCall", "event", "Question"}
"""Functions that scale what they are given: the port of an actor, the client of the API."""
KEPT = {
    ("supervision/testing/harness.py", "10"): "tests run on a clock of their own",
    ("supervision/fork_server/warmup.py", "_SECONDS"): "a warm-up that takes long is given up, it saves time only",
    ("actors/agent/demo/command.py", "COMMAND_SECONDS"): "a person at a terminal waits for it",
    ("actors/shared/linux/inotify.py", "0"): "does not wait",
    ("actors/http_servers/streaming/joined_streams.py", "LINGER_SECONDS"): "for the client's sake, who may be away",
}
"""(file, expression): why that deadline is the same on each machine."""


def _deadlines(tree: ast.AST) -> Iterator[tuple[int, ast.expr]]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name == "timeout" and node.args:
            yield node.lineno, node.args[0]
        elif name == "wait_for" and len(node.args) > 1:
            yield node.lineno, node.args[1]
        elif name not in SCALED_BY_ITS_RECEIVER:
            for keyword in node.keywords:
                if keyword.arg in ("timeout", "connect_timeout", "request_timeout", "auth_timeout"):
                    yield node.lineno, keyword.value


def _is_literal(expression: ast.expr) -> bool:
    """A number, or a constant of a module; what is handed on was scaled, or is, elsewhere."""
    if isinstance(expression, ast.Constant):
        return isinstance(expression.value, int | float)
    return isinstance(expression, ast.Name) and expression.id.isupper()


def test_every_literal_deadline_follows_the_speed_of_the_machine() -> None:
    found = set()
    for folder in ("supervision", "actors"):
        for path in (ROOT / folder).rglob("*.py"):
            file = str(path.relative_to(ROOT))
            for _, expression in _deadlines(ast.parse(path.read_text())):
                if _is_literal(expression):
                    found.add((file, ast.unparse(expression)))
    assert found - KEPT.keys() == set(), "wrap them in scaled(), or say in KEPT why they are the same everywhere"
    assert KEPT.keys() - found == set(), "no longer there"


def test_a_command_waits_longer_than_the_status_manager_for_the_first_reports() -> None:
    assert PATIENCE_SECONDS >= WAIT_SECONDS + 1.0
