"""Paths of requests, as Go's ServeMux takes them."""

from __future__ import annotations

import pytest

from actors.http_servers.serving.paths import cleaned, of_target, unescaped


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


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("/pods", "/pods"),
        ("http://node:10250/pods", "/pods"),
        ("HTTPS://node", "/"),
        ("/logs/http://x", "/logs/http://x"),
        ("ftp://node/pods", "ftp://node/pods"),
        ("*", "*"),
    ],
)
def test_the_target_of_a_request_may_be_a_whole_url(target, path):
    assert of_target(target) == path
