"""Memory of the machine, and oom_score_adj."""

import os

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from actors.shared.linux.memory import parse_meminfo, total_memory
from actors.shared.linux.oom_score import set_score


def test_sizes_are_bytes_and_counts_are_counts():
    assert parse_meminfo("MemTotal:   16 kB\nHugePages_Total:  3\nodd\n") == {
        "MemTotal": 16384,
        "HugePages_Total": 3,
    }


LINES = st.one_of(
    st.text(max_size=20),
    st.builds(
        "{}:{}{}".format, st.text("ab", max_size=2), st.text("09-\u00b2 ", max_size=4), st.sampled_from(["", " kB"])
    ),
)


@given(st.lists(LINES).map("\n".join))
@example("a: -1 kB\nb: \u00b2\nc: 5 MB\n: 7")
def test_any_text_is_read(text):
    assert all(value >= 0 and name in text for name, value in parse_meminfo(text).items())


def test_this_machines_memory_is_read():
    assert total_memory() == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def test_a_score_is_written_for_its_own_process_only(tmp_path):
    (tmp_path / "42").mkdir()

    assert set_score(-999, pid=42, proc=str(tmp_path))
    assert (tmp_path / "42/oom_score_adj").read_text() == "-999"
    with pytest.raises(FileNotFoundError):
        set_score(1, pid=43, proc=str(tmp_path))


def test_a_refused_score_is_reported_and_no_error(monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.write_text", refuse)

    assert not set_score(-999)
