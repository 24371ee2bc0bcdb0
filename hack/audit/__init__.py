"""What the operator is made of, and whether anything is known against it."""
