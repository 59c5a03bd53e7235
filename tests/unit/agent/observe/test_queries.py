"""What the page of `supervise observe` gets of the agent."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from actors.agent.observe.queries import AgentQueries
from supervision.cli.command import Context
from supervision.faults import EXPLAINED
from supervision.protocol import Tree


@pytest.mark.parametrize(("read_only", "faults"), [(False, EXPLAINED), (True, {})])
def test_a_page_that_is_read_only_offers_no_faults(read_only: bool, faults: dict[Any, str]) -> None:
    tree = Tree(pid=1, uptime=1.0, state="ready", actors=[])
    context = cast(Context, SimpleNamespace(tree=lambda: tree))
    queries = AgentQueries(context, lambda context, tree: (), read_only=read_only)
    assert queries.tree() == {"tree": tree, "rates": {}, "faults": faults}
