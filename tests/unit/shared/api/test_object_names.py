"""Names of objects in requests."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from actors.shared.api.object_names import misread_name, selector_value


@pytest.mark.parametrize("name", ["web", "a.b-c", "a?watch=true#", "\u00e9", "a b", "...", "a..b"])
def test_a_name_that_stays_one_part_of_a_path_is_sent(name: str) -> None:
    assert misread_name(f"/api/v1/namespaces/d/secrets/{quote(name, safe='')}") == ""


def test_a_name_with_the_marks_of_a_selector_is_one_value() -> None:
    assert selector_value("a,metadata.name!=b\\") == "a\\,metadata.name!\\=b\\\\"
