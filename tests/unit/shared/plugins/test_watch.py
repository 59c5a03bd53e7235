"""What becomes of plugins that come, fail, change and go. Their calls are faked, their sockets are real."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

from actors.shared.plugins.model import Plugin, PluginError
from actors.shared.plugins.registration_permits import AT_ONCE, HURRIED_SECONDS, SLOW_AT_ONCE, SLOW_SECONDS
from actors.shared.plugins.watch import ACTUAL, BURST, DESIRED, PluginWatch
from supervision.actor import Actor
from supervision.testing.harness import Harness

KIND, OTHER, UNKNOWN = "DevicePlugin", "CSIPlugin", "NoPlugin"


class Plugins:
    """What the sockets answer: (type, name) by the name of the socket's file."""

    def __init__(self) -> None:
        self.there: dict[str, tuple[str, str]] = {}
        self.silent: set[str] = set()
        self.hung: set[str] = set()
        self.slow: set[str] = set()
        """They fail after a while."""
        self.deaf: set[str] = set()
        """They cannot be told that they are registered."""
        self.now = 0.0
        self.received: list[tuple[str, str]] = []
        self.connections = self.most_connections = 0

    def __call__(self, path: str) -> Any:
        self.connections += 1
        self.most_connections = max(self.most_connections, self.connections)
        return Calls(self, path)


class Calls:
    def __init__(self, plugins: Plugins, path: str) -> None:
        self.plugins, self.path, self.file = plugins, path, os.path.basename(path)

    async def get_info(self) -> Plugin:
        await asyncio.sleep(0)
        if self.file in self.plugins.silent:
            self.plugins.hung.add(self.file)
            await asyncio.Event().wait()
        if self.file in self.plugins.slow:
            self.plugins.now += SLOW_SECONDS + 1
            raise PluginError("no answer")
        if self.file not in self.plugins.there:
            raise PluginError("nobody answers")
        kind, name = self.plugins.there[self.file]
        return Plugin(socket=self.path, kind=kind, name=name, endpoint=self.path)

    async def notify(self, error: str) -> None:
        if self.file in self.plugins.deaf:
            raise PluginError("no answer")
        self.plugins.received.append((self.file, error))

    async def close(self) -> None:
        self.plugins.connections -= 1


class Served:
    """A handler that writes down what it is asked."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.refuses = self.fails = ""
        self.hangs: set[str] = set()

    def refusal(self, plugin: Plugin) -> str:
        return self.refuses

    async def register(self, plugin: Plugin) -> None:
        self.log.append(f"+{plugin.name}")
        if plugin.name in self.hangs:
            await asyncio.Event().wait()
        if self.fails:
            raise PluginError(self.fails)

    async def deregister(self, plugin: Plugin) -> None:
        self.log.append(f"-{plugin.name}")


class Nobody(Actor):
    pass


class Node:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.plugins, self.served = Plugins(), Served()
        self.harness = Harness(Nobody, name="device_manager")
        self.watch = PluginWatch(
            self.harness.actor, str(directory), {KIND: self.served}, (OTHER,), self.plugins, lambda: self.plugins.now
        )

    async def __aenter__(self) -> None:
        await self.harness.__aenter__()
        self.watch.start()

    async def __aexit__(self, *error: Any) -> None:
        self.watch.close()
        await self.harness.__aexit__(*error)

    def come(self, file: str, kind: str = KIND, name: str = "p") -> None:
        self.plugins.there[file] = (kind, name)
        self.go(file)
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(f"{self.directory}/{file}")

    def go(self, file: str) -> None:
        (self.directory / file).unlink(missing_ok=True)

    def counted(self) -> set[tuple[str, str]]:
        samples = self.harness.actor.metrics.snapshot("a", 1).samples
        found = [one.labels for one in samples if one.name == "plugin_manager_total_plugins"]
        return {(os.path.basename(one["socket_path"]), one["state"]) for one in found}


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


async def test_a_plugin_is_registered_with_its_socket_and_removed_without_it(node: Node) -> None:
    async with node:
        node.come("a.sock")
        await node.harness.wait(lambda: node.plugins.received == [("a.sock", "")])
        assert node.served.log == ["+p"]
        assert node.counted() == {("a.sock", DESIRED), ("a.sock", ACTUAL)}
        node.go("a.sock")
        await node.harness.wait(lambda: node.served.log == ["+p", "-p"])
        assert node.counted() == set()


async def test_a_type_without_a_server_is_refused_with_the_reason(node: Node) -> None:
    async with node:
        node.come("a.sock", UNKNOWN)
        text = (
            f"RegisterPlugin error -- no handler registered for plugin type: NoPlugin at socket {node.directory}/a.sock"
        )
        await node.harness.wait(lambda: node.plugins.received == [("a.sock", text)])
        assert node.counted() == {("a.sock", DESIRED)}


async def test_a_type_served_by_another_actor_is_ignored(node: Node) -> None:
    async with node:
        node.come("a.sock", OTHER)
        node.come("b.sock")
        await node.harness.wait(lambda: node.plugins.received == [("b.sock", "")])
        await node.harness.advance(130)
        assert node.plugins.received == [("b.sock", "")]


async def test_an_invalid_plugin_is_notified_and_checked_again(node: Node) -> None:
    async with node:
        node.served.refuses = "too old"
        node.come("a.sock")
        text = "RegisterPlugin error -- plugin validation failed with err: too old"
        await node.harness.wait(lambda: node.plugins.received == [("a.sock", text)])
        node.served.refuses = ""
        await node.harness.advance(0.5)
        assert node.plugins.received == [("a.sock", text), ("a.sock", "")]


async def test_a_plugin_with_a_failed_registration_is_removed_with_its_socket(node: Node) -> None:
    async with node:
        node.served.fails = "half way"
        node.come("a.sock")
        text = "RegisterPlugin error -- plugin registration failed with err: half way"
        await node.harness.wait(lambda: node.plugins.received == [("a.sock", text)])
        samples = node.harness.actor.metrics.snapshot("x", 1).samples
        states = [one.labels["state"] for one in samples if one.name == "plugin_manager_total_plugins"]
        assert states == ["desired_state_of_world"], "it is no plugin of the agent"
        node.go("a.sock")
        await node.harness.wait(lambda: node.served.log == ["+p", "-p"])


async def test_a_plugin_that_cannot_be_told_of_its_registration_keeps_it_and_is_told_again(node: Node) -> None:
    async with node:
        node.plugins.deaf.add("a.sock")
        node.come("a.sock")
        await node.harness.wait(lambda: node.served.log == ["+p"])
        await node.harness.advance(0.6)
        assert node.served.log == ["+p", "+p"]
        assert node.plugins.received == []
        node.plugins.deaf.clear()
        await node.harness.advance(1.2)
        assert node.plugins.received == [("a.sock", "")]
        assert set(node.served.log) == {"+p"}


async def test_an_unanswered_socket_is_retried_with_growing_pauses(node: Node) -> None:
    async with node:
        node.come("a.sock")
        del node.plugins.there["a.sock"]
        await node.harness.advance(300)
        assert node.served.log == []
        node.plugins.there["a.sock"] = (KIND, "p")
        await node.harness.advance(122)
        assert node.served.log == ["+p"]


async def test_a_plugin_that_never_answers_delays_no_other(node: Node) -> None:
    async with node:
        node.plugins.silent.add("a.sock")
        node.come("a.sock")
        node.come("b.sock")
        await node.harness.wait(lambda: node.plugins.received == [("b.sock", "")])


async def test_a_socket_that_was_made_again_is_registered_again(node: Node) -> None:
    async with node:
        node.come("a.sock")
        await node.harness.wait(lambda: len(node.plugins.received) == 1)
        node.come("a.sock")
        await node.harness.wait(lambda: len(node.plugins.received) == 2)
        assert node.served.log in (["+p", "+p"], ["+p", "-p", "+p"])


async def test_another_plugin_at_the_same_socket_takes_the_place_of_the_first(node: Node) -> None:
    async with node:
        node.come("a.sock")
        await node.harness.wait(lambda: node.served.log == ["+p"])
        node.come("a.sock", name="q")
        await node.harness.wait(lambda: node.served.log[-1] == "+q")
        assert node.served.log == ["+p", "-p", "+q"]


async def test_without_watches_of_the_kernel_the_directory_is_looked_at_each_second(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with node:
        monkeypatch.setattr(node.watch._folders, "follow", lambda: False)
        node.watch._folders.close()
        node.watch.look()
        await node.harness.advance(60)
        node.come("a.sock")
        await node.harness.advance(1)
        assert node.served.log == ["+p"]


@pytest.mark.parametrize("call", ["scandir", "lstat"])
async def test_a_plugin_stays_while_it_cannot_be_seen_whether_its_socket_is_there(
    node: Node, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """As without a free descriptor, or on a disk with errors."""

    def fail(*_: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    async with node:
        node.come("a.sock")
        await node.harness.wait(lambda: node.plugins.received == [("a.sock", "")])
        with monkeypatch.context() as patch:
            patch.setattr(os, call, fail)
            node.watch.look()
            known = await node.watch.identify(f"{node.directory}/a.sock")
        await node.harness.settle()
        assert known is not None
        assert node.served.log == ["+p"]
        node.go("a.sock")
        await node.harness.wait(lambda: node.served.log == ["+p", "-p"])


async def test_a_directory_that_was_removed_is_made_again_for_the_next_plugin(tmp_path: Path) -> None:
    node = Node(tmp_path / "plugins_registry")
    async with node:
        node.come("a.sock")
        await node.harness.wait(lambda: node.served.log == ["+p"])
        shutil.rmtree(node.directory)
        await node.harness.wait(lambda: node.served.log == ["+p", "-p"] and node.directory.is_dir())
        assert node.directory.stat().st_mode & 0o777 == 0o750
        node.come("b.sock", name="q")
        await node.harness.wait(lambda: node.served.log[-1] == "+q")


async def test_many_plugins_are_registered_a_few_at_a_time(node: Node) -> None:
    count = 3 * AT_ONCE
    for number in range(count):
        node.come(f"{number}.sock", name=f"p{number}")
    node.plugins.silent = {f"{number}.sock" for number in range(AT_ONCE - 1)}
    async with node:
        await node.harness.wait(lambda: len(node.plugins.received) == count - len(node.plugins.silent))
    assert node.plugins.most_connections == AT_ONCE


async def test_a_socket_that_goes_while_it_waits_is_not_connected_to(node: Node) -> None:
    for number in range(AT_ONCE):
        node.come(f"{number}.sock")
        node.plugins.silent.add(f"{number}.sock")
    async with node:
        await node.harness.wait(lambda: node.plugins.connections == AT_ONCE)
        node.come("late.sock")
        await node.harness.wait(lambda: ("late.sock", DESIRED) in node.counted())
        node.go("late.sock")
        await node.harness.wait(lambda: ("late.sock", DESIRED) not in node.counted())
        node.plugins.silent.clear()
    assert node.plugins.most_connections == AT_ONCE
    assert node.plugins.received == []


async def test_sockets_that_never_speak_keep_no_plugin_waiting_once_each_was_tried(node: Node) -> None:
    files = {f"{number}.sock" for number in range(2 * AT_ONCE)}
    for file in files:
        node.come(file)
    node.plugins.slow = set(files)
    async with node:
        await node.harness.wait(lambda: node.plugins.now > len(files) * SLOW_SECONDS)
        node.plugins.slow, node.plugins.silent = set(), set(files)
        await node.harness.advance(1)
        assert node.plugins.connections == SLOW_AT_ONCE
        await node.harness.advance(5 * HURRIED_SECONDS)
        assert node.plugins.connections == SLOW_AT_ONCE, "slow ones have all the time"
        node.come("good.sock")
        await node.harness.wait(lambda: node.plugins.received == [("good.sock", "")])
        again = min(files - node.plugins.hung)
        node.plugins.silent.discard(again)
        node.come(again)
        await node.harness.wait(lambda: (again, "") in node.plugins.received, "a new socket has another chance")


async def test_what_hangs_anywhere_in_its_registration_gives_its_place_to_those_that_wait(node: Node) -> None:
    files = [f"{number}.sock" for number in range(AT_ONCE)]
    for file in files:
        node.come(file, name=file)
    node.served.hangs = set(files)
    async with node:
        await node.harness.wait(lambda: len(node.served.log) == AT_ONCE)
        await node.harness.advance(60)
        assert not node.plugins.received, "nobody waits, so they have all the time"
        node.come("good.sock")
        await node.harness.wait(lambda: ("good.sock", DESIRED) in node.counted())
        await node.harness.advance(HURRIED_SECONDS)
        await node.harness.wait(lambda: node.plugins.received == [("good.sock", "")])
        assert node.counted() >= {("good.sock", ACTUAL)}


async def test_a_plugin_that_registers_again_and_again_is_registered_at_a_bounded_rate(node: Node) -> None:
    async with node:
        for number in range(1, BURST + 1):
            node.come("a.sock")
            await node.harness.wait(lambda number=number: node.served.log.count("+p") == number)  # type: ignore[misc]
        node.come("a.sock")
        text = "RegisterPlugin error -- plugin registration failed with err: p registers too often"
        await node.harness.wait(lambda: node.plugins.received[-1] == ("a.sock", text))
        node.come("b.sock", name="other")
        await node.harness.wait(lambda: "+other" in node.served.log, "another one has its own rate")
        node.plugins.now += 1
        await node.harness.advance(1)
        await node.harness.wait(lambda: node.served.log.count("+p") == BURST + 1)
