import io
import json
import os
import re
import subprocess
import sys

import pytest
import yaml

from actors.shared.config.commands import early_text, run, take_option
from actors.shared.config.documentation import entries
from actors.shared.config.flags.flag_table import FLAGS
from actors.shared.config.shown_fields import masked
from tests.support.present import present


def do(*words):
    out, err = io.StringIO(), io.StringIO()
    return run(words, out, err), out.getvalue(), err.getvalue()


def test_check_accepts_what_start_would_accept(write):
    assert do("check", f"--config={write('maxPods: 5')}", "--max-pods=6")[:2] == (
        0,
        "warning: deprecated flags, set these in the file of --config instead: --max-pods\nvalid\n",
    )


def test_check_reports_every_problem_and_exits_1(write):
    code, _, err = do("check", f"--config={write('maxPods: -1')}", "--port=0")
    assert (code, len(err.splitlines())) == (1, 2)


def test_check_as_json_is_for_programs(write):
    code, out, _ = do("check", "-o", "json", f"--config={write('maxPods: -1')}")
    found = json.loads(out)
    assert (code, found["valid"], found["problems"][0]["path"]) == (1, False, "maxPods")


def test_show_names_the_source_of_every_value_and_hides_secrets(write):
    path = write("maxPods: 5\nstaticPodURLHeader: {Authorization: [Bearer x]}\n")
    _, out, _ = do("show", f"--config={path}", "--port=10251")
    lines = {line.split()[0]: line for line in out.splitlines()}
    assert lines["maxPods"].endswith(f"{path}:3")
    assert lines["port"].endswith("--port")
    assert lines["maxOpenFiles"].endswith("default")
    assert "Bearer" not in out


def test_show_as_json_hides_secrets_and_adds_none(write):
    header = write("staticPodURLHeader: {Authorization: [Bearer x]}")
    _, out, _ = do("show", "-ojson", f"--config={header}")
    assert json.loads(out)["kubeletconfig"]["staticPodURLHeader"] == "--- HIDDEN ---"
    assert "Bearer" not in out
    assert masked({"maxPods": 5}) == {"maxPods": 5}


def test_show_as_json_is_the_configuration_with_its_sources(write):
    _, out, _ = do("show", "-ojson", f"--config={write('maxPods: 5')}")
    found = json.loads(out)
    assert found["kubeletconfig"]["maxPods"] == 5
    assert found["sources"]["maxPods"].endswith(":3")


def test_an_error_is_a_document_where_one_is_asked_for(write):
    for words, told in ((("show", "nosuch"), "no such field"), (("explain", "nosuch"), "no such field, flag")):
        code, out, err = do(*words, "-o", "json")
        assert (code, json.loads(out)["code"], err) == (1, 1, "")
        assert told in json.loads(out)["error"]


def test_show_of_some_fields_has_only_these_with_what_is_in_them(write):
    path = write("maxPods: 5\nevictionHard: {memory.available: 100Mi}\nstaticPodURLHeader: {Authorization: [secret]}\n")
    code, out, _ = do("show", "maxPods", "authentication.x509", "evictionHard.memory.available", f"--config={path}")
    assert code == 0
    assert [line.split() for line in out.splitlines()] == [
        ["maxPods", "5", f"{path}:3"],
        ["authentication.x509.clientCAFile", '""', "default"],
        ["evictionHard.memory.available", '"100Mi"', f"{path}:4"],
    ]
    out = do("show", "staticPodURLHeader.Authorization", f"--config={path}")[1]
    assert ("HIDDEN" in out, "secret" in out) == (True, False)


def test_show_of_some_fields_as_json_has_only_these(write):
    path = write("maxPods: 5\nevictionHard: {memory.available: 100Mi}\n")
    found = json.loads(do("show", "evictionHard[memory.available]", "maxPods", "-ojson", f"--config={path}")[1])
    assert found["kubeletconfig"] == {"evictionHard": {"memory.available": "100Mi"}, "maxPods": 5}
    assert found["sources"] == {"evictionHard.memory.available": f"{path}:4", "maxPods": f"{path}:3"}


def test_text_too_wide_for_a_terminal_is_below_the_field(write, monkeypatch):
    for module in ("supervision.cli.text", "actors.shared.config.shown_fields"):
        monkeypatch.setattr(f"{module}.terminal_columns", lambda stream: 60)
    path = write("evictionHard: {memory.available: 100Mi}")
    first, *below = do("show", "evictionHard.memory.available", f"--config={path}")[1].splitlines()
    assert (first, below[0].split()[0]) == ("evictionHard.memory.available", '"100Mi"')
    assert max(map(len, do("explain", "evictionHard")[1].splitlines()[:2])) <= 60
    first, second = do("explain")[1].splitlines()[:2]
    assert (first, second) == ("apiVersion", "    kubelet.config.k8s.io/v1beta1, the only version.")
    assert max(map(len, do("explain", "authorization.mode")[1].splitlines())) <= 60


@pytest.mark.parametrize("yaml", ["maxPods: -1\n", "authorization: {mode: AlwaysAllow}\n"])
def test_problems_and_warnings_are_folded_to_the_width_of_the_terminal(write, monkeypatch, yaml):
    monkeypatch.setattr("supervision.cli.text.terminal_columns", lambda stream: 40)
    path = write(yaml)
    text = "".join(do("check", f"--config={path}")[1:])
    assert len(text) > 60
    assert max(len(line) for line in text.splitlines() if path not in line) <= 40


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("maxPodz", "maxPodz: no such field, did you mean maxPods?"),
        ("qqqqqqqqqqq", "no such field; `supervise config show` lists the fields"),
        ("SidecarContainers", "no such field but a feature gate: `supervise config explain SidecarContainers`"),
    ],
)
def test_show_of_a_field_that_there_is_not_has_a_hint(name, hint):
    code, out, err = do("show", name)
    assert (code, out, hint in err) == (1, "", True)


@pytest.mark.parametrize(
    "words", ["check web.yaml", "check -o xml", "show --nonsense", "show -o xml", "explain -o xml"]
)
def test_a_wrong_command_line_is_exit_code_two_and_names_the_help(words):
    code, out, err = do(*words.split())
    assert (code, out) == (2, "")
    assert err.endswith("\n  see `supervise config --help`\n")


@pytest.mark.parametrize("word", ["set", "edit"])
def test_a_word_that_would_change_a_configuration_is_answered_with_how_one_is_changed(word):
    code, _, err = do(word, "maxPods", "5")
    assert code == 2
    assert err.startswith(f"supervise config: there is no command {word}: change the file that --config names")


def test_a_file_that_check_gets_without_its_flag_is_answered_with_the_flag():
    assert do("check", "web.yaml")[2].startswith("web.yaml: is no flag, did you mean --config=web.yaml?\n")


def test_every_field_is_explained():
    for entry in entries():
        code, out, _ = do("explain", entry.path)
        assert (code, out.splitlines()[0].partition(":")[0], len(out.splitlines()) >= 2) == (0, entry.path, True)


def test_explain_shows_the_rule_of_an_enclosing_field_and_the_deprecation_of_a_flag():
    out = do("explain", "logging.options.json.splitStream", "--maximum-dead-containers", "--node-ip")[1]
    assert "rule:    alpha options need the feature gate LoggingAlphaOptions" in out
    assert out.count("  deprecated\n") == 1


def test_every_flag_is_explained():
    for name in FLAGS:
        assert do("explain", f"--{name}")[0] == 0


def test_an_explanation_has_default_flag_and_rule():
    out = do("explain", "imageGCHighThresholdPercent", "SidecarContainers", "--network-plugin")[1]
    assert re.search("default: 85\n.*--image-gc-high-threshold\n.*must be from 0 to 100", out)
    assert "GA, on by default, locked" in out
    assert "dockershim was removed" in out


def test_an_unknown_field_is_answered_with_what_resembles_it():
    code, _, err = do("explain", "maxPodz")
    assert (code, "did you mean maxPods" in err) == (1, True)


def test_wrong_use_shows_how_to_use_it():
    assert do()[0] == do("frobnicate")[0] == 2
    assert do("--help")[:1] == (0,)
    assert do("check", "--help")[1].startswith("Usage:")


def test_help_has_every_flag_with_its_default():
    text = present(early_text(["--help"]))
    for name in FLAGS:
        assert re.search(rf"--{name}( |\n)", text)
    assert "(default 110)" in text


@pytest.mark.parametrize("argv", [["--version"], ["--version=true"]])
def test_the_version_is_one_that_kubeadm_reads(argv):
    assert re.fullmatch(r"Kubernetes v1\.36\.\d+\+troupelet\.[0-9.]+\n", present(early_text(argv)))


def test_the_raw_version_shows_its_parts():
    assert 'Minor:"36"' in present(early_text(["--version=raw"]))


def test_flags_without_help_or_version_start_the_agent():
    assert early_text(["--max-pods=5", "--version=false"]) is None


def test_no_help_is_printed_for_a_command_line_with_bad_flags():
    assert early_text(["--help", "--nope"]) is None


def test_help_names_its_command():
    assert present(early_text(["--help"])).startswith("Usage: supervise start [flags]")
    assert present(early_text(["-h"], "kubelet")).startswith("Usage: kubelet [flags]")


def test_checking_needs_none_of_the_costly_libraries():
    code = (
        "import sys; from actors.shared.config.commands import run; run(['check']);"
        "print([name for name in ('grpc', 'kubernetes', 'tornado', 'cryptography', 'prometheus_client', 'yaml')"
        " if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, cwd=os.getcwd())
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("words", "value", "rest"),
    [
        ("a b", None, "a b"),
        ("a -o json b", "json", "a b"),
        ("-ojson a", "json", "a"),
        ("--output=json a", "json", "a"),
        ("--output yaml -o json", "json", ""),
        ("--outputs=json", None, "--outputs=json"),
        ("a -o", "", "a"),
    ],
)
def test_an_option_is_taken_out_of_the_words(words, value, rest):
    assert take_option(words.split(), "-o", "--output") == (value, rest.split())


def test_a_format_that_there_is_not_is_an_error():
    code, out, err = do("check", "-o", "wide")
    assert (code, out) == (2, "")
    assert "--output = wide: must be text or json or yaml" in err


def test_a_document_is_the_same_in_yaml():
    for words in (("check",), ("show", "maxPods"), ("explain", "maxPods")):
        as_json, as_yaml = (do(*words, "-o", form)[1] for form in ("json", "yaml"))
        assert as_yaml != as_json
        assert yaml.safe_load(as_yaml) == json.loads(as_json)


def test_explain_as_json_is_for_programs():
    found = json.loads(do("explain", "maxPods", "-o", "json")[1])
    assert list(found) == ["maxPods"]
    fields = {"kind": "field", "type": "integer", "default": 110, "flag": "--max-pods", "rules": ["must be 0 or more"]}
    assert found["maxPods"].items() >= fields.items()
    assert json.loads(do("explain", "-o", "json")[1])["maxPods"] == found["maxPods"]


def test_a_program_reads_a_default_as_the_file_has_it_and_null_where_it_is_unset():
    names = (
        "evictionHard",
        "cpuCFSQuotaPeriod",
        "providerID",
        "authentication",
        "maxOpenFiles",
        "registerWithTaints[]",
    )
    found = json.loads(do("explain", *names, "-o", "json")[1])
    assert found["evictionHard"]["default"]["memory.available"] == "100Mi"
    assert found["cpuCFSQuotaPeriod"]["default"] == "100ms"
    assert "default" not in found["authentication"]
    assert "authentication.anonymous.enabled" in found["authentication"]["fields"]
    assert json.loads(do("explain", "evictionSoft.nodefs.available", "-o", "json")[1]).popitem()[1]["default"] is None


def test_a_program_reads_what_a_flag_sets_and_that_a_gate_is_locked():
    found = json.loads(do("explain", "--max-pods", "--network-plugin", "SidecarContainers", "-o", "json")[1])
    assert found["--max-pods"]["sets"]["name"] == "maxPods"
    assert found["--network-plugin"]["removed"]
    assert (found["SidecarContainers"]["stage"], found["SidecarContainers"]["locked"]) == ("GA", True)
