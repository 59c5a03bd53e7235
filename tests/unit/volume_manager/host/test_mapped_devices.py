"""What a kubelet has left of the devices of a pod: which files and loop devices are the pod's."""

from __future__ import annotations

from pathlib import Path

from actors.volume_manager.host.mapped_devices import loop_devices, mapped

UID = "u-1"
CSI = "kubernetes.io/csi/volumeDevices/pv.a/dev"
LOCAL = "kubernetes.io~local-volume/volumeDevices/pv.b"


def map_file(plugins: Path, directory: str, uid: str = UID) -> str:
    (plugins / directory).mkdir(parents=True, exist_ok=True)
    (plugins / directory / uid).touch()
    return str(plugins / directory / uid)


def test_the_devices_of_a_pod_are_found_by_its_uid(tmp_path: Path) -> None:
    assert mapped(str(tmp_path), UID) == []
    paths = [map_file(tmp_path, directory) for directory in (CSI, LOCAL)]
    map_file(tmp_path, CSI, "another")
    assert mapped(str(tmp_path), UID) == paths


def test_a_loop_device_is_found_by_its_file_also_when_that_was_removed(tmp_path: Path) -> None:
    for number, text in enumerate(("/dev/x/u-1\n", "/dev/x/u-1 (deleted)\n", "/dev/x/u-11\n", "")):
        (tmp_path / f"block/loop{number}/loop").mkdir(parents=True)
        (tmp_path / f"block/loop{number}/loop/backing_file").write_text(text)
    (tmp_path / "block/loop9").mkdir()
    assert loop_devices("/dev/x/u-1", str(tmp_path)) == ["/dev/loop0", "/dev/loop1"]
