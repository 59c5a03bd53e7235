"""What the list of a shard says about a pod."""

from __future__ import annotations

from actors.pod_workers.messages import ShardPods, pod_worker, worker_of


def test_only_the_shard_of_a_pod_can_lack_it() -> None:
    own = worker_of("u", 2)
    (other,) = {pod_worker(0), pod_worker(1)} - {own}
    assert ShardPods(own, 2, ["v"]).lacks("u")
    assert not ShardPods(own, 2, ["u", "v"]).lacks("u")
    assert not ShardPods(other, 2, []).lacks("u")
