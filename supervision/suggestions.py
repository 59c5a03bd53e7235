"""Suggests known names for an unknown one."""

from __future__ import annotations

from collections.abc import Iterable


def close_to(name: str, known: Iterable[str], most: int = 1) -> list[str]:
    """At most `most` known names similar to this one. Case, `_` and `-` are ignored."""
    import difflib

    names = list(known)
    plain = _normalize(name)
    same = [one for one in names if _normalize(one) == plain]
    return (same or difflib.get_close_matches(name, names, most))[:most]


def did_you_mean(name: str, known: Iterable[str], before: str = "", most: int = 1) -> str:
    """`, did you mean X?` or ''. `before` is put before each name, such as the dashes of a flag."""
    found = [f"{before}{one}" for one in close_to(name, known, most)]
    return f", did you mean {' or '.join(found)}?" if found else ""


def _normalize(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")
