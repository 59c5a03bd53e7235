import fcntl
import os
import resource
import socket
import stat
import threading
import time
from importlib import metadata
from pathlib import Path

import msgspec
import pytest

from actors.shared.config.errors import MASKED, ConfigErrors
from actors.shared.config.fields.groups import AnonymousAuthentication, Authentication, Authorization, MemorySwap
from actors.shared.config.loading import load
from actors.shared.config.start import lock_file, open_files, preflight, start_records, state_directories, steps
from actors.shared.config.start.preflight import PreflightHost
from actors.shared.config.start.steps import first_log_lines, prepare_host, set_limits
from actors.shared.config.version import OWN_VERSION
from actors.shared.linux import kernel_files
from supervision.state_file import DamagedError

GOOD = PreflightHost(uid=0, cgroup_v2=True, swaps=())


@pytest.fixture
def agent(host, write, tmp_path):
    path = write(
        "podLogsDir: logs/pods\nauthentication: {x509: {clientCAFile: ca}}\nauthorization: {mode: AlwaysAllow}\n"
    )
    made = load(
        [f"--config={path}", "--root-dir=root", f"--lock-file={tmp_path}/lock", "--set-kernel-tunables=false"], host
    )
    return msgspec.structs.replace(made, container_logs_dir=str(tmp_path / "logs/containers"))


@pytest.fixture
def keep_limits():
    before, score = resource.getrlimit(resource.RLIMIT_NOFILE), Path("/proc/self/oom_score_adj").read_text()
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)
    Path("/proc/self/oom_score_adj").write_text(score)


def configured(agent, **fields):
    return agent.with_configuration(msgspec.structs.replace(agent.config, **fields))


def test_this_host_can_be_looked_at(agent, tmp_path):
    host = preflight.look_at_host(agent)
    assert host.uid == os.geteuid()


def test_the_runtimes_endpoint_is_checked(agent, tmp_path):
    path = tmp_path / "runtime.sock"
    agent = msgspec.structs.replace(agent, runtime_endpoint=f"unix://{path}")
    missing = msgspec.structs.replace(GOOD, runtime=preflight.look_at_host(agent).runtime)
    assert list(preflight.problems(agent, missing)) == []
    path.write_text("")
    wrong = msgspec.structs.replace(GOOD, runtime=preflight.look_at_host(agent).runtime)
    assert [(one.path, one.value) for one in preflight.problems(agent, wrong)] == [
        ("containerRuntimeEndpoint", f"unix://{path}")
    ]
    path.unlink()
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(path))
        assert preflight.look_at_host(agent).runtime == "socket"
    managed = msgspec.structs.replace(agent, managed_runtime=True, runtime_endpoint="unix:///none")
    assert preflight.look_at_host(managed).runtime == "socket"


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files to another user")
def test_a_root_directory_of_another_user_forbids_a_start_and_is_named_once(agent):
    os.makedirs(agent.root_dir)
    os.chown(agent.root_dir, 65534, 65534)
    found = preflight.look_at_host(agent).foreign
    assert found == {"--root-dir": f"{agent.root_dir} belongs to uid 65534"}
    problems = list(preflight.problems(agent, PreflightHost(uid=0, cgroup_v2=True, swaps=(), foreign=found)))
    assert [problem.path for problem in problems] == ["--root-dir"]
    assert "so that others can change the agent's files" in str(problems[0])


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files to another user")
def test_manifests_and_a_configuration_that_others_can_change_are_warned_about(agent, tmp_path):
    manifests, config = tmp_path / "manifests", tmp_path / "config.yaml"
    manifests.mkdir()
    config.touch()
    exposed = configured(msgspec.structs.replace(agent, config_file=str(config)), staticPodPath=str(manifests))
    assert preflight.look_at_host(exposed).exposed == {}
    manifests.chmod(0o777)
    config.chmod(0o666)
    found = preflight.look_at_host(exposed).exposed
    assert found == {
        "staticPodPath": f"anybody may replace files in {manifests}",
        "--config": f"anybody may write to {config}",
    }
    warned = [*preflight.warnings(exposed, PreflightHost(uid=0, cgroup_v2=True, swaps=(), exposed=found))]
    assert f"--config: anybody may write to {config}: who does that is root on this node" in warned


def test_swap_and_cgroup_v1_forbid_a_start_unless_they_are_allowed(agent):
    bad = PreflightHost(uid=0, cgroup_v2=False, swaps=("/dev/sda2",))
    assert [problem.path for problem in preflight.problems(agent, bad)] == ["failSwapOn", "failCgroupV1"]
    allowed = configured(agent, failSwapOn=False, failCgroupV1=False)
    assert list(preflight.problems(allowed, bad)) == []
    assert "cgroup v1" in next(preflight.warnings(allowed, bad))
    assert list(preflight.problems(agent, GOOD)) == []
    assert list(preflight.warnings(agent, GOOD)) == []


def test_warnings_do_not_forbid_a_start(agent, host):
    assert "not run as root" in next(preflight.warnings(agent, PreflightHost(uid=1000, cgroup_v2=True, swaps=())))
    assert "refuses every caller" in next(preflight.warnings(load([], host), GOOD))
    joined = msgspec.structs.replace(configured(agent, authentication=Authentication()), standalone=False)
    assert list(preflight.warnings(joined, GOOD)) == [], "the API server knows its callers"
    anonymous = configured(agent, authentication=Authentication(anonymous=AnonymousAuthentication(enabled=True)))
    assert list(preflight.warnings(anonymous, GOOD)) == []
    without_reviews = configured(agent, authorization=Authorization(mode="Webhook"))
    assert "no API server to ask" in next(preflight.warnings(without_reviews, GOOD))
    swapping = configured(agent, failSwapOn=False, memorySwap=MemorySwap(swapBehavior="LimitedSwap"))
    assert list(preflight.warnings(swapping, PreflightHost(uid=0, cgroup_v2=True, swaps=("/dev/sda2",)))) == []
    (said,) = preflight.warnings(swapping, GOOD)
    assert "LimitedSwap has no effect, as this host has no swap" in said


def test_the_directories_are_made_with_their_modes_whatever_the_umask(agent, tmp_path):
    before = os.umask(0)
    try:
        state_directories.make(agent)
        state_directories.make(agent)
    finally:
        os.umask(before)
    modes = {
        os.path.relpath(item.path, tmp_path): stat.S_IMODE(os.stat(item.path).st_mode)
        for item in state_directories.directories(agent)
    }
    assert modes["root"] == modes["root/pods"] == modes["logs/pods"] == modes["logs/containers"] == 0o750
    assert modes["root/pki"] == modes["root/checkpoints"] == modes["root/troupelet"] == 0o700


def test_modes_of_own_directories_are_narrowed_and_of_host_directories_kept(agent, tmp_path):
    state_directories.make(agent)
    (tmp_path / "root/pki").chmod(0o777)
    (tmp_path / "root/pods").chmod(0o700)
    (tmp_path / "logs/pods").chmod(0o755)
    state_directories.make(agent)
    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("root/pki", "root/pods", "logs/pods")] == [
        0o700,
        0o700,
        0o755,
    ]


def test_a_start_with_too_few_open_files_for_the_actors_is_refused(agent, keep_limits):
    few = open_files.LEAST - 1
    with pytest.raises(ConfigErrors, match=f"{few} open files are granted, at least {few + 1} are needed"):
        list(set_limits(configured(agent, maxOpenFiles=few, oomScoreAdj=0)))
    enough = configured(agent, maxOpenFiles=few + 1, oomScoreAdj=int(Path("/proc/self/oom_score_adj").read_text()))
    assert list(set_limits(enough)) == []


@pytest.mark.parametrize(
    ("managed", "granted", "settings", "pods"),
    [
        (True, 128, {}, 6),
        (True, 1024, {}, 81),
        (True, 128, {"maxPods": 6}, None),
        (True, 128, {"podsPerCore": 1}, None),
        (True, 48 + 12 * 110, {}, None),
        (False, 128, {}, None),
    ],
)
def test_a_start_tells_for_how_many_pods_a_managed_runtime_has_files(
    agent, keep_limits, monkeypatch, managed, granted, settings, pods
):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(steps, "most_open_files", lambda _: granted)  # the hard limit
    own = int(Path("/proc/self/oom_score_adj").read_text())
    wanted = configured(agent, maxOpenFiles=granted, oomScoreAdj=own, **settings)
    said = list(set_limits(msgspec.structs.replace(wanted, managed_runtime=managed)))
    assert len(said) == (pods is not None)
    if said:
        assert f"maxOpenFiles: {granted} open files are granted" in said[0]
        assert f"needs {48 + 12 * 110} for 110 pods: it has enough for {pods};" in said[0]


def test_directories_that_a_start_makes_are_recorded(agent, tmp_path):
    (tmp_path / "root/pki").mkdir(parents=True)
    state_directories.make(agent, ["/sys/fs/cgroup/node"])
    (record,) = start_records.read_all(agent.state_dir)
    assert agent.pods_dir in record.made
    assert (record.made_cgroups, record.boot) == (("/sys/fs/cgroup/node",), kernel_files.boot_id())
    assert not {agent.root_dir, agent.cert_dir} & set(record.made)


def test_the_last_start_is_recorded_with_its_flags_and_no_secret_of_them(agent, monkeypatch, tmp_path):
    given = {"config": "a.yaml", "manifest-url-header": MASKED}
    state_directories.make(msgspec.structs.replace(agent, flags_given={"config": "old.yaml"}))
    monkeypatch.chdir(tmp_path)
    read = {"config": "/etc/t/a.yaml"}
    state_directories.make(msgspec.structs.replace(agent, flags=read, flags_given=given, log_file="/var/log/agent.log"))
    (record,) = start_records.read_all(agent.state_dir)
    said = start_records.StartCommand(("--config=/etc/t/a.yaml",), str(tmp_path), "/var/log/agent.log")
    assert record.command == said
    assert start_records.last_of(agent.state_dir) == record


def test_there_is_no_last_start_without_a_readable_record(agent):
    assert start_records.last_of(agent.state_dir) is None
    state_directories.make(agent)
    Path(agent.state_dir, start_records.FILE).write_text("{")
    assert start_records.last_of(agent.state_dir) is None
    with pytest.raises(DamagedError, match="is damaged"):
        start_records.read_all(agent.state_dir)


def test_a_start_says_that_the_record_of_earlier_ones_is_damaged(agent, caplog):
    state_directories.make(agent)
    assert start_records.problem(agent.state_dir) == ""
    Path(agent.state_dir, start_records.FILE).write_text("{")
    assert "is damaged" in start_records.problem(agent.state_dir)
    state_directories.make(agent)
    assert "`supervise reset` does not know" in caplog.text
    assert start_records.problem(agent.state_dir) == ""


def test_a_directory_that_cannot_be_created_is_named(agent, tmp_path):
    (tmp_path / "root").write_text("in the way")
    with pytest.raises(ConfigErrors) as caught:
        state_directories.make(agent)
    assert [problem.path for problem in caught.value.problems] == [str(tmp_path / "root")], "and none below it"


def test_the_lock_is_waited_for_and_held(tmp_path):
    path = str(tmp_path / "lock")
    said: list[str] = []
    first = lock_file.acquire(path)
    with pytest.raises(ConfigErrors):
        lock_file.acquire(path, deadline=time.monotonic() + 0.1, say=said.append)
    assert "another agent holds" in said[0]
    taken = []
    thread = threading.Thread(target=lambda: taken.append(lock_file.acquire(path, deadline=time.monotonic() + 10)))
    thread.start()
    fcntl.flock(first, fcntl.LOCK_UN)
    thread.join()
    assert taken
    for descriptor in (first, *taken):
        os.close(descriptor)


def test_a_lock_file_that_cannot_be_opened_is_named(tmp_path):
    with pytest.raises(ConfigErrors, match="lock-file"):
        lock_file.acquire(str(tmp_path / "no/lock"))


def test_the_steps_of_a_start_are_done_and_refusals_are_warnings(agent, tmp_path, keep_limits):
    wide = configured(agent, maxOpenFiles=4096, oomScoreAdj=0)
    warnings = prepare_host(wide, GOOD)
    assert (tmp_path / "root/pods").is_dir()
    assert (tmp_path / "lock").exists()
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 4096
    refusals = ("authorization.mode", "maxOpenFiles", "oomScoreAdj", "plugins in containers")
    assert all(line.startswith(refusals) for line in warnings)


def test_a_directory_that_cannot_be_labelled_is_a_warning(agent, keep_limits, monkeypatch):
    monkeypatch.setattr(steps, "label_plugin_directories", lambda given: iter([f"{given.plugins_dir} has no label"]))
    assert f"{agent.plugins_dir} has no label" in prepare_host(configured(agent, oomScoreAdj=0), GOOD)


def test_limits_that_are_not_granted_are_warnings(agent, keep_limits):
    warnings = list(set_limits(configured(agent, maxOpenFiles=1 << 62, oomScoreAdj=5000)))
    assert [line.partition(":")[0] for line in warnings] == ["maxOpenFiles", "oomScoreAdj"]


def test_a_bad_host_stops_before_anything_is_made(agent, tmp_path):
    with pytest.raises(ConfigErrors):
        prepare_host(agent, PreflightHost(uid=0, cgroup_v2=False, swaps=()))
    assert not (tmp_path / "root").exists()


def test_the_first_log_lines_show_version_flags_and_configuration_without_secrets(host, write):
    path = write("staticPodURLHeader: {Authorization: [Bearer one]}\nstaticPodURL: https://u:three@h/\n")
    agent = load([f"--config={path}", "--manifest-url-header=X:two", "--max-pods=5"], host)
    lines = list(first_log_lines(agent))
    assert lines[0][0] == 0
    assert "v1.36" in lines[0][1]
    assert (1, 'flag --max-pods="5"') in lines
    assert (5, "configuration maxPods: 5") in lines
    assert not [
        line for _, line in lines if "one" in line.split() or "two" in line or "three" in line or "Bearer" in line
    ]


def test_the_release_that_is_reported_is_the_one_that_is_installed() -> None:
    assert metadata.version("troupelet") == OWN_VERSION
