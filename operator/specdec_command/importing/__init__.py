"""What people run today as an equivalent service, with a list of what has no equivalent."""
