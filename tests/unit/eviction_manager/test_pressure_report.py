"""What `supervise status` says of a node under pressure."""

from __future__ import annotations

from actors.eviction_manager.pressure_report import PressureReport
from actors.eviction_manager.thresholds import SignalObservation
from actors.shared.config.fields.eviction import Amount, Threshold
from supervision.process_messages import ServiceState

MIB = 1 << 20
IMAGES = Threshold("imagefs.available", Amount(percent=15.0))
MEMORY = Threshold("memory.available", Amount(absolute=100 * MIB))
PIDS = Threshold("pid.available", Amount(absolute=10))


def test_each_condition_is_reported_with_its_signals_and_withdrawn() -> None:
    told: list[ServiceState] = []
    report = PressureReport(told.append, lambda: 7.0)
    report.observed((), (), {})
    assert told == [ServiceState(name, "", 7.0) for name in ("MemoryPressure", "DiskPressure", "PIDPressure")], (
        "an earlier incarnation may have told of a pressure"
    )
    told.clear()
    seen = {
        "imagefs.available": SignalObservation(12 * MIB, 100 * MIB), "pid.available": SignalObservation(9, 0),
        "memory.available": SignalObservation(50 * MIB, 1000 * MIB),
    }  # fmt: skip
    everything = ("MemoryPressure", "DiskPressure", "PIDPressure")
    report.observed(everything, (IMAGES, MEMORY, PIDS), seen)
    assert [one.text for one in told] == [
        "memory.available is 50 MiB (5%), below 100 MiB",
        "imagefs.available is 12 MiB (12%), below 15%",
        "pid.available is 9, below 10",
    ]
    assert told[1].remedy.startswith("supervise doctor: its line `disk` "), "it knows the directories"
    told.clear()
    report.observed(everything, (IMAGES, MEMORY, PIDS), {})
    assert told == [], "what was not observed this time is as it was"
    report.observed(("DiskPressure",), (), {})
    assert [(one.service, bool(one.text)) for one in told] == [
        ("MemoryPressure", False), ("DiskPressure", True), ("PIDPressure", False),
    ]  # fmt: skip
    assert "evictionPressureTransitionPeriod" in told[1].text
    assert told[1].remedy.startswith("nothing to do but wait; "), "there is space again"


def test_a_signal_that_was_never_observed_is_named() -> None:
    told: list[ServiceState] = []
    PressureReport(told.append, lambda: 7.0).observed(("DiskPressure",), (IMAGES,), {})
    assert "imagefs.available was below 15%" in [one.text for one in told]
