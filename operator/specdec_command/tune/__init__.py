"""`specdec tune`: draft tokens by load, tried in turn in the running engines. Code that uses no cluster is pure."""
