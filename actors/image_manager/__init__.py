"""Images: pulled when containers need them, removed when their disk fills up. The modules:

actor.py               the actor: receives questions, and passes them to its parts
image_pulls.py         answers EnsureImage: policy, credentials, pull, backoff
pending_pulls.py       one pull for each pod and image; pull_queue.py: how many at once, and how many a second
pull_backoff.py        pauses after failures; pull_events.py: the events; pull_request.py: the requests to the runtime
credential_lookup.py   which credentials a pull tries: keyring.py, node_credentials.py, credential_plugins.py
pull_records.py        which pods may use a present image; pull_record_store.py keeps the records
image_collector.py     image garbage collection, which garbage_collection.py decides
built_images.py        the images that a managed runtime has from the start
running_containers.py  the containers of pods that run, whatever the runtime lists
image_reference.py     image references: their grammar, tag and digest, and the default pull policy
plugin_process.py      runs a credential plug-in once: the JSON request on its stdin, the answer on its stdout
pull_metrics.py        metrics of images: requests, and the duration of pulls by the image's size
pull_record_files.py   the files of pull records and intents; pull_record_reading.py: reads them
service_accounts.py    the identity for a credential plug-in: a token of the pod's service account, and annotations
"""
