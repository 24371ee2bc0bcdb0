"""What operator and runtime both know about engines, said once. Standard library only, as the runtime is."""
