"""How much disk the logs of each container take, as series of /metrics."""

from __future__ import annotations

from pathlib import Path

from actors.http_servers.usage.log_metrics import NAME, samples


def test_each_container_has_the_bytes_of_all_its_log_files(tmp_path: Path) -> None:
    for pod, container, files in (("n_web_u1", "a", 2), ("n_web_u1", "b", 0), ("m_db_u2", "a", 1)):
        directory = tmp_path / pod / container
        directory.mkdir(parents=True)
        for number in range(files):
            (directory / f"{number}.log").write_bytes(b"x" * 10_000)
    found = {(one.name, *one.labels.values()): one.value for one in samples(str(tmp_path))}
    assert set(found) == {(NAME, "u1", "n", "web", "a"), (NAME, "u1", "n", "web", "b"), (NAME, "u2", "m", "db", "a")}
    assert found[NAME, "u1", "n", "web", "b"] == 0
    assert found[NAME, "u1", "n", "web", "a"] == 2 * found[NAME, "u2", "m", "db", "a"] >= 20_000


def test_directories_of_no_pod_are_left_out_and_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "file").write_text("x")
    (tmp_path / "n_web_u").mkdir()
    (tmp_path / "n_web_u" / "a").symlink_to("/")
    assert list(samples(str(tmp_path))) == []
    assert list(samples(str(tmp_path / "gone"))) == []
