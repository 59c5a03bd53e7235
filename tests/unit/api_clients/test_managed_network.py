"""When the network of a managed runtime is that of the node, and what is said when it is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from actors.api_clients.heartbeat_client.managed_network import NOT_GIVEN, problem, read


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("10.1.0.0/24", []),
        ("10.1.0.0/24", ["10.1.0.0/24"]),
        ("10.1.0.0/24,fd00:1::/64", ["10.1.0.0/24", "fd00:1::/64"]),
        ("10.1.0.9/24", ["10.1.0.0/24"]),
    ],
)
def test_the_nodes_own_network_has_no_problem(given: str, used: list[str]) -> None:
    assert problem(given, used) is None


def test_a_node_without_a_network_gets_a_remedy() -> None:
    assert problem("", []) == problem("", ["10.1.0.0/24"]) == NOT_GIVEN


def test_addresses_of_another_network_are_reported_with_the_way_out() -> None:
    said = problem("10.2.0.0/24", ["10.1.0.0/24"])
    assert said is not None
    assert "10.1.0.0/24" in said.cause
    assert "10.2.0.0/24" in said.cause
    assert "supervise reset" in said.remedy


def test_networks_are_read_from_existing_files(tmp_path: Path) -> None:
    assert read(str(tmp_path)) == []
    (tmp_path / "net.d").mkdir()
    file = tmp_path / "net.d" / "10-x.conflist"
    file.write_text(json.dumps({"plugins": [{"ipam": {"ranges": [[{"subnet": "10.1.0.0/24"}]]}}]}))
    assert read(str(tmp_path)) == ["10.1.0.0/24"]
    for wrong in ("", "{", "{}", '{"plugins": []}', '{"plugins": [{"ipam": {"ranges": [[]]}}]}'):
        file.write_text(wrong)
        assert read(str(tmp_path)) == []
