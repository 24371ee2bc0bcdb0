"""Runs the tests: `python -m hack.test quick | rest | all`."""
