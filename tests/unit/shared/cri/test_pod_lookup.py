"""What the runtime says of one pod where its answers contradict each other."""

from __future__ import annotations

import pytest

from actors.shared.cri.errors import RuntimeFailure, Unavailable
from actors.shared.cri.model import PodRuntime
from actors.shared.cri.pod_lookup import known_ids, look, look_at
from actors.shared.kube.names import POD_UID_LABEL
from proto import cri_pb2 as cri
from tests.support.cri_configs import container_config, sandbox_config
from tests.support.fake_cri import FakeRuntime, Fault


async def running(fake: FakeRuntime) -> PodRuntime:
    """A pod with a container."""
    client = fake.client()
    config = sandbox_config()
    config.labels[POD_UID_LABEL] = "u"
    sandbox = await client.run_pod_sandbox(config)
    one = container_config(config, ("serve",))
    one.labels[POD_UID_LABEL] = "u"
    container = await client.create_container(sandbox, one, config)
    await client.start_container(container)
    found = await look(client, "u")
    assert ([box.id for box in found.sandboxes], [each.id for each in found.containers]) == ([sandbox], [container])
    return found


@pytest.mark.parametrize("method", ["PodSandboxStatus", "ContainerStatus"])
async def test_what_is_listed_and_said_not_to_exist_is_an_error(method: str) -> None:
    fake = FakeRuntime()
    await running(fake)
    fake.faults.add(method, Fault(error="NOT_FOUND"))
    with pytest.raises(RuntimeFailure, match="and says that it does not exist"):
        await look(fake.client(), "u")
    await fake.close()


async def test_what_was_removed_after_it_was_listed_is_left_out() -> None:
    fake = FakeRuntime()
    before = await running(fake)
    await fake.client().remove_container(before.containers[0].id)
    found = await look_at(
        fake.client(), "u", [before.sandboxes[0].id], {before.containers[0].id: before.sandboxes[0].id}
    )
    assert ([box.id for box in found.sandboxes], found.containers) == ([before.sandboxes[0].id], [])
    await fake.close()


async def test_a_sandbox_that_is_not_listed_is_there_if_its_status_says_so() -> None:
    fake = FakeRuntime()
    before = await running(fake)
    fake.faults.add("ListPodSandbox", Fault(unheeded=True))
    found = await look(fake.client(), "u")
    assert [box.id for box in found.sandboxes if box.ready] == [before.sandboxes[0].id]
    await fake.close()


@pytest.mark.parametrize("lists", [("ListPodSandbox",), ("ListContainers",), ("ListPodSandbox", "ListContainers")])
async def test_what_was_there_and_is_not_listed_is_there_if_its_status_says_so(lists: tuple[str, ...]) -> None:
    fake = FakeRuntime()
    before = await running(fake)
    for method in lists:
        fake.faults.add(method, Fault(unheeded=True))
    fake.finish(before.containers[0].id, 3)
    found = await look(fake.client(), "u", known_ids(before))
    assert [box.id for box in found.sandboxes if box.ready] == [before.sandboxes[0].id]
    assert [(one.id, one.sandbox_id, one.exit_code) for one in found.containers] == [
        (before.containers[0].id, before.sandboxes[0].id, 3)
    ]
    await fake.close()


@pytest.mark.parametrize("code", ["NOT_FOUND", "UNKNOWN"])
async def test_what_was_there_is_gone_if_neither_list_nor_status_has_it(code: str) -> None:
    fake = FakeRuntime()
    before = await running(fake)
    await fake.client().remove_container(before.containers[0].id)
    fake.faults.add("ContainerStatus", Fault(error=code))
    found = await look(fake.client(), "u", known_ids(before))
    assert ([box.id for box in found.sandboxes], found.containers) == ([before.sandboxes[0].id], [])
    assert len(fake.requests_for("ListContainers")) == 2, "nothing is listed again to find that out"
    await fake.close()


async def test_whether_something_unlisted_is_gone_is_not_known_without_an_answer() -> None:
    fake = FakeRuntime()
    before = await running(fake)
    fake.faults.add("ListContainers", Fault(unheeded=True))
    fake.faults.add("ContainerStatus", Fault(error="UNAVAILABLE"))
    with pytest.raises(Unavailable):
        await look(fake.client(), "u", known_ids(before))
    await fake.close()


@pytest.mark.parametrize("method", ["PodSandboxStatus", "ContainerStatus"])
async def test_a_state_that_cri_does_not_have_is_an_error(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeRuntime()
    await running(fake)
    honest = getattr(fake, f"do_{method}")

    async def absurd(request: object) -> cri.PodSandboxStatusResponse | cri.ContainerStatusResponse:
        answer: cri.PodSandboxStatusResponse | cri.ContainerStatusResponse = await honest(request)
        answer.status.state = 17  # type: ignore[assignment]
        return answer

    monkeypatch.setattr(fake, f"do_{method}", absurd)
    with pytest.raises(RuntimeFailure, match="the state 17"):
        await look(fake.client(), "u")
    await fake.close()
