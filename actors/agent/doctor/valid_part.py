"""The agent that the valid part of a command line describes: the host is checked for it if the whole is invalid."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from actors.shared.config.agent import Agent
from actors.shared.config.errors import MASKED, ConfigErrors, ConfigProblem
from actors.shared.config.flags import parsing
from actors.shared.config.loading import load

_FILES = frozenset({"config", "config-dir", "policy"})


class ValidPart(NamedTuple):
    """An agent, and how it differs from the one that is asked for."""

    agent: Agent
    checked: str
    """How the host is checked: `without maxPods`, `by the configuration that was in force last`, ..."""


class _Try(NamedTuple):
    flags: Sequence[str]
    fields: Sequence[str]
    in_force: bool
    checked: str


def valid_part(words: Sequence[str], problems: Sequence[ConfigProblem]) -> ValidPart | None:
    """The agent without the flags and fields in `problems`; else, as where a file cannot be read, with the
    configuration that was in force last, or with defaults. None: not even that is valid."""
    for one in _tries(words, problems):
        try:
            agent = load(one.flags, recover=False, in_force=one.in_force, without=one.fields)
        except ConfigErrors:
            continue
        return ValidPart(agent, one.checked)
    return None


def _tries(words: Sequence[str], problems: Sequence[ConfigProblem]) -> Iterator[_Try]:
    """The ways to load a part, the largest part first."""
    named = list(dict.fromkeys(map(_place, problems)))
    wrong = {name for name in named if name.startswith("--")}
    kept = {name: value for name, value in parsing.parse(words).written.items() if f"--{name}" not in wrong}
    flags = [f"--{name}={value}" for name, value in kept.items() if value != MASKED]
    fields = [name for name in named if name and name not in wrong]
    yield _Try(flags, fields, in_force=False, checked=f"without {', '.join(filter(None, named))}")
    yield _Try(flags, (), in_force=True, checked="by the configuration that was in force last")
    bare = [f"--{name}={value}" for name, value in kept.items() if name not in _FILES and value != MASKED]
    yield _Try(bare, (), in_force=False, checked="by the defaults in place of the files")
    places = [flag for flag in bare if flag.startswith("--root-dir=")]
    yield _Try(places, (), in_force=False, checked="by the defaults")


def _place(problem: ConfigProblem) -> str:
    """The flag, or the field at the top of the file, that is wrong. Pure."""
    if problem.source.startswith("--"):
        return problem.source
    if problem.path.startswith("-"):
        return problem.path
    return problem.path.partition(".")[0].partition("[")[0]
