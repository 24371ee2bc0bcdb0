"""`specdec check`: any running vLLM by HTTP alone. Code that asks nothing is pure."""
