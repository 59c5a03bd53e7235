"""`make bench`: the agent on a real containerd, beside a bare CRI client that makes the same calls on it.

    python -m tests.bench                       everything but 110 pods, about eight minutes
    python -m tests.bench --full                those too
    python -m tests.bench --only pods --sizes 1,10 --rounds 9
    python -m tests.bench --compare before.json after.json

Ratios count: the floor is measured in the same run, round by round. Everything that it makes is gone at the end.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from pathlib import Path

from actors.container_runtime import image_import, images
from actors.container_runtime.errors import RuntimeSetupError
from actors.container_runtime.host import look
from actors.container_runtime.host_setup import prepare
from tests.support.runtime import PREFIX, RealRuntime, sweep

from . import report
from .node import NotInTime
from .session import SECTIONS, Plan, Session


def main() -> int:
    arguments = _parser().parse_args()
    if arguments.compare:
        before, after = (report.read(Path(path)) for path in arguments.compare)
        print(report.compared(before, after))
        return 0
    sections = tuple(arguments.only.split(",")) if arguments.only else SECTIONS
    if unknown := sorted(set(sections) - set(SECTIONS)):
        print(f"error: --only: {', '.join(unknown)}: there are {', '.join(SECTIONS)}", file=sys.stderr)
        return 2
    sizes = sorted({int(size) for size in arguments.sizes.split(",")} | ({110} if arguments.full else set()))
    plan = Plan(
        sections=sections,
        sizes=tuple(sizes),
        rounds=arguments.rounds,
        idle_seconds=arguments.idle_seconds,
        idle_pods=(0, 10, 110) if arguments.full else (0, 10),
    )
    try:
        found = measure(plan)
    except (RuntimeSetupError, NotInTime) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(report.table(found))
    if arguments.json:
        report.write(found, Path(arguments.json))
    return 0


def measure(plan: Plan) -> report.Report:
    """Raises RuntimeSetupError, NotInTime."""
    host = look(tempfile.gettempdir())
    sweep()
    # named as those of the tests are: what a bench that was killed leaves is swept by the next of either
    runtime = RealRuntime(Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-")), host)
    try:
        prepare(runtime.instance, host)
        runtime.start()
        image_import.import_layout(runtime.instance, host, images.first_images(host.machine))
        asyncio.run(runtime.ready())
        facts = report.circumstances(f"containerd {'.'.join(map(str, host.version))}")
        session = Session(runtime, plan, lambda line: print(line, file=sys.stderr, flush=True))
        try:
            figures = session.run()
        finally:
            session.node.remove()
        return report.Report(facts, figures)
    finally:
        for left in runtime.purge():
            print(f"left behind: {left}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", help=f"some of: {','.join(SECTIONS)}")
    parser.add_argument("--sizes", default="1,10,50", help="how many pods are started at once")
    parser.add_argument("--full", action="store_true", help="110 pods as well: started, and idle")
    parser.add_argument("--rounds", type=int, default=5, help="how often start, pods and kills are measured")
    parser.add_argument("--idle-seconds", type=float, default=60.0)
    parser.add_argument("--json", metavar="FILE", default="bench.json", help="write the figures there as well")
    parser.add_argument("--compare", nargs=2, metavar=("BEFORE", "AFTER"), help="print two such files side by side")
    return parser


if __name__ == "__main__":
    sys.exit(main())
