"""What is wanted of a pod."""

from __future__ import annotations

import pytest

from actors.pod_workers.messages import KillPod
from actors.pod_workers.pod.state import DesiredState
from actors.shared.kube.meta import ObjectMeta
from actors.shared.kube.pod import Pod


@pytest.mark.parametrize(
    ("ordered", "deletion", "seconds"),
    [(None, 5, None), (9, None, 9), (9, 5, 5), (4, 5, 4), (0, None, 1), (9, 0, 1)],
)
def test_an_order_shortens_the_grace_of_a_deletion_to_no_less_than_a_second(ordered, deletion, seconds):
    pod = Pod(metadata=ObjectMeta(name="p", deletionGracePeriodSeconds=deletion))
    kill = KillPod("u", "", "", ordered) if ordered is not None else None
    assert DesiredState(pod=pod, kill=kill).ordered_grace == seconds
