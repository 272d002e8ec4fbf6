"""Disputed objects: what they cost, who leaves out what, and what a sample is disputed for."""
