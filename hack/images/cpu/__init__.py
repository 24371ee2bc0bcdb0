"""Scripts that run inside the build of the CPU runtime image, with the standard library and the engine only."""
