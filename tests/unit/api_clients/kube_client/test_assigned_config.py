"""The ConfigMap that an annotation of the Node assigns as configuration."""

from __future__ import annotations

import pytest

from actors.api_clients.kube_client.assigned_config import ANNOTATION, Assignment, assignment
from actors.api_clients.kube_client.messages import ObjectRef

REF = ObjectRef("ConfigMap", "settings", "nodes")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("nodes/settings", Assignment(REF)),
        ("nodes/settings/kubelet.yaml", Assignment(REF, "kubelet.yaml")),
        ("", None),
    ],
)
def test_the_annotation_names_a_config_map_and_a_key(text: str, found: Assignment | None) -> None:
    assert assignment({ANNOTATION: text}) == found


@pytest.mark.parametrize("text", ["settings", "nodes/", "/settings", "nodes//key", "nodes/settings/", "a/b/c/d"])
def test_another_form_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not namespace/name or namespace/name/key"):
        assignment({ANNOTATION: text})
