"""The executor knows every effect that a phase may ask for."""

from __future__ import annotations

from actors.pod_workers.executor.performers import PERFORMS
from actors.pod_workers.phases.effects import Effect
from actors.pod_workers.phases.phase_functions import DECIDES
from actors.pod_workers.pod.phase_transitions import PodWorkerPhase


def test_each_effect_is_performed_by_one_function():
    assert set(PERFORMS) == set(Effect.__subclasses__())


def test_each_phase_but_the_last_has_a_module_that_decides():
    assert set(DECIDES) == set(PodWorkerPhase) - {PodWorkerPhase.FINISHED}
