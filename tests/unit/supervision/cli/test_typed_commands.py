"""Remedies as the user must type them."""

from __future__ import annotations

import pytest

from supervision.cli.typed_commands import DEFAULT_ROOT_DIR, remedy_for


@pytest.mark.parametrize(
    ("remedy", "named"),
    [
        ("supervise status; supervise incidents", "supervise status --root-dir /r; supervise incidents --root-dir /r"),
        ("wait, then: supervise incidents pleg --full", "wait, then: supervise incidents pleg --full --root-dir /r"),
        ("supervise describe pod a/b", "supervise describe pod a/b --root-dir /r"),
        ("supervise pods -o wide: end others", "supervise pods -o wide --root-dir /r: end others"),
        ("sudo supervise doctor", "sudo supervise doctor --root-dir /r"),
        ("supervise start --root-dir /r", "supervise start --root-dir /r"),
        ("supervise config check --root-dir=/a --max-pods=5", "supervise config check --root-dir=/a --max-pods=5"),
        ("supervise config explain FIELD", "supervise config explain FIELD"),
        ("swapoff -a", "swapoff -a"),
        ("", ""),
    ],
)
def test_remedies_name_the_directory_of_another_agent_than_the_default_one(remedy: str, named: str) -> None:
    assert remedy_for(remedy, "/r") == named


def test_a_directory_with_a_space_is_quoted() -> None:
    assert remedy_for("supervise tree", "/a b") == "supervise tree --root-dir '/a b'"


def test_remedies_begin_with_what_must_be_typed() -> None:
    remedy = "supervise incidents pleg --full; sudo supervise doctor"
    found = remedy_for(remedy, DEFAULT_ROOT_DIR, ".venv/bin/supervise", "/opt/t/bin/supervise")
    assert found == ".venv/bin/supervise incidents pleg --full; sudo /opt/t/bin/supervise doctor"
    assert remedy_for(found, DEFAULT_ROOT_DIR, ".venv/bin/supervise", "/opt/t/bin/supervise") == found
