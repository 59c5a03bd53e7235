"""Pressure stall information (PSI) of the kernel, of a cgroup or of the whole host."""

from __future__ import annotations

import msgspec


class Pressure(msgspec.Struct, frozen=True):
    """A line of PSI: microseconds in total, and the share of the last 10, 60 and 300 s in percent."""

    total_us: int = 0
    avg10: float = 0.0
    avg60: float = 0.0
    avg300: float = 0.0


class Psi(msgspec.Struct, frozen=True):
    """A resource. `some`: at least one task waited for it; `full`: all did."""

    some: Pressure = Pressure()
    full: Pressure = Pressure()


def psi_of(text: str) -> Psi | None:
    """`some avg10=0.00 avg60=0.00 avg300=0.00 total=0`, and the same for `full`; None: it is not that."""
    found: dict[str, Pressure] = {}
    for line in text.splitlines():
        kind, _, rest = line.partition(" ")
        pairs = rest.split()
        values = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
        try:
            averages = [float(values[name]) for name in ("avg10", "avg60", "avg300")]
            found[kind] = Pressure(int(values["total"]), *averages)
        except (KeyError, ValueError):
            return None
    return Psi(found.get("some", Pressure()), found.get("full", Pressure())) if found else None
