"""Random faults on random parts of a real agent while pods come and go; replayed by its seed."""
