"""`specdec measure`: speculation against the plain service, on the same requests. What asks no cluster is pure."""
