"""The life of a configuration, as a table and as any sequence of events."""

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from actors.config_controller.trial import (
    TRIAL_SECONDS,
    Back,
    Booted,
    Ending,
    Failed,
    Offered,
    Refused,
    Tick,
    decide,
    gave_up,
    with_waiting,
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


GOOD = (Booted("b1", "a"), Offered("a"), TRIAL_SECONDS, Tick())


def what(state):
    return [entry.what for entry in state.history]


def test_the_first_configuration_is_on_trial_and_then_known_to_be_good():
    state, applied = after(*GOOD)
    assert (state.current, state.last_known_good, state.trial_until, applied) == ("a", "a", 0.0, [])
    assert what(state) == ["applied", "accepted"]


def test_a_change_is_applied_at_once_and_accepted_after_its_trial():
    state, applied = after(*GOOD, Offered("b"))
    assert (state.current, state.last_known_good, applied, state.trial_until > 0) == ("b", "a", ["b"], True)
    state, _ = after(Tick(), state=state)
    assert state.last_known_good == "a"
    state, _ = after(TRIAL_SECONDS * 3, Tick(), state=state)
    assert (state.last_known_good, state.trial_until) == ("b", 0.0)


def test_a_change_that_fails_its_trial_is_undone_and_not_tried_again():
    state, applied = after(*GOOD, Offered("b"), Failed("x"), Offered("b"), Offered("b"))
    assert (state.current, state.assigned, state.bad, applied) == ("a", "b", ("b",), ["b", "a"])
    assert what(state)[-1] == "rolled back"


def test_a_failure_outside_a_trial_or_without_a_way_back_changes_nothing():
    for events in ((*GOOD, Failed("x")), (Booted("b1", "a"), Failed("x"))):
        state, applied = after(*events)
        assert (state.current, state.bad, applied) == ("a", (), [])


def test_what_cannot_be_used_is_noted_and_what_is_in_force_stays():
    state, applied = after(*GOOD, Refused("maxPods"))
    assert (state.current, applied, state.history[-1].detail) == ("a", [], "maxPods")


def test_an_operator_goes_back_and_the_files_do_not_undo_it():
    state, applied = after(*GOOD, Offered("b"), TRIAL_SECONDS, Tick(), Back("a"), Offered("b"))
    assert (state.current, state.last_known_good, applied) == ("a", "a", ["b", "a"])
    state, applied = after(Back("b"), state=state)
    assert (state.current, state.bad, applied) == ("b", ("a",), ["b"])


def test_a_restart_in_order_goes_on_with_the_trial():
    state, _ = after(*GOOD, Offered("b"), Ending())
    assert instead_of("b", state) == ""
    state, applied = after(Booted("b2", "b"), state=state)
    assert (state.current, state.trial_until > 0, applied, state.orderly) == ("b", True, [], False)


def test_an_agent_that_ended_in_disorder_during_a_trial_starts_with_the_last_known_good():
    state, _ = after(*GOOD, Offered("b"))
    assert instead_of("b", state) == "a"
    state, _ = after(Booted("b2", "a"), state=state)
    assert (state.current, state.bad, state.trial_until, what(state)[-1]) == ("a", ("b",), 0.0, "rolled back")
    assert instead_of("b", state) == "a"
    assert instead_of("c", state) == ""


def test_an_incarnation_of_the_controller_that_ends_in_disorder_is_no_failure_of_the_trial():
    state, _ = after(*GOOD, Offered("b"))
    state, _ = after(Booted("b1", "a"), state=state)
    assert (state.current, state.bad) == ("b", ())


def test_a_file_that_changed_while_the_agent_was_down_is_on_trial_after_the_start():
    state, _ = after(*GOOD, Ending(), Booted("b2", "c"))
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
        self.do(Booted(f"b{self.boots}", self.applied))

    def do(self, event):
        self.state, name = decide(self.state, event, self.now)
        self.applied = name or self.applied

    @rule(seconds=st.floats(0, 1000))
    def wait(self, seconds):
        self.now += seconds
        self.do(Tick())

    @rule(name=NAMES)
    def offer(self, name):
        self.do(Offered(name))

    @rule(name=NAMES)
    def go_back(self, name):
        self.do(Back(name))

    @rule()
    def fail(self):
        self.do(Failed("x"))

    @rule(name=NAMES, orderly=st.booleans())
    def restart(self, name, orderly):
        if orderly:
            self.do(Ending())
        self.boot_with(name)

    @invariant()
    def what_is_in_force_is_what_was_applied(self):
        assert self.state.current == self.applied

    @invariant()
    def what_is_known_to_be_good_is_not_called_bad(self):
        assert not self.state.last_known_good or self.state.last_known_good not in self.state.bad

    @invariant()
    def history_is_bounded(self):
        assert len(self.state.history) <= 100


TestLife = Life.TestCase


def test_going_back_without_a_name_takes_the_last_known_good_and_to_the_current_one_changes_nothing():
    state, applied = after(*GOOD, Offered("b"), Back(""))
    assert (state.current, state.bad, applied) == ("a", ("b",), ["b", "a"])
    assert after(Back("a"), state=state) == (state, [])
    assert after(Back("")) == (State(), [])


def test_the_fields_that_wait_for_a_restart_are_in_the_last_entry():
    state, _ = after(*GOOD)
    waiting = with_waiting(state, ["port", "address"])
    assert waiting.history[:-1] == state.history[:-1]
    assert waiting.history[-1].detail == "waits for a restart: port, address"
    assert (
        with_waiting(waiting, ["x"]).history[-1].detail == "waits for a restart: port, address; waits for a restart: x"
    )
    assert with_waiting(state, []) == state
    assert with_waiting(State(), ["port"]) == State()


def test_a_supervisor_gave_up_if_it_was_restarted_since_because_it_ended_itself():
    found = {"up": (1, ""), "again": (2, "exit code 3"), "killed": (2, "SIGKILL"), "new": (5, "exit code 3")}
    before = {"up": 0, "again": 1, "killed": 1}
    assert gave_up(found, before) == ["again"]
    assert gave_up({"again": (1, "exit code 3")}, before) == []
