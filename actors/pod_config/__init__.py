"""Where pods come from: manifests in files and at a URL, and the API server, merged into one stream of pod operations.

messages.py            its address and its messages
actor.py               merges the pod sources
manifest_directory.py  follows the static pod path; file_source.py: its files; manifest_watch.py: their inotify events
url_polling.py         asks the static pod URL; http_source.py: its answers
api_source.py          the API server's pods
manifest_reader.py     reads manifests, large ones in a disposable process
manifest.py            bytes to static pods, by shape.py, validation.py with its *_rules.py, defaults.py, identity.py
source_states.py       the pods of each source, and their errors
quarantined_manifests.py  those on which pod workers ended, until they change
validation_events.py   the event FailedValidation
limits.py              how large a manifest and a pod may be
quantities.py          quantities of a pod of the API server that are none
merged_pods.py         one pod for each UID and name
name_conflict.py       a pod waits until the old pod with its name has ended
last_good.py           the last good pods of bad files
config_seen.py         when each pod was first seen; gated_fields.py: drops fields whose gate is off
field_check.py         collects the errors of validation with the paths of their fields
container_rules.py     the API's rules for a container beyond its shape
errors.py              the errors of a manifest: of single fields, and as an exception
field_references.py    the fields of a pod that a variable or a file can have
resource_rules.py      the API's rules for the resources of containers and pods
scheduling_rules.py    the API's rules for what a scheduler reads of a pod
probe_rules.py         the API's rules for probes and lifecycle hooks
volume_rules.py        validation of a pod's volumes, and their references to objects of the API server
"""
