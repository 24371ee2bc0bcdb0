"""What people run today as a service that asks for the same, with a list of what it cannot say."""
