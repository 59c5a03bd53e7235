"""Where pods come from: manifests in files and at a URL, and the API server, merged into one stream of pod operations.

messages.py            what it is told and asked
actor.py               puts the sources together
manifest_directory.py  follows the static pod path; file_source.py: its files; watching.py: what inotify says of them
http_source.py         follows the static pod URL
api_source.py          the API server's pods
manifest.py            bytes to static pods, by shape.py, validation.py with its *_rules.py, defaults.py, identity.py
limits.py              how large a manifest and a pod may be
merge.py               one pod for each UID and name
name_conflict.py       two pods of one name, one after the other
kept.py                the last good pods of bad files
seen.py                when each pod was first seen
"""
