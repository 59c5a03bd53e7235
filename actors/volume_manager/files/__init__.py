"""Files of secret, configMap, projected and downwardAPI volumes: which ones, and how they are replaced at once."""
