"""Which dead containers are removed."""
