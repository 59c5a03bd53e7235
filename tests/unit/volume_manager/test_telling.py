"""What users are told of volumes that cannot be had."""

from actors.volume_manager.plan import Directory, Unready
from actors.volume_manager.telling import texts


def test_each_volume_is_told_of_alone_and_those_that_are_not_known_together():
    steps = [Directory("d", "/d", None), Directory("e", "/e", None), Unready("c", ""), Unready("b", "")]
    assert texts(steps, {"d": "no space"}) == ['MountVolume.SetUp failed for volume "d" : no space']
    lists = "unmounted volumes=[b c d], unattached volumes=[], failed to process volumes=[b c]"
    assert texts(steps, {"d": "no space", "c": "lost", "b": "gone"}) == [
        'MountVolume.SetUp failed for volume "d" : no space',
        f"Unable to attach or mount volumes: {lists}: gone; lost",
    ]
