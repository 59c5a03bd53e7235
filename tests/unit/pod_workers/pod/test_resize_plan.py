"""What a resize changes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from actors.pod_workers.pod.resize_plan import changes
from actors.shared.kube.pod import Pod


def pod(resources: dict[str, Any]) -> Pod:
    container = {"name": "a", "image": "i", "resources": resources}
    return msgspec.convert({"metadata": {"name": "p", "uid": "u"}, "spec": {"containers": [container]}}, Pod)


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ({"cpu": "1"}, {"cpu": "2"}, ("cpu", "requests", "increase")),
        ({"cpu": "1"}, {"cpu": "500m"}, ("cpu", "requests", "decrease")),
        ({}, {"memory": "1Gi"}, ("memory", "requests", "add")),
        ({"memory": "1Gi"}, {}, ("memory", "requests", "remove")),
    ],
)
def test_each_changed_amount_is_reported(before: dict[str, str], after: dict[str, str], found: tuple[str, ...]) -> None:
    assert list(changes(pod({"requests": before}), pod({"requests": after}))) == [found]
    limits = [(resource, "limits", operation) for resource, _, operation in [found]]
    assert list(changes(pod({"limits": before}), pod({"limits": after}))) == limits


def test_another_notation_of_the_same_amount_is_no_change() -> None:
    assert list(changes(pod({"requests": {"cpu": "1000m"}}), pod({"requests": {"cpu": "1"}}))) == []
