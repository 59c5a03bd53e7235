"""`make chaos DURATION=300 SEED=n`: exit code 0 when everything held."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.support.runtime import runtime_running

from .plan import plan
from .run import ACTORS, Chaos


def main() -> int:
    parser = argparse.ArgumentParser(description="Random faults while pods come and go.")
    parser.add_argument("--duration", type=float, default=300.0, help="seconds (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same run (default: %(default)s)")
    parser.add_argument("--history", type=Path, help="file for the history (default: one in the temporary directory)")
    arguments = parser.parse_args()
    history = arguments.history or Path(tempfile.gettempdir()) / f"chaos-{arguments.seed}.jsonl"
    history.unlink(missing_ok=True)
    print(f"seed {arguments.seed}, {arguments.duration:g} s, history in {history}")
    with runtime_running() as runtime:
        chaos = Chaos(runtime, history, print)
        try:
            wrong = chaos.run(plan(arguments.seed, arguments.duration, ACTORS))
            words = chaos.node.last_words() if wrong else ""
        finally:
            chaos.remove()
    for line in [*wrong, words]:
        print(line)
    print("everything held" if not wrong else f"{len(wrong)} things did not hold")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
