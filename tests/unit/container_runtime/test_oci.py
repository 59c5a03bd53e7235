"""An image layout is well-formed by the image specification: each descriptor has its blob."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from actors.container_runtime.oci import LayerEntry, OciImage, OciLayout, build, layer, write

NAMES = st.text("abcdefghij0123456789._-", min_size=1, max_size=20).filter(lambda name: name not in {".", ".."})
ENTRIES = st.builds(
    LayerEntry,
    path=NAMES,
    mode=st.sampled_from([0o644, 0o755, 0o1777, 0o4755]),
    data=st.one_of(st.none(), st.binary(max_size=600)),
)


def image(reference: str = "example.org/app:1.0", *entries: LayerEntry) -> OciImage:
    return OciImage(reference=reference, entries=entries or (LayerEntry("app", data=b"#!"),), config={"Cmd": ["/app"]})


def blob(layout: OciLayout, descriptor: dict[str, Any]) -> bytes:
    content = layout.blobs[descriptor["digest"].removeprefix("sha256:")]
    assert "sha256:" + hashlib.sha256(content).hexdigest() == descriptor["digest"]
    assert len(content) == descriptor["size"]
    return content


def test_every_descriptor_leads_to_its_blob_and_no_blob_is_idle() -> None:
    layout = build([image(), image("example.org/other:2")], "amd64")
    seen = set()
    for entry in json.loads(layout.index)["manifests"]:
        manifest = json.loads(blob(layout, entry))
        config = json.loads(blob(layout, manifest["config"]))
        contents = [blob(layout, described) for described in manifest["layers"]]
        assert config["rootfs"]["diff_ids"] == ["sha256:" + hashlib.sha256(content).hexdigest() for content in contents]
        assert (config["os"], config["architecture"]) == ("linux", "amd64")
        seen |= {entry["digest"], manifest["config"]["digest"], *(one["digest"] for one in manifest["layers"])}
    assert seen == {f"sha256:{name}" for name in layout.blobs}


def test_an_image_is_found_by_its_full_name_and_tag() -> None:
    entry = json.loads(build([image("registry.example.org:5000/team/app:v2")], "arm64").index)["manifests"][0]
    assert entry["annotations"] == {
        "io.containerd.image.name": "registry.example.org:5000/team/app:v2",
        "org.opencontainers.image.ref.name": "v2",
    }


def test_a_built_image_is_identified_by_its_digest() -> None:
    layout = build([image()], "amd64")
    manifest = json.loads(layout.index)["manifests"][0]
    (built,) = layout.images
    assert built.reference == "example.org/app:1.0"
    assert built.config_digest == json.loads(blob(layout, manifest))["config"]["digest"]


def test_the_same_content_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(tmp_path / name, build([image()], "amd64"))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_an_existing_layer_is_used_unchanged() -> None:
    made = layer([LayerEntry("app", data=b"#!")])
    layout = build([OciImage(reference="example.org/app:1.0", tar=made)], "amd64")
    manifest = json.loads(blob(layout, json.loads(layout.index)["manifests"][0]))
    assert [blob(layout, described) for described in manifest["layers"]] == [made]


def test_the_tar_holds_the_layout(tmp_path: Path) -> None:
    layout = build([image()], "amd64")
    write(tmp_path / "tar", layout)
    with tarfile.open(tmp_path / "tar") as tar:
        names = {member.name for member in tar if member.isfile()}
        version = tar.extractfile("oci-layout")
        assert version is not None
        assert json.load(version) == {"imageLayoutVersion": "1.0.0"}
    assert names == {"oci-layout", "index.json", *(f"blobs/sha256/{digest}" for digest in layout.blobs)}


@given(st.lists(ENTRIES, unique_by=lambda entry: entry.path, max_size=8))
def test_a_layer_holds_the_given_files_with_fixed_time_and_owner(entries: list[LayerEntry]) -> None:
    with tarfile.open(fileobj=io.BytesIO(layer(entries))) as tar:
        members = tar.getmembers()
        assert [member.name for member in members] == [entry.path for entry in entries]
        for member, entry in zip(members, entries, strict=True):
            assert (member.mode, member.uid, member.gid, member.mtime) == (entry.mode, 0, 0, 0)
            assert member.isdir() == (entry.data is None)
            if entry.data is not None:
                file = tar.extractfile(member)
                assert file is not None
                assert file.read() == entry.data


def test_a_link_points_where_it_should() -> None:
    with tarfile.open(fileobj=io.BytesIO(layer([LayerEntry("bin/ls", 0o777, target="busybox")]))) as tar:
        (member,) = tar.getmembers()
    assert member.issym()
    assert member.linkname == "busybox"
