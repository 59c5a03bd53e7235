"""The messages of containers that have ended."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from actors.pod_workers.containers.files import termination_log
from actors.pod_workers.pod.runtime import with_messages
from actors.shared.cri.model import CriContainer, CriContainerState, PodRuntime
from actors.shared.kube import codec


def ended(tmp_path: Path, *, runtime: str, container: str, file: str = "") -> str:
    """The message of a container that has ended, of what the runtime and the container itself say. `file`: the mounted
    file, if it is another one."""
    spec = {"containers": [{"name": "a", "image": "i"}]}
    pod = codec.decode_pod(json.dumps({"metadata": {"uid": "u", "name": "p", "namespace": "n"}, "spec": spec}).encode())
    log = Path(termination_log(str(tmp_path), "a", 0))
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text(container)
    ran = CriContainer(
        id="c", name="a", pod_uid="u", state=CriContainerState.EXITED, exit_code=1, message=runtime, message_file=file
    )
    look = PodRuntime(uid="u", containers=[ran])
    return with_messages(look, pod, str(tmp_path), str(tmp_path / "logs")).containers[0].message


@pytest.mark.parametrize(
    ("runtime", "container", "shown"),
    [
        ("", "", ""),
        ("", "no database", "no database"),
        ("OOM killed by the runtime", "", "OOM killed by the runtime"),
        ("exec failed", "no database", "exec failed: no database"),
    ],
)
def test_the_runtimes_message_precedes_the_termination_message(tmp_path, runtime, container, shown):
    assert ended(tmp_path, runtime=runtime, container=container) == shown


def test_the_message_of_another_agents_container_is_in_the_file_that_it_has_mounted(tmp_path: Path) -> None:
    """The kubelet gives that file a random name."""
    of_container, outside = tmp_path / "containers/a/5f3a91c2", tmp_path / "secret"
    of_container.parent.mkdir(parents=True)
    for file in (of_container, outside):
        file.write_text(file.name)
    assert ended(tmp_path, runtime="", container="", file=str(of_container)) == "5f3a91c2"
    assert ended(tmp_path, runtime="", container="own", file=str(outside)) == "own"
