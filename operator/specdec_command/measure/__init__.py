"""`specdec measure`: speculation against the baseline, on the same requests. Code that uses no cluster is pure."""
