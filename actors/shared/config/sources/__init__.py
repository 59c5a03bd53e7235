"""The sources of a configuration, and how they are merged.

documents.py             YAML and JSON to plain data, bounded, with the line of each field
decoding.py              plain data to typed objects, strictly, with every error
layers.py                --config and the drop-ins of --config-dir
policy_layer.py          the supervision policy, one more layer
merge_patch.py           JSON merge patch
defaults.py              defaults that depend on other fields
effective.py             layers and flags to the configuration in force
configz.py               the configuration in force as /configz shows it
checkpoints.py           configurations kept on disk, with their history
credential_providers.py  the CredentialProviderConfig
"""
