"""Files of secret, configMap, projected and downwardAPI volumes, and their atomic replacement.

- `projections`: the files of a volume, from the objects that its sources name
- `downward_fields`: files from the pod's own fields
- `service_tokens`: service account tokens, requested again before they expire
- `trust_anchors`: the certificates of ClusterTrustBundles; `pem`: PEM blocks
- `content_error`: the error of an object that is missing
- `mount_points`: directories for other volumes that are mounted below
- `atomic`: replaces all files of a volume at once
"""
