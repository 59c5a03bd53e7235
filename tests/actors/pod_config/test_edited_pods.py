"""An edited static pod with another UID, and the end of the earlier one."""

from __future__ import annotations

from actors.pod_workers.messages import DesiredPods, PodOperation, ShardPods, worker_of
from supervision.process_messages import Hello
from tests.actors.pod_config.test_pod_config import manifest, started


async def test_an_edited_pod_starts_when_its_worker_reports_the_end_of_the_old_one(tmp_path):
    file = tmp_path / "web.yaml"
    file.write_text(manifest(extra=", uid: a"))
    worker = worker_of("a", 2)
    async with started(str(tmp_path)) as harness:
        await harness.deliver(ShardPods(worker, 2, ["a"]))
        harness.clear()
        file.write_text(manifest(extra=", uid: b"))
        assert (await harness.wait_sent(PodOperation)).op == "remove"
        await harness.deliver(Hello(worker_of("b", 2), 2))
        assert all(message.pods == [] for message in harness.sent(DesiredPods))
        await harness.deliver(ShardPods(worker, 2, []))
        assert [(op.op, op.uid) for op in harness.sent(PodOperation)] == [("remove", "a"), ("set", "b")]


async def test_an_old_pod_that_never_ends_does_not_block_the_new_one_for_ever(tmp_path):
    file = tmp_path / "web.yaml"
    file.write_text(manifest(extra=", uid: a"))
    async with started(str(tmp_path)) as harness:
        await harness.deliver(ShardPods(worker_of("a", 2), 2, ["a"]))
        harness.clear()
        file.write_text(manifest(extra=", uid: b"))
        await harness.wait_sent(PodOperation)
        await harness.advance(59.0)
        assert [op.op for op in harness.sent(PodOperation)] == ["remove"]
        await harness.advance(2.0)
        assert [op.op for op in harness.sent(PodOperation)] == ["remove", "set"]
