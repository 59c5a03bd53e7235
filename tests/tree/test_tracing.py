"""The whole agent tells a collector what it does, while that is there, is away, and is there again."""

from __future__ import annotations

import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.shared.tracing.exporter import EXPORTED
from supervision.incidents.incident import read
from supervision.protocol import GetMetrics, MetricsSnapshot
from tests.support.agent_command import HARMLESS, START, AgentCommand
from tests.support.collector import Collector
from tests.support.tcp_ports import free_port

pytestmark = [pytest.mark.tree, pytest.mark.slow]
HEADER = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
SECONDS = 60.0
TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
LIST = "runtime.v1.RuntimeService/ListPodSandbox"


class AgentFiles:
    """The files and ports of one agent, which has no runtime."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.file, self.root = directory, directory / "config.yaml", directory / "root"
        self.healthz, self.read_only = free_port(), free_port()

    def configure(self, tracing: str) -> None:
        temporary = self.file.with_suffix(".new")
        temporary.write_text(f"{HEADER}readOnlyPort: {self.read_only}\n{tracing}")
        temporary.replace(self.file)

    def start(self) -> AgentCommand:
        own = [
            f"--config={self.file}", f"--root-dir={self.root}", f"--healthz-port={self.healthz}",
            f"--port={free_port()}", "--hostname-override=n1",
            f"--container-runtime-endpoint=unix://{self.directory}/none.sock",
        ]  # fmt: skip
        return AgentCommand([*START, *HARMLESS, *own], self.root)

    def get(self, port: int, path: str, **headers: str) -> int:
        request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return int(answer.status)

    def incidents(self) -> list[str]:
        path = self.root / "troupelet" / "incidents.jsonl"
        return [f"{one.actor}: {one.cause}" for one in read(path).incidents] if path.exists() else []


@pytest.fixture
def files() -> Iterator[AgentFiles]:
    # a short path: a socket's has at most 107 bytes
    with tempfile.TemporaryDirectory(prefix="agent-") as directory:
        yield AgentFiles(Path(directory))


def tracing(endpoint: str, rate: int = 1_000_000) -> str:
    return f"tracing: {{endpoint: '{endpoint}', samplingRatePerMillion: {rate}}}\n"


def exported(agent: AgentCommand, name: str) -> float:
    samples = agent.ask(GetMetrics(), MetricsSnapshot, name).samples
    return sum(sample.value for sample in samples if sample.name == EXPORTED)


def renewed(agent: AgentCommand, before: dict[str, int]) -> set[str]:
    return {name for name, pid in pids(agent).items() if pid and pid != before.get(name)}


def pids(agent: AgentCommand) -> dict[str, int]:
    return {name: actor.pid for name, actor in agent.tree().items()}


def test_spans_of_several_actors_reach_the_collector(files: AgentFiles) -> None:
    with Collector() as collector:
        files.configure(tracing(collector.endpoint))
        with files.start() as agent:
            agent.wait_ready()
            assert files.get(files.read_only, "/pods", traceparent=f"00-{TRACE}-{CALLER}-01") == 200
            page = collector.wait_for("/pods", SECONDS)
            call = collector.wait_for(LIST, SECONDS)
            assert "accepted without effect" not in agent.log
            assert files.incidents() == []
    assert (page.scope, page.kind, page.links, page.parent_id) == (
        "http_servers/read_only_server", "server", [(TRACE, CALLER)], "",
    )  # fmt: skip
    assert (call.scope, call.kind, call.attributes["rpc.grpc.status_code"]) == ("pleg", "client", 14)
    assert "Error while dialing" in str(call.error)
    assert call.resource == page.resource == {
        "service.name": "kubelet", "service.instance.id": "n1", "host.name": "n1",
    }  # fmt: skip


def test_an_outage_of_the_collector_affects_no_other_actor(files: AgentFiles) -> None:
    with Collector() as collector:
        files.configure(tracing(collector.endpoint))
        with files.start() as agent:
            agent.wait_ready()
            collector.wait_for(LIST, SECONDS)
            before = pids(agent)
            collector.__exit__()
            agent.until(lambda: "does not take spans" in agent.log, "a word about the collector", SECONDS)
            assert files.get(files.healthz, "/healthz") == 200
            known = exported(agent, "pleg")
            with Collector(collector.endpoint) as again:
                again.wait_for(LIST, SECONDS)
                agent.until(lambda: "takes spans again" in agent.log, "a word about its return", SECONDS)
                agent.until(lambda: exported(agent, "pleg") > known, "more spans in the metric", SECONDS)
            assert (pids(agent), files.incidents()) == (before, [])
            assert agent.stop() == 0


def test_a_change_of_the_field_starts_and_stops_tracing_without_a_restart_of_the_agent(files: AgentFiles) -> None:
    files.configure("")
    with Collector() as collector, files.start() as agent:
        agent.wait_ready()
        before = pids(agent)
        files.configure(tracing(collector.endpoint))
        collector.wait_for(LIST, SECONDS)
        readers = {"pleg", "image_manager", "http_servers/read_only_server", "pod_workers/worker/0", "prober"}
        agent.until(lambda: readers <= renewed(agent, before), "all who read it renewed", SECONDS)
        agent.wait_ready()
        assert not {"container_manager", "volume_manager", "status_manager", "config_controller"} & renewed(
            agent, before
        )
        during = pids(agent)
        files.configure(tracing(collector.endpoint, 0))
        agent.until(lambda: during["pleg"] != pids(agent)["pleg"], "another pleg", SECONDS)
        agent.wait_ready()
        silent = pids(agent)["pleg"]
        assert files.get(files.read_only, "/pods") == 200
        assert (exported(agent, "pleg"), silent) == (0, pids(agent)["pleg"])
        assert files.incidents() == []
