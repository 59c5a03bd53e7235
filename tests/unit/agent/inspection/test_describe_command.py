"""What `supervise describe pod` says of a name that is no pod's."""

from __future__ import annotations

from actors.agent.inspection.describe_command import _of_actor
from supervision.protocol import ActorState, Tree


def test_the_name_of_an_actor_is_answered_with_what_shows_it() -> None:
    actor = ActorState(name="pod_workers/worker/0", parent="pod_workers", kind="actor", state="running")
    tree = Tree(pid=1, uptime=1.0, state="ready", actors=[actor])
    assert "`supervise tree worker/0`" in _of_actor("worker/0", tree)
    assert _of_actor("orker/0", tree) == ""
    assert _of_actor("web", tree) == ""
