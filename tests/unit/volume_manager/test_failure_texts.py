"""What users are told of volumes that cannot be mounted."""

from actors.volume_manager.failure_texts import event_texts


def test_each_volume_has_a_text_of_its_own_and_claims_without_a_volume_have_one_together():
    assert event_texts({"d": "no space"}, {"b", "c"}) == ['MountVolume.SetUp failed for volume "d" : no space']
    lists = "unmounted volumes=[b c d], unattached volumes=[], failed to process volumes=[b c]"
    assert event_texts({"d": "no space", "c": "lost", "b": "gone"}, {"b", "c"}) == [
        'MountVolume.SetUp failed for volume "d" : no space',
        f"Unable to attach or mount volumes: {lists}: gone; lost",
    ]
