"""What the pod worker knows to be in the runtime."""

from __future__ import annotations

from actors.pod_workers.pod.state_values import PodView
from actors.shared.cri.model import CriContainer, CriContainerState, PodRuntime, Sandbox


def test_what_was_made_since_the_last_look_is_known_as_well() -> None:
    box = Sandbox(id="box", pod_uid="u", pod_name="p", pod_namespace="n")
    ended = CriContainer(id="old", name="a", pod_uid="u", sandbox_id="box", state=CriContainerState.EXITED)
    seen = PodRuntime(uid="u", sandboxes=[box], containers=[ended])
    known = PodView(runtime=seen, sandboxes=("new-box",), containers={"new": "new-box"}).known
    assert list(known.sandboxes) == ["box", "new-box"]
    assert known.containers == {"old": "box", "new": "new-box"}
    assert PodView(containers={"new": "new-box"}).known.containers == {"new": "new-box"}, "nothing was seen yet"
