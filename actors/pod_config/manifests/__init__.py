"""Bytes to static pods.

manifest.py         parses, validates, fills in defaults, names
manifest_name.py    the name of a pod, also of a refused one
manifest_reader.py  reads manifests, large ones in a disposable process
defaults.py         the defaults of the API server
field_lines.py      finds the lines of wrong fields
identity.py         UID, name and annotations of a static pod
"""
