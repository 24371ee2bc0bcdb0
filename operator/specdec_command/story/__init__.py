"""A recorded story: the operator's own loop at work on what was recorded of real runs, without a cluster."""
