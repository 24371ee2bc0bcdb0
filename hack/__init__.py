"""Tools of the repository itself: local cluster, images, tiny models, releases, pages. None of it is shipped."""
