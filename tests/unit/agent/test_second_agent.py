"""An agent does not start where another one runs, and says on which directory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from actors.agent import start
from actors.shared.config.agent import Agent
from supervision.fork_server.lock import Lock


@pytest.mark.parametrize(("taken", "flag"), [("root/troupelet", "--root-dir"), ("run", "--run-dir")])
def test_a_second_agent_on_the_same_directory_is_refused_before_it_touches_anything(
    tmp_path: Path, taken: str, flag: str
) -> None:
    agent = Agent(root_dir=str(tmp_path / "root"), run_dir=str(tmp_path / "run"))
    start._refuse_a_second(agent)
    (tmp_path / taken).mkdir(parents=True)
    lock = Lock(tmp_path / taken)
    with pytest.raises(start._Refused, match=f"{flag}: an agent with pid {os.getpid()} already runs on {tmp_path}"):
        start._refuse_a_second(agent)
    lock.release()
    start._refuse_a_second(agent)
