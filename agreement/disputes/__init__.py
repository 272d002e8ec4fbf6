"""Disputed objects: what they cost, who leaves out what, what a sample is disputed for, and who was right."""
