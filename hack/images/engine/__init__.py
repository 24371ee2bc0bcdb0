"""Scripts that run inside the build of every runtime image, before there is anything of the project in it."""
