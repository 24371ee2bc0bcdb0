"""`specdec measure`: speculation against the plain service, on the same requests. What is not shell here is pure."""
