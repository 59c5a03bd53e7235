"""Agents whose configuration changes."""

import pytest

from tests.support.controlled_node import Node


@pytest.fixture
def node(tmp_path):
    node = Node(tmp_path)
    node.write("maxPods: 10\n")
    return node
