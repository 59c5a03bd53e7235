"""Which names are suggested for a wrong one."""

from __future__ import annotations

from supervision.documents.suggestions import close_to, did_you_mean


def test_a_name_that_differs_only_in_case_and_dashes_is_matched() -> None:
    assert close_to("max-pods", ["maxPods", "maxPod"], 3) == ["maxPods"]


def test_a_name_that_is_much_less_similar_than_the_best_is_not_named_beside_it() -> None:
    assert close_to("maxpod", ["maxPods", "mode", "maxOpenFiles"], 3) == ["maxPods"]
    assert close_to("evictionSof", ["evictionSoft", "evictionSoftGracePeriod", "evictionHard"], 3)[0] == "evictionSoft"
    assert did_you_mean("worke/0", ["worker/1", "worker/0"], most=2) == ", did you mean worker/0 or worker/1?"


def test_no_suggestion_is_made_for_a_dissimilar_name() -> None:
    assert did_you_mean("qqqq", ["maxPods"]) == ""
