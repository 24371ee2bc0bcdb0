"""What a spec asks of the engine, in the engine's own terms, and the way back. Pure."""
