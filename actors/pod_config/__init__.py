"""Where pods come from: manifests in files and at a URL, and the API server, merged into one stream of pod operations.

Each package uses those above it, never those below.

messages.py, declaration.py  its messages; what it is to the others
actor.py                     merges the pod sources
validation/                  the shape of a pod and the API's rules for it: what is wrong, at which field (pure)
manifests/                   bytes to static pods
pods/                        one set of the pods of all sources, and the operations for its changes
sources/                     files, the URL and the API server: their pods, and their errors
"""
