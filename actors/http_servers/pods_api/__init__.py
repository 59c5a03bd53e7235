"""The answers of pods_server: the pods API, version 1alpha1."""
