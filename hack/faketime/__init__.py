"""A clock that a test sets, for one process: Debian's libfaketime."""
