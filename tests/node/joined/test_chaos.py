"""A short chaos run of a joined agent and its API server; `make chaos CHAOS_FLAGS=--joined` makes longer ones."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.chaos.joined_judging import Judging
from tests.chaos.joined_plan import joined_plan
from tests.chaos.joined_run import JoinedChaos
from tests.chaos.run import ACTORS
from tests.support.api_process import ApiProcess
from tests.support.joined import Joined

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="NOT TESTED: no kubectl here")
SEED, SECONDS = 10, 40.0


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_random_faults_on_both_sides_leave_what_was_wanted_and_nothing_else(
    own: Joined, server: ApiProcess, tmp_path: Path
) -> None:
    said: list[str] = []
    chaos = JoinedChaos(own, server, tmp_path / "history.jsonl", said.append)
    try:
        chaos.run(joined_plan(SEED, SECONDS, ACTORS))
        wrong = Judging(chaos).judge()
    finally:
        chaos.repair()
    assert wrong == [], "\n".join([*wrong, *said])
