"""`specdec doctor`: a frozen picture of a cluster in, what to mend about it out. Nothing here asks a cluster."""
