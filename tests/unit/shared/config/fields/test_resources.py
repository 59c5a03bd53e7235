from fractions import Fraction

import pytest

from actors.shared.config.fields.eviction import parse_amount, parse_reclaim, thresholds
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.config.fields.resources import parse_percent, parse_resource_list


def test_reservations_are_read_in_cores_bytes_and_ids():
    given: dict[str, str | int] = {"cpu": "250m", "memory": "1Gi", "ephemeral-storage": 5, "pid": "1k"}
    assert parse_resource_list(given) == {
        "cpu": Fraction(1, 4),
        "memory": 1 << 30,
        "ephemeral-storage": 5,
        "pid": 1000,
    }


def test_nothing_may_be_reserved():
    assert parse_resource_list({"cpu": "0", "memory": 0}) == {"cpu": 0, "memory": 0}


@pytest.mark.parametrize("amounts", [{"gpu": "1"}, {"cpu": "-1"}, {"cpu": "1 m"}, {"cpu": ""}])
def test_a_wrong_reservation_is_refused(amounts):
    with pytest.raises(ValueError):
        parse_resource_list(amounts)


@pytest.mark.parametrize(
    ("text", "value"), [("10%", 10), ("0.5%", Fraction(1, 2)), ("5.%", 5), ("+5%", 5), ("10", None), ("-1%", None)]
)
def test_percentages_and_quantities_are_distinguished(text, value):
    assert parse_percent(text) == value


@pytest.mark.parametrize("text", ["0", "-1", "101%", "x", "1 Gi"])
def test_a_meaningless_threshold_is_refused(text):
    with pytest.raises(ValueError):
        parse_amount(text)


def test_a_percentage_is_taken_in_single_precision_as_the_kubelet_takes_it():
    """A kubelet gave 267847642337 bytes allocatable of 264212084 KiB with `nodefs.available: 1%`."""
    amount = parse_amount("1%")
    assert amount is not None
    assert amount.of(264212084 << 10) == (264212084 << 10) - 267847642337


def test_thresholds_are_read_memory_first_with_grace_and_reclaim_and_without_those_switched_off():
    config = KubeletConfiguration(
        evictionHard={"nodefs.available": "10%", "memory.available": "100Mi", "pid.available": "0%"},
        evictionSoft={"memory.available": "1Gi"},
        evictionSoftGracePeriod={"memory.available": "90s"},
        evictionMinimumReclaim={"nodefs.available": "1Gi"},
    )
    found = [(item.signal, item.amount.of(1000 << 20), item.grace_seconds, item.reclaim) for item in thresholds(config)]
    assert found == [
        ("memory.available", 100 << 20, 0.0, None),
        ("memory.available", 1 << 30, 90.0, None),
        ("nodefs.available", (100 << 20) + 1, 0.0, parse_reclaim("1Gi")),
    ]
