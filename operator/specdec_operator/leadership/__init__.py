"""Which replica works: the Lease and the election."""
