"""The sources of pods: files, a URL, the API server.

manifest_directory.py     follows the static pod path; file_source.py: its files; manifest_watch.py: their events
last_good.py              the last good pods of bad files
url_polling.py            asks the static pod URL; http_source.py: its answers
api_source.py             the API server's pods; validation_events.py: the event FailedValidation
source_states.py          the pods of each source, and their errors
quarantined_manifests.py  those on which pod workers ended, until they change
"""
