"""Scripts that run inside the build of the NVIDIA runtime image, with the standard library and the engine only."""
