"""What the guard would have made of a recording: the same code, with the time of the recording."""
