import os

import pytest

from actors.shared.config.errors import ConfigErrors
from actors.shared.config.sources.layers import drop_ins, read_layers, unread_drop_ins


def problems_of(config_file, config_dir=""):
    with pytest.raises(ConfigErrors) as caught:
        read_layers(config_file, config_dir)
    return [str(problem) for problem in caught.value.problems]


def test_drop_ins_come_in_the_order_of_a_lexical_walk_into_sub_directories(write, tmp_path):
    for name in (
        "d/20.conf",
        "d/10/b.conf",
        "d/10/a.conf",
        "d/10-x.conf",
        "d/.conf",
        "d/readme.md",
        "d/30.yaml",
        "d/9.conf",
    ):
        write("", name)
    found = [os.path.relpath(path, tmp_path / "d") for path in drop_ins(str(tmp_path / "d"))]
    assert found == [".conf", "10/a.conf", "10/b.conf", "10-x.conf", "20.conf", "9.conf"]
    assert unread_drop_ins(str(tmp_path / "d")) == [str(tmp_path / "d/30.yaml")]
    assert unread_drop_ins(str(tmp_path / "none")) == []


def test_a_file_and_its_drop_ins_are_layers_with_their_lines(write, tmp_path):
    base = write("maxPods: 1\n")
    write("maxPods: 2\n", "d/a.conf")
    layers = read_layers(base, str(tmp_path / "d"))
    assert [layer.data["maxPods"] for layer in layers] == [1, 2]
    assert layers[0].lines["maxPods"] == 3


def test_a_drop_in_without_a_file_is_a_layer_of_its_own(write, tmp_path):
    write("maxPods: 2\n", "d/a.conf")
    assert [layer.data["maxPods"] for layer in read_layers("", str(tmp_path / "d"))] == [2]


@pytest.mark.parametrize(
    ("field", "given", "found"),
    [("staticPodPath", "manifests", "sub/manifests"), ("resolvConf", "../resolv.conf", "resolv.conf"),
     ("tlsCertFile", "a/../c", "sub/c"), ("tlsPrivateKeyFile", "k", "sub/k"), ("volumePluginDir", "v", "sub/v"),
     ("podLogsDir", "logs", "sub/logs")],
)  # fmt: skip
def test_a_relative_path_starts_at_the_directory_of_its_file(write, tmp_path, field, given, found):
    (layer,) = read_layers(write(f"{field}: {given}\n", "sub/k.yaml"), "")
    assert layer.data[field] == str(tmp_path / found)


def test_absolute_and_empty_paths_stay_and_nested_ones_are_resolved(write, tmp_path):
    text = "staticPodPath: /m\nresolvConf: ''\nauthentication: {x509: {clientCAFile: ca.crt}}\n"
    (layer,) = read_layers(write(text), "")
    assert (layer.data["staticPodPath"], layer.data["resolvConf"]) == ("/m", "")
    assert layer.data["authentication"]["x509"]["clientCAFile"] == str(tmp_path / "ca.crt")


def test_every_layer_must_have_kind_and_version(write, tmp_path):
    base = write("maxPods: 1\n", header=False)
    write("apiVersion: kubelet.config.k8s.io/v1\nkind: Kubelet\n", "d/a.conf", header=False)
    said = problems_of(base, str(tmp_path / "d"))
    assert [line.partition(":")[0] for line in said] == ["apiVersion", "kind", "apiVersion", "kind"]
    assert str(tmp_path / "d/a.conf:1") in said[2]


def test_all_that_cannot_be_read_is_reported_at_once(write, tmp_path):
    os.mkfifo(tmp_path / "fifo")
    os.mkdir(tmp_path / "d")
    os.mkfifo(tmp_path / "d/x.conf")
    (tmp_path / "d/y.conf").symlink_to("nowhere")
    assert "not a regular file" in problems_of(str(tmp_path / "fifo"))[0]
    assert len(problems_of(str(tmp_path / "none"), str(tmp_path / "d"))) == 3
    assert "--config-dir: cannot be read" in problems_of("", str(tmp_path / "nodir"))[0]
    assert problems_of("bad\0name")
