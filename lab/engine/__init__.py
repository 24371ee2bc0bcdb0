"""What the real engine makes of every method and of every fault: run in the runtime image, written down as JSON, and
put into the tables of docs/engine.md.
"""
