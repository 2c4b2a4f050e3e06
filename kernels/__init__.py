"""Operators: one module each. The machinery that runs them lives in ``kernels.harness``."""
