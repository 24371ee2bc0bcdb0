"""Tests of the experiments: `make lab-test`."""
