"""The messages of containers that have ended."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from actors.pod_workers.containers.files import termination_log
from actors.pod_workers.pod.runtime import with_messages
from actors.shared.cri.model import CriContainer, CriContainerState, PodRuntime
from actors.shared.kube import codec


def ended(tmp_path: Path, *, runtime: str, container: str) -> str:
    """The message of a container that has ended, of what the runtime and the container itself say."""
    spec = {"containers": [{"name": "a", "image": "i"}]}
    pod = codec.decode_pod(json.dumps({"metadata": {"uid": "u", "name": "p", "namespace": "n"}, "spec": spec}).encode())
    log = Path(termination_log(str(tmp_path), "a", 0))
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text(container)
    ran = CriContainer(id="c", name="a", pod_uid="u", state=CriContainerState.EXITED, exit_code=1, message=runtime)
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
