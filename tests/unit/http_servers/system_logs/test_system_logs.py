"""/logs/: files, listings, and what a query asks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from actors.http_servers.serving.http_error import HttpError
from actors.http_servers.system_logs.files import DirectoryListing, OpenFile, listing, look
from actors.http_servers.system_logs.query import NodeLogQueryError, command, parse


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    root = tmp_path / "log"
    (root / "pods").mkdir(parents=True)
    (root / "syslog").write_text("a line\n")
    (root / "pods" / "0.log").write_text("of a pod\n")
    (root / "inner").symlink_to("pods/0.log")
    (root / "outer").symlink_to("/etc/passwd")
    (root / "climbs").symlink_to("../secret")
    (tmp_path / "secret").write_text("secret")
    os.mkfifo(root / "pipe")
    return root


def text(found: DirectoryListing | OpenFile) -> str:
    assert isinstance(found, OpenFile)
    with found.file as file:
        return file.read().decode()


def test_files_and_links_that_stay_inside_are_served(logs):
    assert text(look(str(logs), "syslog")) == "a line\n"
    assert text(look(str(logs), "pods/0.log")) == "of a pod\n"
    assert text(look(str(logs), "inner")) == "of a pod\n"


@pytest.mark.parametrize(
    "path", ["outer", "climbs", "../secret", "pods/../../secret", "pipe", "nowhere", "syslog/x", "a\0b", "x" * 5000]
)
def test_a_path_out_of_the_directory_or_to_no_file_is_not_found(logs, path):
    with pytest.raises(HttpError) as refused:
        look(str(logs), path)
    assert refused.value.status == 404


NAMES = ("..", ".", "", "log", "pods", "inner", "outer", "climbs", "syslog", "0.log", "secret", "etc", "passwd")
PATHS = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(NAMES), max_size=6).map("/".join))


@given(PATHS)
@example("../log/syslog")
@example("pods/../inner")
@example("pods/../pods/0.log")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_path_reads_outside(logs, path):
    try:
        found = look(str(logs), path)
    except HttpError:
        return
    if isinstance(found, OpenFile):
        assert text(found) in ("a line\n", "of a pod\n")
    else:
        assert set(found.names) <= {"climbs", "inner", "outer", "pipe", "pods/", "syslog", "0.log"}


def test_a_directory_with_any_names_is_listed_as_html(logs):
    (logs / 'a"<b>:c').write_text("")
    found = look(str(logs), "")
    assert isinstance(found, DirectoryListing)
    assert found.names == sorted(['a"<b>:c', "climbs", "inner", "outer", "pipe", "pods/", "syslog"])
    page = listing(found)
    assert '<a href="pods/">pods/</a>\n' in page
    assert '<a href="a%22%3Cb%3E%3Ac">a&quot;&lt;b&gt;:c</a>\n' in page


def test_a_query_becomes_a_command_line():
    asked = {
        "query": ["kubelet", "containerd"],
        "sinceTime": ["2026-11-21T08:00:00.123456789+01:00"],
        "tailLines": ["10"],
        "pattern": ["--output=export"],
    }
    found = parse(asked)
    assert found is not None
    assert command(found) == [
        "--utc",
        "--no-pager",
        "--output=short-precise",
        "--since=2026-11-21 07:00:00.123456 UTC",
        "--lines=10",
        "--unit=kubelet",
        "--unit=containerd",
        "--grep=--output=export",
        "--case-sensitive=false",
    ]


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"query": ["a", "b", "c", "d", "e"]}, 406),
        ({"query": ["a", "/b"]}, 406),
        ({"query": ["/b"], "tailLines": ["1"]}, 406),
        ({"query": ["/b"], "pattern": ["x"]}, 406),
        ({"query": ["/b"], "boot": ["0"]}, 406),
        ({"query": ["/b"], "sinceTime": ["2026-11-21T08:00:00Z"]}, 406),
        ({"query": ["/b"], "untilTime": ["2026-11-21T08:00:00Z"]}, 406),
        ({"query": [""]}, 400),
        ({"query": [" "], "boot": ["0"]}, 400),
        ({"boot": ["0"]}, 406),
        ({"query": ["-x"]}, 406),
        ({"query": ["a b"]}, 406),
        ({"query": ["a" * 257]}, 406),
        ({"query": ["a"], "tailLines": ["100001"]}, 406),
        ({"query": ["a"], "tailLines": ["ten"]}, 400),
        ({"query": ["a"], "boot": ["1"]}, 406),
        ({"query": ["a"], "sinceTime": ["yesterday"]}, 400),
        ({"query": ["a"], "sinceTime": ["2026-13-21T08:00:00Z"]}, 400),
        ({"query": ["a"], "sinceTime": ["2026-11-21T08:00:00Z"], "untilTime": ["2026-11-21T07:00:00Z"]}, 406),
        ({"query": ["a"], "pattern": ["("]}, 406),
        ({"query": ["a"], "pattern": ["(" * 2000 + ")" * 2000]}, 406),
        ({"query": ["a"], "pattern": ["a{99999999999}"]}, 406),
        ({"query": ["a"], "pattern": ["a" * 5000]}, 406),
    ],
)
def test_a_query_that_makes_no_sense_is_refused(asked, status):
    with pytest.raises(NodeLogQueryError) as refused:
        parse(asked)
    assert refused.value.status == status


def test_a_file_is_named_with_either_slash_and_nothing_is_no_query():
    found = parse({"query": ["\\pods\\0.log"]})
    assert found is not None
    assert (found.file, found.services) == ("pods/0.log", [])
    assert parse({}) is None
    assert parse({"other": ["1"]}, "syslog") is None


def test_a_query_with_a_path_is_refused():
    with pytest.raises(NodeLogQueryError, match="path not allowed in query mode"):
        parse({"query": ["kubelet"]}, "syslog")


@given(
    st.dictionaries(
        st.sampled_from(["query", "sinceTime", "untilTime", "tailLines", "boot", "pattern"]),
        st.lists(st.text(max_size=20), max_size=3),
    )
)
def test_any_query_is_a_command_of_options_or_refused(asked):
    try:
        found = parse(asked)
    except NodeLogQueryError:
        return
    assert found is None or all(word.startswith("--") for word in command(found))
