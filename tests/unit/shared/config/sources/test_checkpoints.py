import stat

import pytest

from actors.shared.config.loading import load
from actors.shared.config.sources.checkpoints import (
    ConfigCheckpoints,
    HistoryEntry,
    State,
    hash_of,
    layers_of,
)
from actors.shared.config.sources.documents import Document


def documents(pods, source="f"):
    return [Document(source, {"maxPods": pods}, {"maxPods": 3})]


@pytest.fixture
def store(tmp_path):
    return ConfigCheckpoints(str(tmp_path / "config"))


def test_a_saved_state_is_loaded_unchanged(store):
    state = State(current="a" * 16, history=(HistoryEntry(when=1.0, hash="a" * 16, what="applied"),))
    store.save(state)
    assert store.state() == state


def test_a_configuration_is_named_by_its_content_and_not_its_place():
    assert hash_of(documents(1, "f")) == hash_of(documents(1, "g")) != hash_of(documents(2))
    assert len(hash_of([])) == 16


def test_a_configuration_is_kept_with_its_sources_and_lines(store):
    name = hash_of(documents(1))
    store.put(name, layers_of(documents(1)))
    (found,) = store.layers(name).documents()
    assert (found.source, found.data, found.lines) == ("f", {"maxPods": 1}, {"maxPods": 3})


def test_files_and_directories_are_for_the_owner_alone(store):
    store.save(State())
    assert stat.S_IMODE(store.directory.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in store.directory.iterdir()} == {0o600}


def test_a_damaged_file_is_set_aside_and_not_fatal(store):
    store.save(State(current="x"))
    path = store.directory / "state.json"
    path.write_bytes(path.read_bytes()[:-20])
    assert store.state() == State()
    assert store.take_damaged() == ["state.json"]
    assert store.take_damaged() == []
    assert (store.directory / "state.json.damaged").exists()
    store.save(State(current="y"))
    assert store.state().current == "y"


def test_a_configuration_whose_content_does_not_match_its_name_is_not_used(store):
    store.put(hash_of(documents(1)), layers_of(documents(2)))
    assert store.layers(hash_of(documents(1))) is None
    assert store.layers("../../etc/passwd") is None


def test_unreferenced_configurations_are_dropped(store):
    for pods in range(3):
        store.put(hash_of(documents(pods)), layers_of(documents(pods)))
    store.save(State(current=hash_of(documents(0)), last_known_good=hash_of(documents(1))))
    assert [store.layers(hash_of(documents(pods))) is not None for pods in range(3)] == [True, True, False]


def test_a_request_is_taken_once(store):
    assert store.take_request() is None
    store.request("abc")
    assert (store.take_request(), store.take_request()) == ("abc", None)


def test_the_agent_starts_with_the_last_known_good_in_place_of_what_was_rolled_back(host, write, tmp_path):
    good, bad = write("maxPods: 1", "good.yaml"), write("maxPods: 2", "bad.yaml")
    root = f"--root-dir={tmp_path}/root"
    named = load([f"--config={bad}", root], host).config_hash
    store = ConfigCheckpoints(f"{tmp_path}/root/troupelet/config")
    from actors.shared.config.sources.layers import read_layers

    layers = read_layers(good, "")
    store.put(hash_of(layers), layers_of(layers))
    store.save(State(last_known_good=hash_of(layers), bad=(named,)))
    agent = load([f"--config={bad}", root, "--port=10251"], host)
    assert (agent.config.maxPods, agent.config.port, agent.config_hash) == (1, 10251, hash_of(layers))
    assert "was rolled back" in agent.warnings[-1]
    assert load([f"--config={bad}", root], host, recover=False).config.maxPods == 2
