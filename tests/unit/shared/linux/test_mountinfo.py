"""The mount table."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.shared.linux.mountinfo import MountInfoError, at, below, mount_at, parse, read, read_below
from tests.support.present import present

LINE = b"36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 shared:7 - ext3 /dev/root rw,errors=continue\n"


def test_every_field_of_the_manual_pages_example_is_read():
    (mount,) = parse(LINE)

    assert (mount.id, mount.parent, mount.device) == (36, 35, "98:0")
    assert (mount.root, mount.point) == ("/mnt1", "/mnt2")
    assert mount.options == ("rw", "noatime")
    assert mount.tags == ("master:1", "shared:7")
    assert mount.shared
    assert (mount.kind, mount.source) == ("ext3", "/dev/root")
    assert mount.super_options == ("rw", "errors=continue")


def test_octal_escapes_are_decoded():
    (mount,) = parse(b"1 2 0:1 / /a\\040b\\134c\\011d\\012e rw - tmpfs none rw\n")

    assert mount.point == "/a b\\c\td\ne"


def test_an_empty_source_is_read():
    (mount,) = parse(b"1 2 0:1 / /x rw - tmpfs  rw\n")

    assert mount.source == ""
    assert mount.super_options == ("rw",)


@pytest.mark.parametrize("line", [b"nonsense", b"1 2 0:1 / /x rw ext4 /dev/x rw", b"x 2 0:1 / /x rw - a b c"])
def test_an_invalid_line_is_named_in_the_error(line):
    with pytest.raises(MountInfoError, match="not a line of mountinfo"):
        parse(line)


def _escape(text):
    for character in "\\ \t\n":
        text = text.replace(character, f"\\{ord(character):03o}")
    return text.encode("utf-8", "surrogateescape")


words = st.text(st.characters(codec="utf-8", exclude_characters="\0,"), min_size=1, max_size=12)


@given(point=words, root=words, source=words, tags=st.lists(st.sampled_from(["shared:1", "master:2", "unbindable"])))
def test_names_that_the_kernel_escapes_are_read_unescaped(point, root, source, tags):
    fields = [b"10", b"9", b"8:1", _escape(root), _escape("/" + point), b"rw", *(tag.encode() for tag in tags)]
    line = b" ".join([*fields, b"-", b"ext4", _escape(source), b"rw"]) + b"\n"

    (mount,) = parse(line)

    assert (mount.root, mount.point, mount.source, mount.tags) == (root, "/" + point, source, tuple(tags))


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data):
    try:
        parse(data)
    except MountInfoError:
        pass


def _table(*points):
    return parse(b"".join(b"%d 1 0:1 / %s rw - tmpfs x rw\n" % (i, p.encode()) for i, p in enumerate(points)))


def test_mounts_below_a_directory_come_in_the_order_of_their_unmounting():
    table = _table("/", "/pods", "/pods/a", "/podsother", "/pods/a/b", "/pods/a")

    assert [mount.point for mount in below(table, "/pods")] == ["/pods/a", "/pods/a/b", "/pods/a", "/pods"]


def test_a_path_lies_on_the_deepest_and_topmost_mount():
    table = _table("/", "/var", "/var/lib", "/var/lib")

    assert present(mount_at(table, "/var/lib/x")).id == 3
    assert present(mount_at(table, "/var/library")).point == "/var"
    assert present(mount_at(table, "/etc")).point == "/"
    assert mount_at(_table("/mnt"), "/etc") is None


def test_the_kernels_own_table_is_read():
    assert present(mount_at(read(), "/proc/self")).kind == "proc"


def table(proc: Path, text: bytes) -> str:
    (proc / "self").mkdir()
    (proc / "self" / "mountinfo").write_bytes(text)
    return str(proc)


@pytest.mark.parametrize("directory", ["/", "/a b", "/a b/c", "/d", "/nowhere"])
def test_the_mounts_below_a_directory_are_those_of_the_whole_table(tmp_path: Path, directory: str) -> None:
    points = (b"/", b"/a\\040b", b"/a\\040b/c", b"/a\\040bc", b"/a\\040b/c", b"/d/e")
    proc = table(tmp_path, b"".join(b"1 2 0:1 / %b rw - tmpfs none rw\n" % point for point in points))
    assert read_below(directory, proc) == below(read(proc), directory)


def test_the_mounts_below_a_directory_of_no_table_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(MountInfoError, match="not a line of mountinfo"):
        read_below("/", table(tmp_path, b"nonsense\n"))


@pytest.mark.parametrize("point", ["/", "/a b", "/a b/c", "/d\\e", "/t\tn\n", "/nowhere", "/\udcff"])
def test_the_mounts_at_a_point_are_those_of_the_whole_table_with_that_point(tmp_path: Path, point: str) -> None:
    points = (b"/", b"/a\\040b", b"/a\\040b/c", b"/a\\040bc", b"/a\\040b/c", b"/d\\134e", b"/t\\011n\\012", b"/\xff")
    proc = table(tmp_path, b"".join(b"1 2 0:1 /a\\040b %b rw - tmpfs / rw\n" % point for point in points))
    assert at(point, proc) == [mount for mount in read(proc) if mount.point == point]
    assert bool(at(point, proc)) == (point != "/nowhere")
