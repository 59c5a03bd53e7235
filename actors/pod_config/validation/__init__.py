"""The shape of a pod and the API's rules for it: what is wrong, at which field. Pure.

errors.py            the errors of a manifest: of single fields, and as an exception
field_check.py       collects the errors of validation with the paths of their fields
limits.py            how large a manifest and a pod may be
shape.py             whether plain data has the shape of an API type
pod_rules.py         the rules for a pod, and those for a static one
container_rules.py   for a container; probe_rules.py: for its probes and lifecycle hooks
resource_rules.py    for the resources of containers and pods
scheduling_rules.py  for what a scheduler reads of a pod
volume_rules.py      for a pod's volumes, and their references to objects of the API server
field_references.py  the fields of a pod that a variable or a file can have
quantities.py        invalid quantities in a pod from the API server; numbers.py: numbers out of range
path_names.py        names in a pod from the API server that would lead out of a directory
"""
