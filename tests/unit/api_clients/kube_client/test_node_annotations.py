"""The annotations of the node: what cannot be read counts as absent."""

from __future__ import annotations

import pytest

from actors.api_clients.kube_client.node_annotations import TTL_ANNOTATION, annotations_of, ttl_of
from actors.api_clients.kube_client.object_cache import DEFAULT_TTL


@pytest.mark.parametrize("node", [b"", b"[]", b'{"metadata": {}}', b'{"metadata": {"annotations": null}}'])
def test_a_node_without_readable_annotations_has_none(node: bytes) -> None:
    assert annotations_of(node) == {}


def test_annotations_are_read_from_the_node() -> None:
    assert annotations_of(b'{"kind": "Node", "metadata": {"annotations": {"a": "b"}}}') == {"a": "b"}


@pytest.mark.parametrize(
    ("text", "seconds"), [("0", 0.0), ("300", 300.0), ("9" * 30, 999999999.0), ("", DEFAULT_TTL), ("-1", DEFAULT_TTL)]
)
def test_the_ttl_is_a_whole_number_of_seconds_or_the_default(text: str, seconds: float) -> None:
    assert ttl_of({TTL_ANNOTATION: text}) == seconds


def test_without_the_annotation_the_ttl_is_the_default() -> None:
    assert ttl_of({}) == DEFAULT_TTL
