"""What sandboxes are created with (namespaces, names, DNS), a lost one, and what containers are mounted and labelled with."""

from __future__ import annotations

import re

from proto import cri_pb2 as cri

from .row import Row, boxed, c, does, ends, fails, has_object, made, not_said, pod, said, shows, waits, works
from .table import documented

SANDBOX = "subsystems 8.1"
LABELS = "subsystems 8.3"
DNS = "subsystems 31"

ROWS = [
    # -- namespaces and sandbox -------------------------------------------------------------------------------------------
    Row(
        "sandbox: its own namespaces",
        SANDBOX,
        pod(),
        (
            boxed(
                {
                    "hostname": "p",
                    "metadata.name": "p",
                    "metadata.namespace": "n",
                    "metadata.uid": "u",
                    "metadata.attempt": 0,
                    "linux.security_context.namespace_options.network": cri.POD,
                    "linux.security_context.namespace_options.pid": cri.CONTAINER,
                    "linux.security_context.namespace_options.ipc": cri.POD,
                    "linux.security_context.seccomp.profile_type": cri.SecurityProfile.RuntimeDefault,
                }
            ),
        ),
    ),
    Row(
        "sandbox: the host's network has no hostname",
        SANDBOX,
        pod(hostNetwork=True),
        (boxed({"linux.security_context.namespace_options.network": cri.NODE, "hostname": "", "port_mappings": []}),),
    ),
    Row(
        "sandbox: the host's processes",
        SANDBOX,
        pod(hostPID=True),
        (
            boxed({"linux.security_context.namespace_options.pid": cri.NODE}),
            made("a", {"linux.security_context.namespace_options.pid": cri.NODE}),
        ),
    ),
    Row(
        "sandbox: the host's IPC",
        SANDBOX,
        pod(hostIPC=True),
        (boxed({"linux.security_context.namespace_options.ipc": cri.NODE}),),
    ),
    Row(
        "sandbox: shared processes",
        SANDBOX,
        pod(shareProcessNamespace=True),
        (
            boxed({"linux.security_context.namespace_options.pid": cri.POD}),
            made("a", {"linux.security_context.namespace_options.pid": cri.POD}),
        ),
    ),
    Row(
        "sandbox: privileged when a container is",
        SANDBOX,
        pod(c("a"), c("b", securityContext={"privileged": True})),
        (boxed({"linux.security_context.privileged": True}),),
    ),
    Row(
        "sandbox: labels",
        SANDBOX,
        pod(meta={"labels": {"app": "web"}, "annotations": {"x": "y"}}),
        (
            boxed(
                {
                    "labels:app": "web",
                    "labels:io.kubernetes.pod.name": "p",
                    "labels:io.kubernetes.pod.namespace": "n",
                    "labels:io.kubernetes.pod.uid": "u",
                    "annotations:x": "y",
                }
            ),
        ),
    ),
    Row(
        "sandbox: ports of regular containers",
        SANDBOX,
        pod(c("a", ports=[{"containerPort": 80, "hostPort": 8080, "protocol": "TCP"}])),
        (boxed({"port_mappings.0.container_port": 80, "port_mappings.0.host_port": 8080}),),
    ),
    Row("sandbox: hostname and subdomain", SANDBOX, pod(hostname="h", subdomain="s"), (boxed({"hostname": "h"}),)),
    Row("sandbox: a long name is cut to 63", SANDBOX, pod(hostname="a" * 63), (boxed({"hostname": "a" * 63}),)),
    Row(
        "sandbox: FQDN as hostname",
        SANDBOX,
        pod(hostname="h", subdomain="s", setHostnameAsFQDN=True),
        (boxed({"hostname": "h.s.n.svc.cluster.local"}),),
        config={"clusterDomain": "cluster.local"},
    ),
    Row(
        "sandbox: an FQDN over 64 bytes",
        SANDBOX,
        pod(hostname="h" * 60, subdomain="s", setHostnameAsFQDN=True),
        (said("Warning FailedCreatePodSandBox"), shows({"phase": "Pending"})),
        config={"clusterDomain": "cluster.local"},
    ),
    Row(
        "sandbox: a sysctl with slashes",
        SANDBOX,
        pod(securityContext={"sysctls": [{"name": "net/ipv4/tcp_syncookies", "value": "1"}]}),
        (boxed({"linux.sysctls": {"net.ipv4.tcp_syncookies": "1"}}),),
    ),
    Row(
        "sandbox: the log directory",
        SANDBOX,
        pod(),
        (boxed({"log_directory": re.compile(r".*/logs/n_p_u")}), made("a", {"log_path": "a/0.log"})),
    ),
    Row(
        "dns: ClusterFirst",
        DNS,
        pod(dnsPolicy="ClusterFirst"),
        (
            boxed({"dns_config.servers": ["10.96.0.10"], "dns_config.options": ["ndots:5"]}),
            not_said("MissingClusterDNS"),
        ),
        config={"clusterDNS": ["10.96.0.10"], "clusterDomain": "cluster.local"},
    ),
    Row(
        "dns: ClusterFirst without a cluster's DNS",
        DNS,
        pod(dnsPolicy="ClusterFirst"),
        (said("Warning MissingClusterDNS"), shows({"phase": "Running"})),
    ),
    Row(
        "dns: None",
        DNS,
        pod(
            dnsPolicy="None",
            dnsConfig={"nameservers": ["1.1.1.1"], "searches": ["x.y"], "options": [{"name": "ndots", "value": "2"}]},
        ),
        (
            boxed(
                {"dns_config.servers": ["1.1.1.1"], "dns_config.searches": ["x.y"], "dns_config.options": ["ndots:2"]}
            ),
        ),
    ),
    Row(
        "dns: at most three servers",
        DNS,
        pod(dnsPolicy="None", dnsConfig={"nameservers": ["1.1.1.1", "1.1.1.2", "1.1.1.3", "1.1.1.4"]}),
        (boxed({"dns_config.servers": ["1.1.1.1", "1.1.1.2", "1.1.1.3"]}), said("Warning DNSConfigForming")),
    ),
    # -- containers -----------------------------------------------------------------------------------------------------
    Row(
        "container: labels and annotations",
        LABELS,
        pod(c("a", ports=[{"containerPort": 80, "protocol": "TCP"}])),
        (
            made(
                "a",
                {
                    "labels:io.kubernetes.container.name": "a",
                    "labels:io.kubernetes.pod.uid": "u",
                    "annotations:io.kubernetes.container.restartCount": "0",
                    "annotations:io.kubernetes.container.terminationMessagePath": "/dev/termination-log",
                    "annotations:io.kubernetes.container.terminationMessagePolicy": "File",
                    "annotations:io.kubernetes.pod.terminationGracePeriod": "30",
                    "annotations:io.kubernetes.container.ports": '[{"containerPort":80,"protocol":"TCP"}]',
                    "metadata.attempt": 0,
                },
            ),
        ),
    ),
    Row(
        "container: a restarted one",
        LABELS,
        pod(),
        (
            ends("a", 1),
            made(
                "a",
                {"annotations:io.kubernetes.container.restartCount": "1", "metadata.attempt": 1, "log_path": "a/1.log"},
            ),
        ),
    ),
    Row(
        "container: stdin and tty",
        "API, Container.stdin",
        pod(c("a", stdin=True, stdinOnce=True, tty=True)),
        (made("a", {"stdin": True, "stdin_once": True, "tty": True}),),
    ),
    Row(
        "container: its working directory",
        "API, Container.workingDir",
        pod(c("a", workingDir="/tmp")),
        (made("a", {"working_dir": "/tmp"}),),
    ),
    Row(
        "container: /etc/hosts is mounted",
        DNS,
        pod(),
        (made("a", {"mounts:/etc/hosts": True, "mounts:/dev/termination-log": True}),),
    ),
    Row(
        "container: a volume",
        "API, VolumeMount",
        pod(
            c("a", volumeMounts=[{"name": "v", "mountPath": "/data", "readOnly": True}]),
            volumes=[{"name": "v", "emptyDir": {}}],
        ),
        (
            made(
                "a",
                {
                    "mounts:/data:readonly": True,
                    "mounts:/data:host_path": re.compile(".*/pods/u/volumes/kubernetes.io~empty-dir/v"),
                },
            ),
            shows(
                {"containers.a.volumeMounts.0.name": "v", "containers.a.volumeMounts.0.recursiveReadOnly": "Disabled"}
            ),
        ),
    ),
    Row(
        "container: a ConfigMap volume that is missing",
        "events.tsv FailedMount",
        pod(
            c("a", volumeMounts=[{"name": "v", "mountPath": "/data"}]),
            volumes=[{"name": "v", "configMap": {"name": "m"}}],
        ),
        (
            said(re.compile('Warning FailedMount: MountVolume.SetUp failed for volume "v" : configmap "m" not found')),
            shows({"phase": "Pending", "containers.a": "waiting ContainerCreating"}),
            has_object("ConfigMap", "m", data={"k": "v"}),
            waits(40),
            shows({"phase": "Running"}),
        ),
    ),
    Row(
        "container: with init containers, volumes that are waited for show PodInitializing",
        "subsystems 6.3; P24",
        pod(
            c("a", volumeMounts=[{"name": "v", "mountPath": "/data"}]),
            volumes=[{"name": "v", "configMap": {"name": "m"}}],
            initContainers=[c("i")],
        ),
        (shows({"phase": "Pending", "containers.a": "waiting PodInitializing", "init.i": "waiting PodInitializing"}),),
    ),
    Row(
        "container: an optional ConfigMap volume",
        "API, ConfigMapVolumeSource.optional",
        pod(
            c("a", volumeMounts=[{"name": "v", "mountPath": "/data"}]),
            volumes=[{"name": "v", "configMap": {"name": "m", "optional": True}}],
        ),
        (shows({"phase": "Running"}),),
    ),
    Row(
        "a sandbox that is lost takes PodReadyToStartContainers along until there is another",
        "KEP-3085",
        pod(),
        (
            fails("RunPodSandbox"),
            does(lambda on: on.fake.lose_sandbox(on.sandbox().id)),
            shows({"conditions.PodReadyToStartContainers": "False", "conditions.Ready": "False"}),
            works("RunPodSandbox"),
            waits(15),
            shows({"conditions.PodReadyToStartContainers": "True", "containers.a": "running"}),
        ),
    ),
]

test_the_agent_does_what_the_kubelet_documents = documented(ROWS)
