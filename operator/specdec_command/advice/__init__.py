"""What people should know before they speculate: each method, what to expect of it, and which one fits. Pure."""
