"""Pods on which pod workers end: their source reports an error until their manifests change."""

from __future__ import annotations

import json
from pathlib import Path

from actors.pod_config.actor import PodConfig
from actors.pod_config.messages import GetSources, PodQuarantined, SourcePods
from actors.pod_workers.messages import DesiredPods, PodOperation, worker_of
from actors.shared.config.agent import Agent
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from supervision.process_messages import Hello
from supervision.testing.harness import Harness


def manifest(image: str = "busybox") -> str:
    return f"""\
apiVersion: v1
kind: Pod
metadata: {{name: web, uid: u1}}
spec: {{containers: [{{name: c, image: {image}}}]}}
"""


def started(path: str = "", *, standalone: bool = True) -> Harness:
    config = KubeletConfiguration(staticPodPath=path)
    agent = Agent(
        root_dir=f"{path}.root",
        run_dir=f"{path}.run",
        config=config,
        node_name="n1",
        workers=2,
        standalone=standalone,
    )
    return Harness(PodConfig, name="pod_config", context=agent)


async def errors_of(harness: Harness) -> list[str]:
    return [error for source in (await harness.deliver(GetSources())).sources for error in source.errors]


def quarantined(harness: Harness) -> float:
    samples = harness.actor.metrics.snapshot("pod_config", 1).samples
    (value,) = (sample.value for sample in samples if sample.name == "pod_config_quarantined_pods")
    return float(value)


async def test_a_pod_in_quarantine_is_reported_until_its_file_changes(tmp_path: Path) -> None:
    file = tmp_path / "web.yaml"
    file.write_text(manifest())
    worker = worker_of("u1", 2)
    async with started(str(tmp_path)) as harness:
        harness.clear()
        await harness.deliver(PodQuarantined("u1", 3))
        await harness.deliver(PodQuarantined("nobody", 3))
        assert await errors_of(harness) == [
            f"{file}: pod web-n1_default ended its worker 3 times and is in quarantine until it changes"
        ]
        assert quarantined(harness) == 1.0
        # the pod stays in the set, so that its worker does not terminate it
        await harness.deliver(Hello(worker, 2))
        assert [pod.uid for pod in harness.sent(DesiredPods, worker)[-1].pods] == ["u1"]
        file.write_text(manifest("better"))
        assert (await harness.wait_sent(PodOperation, to=worker)).op == "set"
        assert await errors_of(harness) == []
        assert quarantined(harness) == 0.0, "the alert ends, too"


async def test_a_pod_of_the_api_server_in_quarantine_is_shown_too() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "default", "uid": "u2"}}
    pod["spec"] = {"containers": [{"name": "main", "image": "nginx"}]}
    async with started(standalone=False) as harness:
        await harness.deliver(SourcePods("api", [json.dumps(pod).encode()]))
        await harness.deliver(PodQuarantined("u2", 3))
        (text,) = await errors_of(harness)
        assert text.endswith("pod web_default ended its worker 3 times and is in quarantine until it changes")
