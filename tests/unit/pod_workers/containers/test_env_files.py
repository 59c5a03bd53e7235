"""Variables from files that other containers wrote."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.pod_workers.containers import env_files
from actors.pod_workers.containers.env_files import REST, Files, parse, places, selectors, value
from actors.pod_workers.containers.environment import EnvContext, environment
from actors.pod_workers.errors import ConfigError
from actors.shared.kube.codec import decode_pod, encode
from actors.shared.kube.container import FileKeySelector


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {}),
        ("A='1'\nB='two words'", {"A": "1", "B": "two words"}),
        ("# note\n\n  A='1'  \n\t# more\n", {"A": "1"}),
        ("A='one\ntwo'\nB=''\n", {"A": "one\ntwo", "B": ""}),
        ("A='$(X) \"\\n'", {"A": '$(X) "\\n'}),
        ("A='1'\nA='2'\n", {"A": "1"}),
        ("A='1' # note\nB='2'#note", {"A": "1", "B": "2"}),
        ("A= '1'\nB='2'", {"A": "", "B": "2"}),
        ("1-a.b='1'\nexport C='3'", {"1-a.b": "1", "export C": "3"}),
        ("A='1'\r\nB='two\r\nlines'\r\n", {"A": "1", "B": "two\nlines"}),
    ],
)
def test_quoted_values_are_literal(text, found):
    assert parse(text) == found


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("A=1", 1),
        ("A='1'\nB = '2'", 2),
        ("\n\nA='1", 3),
        ("A='1' x", 1),
        ("='x'", 1),
        ('A="1"', 1),
        ("A=", 1),
        ("no assignment", 1),
    ],
)
def test_any_other_line_is_an_error_with_its_number(text, line):
    assert parse(text)[REST].startswith(f"line {line} of the env file: ")


@given(st.text("AB='# \n1", max_size=40))
def test_any_text_is_read_or_refused(text):
    found = parse(text)
    assert all("'" not in value for name, value in found.items() if name != REST)


def test_lines_before_a_wrong_one_can_be_used(tmp_path: Path):
    (tmp_path / "env").write_text("A='1'\nwrong\nB='2'\n")
    files = read([wanted()], {"v": str(tmp_path)})
    assert value(wanted(), files) == "1"
    with pytest.raises(ConfigError, match="line 2 of the env file"):
        value(wanted("B", optional=True), files)


def test_an_empty_value_counts_as_one_that_is_missing(tmp_path: Path):
    (tmp_path / "env").write_text("A=''\n")
    files = read([wanted()], {"v": str(tmp_path)})
    assert value(wanted(optional=True), files) is None
    with pytest.raises(ConfigError, match='key "A" not found'):
        value(wanted(), files)


def read(selected: list[FileKeySelector], volumes: dict[str, str]) -> Files:
    asked = places(selected, volumes)
    sent = msgspec.msgpack.decode(msgspec.msgpack.encode(env_files.read(list(asked.values()))))
    return dict(zip(asked, map(env_files.received, sent), strict=True))


def wanted(key: str = "A", path: str = "env", **more) -> FileKeySelector:
    return FileKeySelector(volumeName="v", path=path, key=key, **more)


def test_a_value_that_is_not_utf8_keeps_its_bytes(tmp_path: Path):
    (tmp_path / "env").write_bytes(b"\xfe='2'\nA='\xff\x01'\n")
    assert value(wanted(), read([wanted()], {"v": str(tmp_path)})) == os.fsdecode(b"\xff\x01")


def test_a_key_that_is_missing_is_an_error_unless_it_may_be(tmp_path: Path):
    (tmp_path / "env").write_text("A='1'")
    files = read([wanted(), wanted(path="none")], {"v": str(tmp_path)})
    assert value(wanted(), files) == "1"
    assert value(wanted("B", optional=True), files) is None
    assert value(wanted(path="none", optional=True), files) is None
    with pytest.raises(ConfigError, match='key "B" not found in env file "env"'):
        value(wanted("B"), files)
    with pytest.raises(ConfigError, match="No such file"):
        value(wanted(path="none"), files)


def test_a_file_that_cannot_be_read_is_an_error_even_where_it_may_be_missing(tmp_path: Path):
    (tmp_path / "env").write_text("nonsense")
    (tmp_path / "big").write_text("#" * 70_000)
    os.mkfifo(tmp_path / "pipe")
    for path, text in (("env", "line 1"), ("big", "more than"), ("pipe", "regular")):
        with pytest.raises(ConfigError, match=text):
            value(wanted(path=path, optional=True), read([wanted(path=path)], {"v": str(tmp_path)}))


def test_a_link_that_a_container_planted_is_not_followed(tmp_path: Path):
    (tmp_path / "secret").write_text("A='1'")
    (tmp_path / "v").mkdir()
    (tmp_path / "v/env").symlink_to("../secret")
    for path in ("env", "../secret", "/etc/passwd"):
        with pytest.raises(ConfigError):
            value(wanted(path=path), read([wanted(path=path)], {"v": str(tmp_path / "v")}))


def test_an_environment_has_them(tmp_path: Path):
    (tmp_path / "env").write_text("A='1'")
    entry = {"name": "X", "valueFrom": {"fileKeyRef": {"volumeName": "v", "path": "env", "key": "A"}}}
    pod = decode_pod(encode({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "env": [entry]}]}}))
    container = pod.spec.containers[0]
    place = EnvContext(node_name="n", files=read(selectors(container), {"v": str(tmp_path)}))
    assert environment(pod, container, place).values == {"X": "1"}
