"""Protocol definitions and the modules generated from them by `make proto`: nothing written by hand."""

__project__ = "troupelet"
