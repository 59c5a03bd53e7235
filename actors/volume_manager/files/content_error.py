"""The error of the content of a volume."""


class ContentError(Exception):
    """A Secret, ConfigMap, token or other object of the volume is missing, or a field of the pod is invalid; the text
    names it."""
