"""Files of a downwardAPI volume, and how they come to be all at once."""

import asyncio
import os
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.shared.kube.container import Container, ResourceRequirements
from actors.shared.kube.meta import ObjectFieldSelector, ObjectMeta, ResourceFieldSelector
from actors.shared.kube.pod import Pod, PodSpec
from actors.shared.kube.volumes import DownwardAPIVolumeFile, DownwardAPIVolumeSource
from actors.shared.linux.confined_paths import UnsafePathError
from actors.volume_manager.files.atomic import write
from actors.volume_manager.files.downward_fields import DownwardError, File, field, files, lines, resource

POD = Pod(
    metadata=ObjectMeta(
        name="web", namespace="prod", uid="u1", labels={"b": "2", "a": "1"}, annotations={"note": 'say "hi"\n'}
    ),
    spec=PodSpec(
        containers=[
            Container(
                name="c",
                resources=ResourceRequirements(limits={"memory": "64Mi"}, requests={"cpu": "250m", "memory": "32Mi"}),
            )
        ]
    ),
)
NODE = {"cpu": 1500, "memory": 1 << 30}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("metadata.name", "web"),
        ("metadata.namespace", "prod"),
        ("metadata.uid", "u1"),
        ("metadata.labels", 'a="1"\nb="2"'),
        ("metadata.annotations", 'note="say \\"hi\\"\\n"'),
        ("metadata.labels['b']", "2"),
        ("metadata.annotations['note']", 'say "hi"\n'),
        ("metadata.annotations['none']", ""),
    ],
)
def test_fields_of_the_metadata(path, text):
    assert field(POD, ObjectFieldSelector(fieldPath=path)) == text


@pytest.mark.parametrize("path", ["status.podIP", "spec.nodeName", "metadata.labels['x", "metadata"])
def test_other_fields_cannot_be_in_a_volume(path):
    with pytest.raises(DownwardError, match="cannot be in a volume"):
        field(POD, ObjectFieldSelector(fieldPath=path))


@pytest.mark.parametrize(
    ("name", "divisor", "text"),
    [
        ("limits.memory", "1Mi", "64"),
        ("requests.memory", "", str(32 << 20)),
        ("requests.cpu", "1m", "250"),
        ("requests.cpu", "", "1"),
        ("limits.cpu", "1m", "1500"),
        ("limits.cpu", "0", "2"),
        ("requests.ephemeral-storage", "", "0"),
    ],
)
def test_resources_of_a_container_rounded_up_with_the_node_in_place_of_a_missing_limit(name, divisor, text):
    selector = ResourceFieldSelector(containerName="c", resource=name, divisor=divisor)

    assert resource(POD, selector, NODE) == text


@pytest.mark.parametrize("name", ["cpu", "usage.cpu"])
def test_an_invalid_resource_is_an_error(name):
    with pytest.raises(DownwardError):
        resource(POD, ResourceFieldSelector(containerName="c", resource=name), NODE)


def test_a_container_that_the_pod_lacks_is_named_as_by_the_kubelet():
    with pytest.raises(DownwardError, match=r"\Acontainer none not found\Z"):
        resource(POD, ResourceFieldSelector(containerName="none", resource="limits.cpu"), NODE)


@given(st.dictionaries(st.text("abc", min_size=1), st.text()))
def test_every_pair_is_on_one_line_of_its_own(pairs):
    assert len(lines(pairs).split("\n")) == max(1, len(pairs))


def test_files_have_the_volumes_mode_or_their_own():
    items = [
        DownwardAPIVolumeFile(path="a", fieldRef=ObjectFieldSelector(fieldPath="metadata.name")),
        DownwardAPIVolumeFile(path="b", mode=0o400, fieldRef=ObjectFieldSelector(fieldPath="metadata.uid")),
    ]

    assert files(POD, DownwardAPIVolumeSource(items=items), {}) == [File("a", b"web", 0o644), File("b", b"u1", 0o400)]
    assert files(POD, DownwardAPIVolumeSource(items=items, defaultMode=0o600), {})[0].mode == 0o600
    with pytest.raises(DownwardError, match="neither"):
        files(POD, DownwardAPIVolumeSource(items=[DownwardAPIVolumeFile(path="x")]), {})


async def test_names_lead_through_one_link_so_that_they_change_together(tmp_path):
    assert await write(str(tmp_path), [File("one", b"1", 0o644), File("deep/two", b"2", 0o600)], "..t1", None)

    assert (tmp_path / "one").read_text() == "1"
    assert (tmp_path / "deep/two").read_text() == "2"
    assert os.readlink(tmp_path / "one") == "..data/one"
    assert os.readlink(tmp_path / "deep") == "..data/deep"
    assert os.readlink(tmp_path / "..data") == "..t1"
    assert stat.S_IMODE((tmp_path / "deep/two").stat().st_mode) == 0o600


async def test_writing_the_same_changes_nothing(tmp_path):
    wanted = [File("one", b"1", 0o644)]
    await write(str(tmp_path), wanted, "..t1", None)

    assert not await write(str(tmp_path), wanted, "..t2", None)
    assert os.readlink(tmp_path / "..data") == "..t1"


async def test_files_that_are_no_longer_wanted_are_removed(tmp_path):
    await write(str(tmp_path), [File("one", b"1", 0o644), File("old", b"x", 0o644)], "..t1", None)
    (tmp_path / "..crashed").mkdir()

    await write(str(tmp_path), [File("one", b"2", 0o644)], "..t2", None)

    assert sorted(os.listdir(tmp_path)) == ["..data", "..t2", "one"]
    assert (tmp_path / "one").read_text() == "2"


async def test_the_directory_of_a_sub_path_outlives_changes_of_the_files(tmp_path):
    """A container has it as a mount: without it, its next start fails, and what it writes is lost."""
    await write(str(tmp_path), [File("old", b"1", 0o644)], "..t1", None)
    (tmp_path / "sub/deep").mkdir(parents=True)
    (tmp_path / "sub/file").write_text("written by the container")

    assert not await write(str(tmp_path), [File("old", b"1", 0o644)], "..t2", None)
    assert await write(str(tmp_path), [File("new", b"2", 0o644)], "..t3", None)

    assert sorted(os.listdir(tmp_path)) == ["..data", "..t3", "new", "sub"]
    assert sorted(os.listdir(tmp_path / "sub")) == ["deep", "file"]


async def test_a_writer_that_died_before_the_last_link_is_completed(tmp_path):
    wanted = [File("one", b"1", 0o644)]
    await write(str(tmp_path), wanted, "..t1", None)
    (tmp_path / "one").unlink()

    await write(str(tmp_path), wanted, "..t2", None)

    assert (tmp_path / "one").read_text() == "1"


async def test_files_of_a_volume_with_a_group_can_be_read_by_it(tmp_path):
    await write(str(tmp_path), [File("one", b"1", 0o600)], "..t1", os.getgid())

    assert stat.S_IMODE((tmp_path / "one").stat().st_mode) == 0o640
    folder = (tmp_path / "..data").stat()
    assert (stat.S_IMODE(folder.st_mode), folder.st_gid) == (0o2755, os.getgid()), "as fsGroup leaves directories"
    assert not await write(str(tmp_path), [File("one", b"1", 0o600)], "..t2", os.getgid())


@pytest.mark.parametrize("path", ["../x", "/x", "", "..data", "a/../../x"])
async def test_a_path_out_of_the_volume_is_refused_before_anything_is_written(tmp_path, path):
    with pytest.raises(UnsafePathError):
        await write(str(tmp_path), [File("good", b"1", 0o644), File(path, b"x", 0o644)], "..t1", None)

    assert os.listdir(tmp_path) == []


async def test_thousands_of_files_are_written_compared_and_removed_with_pauses_for_others(tmp_path):
    """Counted in turns of the loop, not in seconds."""
    turns, over = 0, False

    async def others() -> None:
        nonlocal turns
        while not over:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(others())
    files = [File(f"key-{number}", b"x", 0o644) for number in range(3000)]
    for stamp, wanted in (("..t1", files), ("..t2", files), ("..t3", files[:1])):
        before = turns
        await write(str(tmp_path), wanted, stamp, None)
        assert turns - before > 3000 / 100
    over = True
    await task
    assert sorted(os.listdir(tmp_path)) == ["..data", "..t3", "key-0"]


async def test_an_interrupted_write_leaves_the_earlier_files_and_no_remains(tmp_path):
    await write(str(tmp_path), [File("key-0", b"1", 0o644)], "..t1", None)
    files = [File(f"key-{number}", b"2", 0o644) for number in range(1000)]
    cut_off = asyncio.create_task(write(str(tmp_path), files, "..t2", None))
    for _ in range(3):
        await asyncio.sleep(0)
    cut_off.cancel()
    await asyncio.gather(cut_off, return_exceptions=True)
    assert (tmp_path / "key-0").read_text() == "1"
    await write(str(tmp_path), files, "..t3", None)
    assert (tmp_path / "key-999").read_text() == "2"
    assert sorted(name for name in os.listdir(tmp_path) if name.startswith("..")) == ["..data", "..t3"]
