"""Runs the demo and prints its steps: the start, a running pod, the tree and the pod's log, the end."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TextIO

from actors.container_runtime.errors import RuntimeSetupError
from actors.shared.config.errors import ConfigErrors
from supervision.cli.command import NOT_WELL
from supervision.cli.parser import LOCAL_CODES, CommandHelp, epilog
from supervision.cli.streams import finishing
from supervision.errors import error_text

from .layout import DEFAULT_ROOT_DIR, MANAGED, POD, DemoLayout, log_lines
from .node import DemoNode, DemoRefused, supervise

RUNNING_SECONDS: Final = 60.0
"""The time for the sample pod to run; the first start is slow on a slow disk, because images are built."""
GONE_SECONDS: Final = 30.0
POLL_SECONDS: Final = 0.1
COMMAND_SECONDS: Final = 10.0
"""For a command that the demo runs; each has shorter deadlines of its own."""

HINTS: Final = """\
Break something, in another terminal, and watch the pod's log go on:
  {supervise} inject pleg crash {root}
  {supervise} inject pod_workers/worker/0 hang {root}
  {supervise} incidents {root}
  {supervise} top {root}
  {supervise} doctor {root}
  {supervise} observe {root}
Other pods: put manifests into {manifests}. The agent's log: {log}
Ctrl-C stops everything and removes it."""


def register(subparsers: Any, root_dir: str = "") -> None:
    """Add `demo` to the subcommands of `supervise`; the parsed arguments have `execute`, which returns the exit code.
    `root_dir`: the directory without --root-dir; '': the default one."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "demo",
        help="a node on this machine with a sample pod, until Ctrl-C",
        description="Start an agent with a containerd of its own in a directory of its own, run a\n"
        "sample pod, show the tree and the pod's log. Ctrl-C stops and removes all of\n"
        "it. Needs root, and the packages that `make deps` installs.",
        epilog=epilog(
            ("supervise demo", "supervise demo --root-dir=/tmp/try --once"),
            {**LOCAL_CODES, NOT_WELL: "the pod did not run, or something could not be removed"},
        ),
        formatter_class=CommandHelp,
    )
    parser.add_argument(
        "--root-dir",
        default=root_dir or DEFAULT_ROOT_DIR,
        metavar="DIR",
        help="directory for all files (default: %(default)s)",
    )
    parser.add_argument(
        "--container-runtime-endpoint",
        metavar="SOCKET",
        default=MANAGED,
        help="an existing runtime, unix:///... (default: the demo's own)",
    )
    parser.add_argument(
        "--once", action="store_true", help="do not wait for Ctrl-C: stop after the pod's first log line"
    )
    parser.set_defaults(execute=run)


def run(arguments: argparse.Namespace) -> int:
    """Returns 0 if the pod ran, or somebody stopped the demo or its agent first, and everything was removed."""
    layout = DemoLayout(os.path.abspath(arguments.root_dir))
    node = DemoNode(layout, arguments.container_runtime_endpoint, sample())
    with finishing():
        demo = Demo(node, sys.stdout)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, demo.on_signal)
        return demo.tell(once=arguments.once)


def sample() -> Path:
    """The sample manifest: beside the sources, or in the wheel's data directory."""
    in_sources = Path(__file__).parents[3] / "etc" / "pods" / "hello.yaml"
    return (
        in_sources if in_sources.exists() else Path(sys.prefix) / "share" / "troupelet" / "etc" / "pods" / "hello.yaml"
    )


class Demo:
    """A run of the demo."""

    def __init__(self, node: DemoNode, out: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._node, self._out, self._clock = node, out, clock
        self._stopped = False
        self._printed = 0
        self._log: Path | None = None
        self._position = 0

    def on_signal(self, number: int, frame: object) -> None:
        self._stopped = True

    def tell(self, *, once: bool) -> int:
        try:
            self._node.check()
            self._say(f"starting an agent with its own containerd in {self._node.layout.root}")
            self._node.start()
        except (DemoRefused, RuntimeSetupError, ConfigErrors, OSError) as error:
            sys.stderr.write(f"error: {error_text(error)}\n")
            return 1
        try:
            code = self._show(once=once)
        finally:
            left = self._end()
        if left:
            sys.stderr.write(f"error: could not be removed: {', '.join(left)}\n")
        return 1 if left else code

    # -- its parts --------------------------------------------------------------------------------------------------
    def _show(self, *, once: bool) -> int:
        start = self._clock()
        if not self._wait_until(self._pod_runs, RUNNING_SECONDS):
            return 0 if self._was_stopped() else self._fail_with("the sample pod does not run")
        self._say(f"pod {POD} is Running after {self._clock() - start:.1f} s")
        if moved := self._node.moved_ports():
            self._say(moved)
        command = self._run("tree")
        layout = self._node.layout
        self._say(
            "\n"
            + HINTS.format(supervise=command[0], root=command[-1], manifests=layout.manifests, log=layout.agent_log)
            + "\n"
        )
        self._wait_until(self._pod_has_logged if once else self._follow, RUNNING_SECONDS if once else float("inf"))
        if self._was_stopped():
            return 0
        if self._node.ended():
            return self._fail("the agent ended")
        return 0 if self._printed else self._fail_with("the sample pod has logged nothing")

    def _was_stopped(self) -> bool:
        """Whether a signal has stopped the demo, or somebody else its agent, which is then said."""
        if self._node.ended_in_order() and not self._stopped:
            self._say("\nthe agent was stopped, by `supervise stop` or a signal: the demo ends")
            return True
        return self._stopped

    def _end(self) -> list[str]:
        """Stop the pod, then the agent, and remove everything that they leave behind."""
        ended = self._node.ended()
        self._say("\nremoving everything" if ended else "\nstopping the pod and the agent, removing everything")
        if not ended:
            self._node.retire_pod()
            self._stopped = False
            self._wait_until(lambda: self._node.phases() == {}, GONE_SECONDS)
        self._node.stop()
        left = self._node.remove()
        self._say("nothing is left" if not left else "")
        return left

    def _pod_runs(self) -> bool:
        return (self._node.phases() or {}).get(POD) == "Running"

    def _pod_has_logged(self) -> bool:
        return not self._follow() and self._printed > 0

    def _follow(self) -> bool:
        """Print new log lines of the pod, for ever."""
        newest = self._node.container_log()
        if newest != self._log:
            self._log, self._position = newest, 0
        for line in log_lines(self._read_on()):
            self._printed += 1
            self._say(f"{POD} | {line}")
        return False

    def _read_on(self) -> str:
        """The new complete lines of the log."""
        if self._log is None:
            return ""
        try:
            with self._log.open("rb") as file:
                file.seek(self._position)
                whole, end, _ = file.read().rpartition(b"\n")
        except FileNotFoundError:  # rotated away since it was found
            return ""
        self._position += len(whole) + len(end)
        return whole.decode(errors="replace")

    def _run(self, *words: str) -> list[str]:
        """Run a command for this node and show its output. Returns the command: program, words, the root directory."""
        command = supervise(*words, f"--root-dir={self._node.layout.root}")
        self._say(f"\n$ {shlex.join(command)}")
        try:
            subprocess.run(command, check=False, timeout=COMMAND_SECONDS)
        except subprocess.TimeoutExpired:
            self._say(f"it does not answer within {COMMAND_SECONDS:g} s")
        return command

    def _wait_until(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Wait for the condition. Returns False if time is up, the agent ends or a signal comes."""
        end = self._clock() + seconds
        while not self._stopped and not self._node.ended() and self._clock() < end:
            if condition():
                return True
            time.sleep(POLL_SECONDS)
        return False

    def _fail_with(self, what: str) -> int:
        """Print the failure, then the running agent's output about the node and the pod."""
        if self._node.ended():
            return self._fail(what)
        sys.stderr.write(f"error: {what}\n")
        for words in (("status",), ("describe", "pod", POD)):
            self._run(*words)
        return 1

    def _fail(self, what: str) -> int:
        sys.stderr.write(f"error: {what}; the agent's last log lines:\n{self._node.log_end()}\n")
        return 1

    def _say(self, text: str) -> None:
        self._out.write(f"{text}\n")
        self._out.flush()
