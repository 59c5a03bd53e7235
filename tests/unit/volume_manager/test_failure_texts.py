"""What users are told of volumes that cannot be mounted."""

from actors.volume_manager.failure_texts import (
    EXPAND,
    EXPAND_DEVICE,
    MAP_DEVICE,
    MOUNT_DEVICE,
    MountError,
    events_of,
    unattached,
)
from actors.volume_manager.messages import VolumeEvent


def test_each_volume_has_a_text_of_its_own_and_claims_without_a_volume_have_one_together():
    full, lost, gone = MountError("no space"), MountError("lost"), MountError("gone")
    setup = VolumeEvent("FailedMount", 'MountVolume.SetUp failed for volume "d" : no space')
    assert events_of({"d": full}, {}, {"b", "c"}) == [setup]
    lists = "unmounted volumes=[b c d], unattached volumes=[], failed to process volumes=[b c]"
    assert events_of({"d": full, "c": lost, "b": gone}, {}, {"b", "c"}) == [
        setup,
        VolumeEvent("FailedMount", f"Unable to attach or mount volumes: {lists}: gone; lost"),
    ]


def test_a_persistent_volume_has_its_own_name_and_a_device_its_own_reason():
    failed = {"d": MountError("no", MOUNT_DEVICE), "b": MountError("not", MAP_DEVICE)}
    assert events_of(failed, {"d": "pv-1", "b": "pv-2"}, set()) == [
        VolumeEvent("FailedMount", 'MountVolume.MountDevice failed for volume "pv-1" : no'),
        VolumeEvent("FailedMapVolume", 'MapVolume.MapPodDevice failed for volume "pv-2" : not'),
    ]


def test_a_failed_expansion_at_a_mount_has_its_own_message():
    failed = {"d": MountError("full", EXPAND), "b": MountError("full", EXPAND_DEVICE)}
    assert events_of(failed, {}, set()) == [
        VolumeEvent("FailedMount", 'MountVolume.Setup failed while expanding volume for volume "d" : full'),
        VolumeEvent(
            "FailedMapVolume", 'MapVolume.MarkVolumeAsMounted failed while expanding volume for volume "b" : full'
        ),
    ]


def test_a_volume_that_waits_for_the_attach_controller_has_no_event_and_is_named_unattached():
    failed = {"d": MountError("not attached yet", waits=True), "c": MountError("lost")}
    assert events_of({"d": failed["d"]}, {}, set()) == []
    lists = "unmounted volumes=[c d], unattached volumes=[d], failed to process volumes=[c]"
    assert [each.text for each in events_of(failed, {}, {"c"})] == [f"Unable to attach or mount volumes: {lists}: lost"]
    assert unattached(failed) == ["d"]
