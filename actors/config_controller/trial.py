"""Which configuration is in force: assigned, on trial, accepted, rolled back. Pure: `decide(state, event, now)`.

                 new configuration         trial passes      trial fails         operator rolls back
    no trial     apply, start a trial      -                 -                   apply, mark the current one bad
    on trial     apply, start a new trial  it is known good  apply the last      apply, mark the current one bad
                                                             known good one

A configuration that is marked bad is not applied again until an operator rolls back to it. Without a last known good
configuration no rollback is possible, so none is marked bad.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from actors.shared.config.sources.checkpoints import DEATHS, KEPT_HISTORY, HistoryEntry, State, trial_is_lost

TRIAL_SECONDS: Final = 600.0
_DETAIL_COLUMN: Final = 53
"""The column of an entry's details in `supervise config history`, after the date, the hash and the event."""


class NewConfiguration(msgspec.Struct, frozen=True):
    """The sources give a valid configuration."""

    hash: str
    source: dict[str, str] = {}


class InvalidConfiguration(msgspec.Struct, frozen=True):
    """The sources give a configuration that is invalid."""

    problems: str


class AgentStarted(msgspec.Struct, frozen=True):
    """The run `boot` of the agent started; the configuration `hash` is in force."""

    boot: str
    hash: str


class TrialTick(msgspec.Struct, frozen=True):
    """Time has passed."""


class TrialFailed(msgspec.Struct, frozen=True):
    """A supervisor reached its restart intensity during the trial."""

    reason: str


class RollBack(msgspec.Struct, frozen=True):
    """An operator requests an earlier configuration; '' for the last known good one."""

    hash: str


class AgentStopping(msgspec.Struct, frozen=True):
    """The agent stops in order."""


Event = NewConfiguration | InvalidConfiguration | AgentStarted | TrialTick | TrialFailed | RollBack | AgentStopping
_change = msgspec.structs.replace


def decide(state: State, event: Event, now: float) -> tuple[State, str]:
    """The state after the event, and the hash of the configuration to apply ('' for none)."""
    match event:
        case NewConfiguration():
            return _new_configuration(state, event, now)
        case InvalidConfiguration():
            return _with_entry(state, HistoryEntry(when=now, hash="", what="refused", detail=event.problems)), ""
        case AgentStarted():
            return _agent_started(state, event, now), ""
        case TrialTick():
            return _tick(state, now), ""
        case TrialFailed():
            return _trial_failed(state, event.reason, now)
        case RollBack():
            return _roll_back(state, event.hash or state.last_known_good, now)
        case AgentStopping():
            return _change(state, orderly=True), ""


def _new_configuration(state: State, event: NewConfiguration, now: float) -> tuple[State, str]:
    state = _change(state, assigned=event.hash, source=event.source)
    if event.hash == state.current or event.hash in state.bad:
        return state, ""
    state = _with_trial(state, event.hash, now)
    return _with_entry(state, HistoryEntry(when=now, hash=event.hash, what="applied")), event.hash


def _with_trial(state: State, name: str, now: float) -> State:
    return _change(state, current=name, trial_until=now + TRIAL_SECONDS, deaths=0)


def _agent_started(state: State, event: AgentStarted, now: float) -> State:
    same_run = event.boot == state.boot
    lost = not same_run and trial_is_lost(state)
    if lost and state.last_known_good == event.hash != state.current:
        detail = f"the agent died {DEATHS} times in a row while {state.current} was on trial"
        state = _with_entry(
            _with_current_bad(state), HistoryEntry(when=now, hash=event.hash, what="rolled back", detail=detail)
        )
        state = _change(state, current=event.hash, trial_until=0.0, deaths=0)
    elif not same_run and event.hash != state.current:
        state = _with_entry(
            _with_trial(state, event.hash, now), HistoryEntry(when=now, hash=event.hash, what="applied")
        )
        if event.hash == state.last_known_good:
            state = _change(state, trial_until=0.0)
    elif not same_run and state.trial_until > 0:
        state = _change(_with_trial(state, state.current, now), deaths=0 if state.orderly else state.deaths + 1)
    return _change(state, boot=event.boot, orderly=False)


def clock_was_set(state: State, seconds: float) -> State:
    """The wall clock was set forward by these seconds: a trial ends that much later by it."""
    return _change(state, trial_until=state.trial_until + seconds) if state.trial_until > 0 else state


def _tick(state: State, now: float) -> State:
    if state.trial_until > now + TRIAL_SECONDS:  # set back while no controller ran
        state = _change(state, trial_until=now + TRIAL_SECONDS)
    if not 0 < state.trial_until <= now:
        return state
    state = _change(state, last_known_good=state.current, trial_until=0.0)
    return _with_entry(state, HistoryEntry(when=now, hash=state.current, what="accepted"))


def _trial_failed(state: State, reason: str, now: float) -> tuple[State, str]:
    good = state.last_known_good
    if state.trial_until == 0 or not good or good == state.current:
        return state, ""
    detail = f"{state.current} failed its trial: {reason}"
    state = _with_entry(_with_current_bad(state), HistoryEntry(when=now, hash=good, what="rolled back", detail=detail))
    return _change(state, current=good, trial_until=0.0), good


def _roll_back(state: State, name: str, now: float) -> tuple[State, str]:
    if not name or name == state.current:
        return state, ""
    detail = f"an operator rolled back from {state.current}"
    state = _with_entry(_with_current_bad(state), HistoryEntry(when=now, hash=name, what="restored", detail=detail))
    bad = tuple(known for known in state.bad if known != name)
    return _change(state, current=name, last_known_good=name, trial_until=0.0, bad=bad), name


def _with_current_bad(state: State) -> State:
    return _change(
        state, bad=(*(known for known in state.bad if known != state.current), state.current)[-KEPT_HISTORY:]
    )


def with_outcome(state: State, text: str) -> State:
    """Add what became of its fields to the last entry of the history."""
    if not text or not state.history:
        return state
    last = state.history[-1]
    detail = "; ".join(filter(None, (last.detail, text)))
    return _change(state, history=(*state.history[:-1], _change(last, detail=detail)))


def not_in_force(state: State) -> tuple[str, ...]:
    """Why the assigned configuration, which is valid, is not in force; empty if it is."""
    if not state.assigned or state.assigned == state.current:
        return ()
    last = next((entry for entry in reversed(state.history) if entry.hash == state.current), None)
    why = f": {last.what}, {last.detail}" if last is not None and last.detail else ""
    return (f"{state.assigned} is assigned, {state.current or 'none'} is in force{why}",)


def origin(state: State) -> str:
    """`configmap <namespace>/<name>` if the configuration in force is from there; '' for local files."""
    if not state.source or state.assigned != state.current:
        return ""
    return f"configmap {state.source.get('namespace', '')}/{state.source.get('name', '')}"


def supervisors_that_gave_up(state: State, ages: Mapping[str, float], now: float) -> list[str]:
    """The supervisors that reached their restart intensity since the start of the trial. `ages`: by name, how many
    seconds ago
    each did last. A controller that was itself restarted with them sees it, too."""
    started_at = state.trial_until - TRIAL_SECONDS
    return [name for name, age in ages.items() if age < now - started_at]


def _with_entry(state: State, entry: HistoryEntry) -> State:
    return _change(state, history=(*state.history, entry)[-KEPT_HISTORY:])


def entry_text(entry: HistoryEntry) -> str:
    """The entry for `supervise config history`: one line, and one more for each further problem."""
    detail = entry.detail.replace("\n", f"\n{' ' * _DETAIL_COLUMN}")
    return f"{entry.hash or '-':<16}  {entry.what:<11}  {detail}".rstrip()
