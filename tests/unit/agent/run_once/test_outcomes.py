import msgspec
import pytest

from actors.agent.run_once import RunPodResult, outcome_of, run, text
from actors.shared.kube.pod import Pod

BOX = {"lastState": {}, "ready": False, "restartCount": 0, "image": "", "imageID": ""}


def pod(phase, *states, init=(), **status):
    named = [{"name": f"c{number}", "state": state, **BOX} for number, state in enumerate(states)]
    early = [{"name": f"i{number}", "state": state, **BOX} for number, state in enumerate(init)]
    spec = {"containers": [{"name": one["name"], "image": "x"} for one in named] or [{"name": "c0", "image": "x"}]}
    status = {"phase": phase, "containerStatuses": named, "initContainerStatuses": early, **status}
    return msgspec.convert({"metadata": {"name": "p", "namespace": "n"}, "spec": spec, "status": status}, Pod)


RUNNING = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}


def ended(code):
    return {"terminated": {"exitCode": code, "reason": "x"}}


def waiting(reason, message=""):
    return {"waiting": {"reason": reason, "message": message}}


@pytest.mark.parametrize(
    ("given", "outcome", "detail"),
    [
        (pod("Running", RUNNING), "started", ""),
        (pod("Running", RUNNING, ended(0)), "started", ""),
        (pod("Succeeded", ended(0)), "started", "ended well"),
        (pod("Running", RUNNING, waiting("CrashLoopBackOff")), "waiting", "c1: CrashLoopBackOff"),
        (pod("Running", RUNNING, ended(1)), "waiting", "Running"),
        (pod("Pending", waiting("PodInitializing"), init=[waiting("ErrImagePull")]), "waiting",
         "i0: ErrImagePull; c0: PodInitializing"),
        (pod("Pending"), "waiting", "Pending"),
        (pod(""), "waiting", "not checked yet"),
        (pod("Pending", waiting("InvalidImageName", "X!")), "failed", "c0: InvalidImageName: X!"),
        (pod("Failed", ended(3)), "failed", "c0: exit code 3"),
        (pod("Failed", reason="OutOfcpu", message="no"), "failed", "OutOfcpu: no"),
    ],
)  # fmt: skip
def test_the_outcome_of_a_pod(given, outcome, detail):
    assert outcome_of(given) == RunPodResult("n/p", outcome, detail)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--kubeconfig=/k"], "--kubeconfig"),
        (["--nope"], "--nope: unknown flag"),
        (["--timeout=soon"], "--timeout"),
        (["--max-pods=x", "-o", "json"], "--max-pods"),
    ],
)
def test_wrong_use_is_refused_before_anything_is_started(words, said, capsys):
    assert run(words) == 2
    assert said in capsys.readouterr().err


def test_help_shows_the_usage(capsys):
    assert run(["--help"]) == 0
    assert capsys.readouterr().out.startswith("Usage: supervise run-once")


def test_errors_of_manifests_are_not_counted_as_pods():
    wrong = [RunPodResult(f"web.yaml: line {line}: unknown field", "refused") for line in (3, 4)]
    assert list(text([RunPodResult("n/p", "started"), RunPodResult("n/q", "waiting", "c: ErrImagePull"), *wrong])) == [
        "n/p: started",
        "n/q: waiting (c: ErrImagePull)",
        "refused: web.yaml: line 3: unknown field",
        "refused: web.yaml: line 4: unknown field",
        "1 of 2 started; 2 errors in manifests",
    ]
    assert list(text([RunPodResult("n/p", "started")]))[-1] == "1 of 1 started"
