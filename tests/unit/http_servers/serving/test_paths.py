"""Paths of requests, as Go's ServeMux takes them."""

from __future__ import annotations

import pytest

from actors.http_servers.serving.paths import cleaned, unescaped


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/pods", "/pods"),
        ("/pods/", "/pods/"),
        ("//pods", "/pods"),
        ("/logs//x/", "/logs/x/"),
        ("/pods/../healthz", "/healthz"),
        ("/healthz/./ping", "/healthz/ping"),
        ("/logs/..", "/"),
        ("/../..", "/"),
        ("//", "/"),
        ("/.hidden", "/.hidden"),
        ("/a/..b", "/a/..b"),
        ("/a/.", "/a"),
        ("*", "/*"),
        ("", "/"),
    ],
)
def test_a_path_is_cleaned_of_empty_segments_and_dots(path, expected):
    assert cleaned(path) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/%70ods", "/pods"),
        ("/%2E%2e/x", "/../x"),
        ("/a%2Fb", "/a%2Fb"),
        ("/a%25%37", "/a%257"),
        ("/a%zz", "/a%zz"),
        ("/%C3%A9", "/%C3%A9"),
    ],
)
def test_only_needless_escapes_are_removed(path, expected):
    assert unescaped(path) == expected
