"""Tools of the repository itself: local cluster, images, tiny models, demo. None of it is shipped."""
