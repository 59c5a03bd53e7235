"""Typed objects of the Kubernetes API: the parts that a node agent reads and writes. Imports no other package of the
agent.

apparmor.py                the AppArmor profile of a container, from fields or the older annotation
codec.py                   reading and writing API objects as JSON
container.py               containers: image, environment, ports, resources, security context
contents.py                the data of Secrets and ConfigMaps, as bytes by key
credential_sources.py      sources of projected volumes: trust bundles of the cluster, certificates of pods
declared_features.py       features that a node declares, so that the scheduler places pods that need them there
variable_expansion.py      `$(NAME)` in commands, arguments and values (API doc of Container.command)
disk_sources.py            volumes on network disks: iscsi and fc
extended_resources.py      extended resources: resources that plugins, drivers and operators add to a node
formats.py                 the API's name formats
go_text.py                 gRPC errors as grpc-go prints them
handlers.py                probes and lifecycle hooks of containers, and the action of each, with its rules
host_port.py               a host and a port as one word
huge_pages.py              huge pages as resources, and the kernel's name of their size
image_names.py             the grammar of names of images, without tag and digest
label_selector.py          label selectors: their validation, and what they select
meta.py                    base of the API types, and object metadata
names.py                   labels, annotations and fixed strings that the API, the runtime and other node tools read
node_addresses.py          the addresses of this node: for its Node object, and for status.hostIPs of its pods
node_selector.py           node selectors, as in the required node affinity of a pod or a PersistentVolume
persistent_volumes.py      PersistentVolumes and claims of them
pod.py                     pods: spec, status, and the object itself
protobuf/                  these objects in protobuf, from JSON and to JSON
pods.py                    properties that follow from the pod object alone: identity, QoS class, requests and limits
quantity.py                resource quantities (k8s.io/apimachinery resource.Quantity): "100m", "1.5Gi", "1e3", 2
quantity_text.py           amounts of resources as the API server writes them (canonical form of resource.Quantity)
resource_claim_objects.py  the objects of resource claims (resource.k8s.io/v1): data only
resource_claims.py         the resource claims of a pod, and whether the pod may use them (KEP-4381)
resource_fields.py         a container's resources for the downward API (API doc, ResourceFieldSelector)
restart_policy.py          whether an ended container is restarted: by its rules, its policy, its pod's policy
sysctls.py                 the names of sysctls
times.py                   times of the API (RFC 3339)
trust_bundles.py           ClusterTrustBundles: the fields that a node reads
volume_source.py           the base of the volume sources of a pod
volumes.py                 volumes of pods: the type of each source, its validation
resource_versions.py       the order of two versions of an object or of a collection
"""
