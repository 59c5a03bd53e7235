"""What the page of `supervise observe` gets of the agent."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from actors.agent.observe.queries import AgentQueries
from supervision.cli.command import NO_ANSWER, NOT_RUNNING, CommandError, Context
from supervision.faults import EXPLAINED
from supervision.incidents.incident_file import Incidents
from supervision.process_messages import Exited
from supervision.protocol import Tree


@pytest.mark.parametrize(("read_only", "faults"), [(False, EXPLAINED), (True, {})])
def test_a_page_that_is_read_only_offers_no_faults(read_only: bool, faults: dict[Any, str]) -> None:
    tree = Tree(pid=1, uptime=1.0, state="ready", actors=[])
    context = cast(Context, SimpleNamespace(tree=lambda *, memory: tree))
    queries = AgentQueries(context, lambda context, tree: (), read_only=read_only)
    assert queries.tree() == {"tree": tree, "rates": {}, "faults": faults}


@pytest.mark.parametrize("code", [NOT_RUNNING, NO_ANSWER])
def test_the_record_is_shown_whether_or_not_the_agent_answers(code: int, tmp_path: Path) -> None:
    """It is away, or of a version that does not know the question."""

    def nobody(*_: object) -> Tree:
        raise CommandError(code, "no answer")

    path = tmp_path / "incidents.jsonl"
    Incidents(path).opened(Exited("pleg", 1, 7, 9, "signal"))
    context = SimpleNamespace(tree=nobody, ask=nobody, files=SimpleNamespace(incident_file=path))
    queries = AgentQueries(cast(Context, context), lambda *_: (), read_only=True)
    assert [incident["actor"] for incident in queries.incidents()] == ["pleg"]
