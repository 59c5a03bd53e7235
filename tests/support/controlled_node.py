"""The config controller on the harness: its files, its clock, and how a test waits for it."""

import asyncio
import json
from contextlib import asynccontextmanager

from actors.config_controller.actor import ConfigController
from actors.config_controller.declaration import DECLARATION
from actors.config_controller.messages import Configz, GetConfigz
from actors.shared.config.loading import load
from actors.shared.config.sources.checkpoints import ConfigCheckpoints, State
from actors.shared.config.start.host import HostFacts
from actors.shared.config.validation.rule_kinds import ValidationContext
from actors.tree import RELATIONS
from supervision.protocol import FORK_SERVER, ActorState, Done, GetTree, RollingRestart, Tree
from supervision.testing.harness import Harness
from supervision.testing.virtual_clock import VirtualClock

HEADER = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


class Node:
    """Files and clock of a node whose agent is started, restarted and watched."""

    def __init__(self, directory):
        self.directory, self.clock = directory, VirtualClock(1_000_000.0)
        self.clock_set_by = 0.0
        """Seconds by which the wall clock was set forward."""
        self.restarts = self.incidents = 0
        self.gave_up: list[float] = []
        """When pod_workers did, by the clock."""
        self.flags = []
        self.renewed, self.fork_server_answer = [], Done()
        (directory / "conf.d").mkdir()

    def wall(self) -> float:
        return self.clock() + self.clock_set_by

    def write(self, text, name="kubelet.yaml"):
        """As an editor does it: another file, renamed."""
        path = self.directory / name
        temporary = path.with_suffix(".tmp")
        temporary.write_text(HEADER + text)
        temporary.replace(path)

    def load(self):
        host = HostFacts(hostname="n", directory=str(self.directory), context=ValidationContext())
        return load(["--config=kubelet.yaml", "--config-dir=conf.d", "--root-dir=root", *self.flags], host)

    def renew(self, order):
        self.renewed.append(order.names)
        return self.fork_server_answer

    def tree(self, question):
        root = ActorState(name="root", parent=FORK_SERVER, kind="supervisor", state="running", restarts=0)
        workers = ActorState(
            name="pod_workers",
            parent="root",
            kind="supervisor",
            state="running",
            restarts=self.restarts,
            incidents=self.incidents,
            gave_up=len(self.gave_up),
            gave_up_age=self.clock() - self.gave_up[-1] if self.gave_up else 0.0,
        )
        return Tree(pid=1, uptime=1.0, state="ready", actors=[root, workers])

    @asynccontextmanager
    async def running(self, *, orderly=True):
        harness = Harness(
            ConfigController,
            name="config_controller",
            context=self.load(),
            arguments={"clock": self.wall, "monotonic": self.clock, **DECLARATION.arguments(RELATIONS)},
            clock=self.clock,
        )
        harness.answer(GetTree, self.tree)
        harness.answer(RollingRestart, self.renew)
        async with harness:
            yield harness
            if orderly:
                await harness.stop()
            else:
                harness.actor._watches.files.close()

    @property
    def store(self):
        return ConfigCheckpoints(str(self.directory / "root/troupelet/config"))


async def effective(harness):
    answer = await harness.deliver(GetConfigz())
    assert isinstance(answer, Configz)
    return json.loads(answer.body)["kubeletconfig"]


def status(harness) -> State:
    """What the checkpoint says."""
    return ConfigCheckpoints(harness.actor.context.config_checkpoint_dir).state()


async def changed(harness):
    """Let the events of the kernel in, and the settling time pass."""
    await harness.wait(lambda: harness.actor._watches.files._timer is not None, "an event on the files")
    await harness.advance(1.0)


def run(test):
    asyncio.run(asyncio.wait_for(test, 30))
