"""A short chaos run; `make chaos` makes longer ones."""

from __future__ import annotations

import pytest

from tests.chaos.plan import plan
from tests.chaos.run import ACTORS, Chaos
from tests.support.runtime import runtime_running


def test_the_same_seed_gives_the_same_plan():
    assert list(plan(7, 120, ACTORS)) == list(plan(7, 120, ACTORS)) != list(plan(8, 120, ACTORS))


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_minute_of_random_faults_leaves_what_was_wanted_and_nothing_else(tmp_path):
    said: list[str] = []
    with runtime_running() as runtime:
        chaos = Chaos(runtime, tmp_path / "history.jsonl", said.append)
        try:
            wrong = chaos.run(plan(1, 60, ACTORS))
        finally:
            chaos.remove()
    assert wrong == [], "\n".join(said)
