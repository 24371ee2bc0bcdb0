"""Builds the image for GPUs or NPUs on a machine that has neither, and asks it as much as can be asked there.

What is asked runs inside the image: inside.py, and pretend.py and standin.py of lab.verdicts. They use the standard
library and the engine only.
"""
