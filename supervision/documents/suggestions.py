"""Suggests known names for an unknown one."""

from __future__ import annotations

from collections.abc import Iterable

_FURTHER = 0.15
"""A second name is suggested too if its similarity is lower than the first name's by at most this much."""


def close_to(name: str, known: Iterable[str], most: int = 1) -> list[str]:
    """At most `most` known names similar to this one. Case, `_` and `-` are ignored."""
    import difflib

    names = list(known)
    plain = _normalize(name)
    same = [one for one in names if _normalize(one) == plain]
    if same:
        return same[:most]
    near = difflib.get_close_matches(name, names, most)
    best = [difflib.SequenceMatcher(None, one, name).ratio() for one in near[:1]]
    return [one for one in near if difflib.SequenceMatcher(None, one, name).ratio() > best[0] - _FURTHER]


def did_you_mean(name: str, known: Iterable[str], before: str = "", most: int = 1) -> str:
    """`, did you mean X?` or ''. `before` is put before each name, such as the dashes of a flag."""
    return hint_of(f"{before}{one}" for one in close_to(name, known, most))


def hint_of(found: Iterable[str]) -> str:
    """`, did you mean X or Y?` with these names; '' without any."""
    text = " or ".join(found)
    return f", did you mean {text}?" if text else ""


def _normalize(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")
