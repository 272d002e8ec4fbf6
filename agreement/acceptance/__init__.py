"""Acceptance: what a requirements file asks of a run, and whether the run meets it."""
