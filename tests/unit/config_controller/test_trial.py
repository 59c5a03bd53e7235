"""The trial of a configuration: single cases, and random sequences of events."""

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from actors.config_controller.trial import (
    TRIAL_SECONDS,
    AgentStarted,
    AgentStopping,
    InvalidConfiguration,
    NewConfiguration,
    RollBack,
    TrialFailed,
    TrialTick,
    clock_was_set,
    decide,
    not_in_force,
    origin,
    supervisors_that_gave_up,
    with_outcome,
)
from actors.shared.config.sources.checkpoints import State, instead_of


def after(*events, state=None):
    """The state after events one second apart, and what was applied."""
    state, applied, now = state or State(), [], 0.0
    for event in events:
        if isinstance(event, float):
            now += event
            continue
        state, name = decide(state, event, now)
        applied += [name] if name else []
        now += 1
    return state, applied


GOOD = (AgentStarted("b1", "a"), NewConfiguration("a"), TRIAL_SECONDS, TrialTick())


def kinds(state):
    return [entry.what for entry in state.history]


def test_the_first_configuration_is_on_trial_and_then_known_good():
    state, applied = after(*GOOD)
    assert (state.current, state.last_known_good, state.trial_until, applied) == ("a", "a", 0.0, [])
    assert kinds(state) == ["applied", "accepted"]


def test_a_change_is_applied_at_once_and_accepted_after_its_trial():
    state, applied = after(*GOOD, NewConfiguration("b"))
    assert (state.current, state.last_known_good, applied, state.trial_until > 0) == ("b", "a", ["b"], True)
    state, _ = after(TrialTick(), state=state)
    assert state.last_known_good == "a"
    state, _ = after(TRIAL_SECONDS * 3, TrialTick(), state=state)
    assert (state.last_known_good, state.trial_until) == ("b", 0.0)


def test_a_clock_that_was_set_while_no_controller_ran_makes_no_trial_longer_than_usual():
    state, _ = after(*GOOD, 1e9, NewConfiguration("b"))
    state, _ = decide(state, TrialTick(), 5.0)
    assert state.trial_until == 5.0 + TRIAL_SECONDS
    state, _ = decide(state, TrialTick(), 5.0 + TRIAL_SECONDS)
    assert state.last_known_good == "b"


def test_a_clock_that_is_set_without_a_trial_begins_none():
    state, _ = after(*GOOD)
    assert clock_was_set(state, 1e9) == state


def test_a_tick_without_a_trial_changes_nothing():
    state, _ = after(*GOOD)
    assert after(TRIAL_SECONDS * 3, TrialTick(), state=state) == (state, [])


def test_a_configuration_that_fails_its_trial_is_rolled_back_and_not_applied_again():
    state, applied = after(*GOOD, NewConfiguration("b"), TrialFailed("x"), NewConfiguration("b"), NewConfiguration("b"))
    assert (state.current, state.assigned, state.bad, applied) == ("a", "b", ("b",), ["b", "a"])
    assert kinds(state)[-1] == "rolled back"


def test_the_reason_why_the_assigned_configuration_is_not_in_force_is_reported():
    state, _ = after(*GOOD)
    assert not_in_force(state) == ()
    state, _ = after(NewConfiguration("b"), TrialFailed("pleg died"), state=state)
    assert not_in_force(state) == ("b is assigned, a is in force: rolled back, b failed its trial: pleg died",)


def test_a_configuration_is_from_a_config_map_while_that_is_in_force():
    source = {"namespace": "kube-system", "name": "c"}
    state, _ = after(*GOOD, NewConfiguration("b", source))
    assert origin(state) == "configmap kube-system/c"
    state, _ = after(TrialFailed("pleg died"), state=state)
    assert origin(state) == ""


def test_an_operators_rollback_adds_the_current_configuration_to_the_bad_ones_once_as_the_newest():
    bad = State(current="b", last_known_good="a", bad=("b", "c"))
    state, applied = after(RollBack("a"), state=bad)
    assert (state.bad, applied) == (("c", "b"), ["a"])


def test_a_failure_without_a_trial_or_without_a_last_known_good_changes_nothing():
    for events in ((*GOOD, TrialFailed("x")), (AgentStarted("b1", "a"), TrialFailed("x"))):
        state, applied = after(*events)
        assert (state.current, state.bad, applied) == ("a", (), [])


def test_an_invalid_configuration_is_in_the_history_and_the_current_one_stays_in_force():
    state, applied = after(*GOOD, InvalidConfiguration("maxPods"))
    assert (state.current, applied, state.history[-1].detail) == ("a", [], "maxPods")


def test_the_files_do_not_undo_the_rollback_of_an_operator():
    state, applied = after(
        *GOOD, NewConfiguration("b"), TRIAL_SECONDS, TrialTick(), RollBack("a"), NewConfiguration("b")
    )
    assert (state.current, state.last_known_good, applied) == ("a", "a", ["b", "a"])
    state, applied = after(RollBack("b"), state=state)
    assert (state.current, state.bad, applied) == ("b", ("a",), ["b"])


def test_the_trial_continues_after_an_orderly_restart():
    state, _ = after(*GOOD, NewConfiguration("b"), AgentStopping())
    assert instead_of("b", state) == ""
    state, applied = after(AgentStarted("b2", "b"), state=state)
    assert (state.current, state.trial_until > 0, applied, state.orderly) == ("b", True, [], False)


def test_an_agent_that_died_three_times_in_a_row_during_a_trial_starts_with_the_last_known_good():
    state, _ = after(*GOOD, NewConfiguration("b"))
    for boot in ("b2", "b3"):
        assert instead_of("b", state) == "", "it may have been killed, or its host lost power"
        state, _ = after(TRIAL_SECONDS / 2, AgentStarted(boot, "b"), state=state)
        assert (state.current, state.bad) == ("b", ())
    assert instead_of("b", state) == "a"
    state, _ = after(AgentStarted("b4", "a"), state=state)
    assert (state.current, state.bad, state.trial_until, kinds(state)[-1]) == ("a", ("b",), 0.0, "rolled back")
    assert instead_of("b", state) == "a"
    assert instead_of("c", state) == ""


def test_the_last_known_good_put_back_into_the_files_after_a_kill_marks_nothing_bad():
    state, _ = after(*GOOD, NewConfiguration("b"))
    assert instead_of("a", state) == ""
    state, _ = after(AgentStarted("b2", "a"), state=state)
    assert (state.current, state.bad, state.trial_until, kinds(state)[-1]) == ("a", (), 0.0, "applied")
    state, applied = after(NewConfiguration("b"), state=state)
    assert (applied, state.current) == (["b"], "b"), "it was not rolled back, so it may be tried again"


def test_deaths_between_which_a_run_ends_in_order_or_another_configuration_is_tried_do_not_add_up():
    died, _ = after(*GOOD, NewConfiguration("b"), AgentStarted("b2", "b"), AgentStarted("b3", "b"))
    assert (died.deaths, instead_of("b", died)) == (2, "a")
    state, _ = after(AgentStopping(), AgentStarted("b4", "b"), state=died)
    assert (state.deaths, instead_of("b", state)) == (0, "")
    state, _ = after(NewConfiguration("c"), state=died)
    assert (state.deaths, instead_of("c", state)) == (0, "")


def test_a_trial_begins_again_with_the_next_run():
    """The time in which no agent ran proves nothing."""
    state, _ = after(*GOOD, NewConfiguration("b"), 10 * TRIAL_SECONDS, AgentStarted("b2", "b"), TrialTick())
    assert (state.last_known_good, state.trial_until > 0) == ("a", True)


def test_the_death_of_the_controller_does_not_fail_the_trial():
    state, _ = after(*GOOD, NewConfiguration("b"))
    state, _ = after(AgentStarted("b1", "a"), state=state)
    assert (state.current, state.bad) == ("b", ())


def test_a_configuration_that_changed_while_the_agent_was_down_is_on_trial_after_the_start():
    state, _ = after(*GOOD, AgentStopping(), AgentStarted("b2", "c"))
    assert (state.current, state.last_known_good, state.trial_until > 0) == ("c", "a", True)


NAMES = st.sampled_from(["a", "b", "c"])


class Life(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.now, self.state, self.applied, self.boots = 1.0, State(), "", 0
        self.boot_with("a")

    def boot_with(self, files):
        self.boots += 1
        self.applied = instead_of(files, self.state) or files
        self.do(AgentStarted(f"b{self.boots}", self.applied))

    def do(self, event):
        self.state, name = decide(self.state, event, self.now)
        self.applied = name or self.applied

    @rule(seconds=st.floats(0, 1000))
    def wait(self, seconds):
        self.now += seconds
        self.do(TrialTick())

    @rule(name=NAMES)
    def offer(self, name):
        self.do(NewConfiguration(name))

    @rule(name=NAMES)
    def go_back(self, name):
        self.do(RollBack(name))

    @rule()
    def fail(self):
        self.do(TrialFailed("x"))

    @rule(name=NAMES, orderly=st.booleans())
    def restart(self, name, orderly):
        if orderly:
            self.do(AgentStopping())
        self.boot_with(name)

    @invariant()
    def the_configuration_in_force_was_applied_last(self):
        assert self.state.current == self.applied

    @invariant()
    def the_last_known_good_is_not_marked_bad(self):
        assert not self.state.last_known_good or self.state.last_known_good not in self.state.bad

    @invariant()
    def history_is_bounded(self):
        assert len(self.state.history) <= 100


TestLife = Life.TestCase


def test_a_rollback_without_a_hash_takes_the_last_known_good_and_one_to_the_current_changes_nothing():
    state, applied = after(*GOOD, NewConfiguration("b"), RollBack(""))
    assert (state.current, state.bad, applied) == ("a", ("b",), ["b", "a"])
    assert after(RollBack("a"), state=state) == (state, [])
    assert after(RollBack("")) == (State(), [])


def test_the_fields_that_wait_for_a_restart_are_in_the_last_entry():
    state, _ = after(*GOOD)
    waiting = with_outcome(state, "waits for a restart: port, address")
    assert waiting.history[:-1] == state.history[:-1]
    assert waiting.history[-1].detail == "waits for a restart: port, address"
    assert (
        with_outcome(waiting, "waits for a restart: x").history[-1].detail
        == "waits for a restart: port, address; waits for a restart: x"
    )
    assert with_outcome(state, "") == state
    assert with_outcome(State(), "port") == State()


def test_a_supervisor_that_gave_up_fails_the_trial_when_that_was_after_its_beginning():
    state = State(trial_until=1000.0 + TRIAL_SECONDS)
    assert supervisors_that_gave_up(state, {"before": 60.0, "in it": 49.0, "just now": 0.0}, 1050.0) == [
        "in it",
        "just now",
    ]
