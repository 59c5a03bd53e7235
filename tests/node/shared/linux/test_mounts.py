"""Mounts for real. Each test works in a mount table of its own, so nothing can be left behind."""

import errno
import os
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.node, pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")]

PREPARE = """
import os, sys
sys.path.insert(0, {root!r})
from actors.shared.linux import mountinfo, mount_calls, removal
from actors.shared.linux.removal import MountInsideError, remove_tree
work = {work!r}
"""


@pytest.fixture
def run(tmp_path):
    """Run code in a private mount namespace; an assertion that fails there fails here."""

    def run(code):
        root = os.getcwd()
        command = ["unshare", "--mount", "--propagation", "private", sys.executable, "-c"]
        script = PREPARE.format(root=root, work=str(tmp_path)) + code
        done = subprocess.run([*command, script], capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == 0, done.stderr

    return run


def test_tmpfs_is_mounted_seen_and_unmounted(run):
    run("""
os.mkdir(work + "/a b")
mount_calls.mount("tmpfs", work + "/a b", "tmpfs", options="size=65536,mode=0700")
(found,) = mountinfo.below(mountinfo.read(), work)
assert (found.point, found.kind) == (work + "/a b", "tmpfs"), found
assert not found.shared
mount_calls.make_shared(found.point)
assert mountinfo.mount_at(mountinfo.read(), found.point).shared
mount_calls.umount(found.point)
assert mountinfo.below(mountinfo.read(), work) == []
""")


def test_errors_of_the_kernel_come_with_their_number(run):
    run(f"""
for call, number in ((lambda: mount_calls.umount(work), {errno.EINVAL}),
                     (lambda: mount_calls.mount("x", work + "/none", "tmpfs"), {errno.ENOENT}),
                     (lambda: mount_calls.mount("x", work, "nosuchfs"), {errno.ENODEV})):
    try:
        call()
    except OSError as error:
        assert error.errno == number, error
    else:
        raise AssertionError("no error")
""")


@pytest.mark.parametrize("way", ["openat2", "fdinfo"])
@pytest.mark.parametrize("kind", ["tmpfs", "bind", "file"])
def test_a_removal_stops_at_a_mount_and_keeps_its_content(run, way, kind):
    run(f"""
way, kind = {way!r}, {kind!r}
if way == "fdinfo":
    removal.has_openat2 = lambda: False
os.makedirs(work + "/tree/deep")
os.makedirs(work + "/precious/inner")
open(work + "/precious/data", "w").write("keep me")
place = work + "/tree/deep/mnt"
if kind == "file":
    open(place, "w").close()
    mount_calls.bind(work + "/precious/data", place)
else:
    os.mkdir(place)
    if kind == "tmpfs":
        mount_calls.mount("tmpfs", place, "tmpfs")
        open(place + "/data", "w").write("keep me")
    else:
        mount_calls.bind(work + "/precious", place)   # the same file system: only the mount tells
try:
    remove_tree(work + "/tree")
except MountInsideError as error:
    assert error.filename == place, error
else:
    raise AssertionError("removed across a mount")
data = place if kind == "file" else place + "/data"
assert open(data).read() == "keep me"
mount_calls.umount(place)
remove_tree(work + "/tree")
assert os.listdir(work) == ["precious"]
assert open(work + "/precious/data").read() == "keep me"
""")
