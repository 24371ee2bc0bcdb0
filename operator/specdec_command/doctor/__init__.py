"""`specdec doctor`: a frozen snapshot of a cluster in, what to mend about it out. Nothing here asks a cluster."""
