"""The program of a download Job. It travels as text: standard library and itself only."""
