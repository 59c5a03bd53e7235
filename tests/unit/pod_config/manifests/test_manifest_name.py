"""The name of a pod in a manifest, also in a refused one."""

from __future__ import annotations

import pytest

from actors.pod_config.manifests.manifest_name import name_in


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"metadata: {name: web}\nspec: {what: 1}", "web"),
        (b'{"metadata": {"name": "web"}}', "web"),
        (b"metadata: {name: 5}", ""),
        (b"metadata: web", ""),
        (b"- web", ""),
        (b"", ""),
        (b"metadata: {name: [", ""),
        (b"\xff", ""),
    ],
)
def test_the_name_is_metadata_name_where_it_is_a_text(data: bytes, name: str) -> None:
    assert name_in(data) == name
