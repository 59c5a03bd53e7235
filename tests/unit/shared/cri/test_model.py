"""What follows from the runtime's values."""

from __future__ import annotations

from actors.shared.cri.model import CriContainer, PodRuntime


def test_the_newest_container_of_a_name_is_the_first_one_of_that_name() -> None:
    containers = [
        CriContainer(id=id, name=name, pod_uid="u") for id, name in [("b1", "b"), ("a2", "a"), ("b0", "b"), ("a1", "a")]
    ]
    runtime = PodRuntime(uid="u", containers=containers)
    assert [runtime.newest(name) for name in "ab"] == [containers[1], containers[0]]
    assert runtime.newest("c") is None


def test_the_restart_count_is_that_of_the_annotation_or_else_the_attempt() -> None:
    def count(text: str | None) -> int:
        annotations = {} if text is None else {"io.kubernetes.container.restartCount": text}
        return CriContainer(id="i", name="a", pod_uid="u", attempt=3, annotations=annotations).restart_count

    assert [count(text) for text in ("7", "0", None, "", "-1", "x7")] == [7, 0, 3, 3, 3, 3]
