"""What the config controller logs of the configurations that it reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.controlled_node import Node, changed, run

INVALID = "the new configuration is invalid, the current one stays in force: "


@pytest.fixture
def node(tmp_path: Path) -> Node:
    node = Node(tmp_path)
    node.write("maxPods: 10\n")
    return node


def lines(caplog: pytest.LogCaptureFixture, start: str) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.getMessage().startswith(start)]


def test_an_invalid_configuration_is_logged_once_and_again_after_a_valid_one(
    node: Node, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        async with node.running() as harness:
            for text, logged in [("maxPods: -1", 1), ("maxPods: -1 ", 1), ("maxPods: 11", 1), ("maxPods: -1", 2)]:
                node.write(f"{text}\n")
                await changed(harness)
                assert len(lines(caplog, INVALID)) == logged

    run(story())


def test_a_changed_field_that_nothing_reads_is_said_to_be_without_effect(
    node: Node, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        async with node.running() as harness:
            node.write("maxPods: 11\n")
            await changed(harness)
            assert "without effect" not in caplog.text
            node.write("maxPods: 11\niptablesDropBit: 13\n")
            await changed(harness)
            (line,) = [one for one in lines(caplog, "configuration ") if "without effect" in one]
            assert line.endswith("without effect, nothing reads them: iptablesDropBit")

    run(story())
