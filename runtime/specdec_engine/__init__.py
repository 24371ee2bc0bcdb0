"""What operator, command and runtime know about engines, said once. Standard library only, as the runtime is. Pure."""
