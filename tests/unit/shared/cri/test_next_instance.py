"""Whether a container that has ended gets another instance."""

from __future__ import annotations

import msgspec
import pytest

from actors.shared.cri.model import START_ERROR, CriContainer, CriContainerState
from actors.shared.cri.next_instance import starts_again
from actors.shared.kube.pod import Pod


def pod(policy: str) -> Pod:
    spec = {"containers": [{"name": "a", "image": "x"}], "restartPolicy": policy}
    return msgspec.convert({"metadata": {"name": "p", "namespace": "n"}, "spec": spec}, Pod)


@pytest.mark.parametrize(
    ("policy", "code", "again"),
    [("Always", 0, True), ("OnFailure", 1, True), ("OnFailure", 0, False), ("Never", 1, False)],
)
def test_the_restart_policy_decides(policy: str, code: int, again: bool) -> None:
    given = pod(policy)
    ended = CriContainer(id="c", name="a", pod_uid="u", state=CriContainerState.EXITED, exit_code=code)
    assert starts_again(given, given.spec.containers[0], ended, init=False) is again


def test_an_abandoned_start_is_repeated_under_any_policy() -> None:
    given = pod("Never")
    ended = CriContainer(id="c", name="a", pod_uid="u", state=CriContainerState.EXITED, exit_code=128)
    given_up = msgspec.structs.replace(ended, reason=START_ERROR, message="context canceled")
    assert given_up.start_given_up
    assert starts_again(given, given.spec.containers[0], given_up, init=False)
