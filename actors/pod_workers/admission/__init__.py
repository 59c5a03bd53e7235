"""Which pods this node does not run, whatever room it has. Pure."""
