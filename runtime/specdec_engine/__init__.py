"""What operator, command and runtime know about engines, in one place. Standard library only, as the runtime is.
Pure.
"""
