"""A start after a rollback: with the last known good configuration, if this host can still be started with it."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from actors.agent import start
from actors.shared.config.agent import Agent
from actors.shared.config.errors import ConfigErrors, ConfigProblem
from actors.shared.config.loading import load
from actors.shared.config.sources.checkpoints import ConfigCheckpoints, State, hash_of, layers_of
from actors.shared.config.sources.layers import read_layers
from supervision.hanging_disks import Ask


class Started(Exception):
    """The configuration has passed every check."""


@pytest.fixture
def argv(tmp_path: Path) -> list[str]:
    """The files have maxPods 2, which was rolled back to 1."""
    good, files = tmp_path / "good.yaml", tmp_path / "files.yaml"
    for file, pods in ((good, 1), (files, 2)):
        file.write_text(f"apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: {pods}\n")
    flags = [f"--config={files}", f"--root-dir={tmp_path}/root", "--hostname-override=n", f"--run-dir={tmp_path}/run"]
    layers = read_layers(str(good), "")
    store = ConfigCheckpoints(f"{tmp_path}/root/troupelet/config")
    store.prepare()
    store.put(hash_of(layers), layers_of(layers))
    store.save(State(last_known_good=hash_of(layers), bad=(load(flags, recover=False).config_hash,)))
    return flags


def checks_that_refuse(*refused: int, seen: list[Agent]) -> object:
    def check(agent: Agent, ask: Ask) -> None:
        seen.append(agent)
        if agent.config.maxPods in refused:
            raise ConfigErrors(
                [ConfigProblem("maxPods", str(agent.config.maxPods), "another policy's state file is there")]
            )
        raise Started

    return check


def test_a_start_uses_the_last_known_good_configuration(argv: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Agent] = []
    monkeypatch.setattr(start, "_set_up_host", checks_that_refuse(seen=seen))
    with pytest.raises(Started):
        start.start(argv)
    assert [one.config.maxPods for one in seen] == [1]


def test_the_configuration_of_the_files_replaces_an_unusable_last_known_good(
    argv: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Agent] = []
    monkeypatch.setattr(start, "_set_up_host", checks_that_refuse(1, seen=seen))
    with pytest.raises(Started):
        start.start(argv)
    assert [one.config.maxPods for one in seen] == [1, 2]
    told = seen[-1].warnings[-1]
    assert "the last known good, prevents the start: maxPods = 1: another policy's state" in told
    assert f"starting with {seen[-1].config_hash}, that of the files, though it was rolled back" in told


def test_the_start_is_refused_without_any_valid_configuration(
    argv: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    seen: list[Agent] = []
    monkeypatch.setattr(start, "_set_up_host", checks_that_refuse(1, 2, seen=seen))
    with caplog.at_level(logging.INFO):
        assert start.start(argv) == start.EXIT_REFUSED
    assert "error: maxPods = 2: " in capsys.readouterr().err
