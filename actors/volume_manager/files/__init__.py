"""Files of secret, configMap, projected and downwardAPI volumes, and their atomic replacement."""
