"""Eviction thresholds, parsed from the configuration: signal, amount, grace period, minimum reclaim.

A threshold's operator is always "less than". 0% and 100% switch a threshold off.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from fractions import Fraction
from typing import Final

import msgspec

from actors.shared.kube import quantity

from .duration import Duration
from .kubelet_configuration import KubeletConfiguration
from .resources import parse_percent

SIGNALS: Final = (
    "memory.available",
    "allocatableMemory.available",
    "nodefs.available",
    "nodefs.inodesFree",
    "imagefs.available",
    "imagefs.inodesFree",
    "containerfs.available",
    "containerfs.inodesFree",
    "pid.available",
)

_SINGLE: Final = struct.Struct("f")


class Amount(msgspec.Struct, frozen=True):
    """An amount: a quantity or a percentage."""

    absolute: int | None = None
    """Bytes, inodes or process IDs."""
    percent: float | None = None
    """Percent of the capacity; None: the threshold is a quantity."""
    written: str = ""
    """The quantity as in the configuration, for messages; empty: a percentage."""

    def of(self, capacity: int) -> int:
        """Bytes, inodes or process IDs."""
        return self.absolute if self.absolute is not None else int(capacity * _share(self.percent or 0.0))

    def text(self, absolute: Callable[[int], str] = str) -> str:
        """For messages: `15%`, or the quantity as `absolute` writes it."""
        return f"{self.percent or 0:g}%" if self.absolute is None else absolute(self.absolute)


def _share(percent: float) -> float:
    """`percent` as a fraction, in single precision as in the kubelet, so that a node's allocatable is the same to the
    byte."""
    return _single(_single(percent) / 100)


def _single(value: float) -> float:
    found: float = _SINGLE.unpack(_SINGLE.pack(value))[0]
    return found


class Threshold(msgspec.Struct, frozen=True):
    """It is crossed while less than `amount` is available."""

    signal: str
    amount: Amount
    grace_seconds: float = 0.0
    """How long it must be crossed before pods are evicted; 0 for a hard threshold."""
    reclaim: Amount | None = None
    """The amount that must be free beyond `amount` before the threshold no longer counts as crossed."""


def parse_amount(text: str) -> Amount | None:
    """A threshold's amount; None if it disables the threshold. Raises ValueError with the rule."""
    percent = parse_percent(text)
    if percent is not None:
        if percent > 100:
            raise ValueError("must be at most 100%")
        return None if percent in {0, 100} else Amount(percent=float(percent))
    value = quantity.parse(text)
    if value <= 0:
        raise ValueError("must be more than 0")
    return Amount(absolute=quantity.ceil(value), written=text)


def parse_reclaim(text: str) -> Amount:
    """An amount to reclaim; 0 is allowed, 0% is not. Raises ValueError with the rule."""
    percent = parse_percent(text)
    if percent is not None:
        if not 0 < percent <= 100:
            raise ValueError("must be more than 0% and at most 100%")
        return Amount(percent=float(percent))
    value: Fraction = quantity.parse(text)
    if value < 0:
        raise ValueError("must not be negative")
    return Amount(absolute=quantity.ceil(value), written=text)


def parse_grace(text: str) -> Duration:
    """A grace period; with 0 a soft threshold is a hard one. Raises ValueError with the rule."""
    grace = Duration.parse(text)
    if grace < 0:
        raise ValueError("must not be negative")
    return grace


def thresholds(config: KubeletConfiguration) -> tuple[Threshold, ...]:
    """Every threshold of a valid configuration, memory first, in the order of handling."""
    reclaim = _reclaims(config)
    grace = {signal: float(parse_grace(text)) for signal, text in config.evictionSoftGracePeriod.items()}
    found: list[Threshold | None] = [*hard_thresholds(config)]
    # one that is switched off needs no grace period
    found += [_threshold(signal, text, grace.get(signal, 0.0), reclaim) for signal, text in config.evictionSoft.items()]
    return tuple(sorted(filter(None, found), key=lambda threshold: not threshold.signal.startswith("memory.")))


def hard_thresholds(config: KubeletConfiguration) -> list[Threshold]:
    """Those of evictionHard, in the order of the configuration. Only they reduce what is allocatable: not a soft
    threshold whose grace period is 0."""
    reclaim = _reclaims(config)
    found = (_threshold(signal, text, 0.0, reclaim) for signal, text in config.evictionHard.items())
    return [one for one in found if one is not None]


def _reclaims(config: KubeletConfiguration) -> dict[str, Amount]:
    return {signal: parse_reclaim(text) for signal, text in config.evictionMinimumReclaim.items()}


def _threshold(signal: str, text: str, grace: float, reclaim: dict[str, Amount]) -> Threshold | None:
    amount = parse_amount(text)
    return None if amount is None else Threshold(signal, amount, grace, reclaim.get(signal))
