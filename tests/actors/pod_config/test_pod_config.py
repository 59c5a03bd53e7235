"""The pod configuration with faked pod workers, real files, real inotify and a real HTTP server."""

from __future__ import annotations

import asyncio
import json
import os
import time
from functools import partial
from typing import Any

import pytest

from actors.api_clients.event_client.messages import RecordEvent
from actors.pod_config.actor import PodConfig
from actors.pod_config.manifests.manifest import Origin, read_manifest
from actors.pod_config.manifests.manifest_reader import ManifestReader
from actors.pod_config.messages import GetSources, SourcePods
from actors.pod_workers.messages import DesiredPods, PodOperation, ShardPods, pod_workers, worker_of
from actors.shared.config.agent import Agent
from actors.shared.config.fields.duration import Duration
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.kube.codec import decode_pod
from supervision.process_messages import Hello
from supervision.resends import RESEND_SECONDS
from supervision.testing.harness import Harness

pytestmark = pytest.mark.slow

WORKERS = pod_workers(2)


def manifest(name: str = "web", image: str = "busybox", extra: str = "") -> str:
    return (
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}{extra}}}\n"
        f"spec:\n  containers: [{{name: c, image: {image}}}]\n"
    )


def started(path: str = "", standalone: bool = True, **config: Any) -> Harness:
    agent = Agent(
        root_dir=f"{path}.root",
        run_dir=f"{path}.run",
        config=KubeletConfiguration(staticPodPath=path, **config),
        node_name="n1",
        workers=2,
        standalone=standalone,
    )
    return Harness(PodConfig, name="pod_config", context=agent)


class World:
    """The pods that the workers have, from the messages they got."""

    def __init__(self, harness: Harness) -> None:
        self.harness = harness

    def pods(self) -> dict[str, str]:
        """Image by full name."""
        state: dict[str, bytes] = {}
        for to, message in self.harness.outbox:
            if isinstance(message, DesiredPods):
                state = {uid: data for uid, data in state.items() if worker_of(uid, 2) != to}
                state |= {pod.uid: pod.pod for pod in message.pods}
            elif isinstance(message, PodOperation):
                assert worker_of(message.uid, 2) == to
                if message.op == "set":
                    state[message.uid] = message.pod
                else:
                    state.pop(message.uid)
        found = [decode_pod(data) for data in state.values()]
        return {pod.metadata.name: pod.spec.containers[0].image for pod in found}

    async def becomes(self, pods: dict[str, str]) -> None:
        """While no time passes. On a busy machine a directory is read in several turns, which are timers of 0 s."""
        await self.becomes_with_time(pods, step=0.0)

    async def becomes_with_time(self, pods: dict[str, str], step: float = 0.1) -> None:
        """As `becomes`, while the actor's timers run."""
        end = time.monotonic() + 5.0
        while self.pods() != pods:
            assert time.monotonic() < end, f"no {pods}, there are {self.pods()}"
            await asyncio.sleep(0.01)
            await self.harness.advance(step)


async def errors_of(harness: Harness) -> list[str]:
    return [text for state in (await harness.deliver(GetSources())).sources for text in state.errors]


async def test_without_any_source_it_is_ready_at_once_with_no_pods():
    async with started() as harness:
        for worker in WORKERS:
            assert harness.sent(DesiredPods, worker) == [DesiredPods([], True, static_ready=True)]
        assert (await harness.deliver(GetSources())).ready


async def test_a_missing_path_has_no_pods_and_is_followed_when_it_appears(tmp_path):
    path = tmp_path / "etc" / "manifests"
    async with started(str(path)) as harness:
        world = World(harness)
        assert harness.sent(DesiredPods, WORKERS[0]) == [DesiredPods([], True, static_ready=True)]
        path.mkdir(parents=True)
        (path / "web.yaml").write_text(manifest())
        await world.becomes_with_time({"web-n1": "busybox"})
        (path / "db.yaml").write_text(manifest("db"))
        await world.becomes({"web-n1": "busybox", "db-n1": "busybox"})


async def test_a_new_manifest_reaches_the_worker_without_waiting_for_any_timer(tmp_path):
    async with started(str(tmp_path)) as harness:
        await harness.advance(0.1)
        for index in range(20):
            harness.clear()
            (tmp_path / f"p{index}.yaml").write_text(manifest(f"p{index}"))
            await harness.wait_sent(PodOperation)  # the clock stands still


async def test_the_workers_follow_a_hundred_edits_renames_deletes_and_swap_files(tmp_path):
    async with started(str(tmp_path)) as harness:
        world = World(harness)
        file, moved = tmp_path / "web.yaml", tmp_path / "other.yaml"
        for round_ in range(100):
            file.write_text(manifest(image=f"a:{round_}"))
            (tmp_path / ".web.yaml.swp").write_text(manifest("swap"))
            (tmp_path / "4913").write_text("")
            await world.becomes({"web-n1": f"a:{round_}"})
            # as vim does: move the old file away, write the new one under its name
            os.rename(file, f"{file}~")
            file.write_text(manifest(image=f"b:{round_}"))
            await world.becomes({"web-n1": f"b:{round_}"})
            # as sed -i does: rename a temporary file over it
            temporary = tmp_path / "sedAbCdEf"
            temporary.write_text(manifest(image=f"c:{round_}"))
            os.rename(temporary, file)
            await world.becomes({"web-n1": f"c:{round_}"})
            os.rename(file, moved)
            await world.becomes({"web-n1": f"c:{round_}"})
            moved.unlink()
            await world.becomes({})
            harness.clear()
        assert await errors_of(harness) == []


async def test_a_save_in_vim_without_a_change_does_not_restart_the_pod(tmp_path):
    file = tmp_path / "web.yaml"
    file.write_text(manifest())
    async with started(str(tmp_path)) as harness:
        harness.clear()
        os.rename(file, tmp_path / "web.yaml~")
        await asyncio.sleep(0.02)
        file.write_text(manifest())
        await asyncio.sleep(0.05)
        await harness.advance(1.0)
        assert harness.sent(PodOperation) == []


async def test_a_file_that_is_deleted_and_written_again_restarts_its_pod(tmp_path):
    file = tmp_path / "web.yaml"
    file.write_text(manifest(extra=", uid: a"))
    uid, worker = "a", worker_of("a", 2)
    async with started(str(tmp_path)) as harness:
        await harness.deliver(ShardPods(worker, 2, [uid]))
        harness.clear()
        file.unlink()
        file.write_text(manifest(extra=", uid: a"))
        await asyncio.sleep(0.05)
        await harness.advance(1.0)
        assert [(message.op, message.uid) for message in harness.sent(PodOperation)] == [("remove", uid), ("set", uid)]


async def test_a_file_that_becomes_invalid_keeps_its_pod_and_reports_its_errors(tmp_path):
    file = tmp_path / "web.yaml"
    file.write_text(manifest())
    async with started(str(tmp_path)) as harness:
        world = World(harness)
        file.write_text(manifest().replace("image", "imago"))
        await asyncio.sleep(0.05)
        await harness.settle()
        assert world.pods() == {"web-n1": "busybox"}
        assert await errors_of(harness) == [
            f"{file}: line 5: spec.containers[0].imago: unknown field, did you mean image?",
            f"{file}: line 5: spec.containers[0].image: required",
        ]
        file.write_text(manifest(image="busybox:2"))
        await world.becomes({"web-n1": "busybox:2"})
        assert await errors_of(harness) == []


async def test_a_second_manifest_with_the_name_of_another_is_an_error_of_its_source(tmp_path):
    (tmp_path / "web.yaml").write_text(manifest())
    async with started(str(tmp_path)) as harness:
        (tmp_path / "copy.yaml").write_text(manifest(image="busybox:2"))
        said = f"{tmp_path}/copy.yaml: pod web-n1_default is also in {tmp_path}/web.yaml, which stays"
        await harness.wait(lambda: harness.actor._errors == [said])
        assert await errors_of(harness) == [said]
        (event,) = harness.sent(RecordEvent)
        assert (event.type, event.reason, event.name) == ("Warning", "FailedValidation", "web-n1")
        pod = f"web-n1_default({event.uid})"
        assert event.message == f'Error validating pod {pod} from file due to duplicate pod name "web-n1", ignoring'
        (tmp_path / "other.yaml").write_text(manifest("other"))
        await harness.wait(lambda: len(harness.actor._chosen) == 2)
        assert harness.sent(RecordEvent) == [event], "it is told once"


async def test_a_restart_keeps_the_last_good_pod_of_an_invalid_file(tmp_path):
    path = tmp_path / "manifests"
    path.mkdir()
    file = path / "web.yaml"
    file.write_text(manifest())
    kept = tmp_path / "manifests.root" / "troupelet" / "pod_config" / "kept.json"
    async with started(str(path)) as harness:
        (first,) = [pod for message in harness.sent(DesiredPods) for pod in message.pods]
        assert not kept.exists()
        file.write_text("no: pod\n")
        await harness.wait(kept.exists)
    for _ in range(2):
        async with started(str(path)) as harness:
            assert [pod for message in harness.sent(DesiredPods) for pod in message.pods] == [first]
            assert await errors_of(harness)
    assert kept.stat().st_mode & 0o777 == 0o600
    file.unlink()
    async with started(str(path)) as harness:
        assert World(harness).pods() == {}
        assert not kept.exists()
    kept.write_text("{")
    file.write_text("no: pod\n")
    async with started(str(path)) as harness:
        assert World(harness).pods() == {}
        assert kept.with_name("kept.json.damaged").exists()


async def test_a_manifest_on_which_the_actor_died_three_times_is_in_quarantine_until_it_changes(tmp_path, monkeypatch):
    path = tmp_path / "manifests"
    path.mkdir()
    (tmp_path / "manifests.run").mkdir()
    (path / "a.yaml").write_text(manifest("evil"))
    (path / "b.yaml").write_text(manifest())

    def read(data: bytes, origin: Origin) -> list[Any]:
        if b"evil" in data:
            raise MemoryError
        return read_manifest(data, origin)

    monkeypatch.setattr("actors.pod_config.sources.file_source.read_manifest", read)
    for _ in range(3):
        with pytest.raises(MemoryError):
            await started(str(path)).__aenter__()
    async with started(str(path)) as harness:
        assert World(harness).pods() == {"web-n1": "busybox"}
        assert "in quarantine until it changes" in (await errors_of(harness))[0]
        (path / "a.yaml").write_text(manifest("good"))
        await World(harness).becomes({"web-n1": "busybox", "good-n1": "busybox"})


async def test_one_invalid_file_does_not_block_the_others(tmp_path):
    (tmp_path / "a.yaml").write_text("{")
    (tmp_path / "b.yaml").write_text(manifest())
    os.mkfifo(tmp_path / "c.yaml")
    (tmp_path / "d.yaml").write_bytes(b"x" * ((10 << 20) + 1))
    (tmp_path / "e.yaml").symlink_to("e.yaml")
    (tmp_path / "sub").mkdir()
    async with started(str(tmp_path)) as harness:
        await World(harness).becomes({"web-n1": "busybox"})
        errors = await errors_of(harness)
        assert [error.split(": ")[0].rsplit("/")[-1] for error in errors] == ["a.yaml", "c.yaml", "d.yaml", "e.yaml"]


async def test_a_link_to_nowhere_is_refused_and_has_no_pod(tmp_path):
    (elsewhere := tmp_path / "web.yaml").write_text(manifest())
    (path := tmp_path / "manifests").mkdir()
    (path / "link.yaml").symlink_to(elsewhere)
    async with started(str(path)) as harness:
        await World(harness).becomes({"web-n1": "busybox"})
        elsewhere.rename(tmp_path / "away")
        await World(harness).becomes_with_time({})
        assert await errors_of(harness) == [f"{path}/link.yaml: a link to {elsewhere}, which is not there"]
        (tmp_path / "away").rename(elsewhere)
        await World(harness).becomes_with_time({"web-n1": "busybox"})
        assert await errors_of(harness) == []


async def test_the_periodic_scan_finds_a_change_that_inotify_missed(tmp_path):
    file = tmp_path / "web.yaml"
    async with started(str(tmp_path)) as harness:
        asyncio.get_running_loop().remove_reader(harness.actor._files._watch.fileno())
        file.write_text(manifest())
        old = time.time() - 60
        os.utime(file, (old, old))
        await harness.advance(25.0)
        await World(harness).becomes({"web-n1": "busybox"})


async def test_a_path_that_is_a_file_is_followed_when_it_is_replaced(tmp_path):
    file = tmp_path / "pod.yaml"
    file.write_text(manifest(image="a"))
    async with started(str(file)) as harness:
        world = World(harness)
        await world.becomes({"web-n1": "a"})
        (tmp_path / "other.yaml").write_text(manifest("other"))
        (tmp_path / "new").write_text(manifest(image="b"))
        os.rename(tmp_path / "new", file)
        await world.becomes({"web-n1": "b"})
        file.unlink()
        await world.becomes_with_time({})


async def test_a_directory_is_followed_when_it_is_replaced(tmp_path):
    path = tmp_path / "manifests"
    path.mkdir()
    (path / "a.yaml").write_text(manifest("a"))
    async with started(str(path)) as harness:
        world = World(harness)
        os.rename(path, tmp_path / "old")
        path.mkdir()
        (path / "b.yaml").write_text(manifest("b"))
        await world.becomes_with_time({"b-n1": "busybox"})
        (path / "c.yaml").write_text(manifest("c"))
        await world.becomes({"b-n1": "busybox", "c-n1": "busybox"})


async def test_a_large_manifest_is_read_in_a_disposable_process_and_delays_readiness(tmp_path):
    file = tmp_path / "web.yaml"
    file.write_text(manifest() + "# " + "x" * 100_000 + "\n")
    async with started(str(tmp_path)) as harness:
        await harness.wait(lambda: len(harness.sent(DesiredPods)) == 2)
        assert [function for function, _ in harness.disposed] == [
            "actors.pod_config.manifests.manifest:read_in_process"
        ]
        assert World(harness).pods() == {"web-n1": "busybox"}


async def test_a_large_manifest_whose_name_is_not_utf8_is_read_as_others(tmp_path):
    file = tmp_path / os.fsdecode(b"\xff.yaml")
    file.write_text(manifest() + "# " + "x" * 100_000 + "\n")
    async with started(str(tmp_path)) as harness:
        await harness.wait(lambda: World(harness).pods() == {"web-n1": "busybox"})
        assert harness.disposed


async def test_a_thousand_manifests_are_read_after_the_start_and_large_ones_four_at_a_time(tmp_path, monkeypatch):
    for number in range(1000):
        (tmp_path / f"p{number}.yaml").write_text(manifest(f"p{number}"))
    for number in range(20):
        (tmp_path / f"large{number}.yaml").write_text(manifest(f"large{number}") + "#" * (70 << 10))
    under_way, most = 0, 0
    read = ManifestReader.read_large_file

    async def counted(self, path):
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        try:
            await asyncio.sleep(0)
            return await read(self, path)
        finally:
            under_way -= 1

    monkeypatch.setattr(ManifestReader, "read_large_file", counted)
    async with started(str(tmp_path)) as harness:
        first = await harness.deliver(GetSources())
        assert (first.ready, first.sources[0].pods < 1000) == (False, True)
        while not (await harness.deliver(GetSources())).ready:
            await asyncio.sleep(0)
            await harness.advance(0.01)
        assert len(World(harness).pods()) == 1020
        assert most == 4


async def test_a_restart_gives_the_same_pods_byte_for_byte(tmp_path):
    (tmp_path / "web.yaml").write_text(manifest())
    told = []
    for _ in range(2):
        async with started(str(tmp_path)) as harness:
            told.append([pod for message in harness.sent(DesiredPods) for pod in message.pods])
    assert told[0] == told[1] != []


async def test_a_worker_gets_its_pods_after_its_hello(tmp_path):
    for index in range(24):  # enough for each worker to have some, wherever their UIDs fall
        (tmp_path / f"{index}.yaml").write_text(manifest(f"p{index}"))
    async with started(str(tmp_path)) as harness:
        while not (await harness.deliver(GetSources())).ready:  # on a busy machine they are read in several turns
            await harness.advance(0.0)
        harness.clear()
        await harness.deliver(Hello(WORKERS[1], 2), sender=WORKERS[1])
        (message,) = harness.sent(DesiredPods, WORKERS[1])
        assert harness.sent(DesiredPods, WORKERS[0]) == []
        assert message.pods
        assert all(worker_of(pod.uid, 2) == WORKERS[1] for pod in message.pods)


async def test_a_worker_that_was_too_slow_for_single_pods_gets_all_of_them_once(tmp_path):
    (tmp_path / "a.yaml").write_text(manifest("a"))
    async with started(str(tmp_path)) as harness:
        (uid,) = (pod.uid for message in harness.sent(DesiredPods) for pod in message.pods)
        worker, operation = worker_of(uid, 2), PodOperation("set", uid)
        harness.clear()
        for reason in ("deadline", "deadline", "overflow"):
            harness.actor.on_dead_letter(worker, operation, reason)
        await harness.advance(RESEND_SECONDS)
        (message,) = harness.sent(DesiredPods, worker)
        assert [pod.uid for pod in message.pods] == [uid]
        harness.actor.on_dead_letter(worker, message, "deadline")
        await harness.advance(2 * RESEND_SECONDS)
        assert len(harness.sent(DesiredPods, worker)) == 2


async def test_a_static_pod_goes_with_its_manifest_also_before_the_api_server_has_answered(tmp_path):
    file = tmp_path / "web.yaml"
    file.write_text(manifest())
    async with started(str(tmp_path), standalone=False) as harness:
        await World(harness).becomes({"web-n1": "busybox"})
        assert {(each.sources_ready, each.static_ready) for each in harness.sent(DesiredPods)} == {(False, True)}
        file.write_text(manifest(image="b"))
        await World(harness).becomes({"web-n1": "b"})
        assert [operation.op for operation in harness.sent(PodOperation)] == ["remove", "set"]


async def test_the_pods_of_the_api_server_follow_its_answer(tmp_path):
    async with started(str(tmp_path), standalone=False) as harness:
        harness.clear()
        pod = {"metadata": {"name": "a", "namespace": "b", "uid": "u7"}, "spec": {"containers": [{"name": "c"}]}}
        await harness.deliver(SourcePods("api", [json.dumps(pod).encode()]))
        wanted = [pod for message in harness.sent(DesiredPods) for pod in message.pods]
        assert [pod.uid for pod in wanted] == ["u7"]
        annotations = decode_pod(wanted[0].pod).metadata.annotations
        assert annotations["kubernetes.io/config.source"] == "api"


class Server:
    """A web server with one answer, changed by the test."""

    def __init__(self) -> None:
        self.status, self.body = 200, b""
        self.requests: list[str] = []

    async def __aenter__(self) -> Server:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/pods"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.requests.append((await reader.readuntil(b"\r\n\r\n")).decode())
        head = f"HTTP/1.1 {self.status} X\r\nContent-Length: {len(self.body)}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + self.body)
        await writer.drain()
        writer.close()


@pytest.mark.parametrize("many", [False, True])
async def test_the_pods_of_a_url_appear_stay_through_errors_and_disappear(many):
    def body(image: str) -> bytes:
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"},
               "spec": {"containers": [{"name": "c", "image": image}]}}  # fmt: skip
        return json.dumps({"kind": "PodList", "apiVersion": "v1", "items": [pod]} if many else pod).encode()

    def has_failed_again(seen: int) -> bool:
        return bool(harness.actor._url.failures > seen)

    async with Server() as server:
        server.status = 503
        config: dict[str, Any] = {"staticPodURL": server.url, "staticPodURLHeader": {"X-Token": ["t"]}}
        async with started(**config, httpCheckFrequency=Duration(20)) as harness:
            world = World(harness)
            await harness.advance(0)
            await harness.wait(lambda: harness.actor._url.failures == 1)
            assert harness.sent(DesiredPods) == []
            assert "X-Token: t" in server.requests[0]
            server.status, server.body = 200, body("a")
            await harness.advance(20)
            await world.becomes({"web-n1": "a"})
            for status, content in ((500, b""), (200, b"{}"), (200, b"nonsense")):
                server.status, server.body = status, content
                seen = harness.actor._url.failures
                await harness.advance(20)
                await harness.wait(partial(has_failed_again, seen))
                assert await errors_of(harness)
            assert world.pods() == {"web-n1": "a"}
            server.status, server.body = 200, body("b")
            await harness.advance(20)
            await world.becomes({"web-n1": "b"})
            server.body = b""
            await harness.advance(20)
            await world.becomes({})
