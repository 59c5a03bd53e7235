import pytest

from actors.shared.config.loading import load
from actors.shared.config.start import kernel_tunables, preflight
from actors.shared.config.start.kernel_tunables import WANTED, differing, set_all
from actors.shared.config.start.preflight import PreflightHost


@pytest.fixture
def proc(tmp_path):
    for name, value in WANTED.items():
        file = tmp_path.joinpath("sys", *name.split("."))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{value}\n")
    return tmp_path


def test_a_correct_kernel_setting_is_not_written(proc):
    assert differing(str(proc)) == {}
    assert list(set_all(str(proc))) == []


def test_only_tunables_that_differ_are_set(proc):
    (proc / "sys/vm/overcommit_memory").write_text("0\n")
    assert differing(str(proc)) == {"vm.overcommit_memory": 0}
    assert list(set_all(str(proc))) == []
    assert (proc / "sys/vm/overcommit_memory").read_text() == "1"
    assert (proc / "sys/kernel/panic").read_text() == "10\n"


def test_a_tunable_that_cannot_be_set_is_a_warning_and_a_missing_one_is_skipped(proc):
    (proc / "sys/kernel/panic").unlink()
    (proc / "sys/kernel/panic").mkdir()
    (proc / "sys/vm/panic_on_oom").unlink()
    assert [line.partition(" ")[0] for line in set_all(str(proc))] == ["kernel.panic"]


def test_a_kernel_that_differs_forbids_a_start_where_defaults_are_protected(host):
    agent = load(["--protect-kernel-defaults"], host)
    host = PreflightHost(uid=0, cgroup_v2=True, swaps=(), tunables={"vm.overcommit_memory": 0, "kernel.panic": None})
    said = [(problem.path, problem.rule) for problem in preflight.problems(agent, host)]
    assert said == [
        ("protectKernelDefaults", "the kernel's vm.overcommit_memory must be 1, it is 0"),
        ("protectKernelDefaults", "the kernel's kernel.panic must be 10, it is unknown"),
    ]


def test_the_kernel_is_looked_at_only_where_its_defaults_are_protected(host, monkeypatch):
    monkeypatch.setattr(kernel_tunables, "differing", lambda: {"vm.overcommit_memory": 0})
    assert preflight.look_at_host(load([], host)).tunables == {}
    protected = load(["--protect-kernel-defaults"], host)
    assert preflight.look_at_host(protected).tunables == {"vm.overcommit_memory": 0}
